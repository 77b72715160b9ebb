//! What a model is made of: numbers by name, each with its interval and where it comes from.
//!
//! ```
//! use fathom_model::parameters::Parameters;
//!
//! let mut parameters = Parameters::assumed();
//! parameters.set("readahead", "1M")?;
//! assert_eq!(parameters.value("readahead"), 1_048_576.0);
//! assert!(parameters.set("readahaed", "1M").unwrap_err().contains("did you mean 'readahead'"));
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Every parameter of a model, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Parameter>", into = "BTreeMap<String, Parameter>")]
pub struct Parameters(BTreeMap<String, Parameter>);

/// One number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The value, in the parameter's unit.
    pub value: f64,
    /// Where it lies with 95 % confidence, where somebody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From samples of the machine that is modelled.
    Measured,
    /// The kernel says so.
    Declared,
    /// Nobody looked.
    Assumed,
    /// Somebody wanted to know what would be if.
    Set,
}

/// What there is to know of a parameter before it has a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The name.
    pub name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// What is assumed.
    pub assumed: f64,
    /// What it is, in half a sentence.
    pub about: &'static str,
    /// The words for 0, 1, 2 and so on, where it is a choice.
    pub words: &'static [&'static str],
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes; typed with K, M, G and T for powers of 1,024.
    Bytes,
    /// Nanoseconds.
    Ns,
    /// Nanoseconds per byte.
    NsPerByte,
    /// Pieces.
    Count,
    /// A share of one.
    Share,
}

/// What a journal takes; `price` is none of jbd2's.
pub const JOURNALS: &[&str] = &["price", "ordered", "writeback", "journal"];

/// Kernels whose rules there are; `fixed` is the paper's simple one.
pub const KERNELS: &[&str] = &["6.18", "6.6", "2.6", "fixed"];

/// The kinds of devices, in the order of their modules.
pub const DEVICES: &[&str] =
    &["queue_and_bus", "plain_queue", "token_bucket", "disk_with_seeks", "empirical"];

/// How files are laid out; with `none` one lies behind the other, and nothing leads to its data.
pub const ALLOCATIONS: &[&str] = &["none", "indirect", "extents", "delayed"];

/// What leaves memory with a file's pages.
pub const EVICTIONS: &[&str] = &["pages", "metadata"];

/// Who decides the order of requests; `none` takes them as they come.
pub const SCHEDULERS: &[&str] = &["none", "mq-deadline"];

const fn known(name: &'static str, unit: Unit, assumed: f64, about: &'static str) -> Known {
    Known { name, unit, assumed, about, words: &[] }
}

