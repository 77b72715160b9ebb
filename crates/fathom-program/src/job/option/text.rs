//! Values with a language of their own: mixes, distributions, patterns, lists of CPUs.

use std::time::Duration;

use super::super::value::{float, number};
use super::super::{
    Blocks, Course, Distribution, Engine, FileService, OpenSync, Pattern, PatternPart, PrioritySplit, Trim,
};
use super::Draft;
use super::kind::{Value, word};

type Done = Result<(), String>;

/// What stands behind the first colon.
fn postfix(text: &str) -> Option<&str> {
    text.split_once(':').map(|(_, rest)| rest.trim())
}

/// The number that a text begins with, zero where there is none.
fn count(text: &str) -> u32 {
    number(text, 1024).and_then(|number| u32::try_from(number.value).ok()).unwrap_or(0)
}

pub(super) fn direction(draft: &mut Draft, value: &Value<'_>) -> Done {
    let word = word(value.text);
    let base = word.strip_prefix("rand").unwrap_or(word);
    let is_random = base != word;
    draft.job.pattern = if is_random { Pattern::Random } else { Pattern::Sequential };
    (draft.reads, draft.writes) = match base {
        "read" => (true, false),
        "rw" | "readwrite" => (true, true),
        _ => (false, true),
    };
    draft.trim = match base {
        "trim" => Some(Trim::Only),
        "trimwrite" => Some(Trim::BeforeWrite),
        _ => None,
    };
    (draft.job.order.every, draft.job.order.skip) = (1, 0);
    match postfix(value.text) {
        Some(text) if is_random => draft.job.order.every = count(text).max(1),
        Some(text) => {
            let number =
                number(text, draft.kb_base).ok_or_else(|| format!("'{text}' is not a number of bytes"))?;
            draft.job.order.skip = number.value;
        }
        None => {}
    }
    Ok(())
}

pub(super) fn engine(draft: &mut Draft, value: &Value<'_>) -> Done {
    let name = value.text.split(':').next().unwrap_or_default();
    if let Some(reason) = refused_engine(name) {
        return Err(reason);
    }
    if name.contains('/') {
        return Err(format!("'{name}' loads a library: a job file loads none"));
    }
    draft.job.engine = Engine::named(name)
        .ok_or_else(|| format!("there is no engine '{name}'{}", super::nearest(name, Engine::names())))?;
    Ok(())
}

/// Engines that need what a scratch file is not, with the reason.
const REFUSED_ENGINES: &[(&[&str], &str)] = &[
    (&["net", "netsplice", "http", "nbd"], "needs a server on a network"),
    (
        &[
            "rdma",
            "librpma_apm",
            "librpma_gpspm",
            "librpma_apm_server",
            "librpma_apm_client",
            "librpma_gpspm_server",
            "librpma_gpspm_client",
        ],
        "needs RDMA hardware",
    ),
    (&["rbd", "rados", "libcephfs"], "needs a Ceph cluster"),
    (&["gfapi", "gfapi_async"], "needs a GlusterFS volume"),
    (&["libhdfs", "dfs", "libnfs", "nfs"], "needs a file server"),
    (&["libiscsi"], "needs an iSCSI target"),
    (&["pmemblk", "dev-dax", "libpmem", "libpmem2"], "needs persistent memory"),
    (&["mtd", "sg"], "needs a flash or SCSI device of its own"),
    (&["libcufile"], "needs a GPU"),
    (&["io_uring_cmd", "xnvme", "libblkio", "libzbc", "spdk"], "needs an NVMe or zoned device of its own"),
    (&["ime_psync", "ime_psyncv", "ime_aio"], "needs an IME appliance"),
    (&["windowsaio", "solarisaio", "guasi", "syslet-rw"], "is not for Linux"),
    (&["e4defrag"], "rearranges the blocks of ext4 files, and transfers nothing"),
    (&["exec"], "runs a command: a job file runs none"),
    (&["external", "cpp_null"], "loads a library: a job file loads none"),
];

