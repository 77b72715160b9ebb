//! Which kernel's rules hold.

use crate::choice::choice;

choice! {
    /// A generation of rules. Between two of them the model takes the earlier.
    #[derive(Default)]
    Kernel {
        /// No kernel, but paper E's model of one: a miss that follows on the last read brings in one window, always of the same
        /// size, and any other miss brings in the requested pages alone.
        Fixed = "fixed",
        /// About 2.6.27, the kernel of the paper: pages only, no large folios. Modelled, not validated.
        V2_6 = "2.6",
        /// 6.1, as Debian 12 has it: a window's folios grow with the one that is touched, and a window that starts at
        /// its own mark is merged with the next. Writes make single pages. Held against tracepoints.
        V6_1 = "6.1",
        /// 6.6: reads ahead as 6.1, and writes make large folios. Modelled, not validated.
        V6_6 = "6.6",
        /// 6.12, as Debian 13 has it: misses and marks each have their rules, and no windows are merged. Held against
        /// tracepoints.
        V6_12 = "6.12",
        /// 6.18: the order of folios belongs to the reader's state. Held against tracepoints.
        #[default]
        V6_18 = "6.18",
    }
}

impl Kernel {
    /// The rules for a kernel of this release, such as `Linux 6.12.117+deb12-amd64`.
    pub fn of_release(release: &str) -> Self {
        let version = |text: &str| -> Vec<u32> {
            let numbers = text.split(|letter: char| !letter.is_ascii_digit());
            numbers.filter_map(|number| number.parse().ok()).take(2).collect()
        };
        let is_earlier = |kernel: &&Self| version(kernel.word()) <= version(release);
        Self::ALL[1..].iter().copied().rev().find(|kernel| is_earlier(&kernel)).unwrap_or(Self::V2_6)
    }
}

#[test]
fn a_release_takes_the_rules_of_the_generation_before() {
    let rules = ["Linux 6.18.44-x", "6.17.1", "Linux 6.12.117+deb12-amd64", "6.2", "5.10.0", "2.4"];
    let words = ["6.18", "6.12", "6.12", "6.1", "2.6", "2.6"];
    assert_eq!(rules.map(|release| Kernel::of_release(release).word()), words);
}
