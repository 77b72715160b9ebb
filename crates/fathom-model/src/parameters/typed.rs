//! Parameters as somebody types them: `readahead=1M`, `far_of=4M:0.2,8M:0.4`, `device=plain_queue`.

use fathom_program::job::distance;

use super::{CHOICES, ChoiceRow, Curve, Number, Origin, Parameter, Parameters, Scalar, Unit};

/// Other names for parameters, which people know from elsewhere.
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

const SIZES: &[(&str, f64)] =
    &[("K", 1024.0), ("M", 1_048_576.0), ("G", 1_073_741_824.0), ("T", 1_099_511_627_776.0)];
const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A number: a scalar, or one point of a curve.
    Number(Number),
    /// A curve as a whole.
    Curve(Curve),
    /// A choice.
    Choice(&'static ChoiceRow),
}

/// Finds what a name or an alias stands for. `jump` alone is a point of the curve of that name.
///
/// # Errors
/// One sentence: there is no such parameter, and which name is near.
pub fn named(name: &str) -> Result<Named, String> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let found = all().find(|(name, _)| name == alias);
    found.map(|(_, named)| named).ok_or_else(|| format!("there is no parameter '{name}'{}", hint(name)))
}

/// The names of all choices, scalars and curves.
pub fn names() -> impl Iterator<Item = &'static str> {
    let scalars = Scalar::ALL.iter().map(|scalar| scalar.row().name);
    let curves = Curve::ALL.iter().map(|curve| curve.row().name);
    CHOICES.iter().map(|choice| choice.name).chain(scalars).chain(curves)
}

fn all() -> impl Iterator<Item = (String, Named)> {
    let numbers = Number::all().map(|number| (number.name(), Named::Number(number)));
    let choices = CHOICES.iter().map(|choice| (choice.name.to_owned(), Named::Choice(choice)));
    let curves = Curve::ALL.iter().map(|&curve| (curve.row().name.to_owned(), Named::Curve(curve)));
    numbers.chain(choices).chain(curves)
}

/// The name that was meant, where one is near.
fn hint(name: &str) -> String {
    let nearest = all().map(|(known, _)| (distance(name, &known), known)).min_by_key(|(far, _)| *far);
    nearest
        .filter(|(far, _)| *far <= 2)
        .map_or_else(String::new, |(_, known)| format!("; did you mean '{known}'?"))
}

/// A size as it is typed: `512`, `4K`, `1536K`, `64M`.
pub(super) fn size(bytes: u32) -> String {
    match bytes {
        mib if mib.is_multiple_of(1 << 20) => format!("{}M", mib >> 20),
        kib if kib.is_multiple_of(1 << 10) => format!("{}K", kib >> 10),
        bytes => bytes.to_string(),
    }
}

/// A number as it is typed, with or without one of the suffixes.
fn value(typed: &str, unit: Unit) -> Option<f64> {
    let suffixes = match unit {
        Unit::Bytes => SIZES,
        Unit::Ns => TIMES,
        _ => &[],
    };
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let with_suffix = |(suffix, factor): &(&str, f64)| Some(number(typed.strip_suffix(suffix)?)? * factor);
    suffixes.iter().find_map(with_suffix).or_else(|| number(typed))
}

impl Curve {
    /// The curve with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|curve| curve.row().name == name)
    }

    /// The point at a size in bytes.
    ///
    /// # Errors
    /// One sentence that lists the sizes at which it has points.
    pub fn at(self, bytes: f64) -> Result<Number, String> {
        let found = self.numbers().find(|point| f64::from(point.bytes()) == bytes);
        found.ok_or_else(|| {
            let sizes: Vec<String> = self.numbers().map(|point| size(point.bytes())).collect();
            format!(
                "'{}' has no point at {bytes} bytes; it has points at {}",
                self.row().name,
                sizes.join(", ")
            )
        })
    }
}

impl Parameters {
    /// Sets a parameter to what a user typed: `1M`, `0.5`, `20us`, a choice's word, or points of a curve, each with its size and
    /// its height: `4M:0.2,8M:0.4`. The curve's other points stay.
    ///
    /// # Errors
    /// One sentence that says what is wrong with the name or the value.
    pub fn set(&mut self, name: &str, typed: &str) -> Result<(), String> {
        let points = Curve::named(name).filter(|_| typed.contains(':')).map(Named::Curve);
        match points.map_or_else(|| named(name), Ok)? {
            Named::Choice(choice) => self.choices.choose(choice, typed),
            Named::Number(number) => self.set_number(name, number, typed),
            Named::Curve(curve) => typed.split(',').try_for_each(|point| {
                let (at, height) = point.split_once(':').ok_or_else(|| {
                    let example = size(curve.row().points[0].0);
                    format!("'{point}' is no point of the curve '{name}': give a size and a height, as in {name}={example}:1")
                })?;
                let at = value(at, Unit::Bytes).ok_or_else(|| format!("'{at}' is no size in bytes"))?;
                self.set_number(name, curve.at(at)?, height)
            }),
        }
    }

