//! Two clients of one server: each believes for as long as planted what the other has changed meanwhile.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_fuse::Plan;
use fathom_scripted::support::{TestDirectory, require};

const PLANTED: Duration = Duration::from_secs(1);
/// The kernel counts in ticks of up to 10 ms, and a busy machine is late.
const EARLIER: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_secs(2);

/// How long after `asked` the first client has seen what `is_seen` looks for.
fn seen_after(asked: Instant, mut is_seen: impl FnMut() -> bool) -> Duration {
    while !is_seen() {
        assert!(asked.elapsed() < PLANTED + LATER, "a change by another client is never seen");
        std::thread::sleep(Duration::from_millis(1));
    }
    asked.elapsed()
}

#[test]
fn what_another_client_changes_is_seen_after_the_planted_time_and_not_before() {
    const NAME: &str = "two clients of one server";
    let place = TestDirectory::new("two-clients");
    let [one, other] = ["one", "other"].map(|name| place.join(name));
    [&one, &other].into_iter().for_each(|point| fs::create_dir(point).unwrap());
    let plan: Plan = "attr=1s,entry=1s,negative=1s".parse().unwrap();
    let served = fathom_fuse::clients(&[&one, &other], plan);
    let reason = served.as_ref().err().map(ToString::to_string).unwrap_or_default();
    if !require(NAME, served.is_ok(), &reason) {
        return;
    }
    let size = |of: &Path| fs::metadata(of.join("grows")).unwrap().len();
    let there = |of: &Path, name: &str| of.join(name).exists();
    fs::write(other.join("grows"), "a").unwrap();
    fs::write(other.join("goes"), "a").unwrap();

    type IsSeen<'a> = Box<dyn Fn() -> bool + 'a>;
    let changes: [(&str, IsSeen, IsSeen); 3] = [
        ("size", Box::new(|| size(&one) == 3), Box::new(|| fs::write(other.join("grows"), "abc").is_ok())),
        (
            "new name",
            Box::new(|| there(&one, "comes")),
            Box::new(|| fs::write(other.join("comes"), "a").is_ok()),
        ),
        (
            "old name",
            Box::new(|| !there(&one, "goes")),
            Box::new(|| fs::remove_file(other.join("goes")).is_ok()),
        ),
    ];
    for (what, is_seen, change) in changes {
        // What the first client asks now it may believe for as long as planted.
        let asking = Instant::now();
        assert!(!is_seen(), "{what}");
        assert!(change(), "{what}");
        if asking.elapsed() > PLANTED / 2 {
            // So busy a machine shows nothing.
            continue;
        }
        let after = seen_after(asking, is_seen);
        assert!(after + EARLIER >= PLANTED, "{what}: seen after {after:?}");
    }
    // The one who made the changes sees them at once.
    assert_eq!((size(&other), there(&other, "comes"), there(&other, "goes")), (3, true, false));
}
