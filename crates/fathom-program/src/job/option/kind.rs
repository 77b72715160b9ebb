//! The types of fio's options: which texts each takes, and what they are read as.

use super::super::value::{self, Number};

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Kind {
    /// One to three numbers, or more that are ignored.
    Numbers { least: i64, most: i64, unit: Unit },
    /// A number that is 0 or 1; for the name alone it is 1 where `alone`.
    Switch { alone: bool },
    /// One of these, perhaps with more behind a colon.
    Choice(&'static [&'static str]),
    /// Several of these between commas.
    Choices(&'static [&'static str]),
    /// Any text but an empty one.
    Text,
    /// Any text, or none where the name stands alone.
    TextOrNone,
    /// So many fractions up to a bound between colons.
    Fractions(usize, f64),
    /// One to three ranges.
    Ranges,
    /// A name that fio still knows and ignores.
    Ignored,
    /// A name that fio knows and refuses.
    Gone,
}

/// What a bare number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Unit {
    /// Bytes, or anything by the piece.
    One,
    /// The same, or a percentage, or zones.
    Share,
    /// Microseconds.
    Micros,
    /// Seconds.
    Seconds,
}

/// 32 bits.
pub(in super::super) const INT: Kind = numbers(0, u32::MAX as i64);
/// 63 bits.
pub(in super::super) const LONG: Kind = numbers(0, i64::MAX);
pub(in super::super) const PERCENT: Kind = numbers(0, 100);
pub(in super::super) const SHARE: Kind = Kind::Numbers { least: 0, most: i64::MAX, unit: Unit::Share };
pub(in super::super) const MICROS: Kind = Kind::Numbers { least: 0, most: i64::MAX, unit: Unit::Micros };
pub(in super::super) const SECONDS: Kind = Kind::Numbers { least: 0, most: i64::MAX, unit: Unit::Seconds };
pub(in super::super) const BOOL: Kind = Kind::Switch { alone: false };
pub(in super::super) const FLAG: Kind = Kind::Switch { alone: true };

pub(in super::super) const fn numbers(least: i64, most: i64) -> Kind {
    Kind::Numbers { least, most, unit: Unit::One }
}

/// What was read.
#[derive(Debug, Default)]
pub(in super::super) struct Value<'a> {
    /// The text as it stands; empty where the name stands alone.
    pub(in super::super) text: &'a str,
    numbers: Vec<Option<Number>>,
    ranges: Vec<Option<(Number, Number)>>,
    pub(in super::super) fractions: Vec<f64>,
}

impl Value<'_> {
    /// The first number.
    pub(in super::super) fn long(&self) -> u64 {
        self.first().map_or(0, |number| number.value as u64)
    }

    pub(in super::super) fn int(&self) -> u32 {
        self.long() as u32
    }

    pub(in super::super) fn on(&self) -> bool {
        self.long() != 0
    }

    /// The first number as a time.
    pub(in super::super) fn time(&self) -> std::time::Duration {
        std::time::Duration::from_micros(self.long())
    }

    pub(in super::super) fn first(&self) -> Option<Number> {
        self.numbers.first().copied().flatten()
    }

    /// The second number, or the first where there is one alone.
    pub(in super::super) fn second(&self) -> u64 {
        self.each()[1].unwrap_or(self.long())
    }

    /// The numbers for reads, writes and trims: one stands for all, and the last for those that follow. What is left
    /// out stays as it was.
    pub(in super::super) fn each(&self) -> [Option<u64>; 3] {
        spread(&self.numbers).map(|number| number.map(|number| number.value as u64))
    }

    /// The same of ranges.
    pub(in super::super) fn each_range(&self) -> [Option<(u64, u64)>; 3] {
        spread(&self.ranges).map(|range| range.map(|(low, high)| (low.value as u64, high.value as u64)))
    }

    /// Whether a first number was asked for and is not there.
    pub(in super::super) fn is_void(&self) -> bool {
        !self.numbers.is_empty() && self.first().is_none()
    }

    /// What fio takes the value for, where it drops some of the text.
    pub(in super::super) fn taken_for(&self) -> Option<i64> {
        let ranges = self.ranges.iter().flatten().flat_map(|&(low, high)| [low, high]);
        self.numbers.iter().flatten().copied().chain(ranges).find(|number| !number.is_whole).map(|n| n.value)
    }
}

fn spread<T: Copy>(parts: &[Option<T>]) -> [Option<T>; 3] {
    let part = |at: usize| parts.get(at).copied().flatten();
    match parts.len() {
        0 => [None; 3],
        1 => [part(0); 3],
        2 => [part(0), part(1), part(1)],
        _ => [part(0), part(1), part(2)],
    }
}

