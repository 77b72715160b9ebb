//! Parameters that are a choice between words: which parts a model has.

macro_rules! choices {
    ($($(#[doc = $about:literal])+ $field:ident: $type:ident { $($(#[$doc:meta])+ $variant:ident = $word:literal,)* })*) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
            pub enum $type {
                $($(#[$doc])+ $variant,)*
            }

            impl $type {
                /// The word for it in files and on the command line.
                #[must_use]
                pub const fn word(self) -> &'static str {
                    match self {
                        $(Self::$variant => $word,)*
                    }
                }
            }
        )*

        /// One of each.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Choices {
            $($(#[doc = $about])+ pub $field: $type,)*
        }

        /// Every choice there is.
        pub const CHOICES: &[ChoiceRow] = &[$(ChoiceRow {
            name: stringify!($field),
            about: concat!($($about),+),
            words: &[$($word,)*],
            word: |choices| choices.$field.word(),
            choose: |choices, word| {
                choices.$field = match word {
                    $($word => $type::$variant,)*
                    _ => return false,
                };
                true
            },
        },)*];
    };
}

/// What there is to know of a choice.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceRow {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// What it decides.
    pub about: &'static str,
    /// The words to choose from.
    pub words: &'static [&'static str],
    /// The word that was chosen.
    pub word: fn(&Choices) -> &'static str,
    choose: fn(&mut Choices, &str) -> bool,
}

impl Choices {
    /// Makes a choice by its word.
    ///
    /// # Errors
    /// One sentence that lists the words there are.
    pub fn choose(&mut self, choice: &ChoiceRow, word: &str) -> Result<(), String> {
        let ChoiceRow { name, words, choose, .. } = choice;
        if choose(self, word) {
            return Ok(());
        }
        Err(format!("'{word}' is no value for '{name}'; give one of {}", words.join(", ")))
    }
}

choices! {
    /// The kind of device.
    device: Device {
        /// Latencies side by side, data one after the other: a solid-state disk, or a virtual one.
        #[default]
        QueueAndBus = "queue_and_bus",
        /// One server, the same speed for all requests: paper E's.
        PlainQueue = "plain_queue",
        /// A device that is held to requests and bytes a second.
        TokenBucket = "token_bucket",
        /// A disk with an arm.
        DiskWithSeeks = "disk_with_seeks",
        /// Service times drawn from those that were measured.
        Empirical = "empirical",
    }

    /// The kernel whose rules of read-ahead hold; between two of them the model takes the earlier.
    kernel: Kernel {
        /// No kernel, but what paper E makes of one: a miss that follows on the last read brings in one window,
        /// always of the same size, and any other what it asks for.
        Fixed = "fixed",
        /// About 2.6.27, the kernel of the paper: pages only, no large folios. Modelled, not validated.
        V2_6 = "2.6",
        /// 6.6: large folios grow with each window, and a window that starts at its own mark is merged with
        /// the next. Modelled, not validated.
        V6_6 = "6.6",
        /// About 6.12 to 6.18: the order of folios belongs to the reader's state. Held against tracepoints.
        #[default]
        V6_18 = "6.18",
    }

    /// What a sync does with jbd2's journal.
    journal: Journal {
        /// There is no jbd2: a sync takes 'journal_commit', or writes 'log_bytes'.
        #[default]
        Price = "price",
        /// Metadata go through the journal, after the data of the file that is synced.
        Ordered = "ordered",
        /// Metadata go through the journal.
        Writeback = "writeback",
        /// Data go through the journal as well.
        Data = "journal",
    }

    /// How files are laid out on the device.
    allocation: Allocation {
        /// One file lies behind the other, and nothing leads to their data.
        #[default]
        None = "none",
        /// Blocks of pointers lead to the data.
        Indirect = "indirect",
        /// Extents lead to the data.
        Extents = "extents",
        /// Extents lead to the data, whose place is chosen at write-back.
        Delayed = "delayed",
    }

    /// What leaves memory when a file is evicted.
    eviction: Eviction {
        /// The file's pages.
        #[default]
        Pages = "pages",
        /// The file's pages, and the pointers and extents that lead to them.
        Metadata = "metadata",
    }

    /// Who decides the order of requests and merges them.
    scheduler: Scheduler {
        /// Requests go to the device as they come.
        #[default]
        None = "none",
        /// The scheduler mq-deadline.
        MqDeadline = "mq-deadline",
    }
}