    fn set_number(&mut self, name: &str, number: Number, typed: &str) -> Result<(), String> {
        let value =
            value(typed, number.row().unit).ok_or_else(|| format!("'{typed}' is no value for '{name}'"))?;
        let parameter = Parameter { value, interval: None, origin: Origin::Set }.checked(name)?;
        self.put(number, parameter);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::parameters::{Device, Scalar};

    #[test]
    fn values_are_typed_with_their_units() {
        let mut parameters = Parameters::assumed();
        for (name, typed, scalar, value) in [
            ("readahead", "128K", Scalar::Readahead, 131_072.0),
            ("ra_pages", "4096", Scalar::Readahead, 4_096.0),
            ("device_latency", "1.5ms", Scalar::DeviceLatency, 1_500_000.0),
            ("latency", "20us", Scalar::DeviceLatency, 20_000.0),
            ("noise", "0.25", Scalar::Noise, 0.25),
        ] {
            parameters.set(name, typed).unwrap();
            assert_eq!(parameters[scalar], value, "{name}={typed}");
            assert_eq!(parameters.number(scalar).origin, Origin::Set);
        }
        parameters.set("device", "token_bucket").unwrap();
        parameters.set("kernel", "6.6").unwrap();
        assert_eq!(
            (parameters.choices.device, parameters.choices.kernel),
            (Device::TokenBucket, Kernel::V6_6)
        );
        assert!(parameters.set("device", "9").unwrap_err().contains("queue_and_bus, plain_queue"));
        assert!(parameters.set("noise", "1M").is_err() && parameters.set("call", "-1").is_err());
        assert!(parameters.set("nonsense_altogether", "1").unwrap_err().ends_with("altogether'"));
        assert!(parameters.set("devise", "empirical").unwrap_err().ends_with("did you mean 'device'?"));
    }

    #[test]
    fn curves_are_typed_by_their_points_or_one_point_by_its_name() {
        let mut parameters = Parameters::assumed();
        parameters.set("far_of", "1536K:0.1,4M:0.25").unwrap();
        parameters.set("far_of_8m", "0.4").unwrap();
        let heights: Vec<f64> =
            parameters.curve(Curve::FarOf).into_iter().map(|(_, height)| height).collect();
        assert_eq!(heights, [0.0, 0.1, 0.16, 0.25, 0.4, 0.67, 0.83, 0.92]);
        parameters.set("jump", "1us").unwrap();
        parameters.set("jump", "2K:2us").unwrap();
        parameters.set("new_page", "3us").unwrap();
        assert_eq!(parameters.curve(Curve::Jump)[..2], [(512.0, 1_000.0), (2_048.0, 2_000.0)]);
        assert_eq!(parameters.curve(Curve::New)[0], (4_096.0, 3_000.0));
        for (name, typed, said) in [
            ("far_of", "3M:0.1", "points at 1M, 1536K, 2M"),
            ("far_of", "0.1", "as in far_of=1M:1"),
            ("far_of", "4M:much", "'much'"),
            ("far_of", "x:1", "'x' is no size"),
            ("far_of_3m", "1", "did you mean 'far_of_"),
            ("near", "4K:-1", "zero or more"),
        ] {
            let error = parameters.set(name, typed).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn names_are_unique_and_what_is_assumed_is_sound() {
        let mut names: Vec<String> = all().map(|(name, _)| name).collect();
        // A curve and its first point.
        let twice = names.iter().position(|name| name == "jump").unwrap();
        names.remove(twice);
        names.extend(ALIASES.iter().map(|(alias, _)| (*alias).to_owned()));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ALIASES.iter().all(|(_, name)| named(name).is_ok()));
        for (number, parameter) in Parameters::assumed().iter() {
            assert_eq!(Ok(parameter), parameter.checked(&number.name()));
            assert_eq!(parameter, number.assumed());
            assert!(number.row().about.ends_with('.'), "{}", number.name());
        }
    }
}