impl Kind {
    /// Reads a value as fio does, for which a list is good where one of its parts is.
    pub(in super::super) fn read(self, text: Option<&str>, base: i64) -> Result<Value<'_>, String> {
        let wanted = |what: &str| Err(format!("needs a value: {what}"));
        let Some(text) = text else {
            return match self {
                Kind::Switch { alone: true } => Kind::read(self, Some("1"), base),
                Kind::TextOrNone => Ok(Value::default()),
                _ => wanted("write it behind '='"),
            };
        };
        let mut value = Value { text, ..Value::default() };
        match self {
            Kind::Numbers { least, most, unit } => {
                let one = |text: &str| bounded(text, base, least, most, unit);
                value.numbers = parts(text, true, one)?;
            }
            Kind::Switch { alone } => value.numbers = parts(text, true, |text| switch(text, alone))?,
            Kind::Ranges => value.ranges = parts(text, false, |text| range(text, base))?,
            Kind::Fractions(most, bound) => value.fractions = fractions(text, most, bound)?,
            Kind::Choice(choices) => is_one(text, choices)?,
            Kind::Choices(choices) => {
                parts(text, false, |text| is_one(text, choices))?;
            }
            Kind::Text if text.is_empty() => return wanted("it is empty"),
            Kind::Gone => return Err("fio no longer has it".to_owned()),
            Kind::Text | Kind::TextOrNone | Kind::Ignored => {}
        }
        Ok(value)
    }

    /// Words for the documentation.
    pub(in super::super) fn words(self) -> String {
        match self {
            Kind::Numbers { unit: Unit::Micros, .. } => "time (us)".to_owned(),
            Kind::Numbers { unit: Unit::Seconds, .. } => "time (s)".to_owned(),
            Kind::Numbers { unit: Unit::Share, .. } => "bytes or N%".to_owned(),
            Kind::Numbers { least, most, .. } if most < 1 << 30 => format!("{least} to {most}"),
            Kind::Numbers { .. } => "number".to_owned(),
            Kind::Switch { alone: false } => "0 or 1".to_owned(),
            Kind::Switch { alone: true } => "flag".to_owned(),
            Kind::Choice(words) | Kind::Choices(words) => words.join(", "),
            Kind::Text | Kind::TextOrNone => "text".to_owned(),
            Kind::Fractions(..) => "fractions".to_owned(),
            Kind::Ranges => "LOW-HIGH".to_owned(),
            Kind::Ignored | Kind::Gone => "-".to_owned(),
        }
    }
}

/// The parts of a list, those that can't be read left out; an error where none can. fio begins a new part at the first
/// comma, or without one, in lists of numbers, at a colon or hyphen, and reads each part to the next comma.
fn parts<T>(
    text: &str,
    is_numbers: bool,
    one: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<Option<T>>, String> {
    let (mut parts, mut error, mut rest) = (Vec::new(), None, text);
    loop {
        let next = rest.find(',').or_else(|| rest.find(':').filter(|_| is_numbers));
        let next = next.or_else(|| rest.find('-').filter(|_| is_numbers));
        let part = one(rest.split(',').next().unwrap_or_default());
        parts.push(part.map_err(|reason| error.get_or_insert(reason).clone()).ok());
        match next {
            Some(at) => rest = &rest[at + 1..],
            None => break,
        }
    }
    if parts.iter().all(Option::is_none) {
        return Err(error.unwrap_or_default());
    }
    Ok(parts)
}

fn bounded(text: &str, base: i64, least: i64, most: i64, unit: Unit) -> Result<Number, String> {
    if text.ends_with('z') {
        return Err(format!("'{text}': sizes in zones need a zoned block device, which is not supported"));
    }
    let number = match unit {
        Unit::One | Unit::Share => value::number(text, base),
        Unit::Micros => value::time(text, 1),
        Unit::Seconds => value::time(text, 1_000_000),
    };
    let what = if matches!(unit, Unit::Micros | Unit::Seconds) {
        "a time: write 10, 10s, 5m, 2h, 100ms or 50us"
    } else {
        "a number: write digits and k, m, g or t, as in 4096, 4k or 1g"
    };
    let number = number.ok_or_else(|| format!("'{text}' is not {what}"))?;
    if number.is_percent && unit != Unit::Share {
        return Err(format!("'{text}': this option takes no percentage"));
    }
    if number.is_percent && number.value > 100 {
        return Err(format!("'{text}' is not a percentage: write 1% to 100%"));
    }
    if number.value > most {
        return Err(format!("{} is more than {most}", number.value));
    }
    if number.value < least {
        return Err(format!("{} is less than {least}", number.value));
    }
    Ok(number)
}

fn switch(text: &str, alone: bool) -> Result<Number, String> {
    value::switch(text)
        .filter(|number| alone || number.value <= 1)
        .ok_or_else(|| format!("'{text}' is neither 0 nor 1"))
}

fn range(text: &str, base: i64) -> Result<(Number, Number), String> {
    value::range(text, base).ok_or_else(|| format!("'{text}' is not a range: write 4k-16k"))
}

fn fractions(text: &str, most: usize, bound: f64) -> Result<Vec<f64>, String> {
    let one = |text: &str| {
        let value = value::float(text).ok_or_else(|| format!("'{text}' is not a number"))?;
        let is_inside = bound == f64::MAX || (0.0..=bound).contains(&value);
        if is_inside { Ok(value) } else { Err(format!("{value} is not within 0 to {bound}")) }
    };
    let read: Vec<Result<f64, String>> = text.split(':').map(one).collect();
    let good: Vec<f64> = read.iter().flatten().copied().take(most).collect();
    match read.into_iter().next() {
        Some(Err(reason)) if good.is_empty() => Err(reason),
        _ => Ok(good),
    }
}

/// What stands before the first comma, or the first colon where there is none.
pub(in super::super) fn word(text: &str) -> &str {
    let end = text.find(',').or_else(|| text.find(':')).unwrap_or(text.len());
    &text[..end]
}

fn is_one(text: &str, choices: &[&str]) -> Result<(), String> {
    if choices.contains(&word(text)) {
        return Ok(());
    }
    Err(format!("'{text}' is none of {}", choices.join(", ")))
}