/// Why an engine of this name is refused, if it is one of those.
pub(in super::super) fn refused_engine(name: &str) -> Option<String> {
    let (_, reason) = REFUSED_ENGINES.iter().find(|(names, _)| names.contains(&name))?;
    Some(format!("'{name}' {reason}"))
}

/// `4k/60:64k/40`, per direction: also bounds the block sizes.
pub(super) fn block_split(draft: &mut Draft, value: &Value<'_>) -> Done {
    let lists: Vec<&str> = value.text.trim().splitn(3, ',').collect();
    for side in 0..3 {
        let list = lists[side.min(lists.len() - 1)];
        let mut entries = entries(list, draft.kb_base, false)?;
        if entries.is_empty() {
            continue;
        }
        let given: u64 = entries.iter().filter_map(|&(_, percent)| percent).sum();
        let open = entries.iter().filter(|(_, percent)| percent.is_none()).count() as u64;
        if given > 100 && open > 1 {
            return Err("the percentages add up to more than 100".to_owned());
        }
        entries.sort_by_key(|&(_, percent)| percent);
        let share = 100_u64.saturating_sub(given).checked_div(open).unwrap_or(0);
        let split: Vec<(u64, u8)> =
            entries.iter().map(|&(bytes, percent)| (bytes, percent.unwrap_or(share) as u8)).collect();
        let sizes = || split.iter().map(|&(bytes, _)| bytes);
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        draft.ranges[side] = Some(Blocks { least, most });
        draft.job.order.splits[side] = split;
    }
    Ok(())
}

/// `4k/10:64k/50/2/0`, per direction: sizes with percentages, and perhaps a class and a priority. What trims would have is left
/// out.
pub(super) fn priority_splits(draft: &mut Draft, value: &Value<'_>) {
    let lists: Vec<&str> = value.text.trim().splitn(3, ',').collect();
    for side in 0..2 {
        match priority_list(lists[side.min(lists.len() - 1)], draft.kb_base) {
            Ok(splits) => draft.job.engine_options.priorities.splits[side] = splits,
            Err(reason) => draft.job.engine_options.priorities.trouble = Some(reason),
        }
    }
}

fn priority_list(list: &str, base: i64) -> Result<Vec<PrioritySplit>, String> {
    let entries = list.split(':').take_while(|entry| !entry.is_empty());
    let splits = entries.map(|entry| priority_split(entry, base)).collect::<Result<Vec<_>, _>>()?;
    let splits: Vec<_> = splits.into_iter().filter(|(_, percent, _)| *percent > 0).collect();
    let of = |size: u64| splits.iter().filter(move |(other, ..)| *other == size);
    let sum = |size: u64| of(size).map(|(_, percent, _)| u32::from(*percent)).sum::<u32>();
    match splits.iter().find(|(size, ..)| sum(*size) > 100) {
        Some((size, ..)) => Err(format!("the percentages of {size} bytes add up to more than 100")),
        None => Ok(splits),
    }
}

fn priority_split(entry: &str, base: i64) -> Result<PrioritySplit, String> {
    let wrong = || format!("'{entry}' is no size with a percentage: write 4k/10 or 4k/10/1/0");
    let parts: Vec<&str> = entry.split('/').collect();
    let size = number(parts[0], base).and_then(|size| u64::try_from(size.value).ok()).ok_or_else(wrong)?;
    let part = |at: usize, most: u32| parts.get(at).map_or(0, |text| count(text).min(most) as u8);
    match parts.len() {
        2 => Ok((size, part(1, 100), None)),
        4 => Ok((size, part(1, 100), Some((part(2, 3), part(3, 7))))),
        _ => Err(wrong()),
    }
}

