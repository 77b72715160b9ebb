//! What a replay came to, as text.

use fathom_program::units::{Bytes, Nanos};
use fathom_run::replay::{Moved, Replayed};

/// The result of a replay as text: what was done, and how fast reads and writes were.
pub fn replay(replayed: &Replayed) -> String {
    let elapsed = replayed.elapsed.as_secs_f64();
    let way = |name: &str, moved: &Moved| {
        let per_second = Bytes((moved.bytes as f64 / elapsed.max(1e-9)) as u64);
        let inside = Nanos(moved.time.as_nanos() as f64 / moved.operations.max(1) as f64);
        let Moved { operations, bytes, different, .. } = moved;
        let bytes = Bytes(*bytes);
        format!(
            "{name}: {operations}, {bytes}, {per_second}/s, {inside} each; {different} moved other than in the trace\n"
        )
    };
    format!(
        "{} threads in {}; {} laid out, {} operations left out; nothing was left behind.\n{}{}",
        replayed.threads,
        Nanos(elapsed * 1e9),
        Bytes(replayed.laid_out_bytes),
        replayed.left_out,
        way("reads", &replayed.reads),
        way("writes", &replayed.writes)
    )
}