/// A choice between words; the first is assumed.
const fn choice(name: &'static str, words: &'static [&'static str], about: &'static str) -> Known {
    Known { name, unit: Unit::Count, assumed: 0.0, about, words }
}

/// Every parameter that a model has. What is assumed is an ext4 on a quiet virtual disk.
pub const KNOWN: &[Known] = &[
    known("readahead", Unit::Bytes, 131_072.0, "the largest read-ahead window"),
    known("largest_io", Unit::Bytes, 1_048_576.0, "the largest request that the device takes"),
    known("block", Unit::Bytes, 4_096.0, "the file system's block"),
    known(
        "largest_folio",
        Unit::Bytes,
        2_097_152.0,
        "the largest folio; a page where there are no large ones",
    ),
    known("cache", Unit::Bytes, 0.0, "what the page cache may hold; 0 for no limit"),
    known("call", Unit::Ns, 400.0, "a system call that finds everything in place"),
    known("seek_call", Unit::Ns, 140.0, "lseek"),
    known("open_call", Unit::Ns, 4_000.0, "open, close and the like"),
    known("folio", Unit::Ns, 40.0, "finding one more folio of a read"),
    known("fresh_page", Unit::Ns, 500.0, "the first access to a page of the caller's buffer"),
    known("zeroed_page", Unit::Ns, 500.0, "a page of a hole that is not in the cache"),
    known("copied_byte", Unit::NsPerByte, 0.1, "copying between the cache and the user"),
    known("near_4k", Unit::Ns, 0.0, "copying 4 KiB that lie near; 0 for what their bytes cost"),
    known("near_12k", Unit::Ns, 0.0, "the same of 12 KiB"),
    known("near_16k", Unit::Ns, 0.0, "the same of 16 KiB"),
    known("near_32k", Unit::Ns, 0.0, "the same of 32 KiB"),
    known("near_64k", Unit::Ns, 0.0, "the same of 64 KiB"),
    known("near_256k", Unit::Ns, 0.0, "the same of 256 KiB, and of more in proportion"),
    known("across_lines", Unit::Ns, 0.0, "4 KiB and more from within a cache line, longer"),
    known(
        "write_call",
        Unit::Ns,
        0.0,
        "what each folio of a write costs beyond a read: a handle of the journal, times, locks",
    ),
    known(
        "jumped_write",
        Unit::Ns,
        0.0,
        "what it costs more where it does not go on where the last one of its file ended",
    ),
    known("jumped_over", Unit::Ns, 0.0, "the same beside it, where it writes over what is clean"),
    known(
        "journal_blocks",
        Unit::Count,
        4.0,
        "blocks that a file's change brings into a transaction of jbd2",
    ),
    known(
        "scattered_blocks",
        Unit::Count,
        0.0,
        "the same of the first block of extents where new blocks lie apart",
    ),
    known("scattered_sync", Unit::Ns, 0.0, "a sync of new blocks that lie apart, longer"),
    known(
        "stdio_buffer",
        Unit::Bytes,
        0.0,
        "the buffer through which jobs read and write by fread and fwrite; 0 for calls of the kernel",
    ),
    known("stdio_call", Unit::Ns, 15.0, "fread, fwrite or fseek itself"),
    known("copy_knee", Unit::Bytes, 0.0, "beyond so many bytes of one call copying costs more; 0 for never"),
    known("byte_beyond_knee", Unit::NsPerByte, 0.0, "what each byte beyond costs on top"),
    known("near_cache", Unit::Bytes, 0.0, "the cache that a CPU has for itself; 0 where all is near"),
    known("far_of_1m", Unit::Share, 0.0, "how far data are of which 1 MiB comes round: of the wait below"),
    known("far_of_1536k", Unit::Share, 0.0, "the same of 1.5 MiB"),
    known("far_of_2m", Unit::Share, 0.16, "the same of 2 MiB"),
    known("far_of_4m", Unit::Share, 0.33, "the same of 4 MiB"),
    known("far_of_8m", Unit::Share, 0.5, "the same of 8 MiB"),
    known("far_of_16m", Unit::Share, 0.67, "the same of 16 MiB"),
    known("far_of_32m", Unit::Share, 0.83, "the same of 32 MiB"),
    known("far_of_64m", Unit::Share, 0.92, "the same of 64 MiB; 1 from 128 MiB on"),
    known("far_small", Unit::Share, 0.0, "the part of what is left that calls of 16 KiB and less wait more"),
    known("far_once_4m", Unit::Share, 0.7, "how far 4 MiB are the second time round"),
    known("far_once_16m", Unit::Share, 0.95, "the same of 16 MiB; 1 from 128 MiB on"),
    known("far_settles", Unit::Bytes, 16_777_216.0, "what each further time brings halfway to the above"),
    known("far_buffer", Unit::NsPerByte, 0.0, "what a buffer waits that the CPU's own cache has no room for"),
    known("far_both", Unit::NsPerByte, 0.0, "the same beside data that are wholly far"),
    known("far_1k", Unit::Ns, 0.0, "what a read of 1 KiB waits for data that are not near"),
    known("far_2k", Unit::Ns, 0.0, "the same of 2 KiB"),
    known("far_4k", Unit::Ns, 0.0, "the same of 4 KiB"),
    known("far_6k", Unit::Ns, 0.0, "the same of 6 KiB"),
    known("far_8k", Unit::Ns, 0.0, "the same of 8 KiB"),
    known("far_16k", Unit::Ns, 0.0, "the same of 16 KiB"),
    known("far_64k", Unit::Ns, 0.0, "the same of 64 KiB"),
    known("far_256k", Unit::Ns, 0.0, "the same of 256 KiB, and of more in proportion"),
    known("jump", Unit::Ns, 0.0, "a read of far data that do not follow those read last"),
    known("jump_2k", Unit::Ns, 0.0, "the same of 2 KiB"),
    known("jump_4k", Unit::Ns, 0.0, "the same of 4 KiB"),
    known("jump_8k", Unit::Ns, 0.0, "the same of 8 KiB"),
    known("jump_16k", Unit::Ns, 0.0, "the same of 16 KiB and more"),
    known("jump_of_4m", Unit::Share, 0.33, "how far a jump is of what 4 MiB come round"),
    known("jump_of_16m", Unit::Share, 0.67, "the same of 16 MiB; 1 from 64 MiB on"),
    known("jump_between", Unit::Ns, 0.0, "what it waits longer for from within a line of the caches"),
    known("far_spread", Unit::Share, 0.0, "the part of a wait for far data that differs, exponentially"),
    known("new_page", Unit::Ns, 1_300.0, "the first write into a page of the cache"),
    known("new_8k", Unit::Ns, 1_450.0, "the first write into a folio of 8 KiB"),
    known("new_16k", Unit::Ns, 1_750.0, "the same of 16 KiB"),
    known("new_64k", Unit::Ns, 3_550.0, "the same of 64 KiB"),
    known("new_256k", Unit::Ns, 10_750.0, "the same of 256 KiB, and of more in proportion"),
    known(
        "walked_page",
        Unit::Ns,
        0.0,
        "a look at one page's buffers of a folio in the cache, of which a write into it takes two at each page",
    ),
    known(
        "first_cache",
        Unit::Bytes,
        0.0,
        "the CPU's first cache, which what is moved pushes buffers out of",
    ),
    known(
        "walked_out",
        Unit::Ns,
        0.0,
        "the same beside it, where the first cache has no room for its buffers",
    ),
    known("walked_far", Unit::Ns, 0.0, "the same beside it, where the folio was not written to for long"),
    known("dirtied_page", Unit::Ns, 0.0, "each page that was clean and is written to"),
    known("new_block", Unit::Ns, 300.0, "the first write into a block of the file"),
    known("submission", Unit::Ns, 12_000.0, "handing a request to the device"),
    known("device_latency", Unit::Ns, 80_000.0, "from there until the first byte is read"),
    known("device_write_latency", Unit::Ns, 90_000.0, "the same of a write"),
    known(
        "device_write_request",
        Unit::Ns,
        0.0,
        "what each write takes of the device that no other request can use meanwhile",
    ),
    known("device_byte", Unit::NsPerByte, 1.0, "each byte that the device moves"),
    known("device_depth", Unit::Count, 32.0, "reads that the device works at side by side"),
    choice("device", DEVICES, "what kind of device it is"),
    known("device_write_byte", Unit::NsPerByte, 0.0, "each byte written; 0 for what a byte read costs"),
    known("limit_read_rate", Unit::Bytes, 0.0, "bytes a second that a token bucket lets be read; 0 for all"),
    known("limit_write_rate", Unit::Bytes, 0.0, "the same of writes"),
    known("limit_read_iops", Unit::Count, 0.0, "requests a second that it lets read; 0 for all"),
    known("limit_write_iops", Unit::Count, 0.0, "the same of writes"),
    known("limit_burst", Unit::Ns, 1e8, "the time for which its buckets hold what is not used"),
    known(
        "limit_slice",
        Unit::Ns,
        0.0,
        "the time for which the block layer's throttle hands out at once; 0 for buckets",
    ),
    known("limit_spent", Unit::Count, 0.0, "how many of its slices were used up just before"),
    known("seek", Unit::Ns, 8e6, "moving a disk's arm across a third of the disk"),
    known("rotation", Unit::Ns, 8.3e6, "a turn of the disk"),
    known("disk", Unit::Bytes, 1e12, "the length of the disk"),
    known("device_flush", Unit::Ns, 100_000.0, "making the device's own cache durable"),
    known("journal_commit", Unit::Ns, 200_000.0, "what a sync waits for the journal beside its data"),
    choice("kernel", KERNELS, "whose rules of read-ahead hold"),
    choice("journal", JOURNALS, "what a sync does with jbd2's journal; for 'price' there is none"),
    known(
        "log_bytes",
        Unit::Bytes,
        0.0,
        "what a sync writes beside its data where there is no jbd2; 0 for journal_commit instead",
    ),
    known(
        "log_requests",
        Unit::Count,
        1.0,
        "in how many writes it does so, of which a control group counts each",
    ),
    known("commit_interval", Unit::Ns, 5e9, "the age at which a transaction is committed"),
    known("dirty_bytes", Unit::Bytes, 0.0, "how much may be dirty; 0 for the ratio"),
    known("dirty_background_bytes", Unit::Bytes, 0.0, "beyond it the flusher writes; 0 for the ratio"),
    known("dirty_ratio", Unit::Count, 20.0, "the same in percent of the memory that may be dirty"),
    known("dirty_background_ratio", Unit::Count, 10.0, "the same of the background"),
    known(
        "dirty_limit",
        Unit::Bytes,
        0.0,
        "what might be dirty before, from where the kernel comes down slowly",
    ),
    known(
        "write_bandwidth",
        Unit::Bytes,
        104_857_600.0,
        "bytes a second that the kernel expects of the device at first",
    ),
    known("dirtyable", Unit::Bytes, 17_179_869_184.0, "free memory, and what files occupy"),
    known("dirty_writeback", Unit::Ns, 5e9, "how often the flusher looks for old data; 0 for never"),
    known("dirty_expire", Unit::Ns, 30e9, "the age at which dirty data are old"),
    known("jiffy", Unit::Ns, 4e6, "the tick of the kernel's clock, in which writers pause"),
    choice("allocation", ALLOCATIONS, "how files are laid out; 'delayed' has extents, chosen at write-back"),
    known("direct_pointers", Unit::Count, 12.0, "pointers in the inode, with indirect blocks"),
    known("pointers_per_indirect", Unit::Count, 0.0, "pointers in a block of them; 0 for as many as fit"),
    known("extent_length", Unit::Bytes, 134_217_728.0, "the longest extent"),
    choice(
        "eviction",
        EVICTIONS,
        "what leaves memory when a file is evicted: its pointers and extents, too?",
    ),
    choice("scheduler", SCHEDULERS, "who decides the order of requests, and merges them"),
    known("nr_requests", Unit::Count, 256.0, "requests that its queue holds"),
    known("read_expire", Unit::Ns, 5e8, "the age at which mq-deadline takes a read out of its order"),
    known("write_expire", Unit::Ns, 5e9, "the same of a write"),
    known("fifo_batch", Unit::Count, 16.0, "requests in order that count as one for it"),
    known("writes_starved", Unit::Count, 2.0, "how often reads go before a write that waits"),
    known("wbt_lat", Unit::Ns, 0.0, "what a read may take before fewer writes may be under way; 0 for never"),
    known("queue", Unit::Count, 256.0, "writes under way before the flusher waits for the device"),
    known("added_folio", Unit::Ns, 0.0, "making room for one more folio that is read from the device"),
    known("added_page", Unit::Ns, 0.0, "each of its pages"),
    known("wake", Unit::Ns, 0.0, "waking up once the device has answered"),
    known("caller", Unit::Ns, 0.0, "what a job does between two calls, clock and bookkeeping"),
    known("caller_written_byte", Unit::NsPerByte, 0.0, "what a job does to each byte before it writes it"),
    known("noise", Unit::Share, 0.05, "the spread of every other time around its mean"),
];

/// Other names that people know parameters by.
pub const ALIASES: &[(&str, &str)] = &[
    ("read_ahead", "readahead"),
    ("ra_pages", "readahead"),
    ("block_size", "block"),
    ("max_folio", "largest_folio"),
    ("memory", "cache"),
    ("queue_depth", "device_depth"),
    ("latency", "device_latency"),
    ("write_latency", "device_write_latency"),
];

impl Unit {
    /// How the unit is written in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Ns => "ns",
            Self::NsPerByte => "ns_per_byte",
            Self::Count => "count",
            Self::Share => "share",
        }
    }
}