/// `A/B:C/D`: numbers with a second one, which may be missing; the second in percent, or in bytes.
fn entries(text: &str, base: i64, in_bytes: bool) -> Result<Vec<(u64, Option<u64>)>, String> {
    let read = |text: &str| {
        let positive = number(text, base).and_then(|number| u64::try_from(number.value).ok());
        positive.ok_or_else(|| format!("'{text}' is not a number"))
    };
    let one = |entry: &str| {
        let (first, second) = entry.split_once('/').map_or((entry, None), |(a, b)| (a, Some(b)));
        let second = match second {
            Some(text) if in_bytes => Some(read(text)?),
            Some(text) => Some(u64::from(count(text)).min(100)).filter(|&percent| percent > 0),
            None if in_bytes => Some(0),
            None => None,
        };
        Ok((read(first)?, second))
    };
    text.split(':').take_while(|entry| !entry.is_empty()).take(256).map(one).collect()
}

pub(super) fn distribution(draft: &mut Draft, value: &Value<'_>) -> Done {
    let in_bytes = word(value.text) == "zoned_abs";
    let order = &mut draft.job.order;
    order.distribution = match word(value.text) {
        "random" => Distribution::Uniform,
        "zoned" | "zoned_abs" => {
            let zones = entries(postfix(value.text).unwrap_or_default(), draft.kb_base, in_bytes)?;
            order.zones = spread_zones(&zones)?;
            if in_bytes { Distribution::ZonedBytes } else { Distribution::Zoned }
        }
        _ => drawn(value.text)?,
    };
    Ok(())
}

fn spread_zones(zones: &[(u64, Option<u64>)]) -> Result<Vec<(u8, u64)>, String> {
    let accesses: u64 = zones.iter().map(|&(percent, _)| percent).sum();
    if accesses != 100 {
        return Err(format!("the percentages of accesses add up to {accesses}, not to 100"));
    }
    let given: u64 = zones.iter().filter_map(|&(_, size)| size).sum();
    let open = zones.iter().filter(|(_, size)| size.is_none()).count() as u64;
    let share = 100_u64.saturating_sub(given).checked_div(open).unwrap_or(0);
    Ok(zones.iter().map(|&(percent, size)| (percent as u8, size.unwrap_or(share))).collect())
}

/// `zipf:theta`, `pareto:h`, `normal:deviation`, each perhaps with a center behind another colon.
fn drawn(text: &str) -> Result<Distribution, String> {
    let (first, center) = match postfix(text) {
        Some(rest) => rest.split_once(':').map_or((Some(rest), None), |(a, b)| (Some(a), Some(b))),
        None => (None, None),
    };
    let read = |text: &str| float(text).ok_or_else(|| format!("'{text}' is not a number"));
    let first = first.map(read).transpose()?;
    let center = center.map(read).transpose()?;
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err("the center must be within 0 to 1".to_owned());
    }
    match word(text) {
        "zipf" => match first.unwrap_or(1.1) {
            1.0 => Err("zipf is not defined for a theta of 1".to_owned()),
            theta => Ok(Distribution::Zipf(theta, center)),
        },
        "pareto" => match first.unwrap_or(0.2) {
            power if power > 0.0 && power < 1.0 => Ok(Distribution::Pareto(power, center)),
            power => Err(format!("pareto:{power} is not between 0 and 1")),
        },
        _ => match first.unwrap_or(0.0) {
            deviation if (0.0..100.0).contains(&deviation) => Ok(Distribution::Normal(deviation, center)),
            deviation => Err(format!("normal:{deviation} is not within 0 to 100")),
        },
    }
}

pub(super) fn file_service(draft: &mut Draft, value: &Value<'_>) -> Done {
    let every = postfix(value.text).map_or(1, count).max(1);
    draft.job.files.service = match word(value.text) {
        "roundrobin" => FileService::RoundRobin(every),
        "sequential" => FileService::Sequential,
        "random" => FileService::Random(every),
        _ => FileService::Drawn(drawn(value.text)?),
    };
    Ok(())
}

pub(super) fn file_range(draft: &mut Draft, value: &Value<'_>) -> Done {
    let words: Vec<&str> = value.text.split(',').map(word).collect();
    let flags = ["wait_before", "write", "wait_after"].map(|flag| words.contains(&flag));
    let every = postfix(value.text).map_or(1, count).max(1);
    draft.job.durability.range = Some((flags, every));
    Ok(())
}

