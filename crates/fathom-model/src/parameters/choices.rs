//! Parameters that are a choice between words: which parts a model has.

use crate::choice::choice;
use crate::kernel::Kernel;

choice! {
    /// The kind of device.
    #[derive(Default)]
    Device {
        /// Requests are served in parallel, and their data moved one after the other: a solid-state disk, or a virtual one.
        #[default]
        QueueAndBus = "queue_and_bus",
        /// Paper E's device: one server, the same speed for all requests.
        PlainQueue = "plain_queue",
        /// A device with limits of requests and bytes a second.
        TokenBucket = "token_bucket",
        /// A disk with an arm.
        DiskWithSeeks = "disk_with_seeks",
    }
}

choice! {
    /// When a device answers.
    #[derive(Default)]
    Answers {
        /// After each request, once it is served.
        #[default]
        Each = "each",
        /// Once no request waits any more, for all that were served: one interrupt for all.
        Together = "together",
    }
}

choice! {
    /// Where the work of a device is done.
    #[derive(Default)]
    Works {
        /// In the device or by its host.
        #[default]
        Apart = "apart",
        /// On a CPU of this machine, as by the worker of a loop device.
        OnCpu = "on_cpu",
    }
}

choice! {
    /// What a sync does with jbd2's journal.
    #[derive(Default)]
    Journal {
        /// There is no jbd2: a sync of what was written takes 'journal_commit', or writes 'log_bytes'.
        #[default]
        Price = "price",
        /// Metadata go through the journal, after the data of the file that is synced.
        Ordered = "ordered",
        /// Metadata go through the journal.
        Writeback = "writeback",
        /// Data go through the journal as well.
        Data = "journal",
    }
}

impl Journal {
    /// Whether there is jbd2.
    pub fn is_jbd2(self) -> bool {
        self != Self::Price
    }
}

