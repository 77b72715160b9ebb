//! Colours of a terminal; the words say the same without them.

/// Whether a text may have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// The text goes to a terminal that shows colours.
    On,
    /// The text goes elsewhere, or the user has switched colours off.
    Off,
}

impl Colours {
    /// What is as it should be.
    pub(super) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What is not.
    pub(super) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// What is open.
    pub(super) fn open(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// What heads a table or a part.
    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What stands by.
    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Each line of a text so.
    pub(super) fn lines(self, text: &str, how: impl Fn(Self, &str) -> String) -> String {
        text.lines().map(|line| how(self, line) + "\n").collect()
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::On if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }
}

/// Columns that a text takes on a terminal: colours take none.
pub(super) fn columns(text: &str) -> usize {
    let mut in_colour = false;
    let takes = |one: &char| match (*one, in_colour) {
        ('\u{1b}', _) => {
            in_colour = true;
            false
        }
        (letter, true) => {
            in_colour = letter != 'm';
            false
        }
        _ => true,
    };
    text.chars().filter(takes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_take_no_place() {
        assert_eq!(Colours::On.good("kept"), "\u{1b}[32mkept\u{1b}[0m");
        assert_eq!(columns(&Colours::On.bad("µs │ 4")), 6);
        assert_eq!(Colours::Off.bad("missed"), "missed");
        assert_eq!(Colours::On.strong(""), "");
    }
}