pub(super) fn open_sync(draft: &mut Draft, value: &Value<'_>) -> Done {
    draft.job.durability.open = match word(value.text) {
        "sync" | "1" => OpenSync::Sync,
        "dsync" => OpenSync::Dsync,
        _ => OpenSync::No,
    };
    Ok(())
}

pub(super) fn steady_state(draft: &mut Draft, value: &Value<'_>) -> Done {
    let limit = postfix(value.text).ok_or("write the bound behind a colon, as in iops:1%")?;
    let (bandwidth, slope) = (word(value.text).starts_with("bw"), word(value.text).ends_with("slope"));
    let percent = limit.contains('%');
    let read = match (percent, bandwidth) {
        (false, true) => number(limit, draft.kb_base).map(|number| number.value as f64),
        _ => float(limit),
    };
    let limit = read.ok_or_else(|| format!("'{limit}' is not a number"))?;
    draft.steady = Some((bandwidth, slope, limit, percent));
    Ok(())
}

/// Bytes in hexadecimal, decimal or double quotes, one after the other; `%o` where the offset may be part of it.
pub(super) fn pattern(text: &str, has_offsets: bool) -> Result<Vec<PatternPart>, String> {
    let wrong = || format!("'{text}' is not a pattern: write 0xdeadbeef, 123 or \"abc\"");
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        if rest.starts_with('\'') {
            return Err("a pattern is not read from a file".to_owned());
        }
        let after_offset = rest.strip_prefix("%o").filter(|_| has_offsets);
        let (part, after) = match (rest.strip_prefix('"'), after_offset) {
            (Some(quoted), _) => {
                let (inside, after) = quoted.split_once('"').ok_or_else(wrong)?;
                (PatternPart::Bytes(inside.bytes().collect()), after)
            }
            (_, Some(after)) => (PatternPart::Offset, after),
            _ => pattern_number(rest).ok_or_else(wrong)?,
        };
        if matches!(&part, PatternPart::Bytes(bytes) if bytes.is_empty() || bytes.len() > 512) {
            return Err(wrong());
        }
        parts.push(part);
        rest = after;
    }
    if parts.is_empty() { Err(wrong()) } else { Ok(parts) }
}

fn pattern_number(text: &str) -> Option<(PatternPart, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let Some(hex) = hex.filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit())) else {
        let sign = usize::from(text.starts_with(['-', '+']));
        let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at + sign);
        // `1230x45` is 123 and then 0x45.
        let end = text.find("0x").filter(|&at| at > 0 && at < end).unwrap_or(end);
        let value: i32 = text[..end].parse().ok()?;
        let used = if value == 0 { 1 } else { (4 - value.leading_zeros() / 8) as usize };
        return Some((PatternPart::Bytes(value.to_le_bytes()[..used].to_vec()), &text[end..]));
    };
    let mut end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
    if hex[end..].starts_with(['x', 'X']) && hex[..end].ends_with('0') {
        end -= 1;
    }
    let digits = if end % 2 == 1 { format!("0{}", &hex[..end]) } else { hex[..end].to_owned() };
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    Some((PatternPart::Bytes(bytes.collect::<Result<_, _>>().ok()?), &hex[end..]))
}

