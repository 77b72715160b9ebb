use super::*;

const THRESHOLDS: Thresholds = Thresholds { background: 16_384, limit: 51_200 };

fn found(dirty: u64) -> Found {
    Found { dirty, writeback: 0, is_flushing: false }
}

#[test]
fn below_the_mean_of_both_thresholds_nobody_pauses_and_above_it_everybody_does() {
    let mut speed = Speed::unknown(250, THRESHOLDS);
    let mut task = Dirtier::default();
    let below = speed.balance_dirty_pages(&mut task, found(THRESHOLDS.freerun()), THRESHOLDS, 1_000);
    assert_eq!(below, Balance { wakes_flusher: true, pause: 0 });
    // 17,408 pages are left to the limit: 2^(14 / 2).
    assert_eq!(task.nr_dirtied_pause, 128);
    task.nr_dirtied = 1_000;
    let above = speed.balance_dirty_pages(&mut task, found(THRESHOLDS.freerun() + 1), THRESHOLDS, 1_000);
    assert!(above.pause > 0);
    task.nr_dirtied = 1;
    let at_the_limit = speed.balance_dirty_pages(&mut task, found(THRESHOLDS.limit), THRESHOLDS, 1_010);
    assert_eq!(at_the_limit.pause, 50, "nothing may be written until less is dirty: 200 ms");
    assert!(task.must_look(&speed));
}

#[test]
fn at_the_setpoint_a_writer_is_as_fast_as_the_device() {
    let setpoint = THRESHOLDS.freerun().midpoint(THRESHOLDS.limit);
    let share = |dirty| Share { limit: THRESHOLDS.limit, dirty };
    let ratio = |dirty| wb_position_ratio(THRESHOLDS, THRESHOLDS.limit, dirty, share(dirty), 25_600);
    assert!(ratio(setpoint).abs_diff(1024) <= 1, "{}", ratio(setpoint));
    assert!(ratio(THRESHOLDS.freerun()) > 2_000 && ratio(THRESHOLDS.limit - 100) < 100);
    assert_eq!(ratio(THRESHOLDS.limit), 0);
}

#[test]
fn one_writer_comes_to_the_pace_of_a_device_of_another_speed_than_was_thought() {
    for per_second in [2_560, 12_800, 102_400_u64] {
        let (mut speed, mut task) = (Speed::unknown(250, THRESHOLDS), Dirtier::default());
        let (mut dirty, mut now, mut paused_until, mut written) = (0, 0, 0, 0);
        let mut counted = 0;
        // Jiffy by jiffy: the device takes its pages, and the writer makes as many as it may.
        for jiffy in 0..250 * 60 {
            now = jiffy;
            let taken = (per_second * (jiffy + 1) / 250 - per_second * jiffy / 250).min(dirty);
            dirty -= taken;
            speed.written += taken;
            if jiffy >= 250 * 30 {
                written += taken;
            }
            while now >= paused_until {
                (dirty, speed.dirtied) = (dirty + 32, speed.dirtied + 32);
                task.nr_dirtied += 32;
                counted += if jiffy >= 250 * 30 { 32 } else { 0 };
                if task.must_look(&speed) {
                    let pause = speed.balance_dirty_pages(&mut task, found(dirty), THRESHOLDS, now).pause;
                    paused_until = if pause > 0 { now + pause } else { paused_until };
                }
            }
        }
        let pace = counted as f64 / written as f64;
        assert!((0.95..1.05).contains(&pace), "{pace} of {per_second} pages a second at jiffy {now}");
        assert!((THRESHOLDS.freerun()..THRESHOLDS.limit).contains(&dirty), "{dirty}");
    }
}
