//! How long writers pause, held against what the kernel's own tracepoints told, event by event.
//!
//! The events were recorded while writers ran into limits of dirty data (`data/balance_dirty_pages.txt`,
//! whose head says on what). The model is given what the kernel found, and must come to what it did.
#![allow(clippy::print_stdout, reason = "the figures behind the assertions")]

use std::fs;

use fathom_model::page_writeback::{Share, Speed, Thresholds, wb_position_ratio};

const EVENTS: &str = include_str!("data/balance_dirty_pages.txt");
/// Names a file of such events of another kernel.
const RECORDED: &str = "FATHOM_PAUSES";
const HZ: u64 = 250;
const MS: i64 = 1000 / HZ as i64;

/// `balance_dirty_pages`; rates in pages a second, times in jiffies.
struct Balance {
    limit: u64,
    dirty: u64,
    wb_setpoint: u64,
    wb_dirty: u64,
    dirty_ratelimit: u64,
    task_ratelimit: u64,
    dirtied: u64,
    pause: i64,
    period: i64,
    think: i64,
}

/// `bdi_dirty_ratelimit`, after the change.
struct Rate {
    avg_bandwidth: u64,
    dirty_rate: u64,
    dirty_ratelimit: u64,
    task_ratelimit: u64,
    balanced: u64,
}

enum Event {
    Balance(Balance),
    Rate(Rate),
}

fn event(line: &str) -> Option<Event> {
    let mut words = line.split_whitespace();
    let kind = words.next().filter(|kind| ["B", "R"].contains(kind))?;
    let n: Vec<i64> = words.skip(2).map(|word| word.parse().unwrap()).collect();
    // KB/s, of pages of 4 KiB.
    let rate = |at: usize| n[at] as u64 / 4;
    match kind {
        "B" => Some(Event::Balance(Balance {
            limit: n[0] as u64,
            dirty: n[1] as u64,
            wb_setpoint: n[2] as u64,
            wb_dirty: n[3] as u64,
            dirty_ratelimit: rate(4),
            task_ratelimit: rate(5),
            dirtied: n[6] as u64,
            pause: n[8] / MS,
            period: n[9] / MS,
            think: n[10] / MS,
        })),
        _ => Some(Event::Rate(Rate {
            avg_bandwidth: rate(0),
            dirty_rate: rate(1),
            dirty_ratelimit: rate(2),
            task_ratelimit: rate(3),
            balanced: rate(4),
        })),
    }
}

/// Whether the events are of another kernel: on an emulated machine they are told late, and now and then in another order.
fn are_recorded() -> bool {
    std::env::var_os(RECORDED).is_some()
}

/// The runs: the thresholds of each, and its events.
fn runs() -> Vec<(Thresholds, Vec<Event>)> {
    let mut runs = Vec::new();
    let recorded = std::env::var_os(RECORDED).map(|path| fs::read_to_string(path).unwrap());
    for line in recorded.as_deref().unwrap_or(EVENTS).lines() {
        if let Some(thresholds) = line.strip_prefix("T ") {
            let (background, limit) = thresholds.split_once(' ').unwrap();
            let thresholds =
                Thresholds { background: background.parse().unwrap(), limit: limit.parse().unwrap() };
            runs.push((thresholds, Vec::new()));
        } else if let Some(event) = event(line) {
            runs.last_mut().expect("thresholds come first").1.push(event);
        }
    }
    runs
}

fn speed(rate: &Rate, thresholds: Thresholds) -> Speed {
    let mut speed = Speed::unknown(HZ, thresholds);
    speed.avg_write_bandwidth = rate.avg_bandwidth;
    speed.dirty_ratelimit = rate.dirty_ratelimit;
    speed.balanced_dirty_ratelimit = rate.balanced;
    speed
}

#[test]
fn nobody_pauses_below_the_mean_of_both_thresholds() {
    for (thresholds, events) in runs() {
        let dirty = events.iter().filter_map(|event| match event {
            Event::Balance(balance) => Some(balance.dirty),
            Event::Rate(_) => None,
        });
        let least = dirty.min().unwrap();
        let most = thresholds.freerun() + if are_recorded() { 128 } else { 64 };
        assert!(least > thresholds.freerun() && least < most, "{least}");
    }
}