/// What there is to know of a parameter.
///
/// # Errors
/// One sentence: there is none of that name or alias.
pub fn known_as(name: &str) -> Result<&'static Known, String> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let known = KNOWN.iter().find(|known| known.name == alias);
    known.ok_or_else(|| format!("there is no parameter '{name}'{}", hint(name)))
}

impl Parameters {
    /// A model of which nothing is known.
    #[must_use]
    pub fn assumed() -> Self {
        let assume = |known: &Known| {
            let parameter = Parameter { value: known.assumed, interval: None, origin: Origin::Assumed };
            (known.name.to_owned(), parameter)
        };
        Self(KNOWN.iter().map(assume).collect())
    }

    /// A parameter.
    ///
    /// # Panics
    /// If there is no parameter of that name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Parameter {
        *self.0.get(name).unwrap_or_else(|| panic!("no parameter '{name}'"))
    }

    /// A parameter's value, in its unit.
    ///
    /// # Panics
    /// If there is no parameter of that name.
    #[must_use]
    pub fn value(&self, name: &str) -> f64 {
        self.parameter(name).value
    }

    /// Every parameter with its name, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Parameter)> {
        self.0.iter().map(|(name, parameter)| (name.as_str(), *parameter))
    }

    /// Puts another parameter in place of one.
    ///
    /// # Errors
    /// One sentence: there is none of that name, or its value is not a length, a time or a number.
    pub fn put(&mut self, name: &str, parameter: Parameter) -> Result<(), String> {
        let known = known_as(name)?;
        let Parameter { value, interval, .. } = parameter;
        let sound = |value: f64| value.is_finite() && value >= 0.0;
        if !sound(value) || interval.is_some_and(|[low, high]| !(low <= value && value <= high)) {
            return Err(format!(
                "'{name}' is {value}, {}: give zero or more, within the interval",
                known.about
            ));
        }
        if !known.words.is_empty() && (value.fract() != 0.0 || value as usize >= known.words.len()) {
            return Err(format!(
                "'{name}' is {value}, {}: give one of {}",
                known.about,
                known.words.join(", ")
            ));
        }
        self.0.insert(known.name.to_owned(), parameter);
        Ok(())
    }

    /// Sets a parameter to what somebody typed: `1M`, `0.5`, `20us`.
    ///
    /// # Errors
    /// One sentence that says what is wrong with the name or the value.
    pub fn set(&mut self, name: &str, typed: &str) -> Result<(), String> {
        let number = |text: &str, factor: f64| text.trim().parse::<f64>().ok().map(|number| number * factor);
        let Known { unit, words, .. } = *known_as(name)?;
        let suffixes: &[(&str, f64)] = match unit {
            Unit::Bytes => {
                &[("K", 1024.0), ("M", 1_048_576.0), ("G", 1_073_741_824.0), ("T", 1_099_511_627_776.0)]
            }
            Unit::Ns => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
            _ => &[],
        };
        let with_suffix = suffixes
            .iter()
            .find_map(|(suffix, factor)| typed.strip_suffix(suffix).and_then(|text| number(text, *factor)));
        let word = words.iter().position(|word| *word == typed).map(|at| at as f64);
        let value = word.or(with_suffix).or_else(|| number(typed, 1.0).filter(|_| words.is_empty()));
        let value = value.ok_or_else(|| match words {
            [] => format!("'{typed}' is no value for '{name}'"),
            _ => format!("'{typed}' is no value for '{name}'; give one of {}", words.join(", ")),
        })?;
        self.put(name, Parameter { value, interval: None, origin: Origin::Set })
    }
}

