//! Small plots in a line of text.

/// A bar over a share of `width` columns, to an eighth of one.
pub(super) fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] =
        ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    // What is there at all is seen.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "\u{2588}".repeat(eighths / 8), PARTS[eighths % 8])
}

/// Draws a value on a scale from `-most` to `most`: a dot, zero, and the band around zero within which the value may be
/// chance. A value beyond the scale is an arrow at its end.
pub(super) fn around_zero(value: f64, band: f64, most: f64, half: usize) -> String {
    let column = |at: f64| (half as f64 * (1.0 + at / most)).round() as usize;
    let is_within = |at: usize| at >= column(-band.min(most)) && at <= column(band.min(most));
    let dot = match value {
        value if value > most => (2 * half, '\u{25b6}'),
        value if value < -most => (0, '\u{25c0}'),
        value => (column(value), '\u{25cf}'),
    };
    let sign = |at: usize| match at {
        at if at == dot.0 => dot.1,
        at if at == half => '\u{2502}',
        at if is_within(at) => '\u{2500}',
        _ => ' ',
    };
    (0..=2 * half).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(1e-9, 3), "▏");
        assert_eq!(bar(0.0, 3), "");
    }

    #[test]
    fn a_dot_stands_on_its_side_of_zero() {
        assert_eq!(around_zero(0.3, 0.1, 0.5, 5), "    ─│─ ●  ");
        assert_eq!(around_zero(-0.5, 0.0, 0.5, 5), "●    │     ");
        assert_eq!(around_zero(0.0, 0.2, 0.5, 5), "   ──●──   ");
        assert_eq!(around_zero(9.0, 0.0, 0.5, 5), "     │    ▶");
        assert_eq!(around_zero(-9.0, 9.0, 0.5, 5), "◀────│─────");
    }
}