#[test]
fn a_writers_rate_and_pause_are_the_kernels() {
    let (mut same, mut all) = ([0_u32; 3], 0_u32);
    let (latest, least) = if are_recorded() { (2, 980) } else { (0, 995) };
    for (thresholds, events) in runs() {
        for (at, event) in events.iter().enumerate() {
            let Event::Balance(balance) = event else { continue };
            // The bandwidth that counts is shown when it is next looked at; by this very call, if it was.
            let just = at.checked_sub(1).and_then(|before| rate(&events[before]));
            let Some(seen) = just.or_else(|| events[at..].iter().find_map(rate)) else { continue };
            let setpoint = u64::midpoint(thresholds.freerun(), balance.limit);
            // It is told rounded down.
            let share = Share {
                limit: balance.wb_setpoint * (thresholds.limit + 1) / setpoint + 1,
                dirty: balance.wb_dirty,
            };
            // The flusher looks at it as well, and tells nothing of that: it is on its way from what was shown last.
            let last = events[..at].iter().rev().find_map(rate).filter(|_| are_recorded());
            let shown = last.unwrap_or(seen);
            let mine = [shown, seen].map(|one| {
                let bandwidth = one.avg_bandwidth;
                let ratio = wb_position_ratio(thresholds, balance.limit, balance.dirty, share, bandwidth);
                (balance.dirty_ratelimit * ratio) >> 10
            });
            let [low, high] = [mine[0].min(mine[1]), mine[0].max(mine[1])];
            let off = balance.task_ratelimit.abs_diff(balance.task_ratelimit.clamp(low, high));
            all += 1;
            same[0] += u32::from(off * 500 <= balance.task_ratelimit);
            let mut speed = speed(seen, thresholds);
            speed.dirty_ratelimit = balance.dirty_ratelimit;
            let longest = speed.wb_max_pause(balance.wb_dirty);
            let (shortest, _) = speed.wb_min_pause(longest, balance.task_ratelimit);
            let (shortest, longest) = (shortest as i64, longest as i64);
            let paid = (HZ * balance.dirtied).checked_div(balance.task_ratelimit).map(|paid| paid as i64);
            let period = paid.unwrap_or(longest);
            same[1] += u32::from(period == balance.period);
            let pause = |think: i64| {
                let due = period - think;
                // Where a task goes on without a pause, what it owes is not told, but what it has ahead is.
                match paid {
                    None => longest,
                    Some(_) if due < shortest => due.min(0),
                    Some(_) => due.min(longest),
                }
            };
            // The longest pause follows a bandwidth that may be looked at in between: a tick more or less. How long it thought
            // is looked at once more to be told, which an emulated machine does some ticks later.
            let is_same = |late| (pause(balance.think - late) - balance.pause).abs() <= 1;
            same[2] += u32::from((0..=latest).any(is_same));
        }
    }
    println!("rate, period, pause: {same:?} of {all}");
    assert!(all > 500 && same.iter().all(|same| same * 1000 >= all * least), "{same:?} of {all}");
}

fn rate(event: &Event) -> Option<&Rate> {
    match event {
        Event::Rate(rate) => Some(rate),
        Event::Balance(_) => None,
    }
}

#[test]
fn the_rate_goes_on_as_the_kernels_does() {
    let (mut same, mut all) = ([0_u32; 2], 0_u32);
    for (thresholds, events) in runs() {
        let mut before: Option<&Rate> = None;
        for pair in events.windows(2) {
            let [Event::Rate(now), Event::Balance(balance)] = pair else { continue };
            if let Some(before) = before.replace(now) {
                let setpoint = u64::midpoint(thresholds.freerun(), balance.limit);
                // The rate is shown as it is left.
                let balanced = now.task_ratelimit * now.avg_bandwidth / (now.dirty_rate | 1);
                let balanced = balanced.min(now.avg_bandwidth);
                let is_below = balance.dirty < setpoint;
                let next = speed(before, thresholds).next_ratelimit(balanced, now.task_ratelimit, is_below);
                all += 1;
                same[0] += u32::from(balanced == now.balanced);
                same[1] += u32::from(next == now.dirty_ratelimit);
            }
        }
    }
    println!("balanced, next: {same:?} of {all}");
    assert!(all > 30 && same.iter().all(|same| same * 100 >= all * 95), "{same:?} of {all}");
}