/// The numbers of a list as `0-3,5`: CPUs, or nodes of memory.
///
/// # Errors
/// One sentence with what is not a number, or too large.
pub fn list(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.trim().split(',').take_while(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let read =
            |text: &str| text.trim().parse::<u32>().map_err(|_| format!("'{part}' is not a CPU or a node"));
        let (first, last) = (read(first)?, read(last)?);
        if last >= 4096 {
            return Err(format!("there is no CPU or node {last}"));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

pub(super) fn cpus(draft: &mut Draft, value: &Value<'_>) -> Done {
    draft.job.placement.cpus = list(value.text)?;
    Ok(())
}

pub(super) fn cpu_mask(draft: &mut Draft, value: &Value<'_>) {
    draft.job.placement.cpus = (0..32).filter(|cpu| value.int() >> cpu & 1 == 1).collect();
}

pub(super) fn numa_memory(draft: &mut Draft, value: &Value<'_>) -> Done {
    let (policy, nodes) =
        value.text.split_once(':').map_or((value.text, None), |(policy, nodes)| (policy, Some(nodes)));
    let fits = match policy {
        "default" | "local" => nodes.is_none(),
        "prefer" => nodes.is_some_and(|nodes| nodes.bytes().all(|b| b.is_ascii_digit())),
        "bind" => nodes.is_some(),
        "interleave" => true,
        _ => false,
    };
    if !fits {
        return Err(format!(
            "'{}' is none of default, local, prefer:NODE, bind:NODES, interleave",
            value.text
        ));
    }
    draft.job.placement.numa[1] = Some(value.text.to_owned());
    Ok(())
}

pub(super) fn continues(course: &mut Course, text: &str) {
    course.continues = match word(text) {
        "read" => [true, false, false],
        "write" => [false, true, false],
        "io" => [true, true, false],
        "verify" => [false, false, true],
        "all" | "1" => [true; 3],
        _ => [false; 3],
    };
}

/// The errors that are numbered by their names here; fio knows no others by name either.
const ERRORS: [&str; 34] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN",
    "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR",
    "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK",
    "EPIPE", "EDOM", "ERANGE",
];

/// `READS,WRITES,VERIFIES`, each a list of numbers or names between colons.
pub(super) fn ignored(draft: &mut Draft, value: &Value<'_>) -> Done {
    for (side, list) in value.text.trim().split(',').enumerate().take(3) {
        let one = |name: &str| {
            let named = ERRORS.iter().position(|error| *error == name).map(|at| at as u32 + 1);
            let number = named.unwrap_or_else(|| count(name.trim_start_matches('-')));
            if number > 0 { Ok(number) } else { Err(format!("'{name}' is not an error: write ENOSPC or 28")) }
        };
        let list: Result<Vec<u32>, String> =
            list.split(':').take_while(|name| !name.is_empty()).map(one).collect();
        draft.job.course.ignored[side] = list?;
        draft.job.course.continues[side] |= !draft.job.course.ignored[side].is_empty();
    }
    Ok(())
}

pub(super) fn milliseconds(value: &Value<'_>) -> Duration {
    Duration::from_millis(value.long())
}

/// Percentages, with as many digits as the longest of them has.
pub(super) fn percentiles(draft: &mut Draft, value: &Value<'_>) {
    let digits = |part: &str| {
        let digits = part.split_once('.').map_or("", |(_, rest)| rest);
        digits.bytes().take_while(u8::is_ascii_digit).count().min(9) as u8
    };
    let reporting = &mut draft.job.reporting;
    reporting.percentiles.clone_from(&value.fractions);
    reporting.percentile_digits = value.text.split([':', ',', '-']).map(digits).max().unwrap_or(0);
}

/// The names between colons that no backslash protects.
pub(in crate::job) fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut escaped = false;
    for character in text.trim().chars() {
        let is_end = character == ':' && !escaped;
        if is_end && names.last().is_some_and(|name| !name.is_empty()) {
            names.push(String::new());
        } else if !is_end {
            if escaped && character != ':' {
                names.last_mut().expect("there is one").push('\\');
            }
            escaped = character == '\\' && !escaped;
            if !escaped {
                names.last_mut().expect("there is one").push(character);
            }
            continue;
        }
        escaped = false;
    }
    names.retain(|name| !name.is_empty());
    names
}
/// A log without a name of its own keeps the one that it has.
pub(super) fn log_name(name: &mut Option<String>, value: &Value<'_>) {
    let given = value.text.to_owned();
    if name.is_none() || !given.is_empty() {
        *name = Some(given);
    }
}