choice! {
    /// How files are laid out on the device.
    #[derive(Default)]
    Allocation {
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
}

choice! {
    /// What leaves memory when a file is evicted.
    #[derive(Default)]
    Eviction {
        /// The file's pages.
        #[default]
        Pages = "pages",
        /// The file's pages, and the pointers and extents that lead to them.
        Metadata = "metadata",
    }
}

choice! {
    /// Which pages leave memory first where it is limited.
    #[derive(Default)]
    Reclaim {
        /// The oldest of an inactive list, from which a second use leads to an active one.
        #[default]
        TwoLists = "two_lists",
        /// The oldest generation, but for what is often used: MGLRU, as in Linux 6.12.
        Generations = "generations",
    }
}

choice! {
    /// What an open does to the pages of its file that are cached, and whether there are any.
    #[derive(Default)]
    Opening {
        /// They stay.
        #[default]
        Keeps = "keeps",
        /// They leave memory: FUSE without `FOPEN_KEEP_CACHE`.
        Drops = "drops",
        /// Reads and writes go past the cache, as with O_DIRECT: FUSE with `FOPEN_DIRECT_IO`.
        Bypasses = "bypasses",
    }
}

choice! {
    /// When the data of a write are made durable.
    #[derive(Default)]
    Syncs {
        /// When a program asks for it.
        #[default]
        Asked = "asked",
        /// Before each write returns: the mount option `sync`.
        Always = "always",
    }
}

choice! {
    /// Where the memory is that new pages of the page cache take.
    #[derive(Default)]
    FreeMemory {
        /// In the machine.
        #[default]
        There = "there",
        /// With the host of a virtual machine, who brings it back at 'taken_byte': `mm/page_reporting.c`, and memory that was never
        /// used.
        Taken = "taken",
    }
}

choice! {
    /// Which requests the limits of a device hold back.
    #[derive(Default)]
    Limited {
        /// All requests.
        #[default]
        All = "all",
        /// Requests for files, but not those of jbd2's thread.
        Files = "files",
        /// Requests that programs make or wait for, but not those of jbd2's thread or of the flusher.
        Callers = "callers",
    }
}

choice! {
    /// When a request that goes past the cache is done, of those that a thread hands over without waiting, and whether others are
    /// served meanwhile.
    #[derive(Default)]
    Queued {
        /// Later, while others are under way.
        #[default]
        Together = "together",
        /// Before the thread can hand over the next one: FUSE without `FUSE_ASYNC_DIO`. A sync keeps the server from all others.
        InTurn = "in_turn",
    }
}

choice! {
    /// Which scheduler orders and merges requests.
    #[derive(Default)]
    Scheduler {
        /// Requests go to the device as they come.
        #[default]
        None = "none",
        /// The scheduler mq-deadline.
        MqDeadline = "mq-deadline",
    }
}

choice! {
    /// The program whose jobs these are.
    #[derive(Default)]
    Runner {
        /// Fathom: its own work between calls is 'caller' and 'caller_written_byte'.
        #[default]
        Fathom = "fathom",
        /// fio: its own work is 'fio_call', 'fio_async_call' and 'fio_written_byte'.
        Fio = "fio",
    }
}

macro_rules! choices {
    ($($(#[doc = $about:literal])+ $field:ident: $type:ident,)*) => {
        /// One word for each choice.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Choices {
            $($(#[doc = $about])+ pub $field: $type,)*
        }

        /// Every choice.
        pub const CHOICES: &[ChoiceRow] = &[$(ChoiceRow {
            name: stringify!($field),
            about: concat!($($about),+),
            words: $type::WORDS,
            word: |choices| choices.$field.word(),
            choose: |choices, at| choices.$field = $type::ALL[at],
        },)*];
    };
}

choices! {
    /// The kind of device.
    device: Device,
    /// When the devices 'queue_and_bus' and 'token_bucket' answer: 'each' request once it is served, or 'together' once none waits.
    answers: Answers,
    /// Whether the devices 'queue_and_bus' and 'token_bucket' do their work apart from the CPUs of jobs, or a thread does it on one of them.
    works: Works,
    /// The kernel whose rules of read-ahead hold; between two of them the model takes the earlier.
    kernel: Kernel,
    /// What a sync does with jbd2's journal.
    journal: Journal,
    /// How files are laid out on the device.
    allocation: Allocation,
    /// What leaves memory when a file is evicted.
    eviction: Eviction,
    /// Which pages leave first where 'cache' limits them; 'generations' where the kernel has MGLRU on, by the rules of 6.12.
    reclaim: Reclaim,
    /// Whether the pages of a file that are cached stay there when it is opened; 'bypasses' where reads and writes use no cache.
    opening: Opening,
    /// Whether data are made durable when a program asks for it, or before each write of a job returns.
    syncs: Syncs,
    /// Whether free memory is there, or the host of a virtual machine has taken it.
    free_memory: FreeMemory,
    /// Whose requests a token bucket holds to its limits: the kernel's own threads are in no group that has any.
    limited: Limited,
    /// Whether requests past the cache that a thread has under way overlap, or each is done before the next, and a sync before any other.
    queued: Queued,
    /// Who decides the order of requests and merges them.
    scheduler: Scheduler,
    /// The program that runs the jobs, and whose own work between calls counts.
    runner: Runner,
}

/// Everything about a choice.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceRow {
    /// The name of the choice in files and on the command line.
    pub name: &'static str,
    /// What the choice decides.
    pub about: &'static str,
    /// The words to choose from.
    pub words: &'static [&'static str],
    /// The word that a set of choices contains.
    pub word: fn(&Choices) -> &'static str,
    choose: fn(&mut Choices, usize),
}

impl Choices {
    /// Makes a choice by its word.
    ///
    /// # Errors
    /// One sentence that lists the words there are.
    pub fn choose(&mut self, choice: &ChoiceRow, typed: &str) -> Result<(), String> {
        let ChoiceRow { name, words, choose, .. } = choice;
        let at = words.iter().position(|word| *word == typed);
        let none = || format!("'{typed}' is no value for '{name}'; give one of {}", words.join(", "));
        at.map(|at| choose(self, at)).ok_or_else(none)
    }
}