impl TryFrom<BTreeMap<String, Parameter>> for Parameters {
    type Error = String;

    /// Parameters that are missing are assumed.
    fn try_from(given: BTreeMap<String, Parameter>) -> Result<Self, String> {
        let mut all = Self::assumed();
        given.into_iter().try_for_each(|(name, parameter)| all.put(&name, parameter))?;
        Ok(all)
    }
}

impl From<Parameters> for BTreeMap<String, Parameter> {
    fn from(parameters: Parameters) -> Self {
        parameters.0
    }
}

/// The name that was meant, where one is near.
fn hint(name: &str) -> String {
    let shared = |known: &&Known| {
        let mut letters: Vec<char> = known.name.chars().collect();
        let mut missing = 0;
        for letter in name.chars() {
            match letters.iter().position(|&other| other == letter) {
                Some(at) => _ = letters.remove(at),
                None => missing += 1,
            }
        }
        missing + letters.len()
    };
    let nearest = KNOWN.iter().min_by_key(shared).filter(|known| shared(known) <= 2);
    nearest.map_or_else(String::new, |known| format!("; did you mean '{}'?", known.name))
}

#[cfg(test)]
impl Parameters {
    /// The same with some of them set as somebody types them.
    pub(crate) fn with(mut self, settings: &[(&str, &str)]) -> Self {
        settings.iter().for_each(|(name, value)| self.set(name, value).unwrap());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_typed_with_their_units() {
        let mut parameters = Parameters::assumed();
        for (name, typed, value) in [
            ("readahead", "128K", 131_072.0),
            ("readahead", "4096", 4_096.0),
            ("device_latency", "1.5ms", 1_500_000.0),
            ("device_latency", "20us", 20_000.0),
            ("noise", "0.25", 0.25),
        ] {
            parameters.set(name, typed).unwrap();
            assert_eq!(parameters.value(name), value, "{name}={typed}");
        }
        parameters.set("device", "token_bucket").unwrap();
        assert_eq!(parameters.value("device"), 2.0);
        assert!(parameters.set("device", "9").unwrap_err().contains("queue_and_bus, plain_queue"));
        parameters.set("kernel", "6.6").unwrap();
        assert_eq!(parameters.value("kernel"), 1.0);
        assert!(parameters.set("noise", "1M").is_err() && parameters.set("call", "-1").is_err());
        assert!(parameters.set("nonsense_altogether", "1").unwrap_err().ends_with("altogether'"));
    }

    #[test]
    fn names_are_unique_and_what_is_assumed_is_sound() {
        let mut parameters = Parameters::assumed();
        assert_eq!(parameters.iter().count(), KNOWN.len());
        for known in KNOWN {
            let parameter = Parameter { value: known.assumed, interval: None, origin: Origin::Assumed };
            parameters.put(known.name, parameter).unwrap();
        }
        for (alias, name) in ALIASES {
            assert_eq!(known_as(alias).unwrap().name, *name);
            assert!(KNOWN.iter().all(|known| known.name != *alias), "{alias}");
        }
    }
}
