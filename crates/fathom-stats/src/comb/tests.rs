use super::*;
use crate::planted::{Planted, Score};

/// Latency per position: what an append costs within a block, at its start, at a page's start.
#[derive(Clone, Copy)]
struct Shape {
    positions: usize,
    block: usize,
    page: usize,
    interior: f64,
    tooth: f64,
    tall: f64,
    after_tall: f64,
}

impl Shape {
    fn latencies(&self) -> Vec<f64> {
        (0..self.positions)
            .map(|i| {
                let base = if i % self.page == 0 {
                    self.tall
                } else if i % self.block == 0 {
                    self.tooth
                } else if i % self.page == 1 {
                    self.after_tall
                } else {
                    // Uneven by up to 3 % within a block, the same in every round.
                    self.interior * (1.0 + 0.03 * ((i % self.block) as f64 / self.block as f64))
                };
                // The first operations pay for setting up; single peaks stand at indirect blocks.
                let odd = if i < 3 { 2.0 } else { 1.0 };
                let peak = if i == 12 * self.block || i == 101 { 3.0 } else { 1.0 };
                base * odd * peak
            })
            .collect()
    }
}

/// The tables of small appends that were measured on real file systems.
fn measured_shapes() -> Vec<(&'static str, Shape)> {
    let shape = |block, page, interior, tooth, tall, after_tall| Shape {
        positions: 256,
        block,
        page,
        interior,
        tooth,
        tall,
        after_tall,
    };
    vec![
        ("ext2 1 KiB", shape(4, 16, 1720.0, 5020.0, 7500.0, 1720.0)),
        ("ext2 2 KiB", shape(8, 16, 1470.0, 4570.0, 6200.0, 1470.0)),
        ("ext4 1 KiB", shape(4, 16, 960.0, 1600.0, 3700.0, 960.0)),
        ("ext4 2 KiB", shape(8, 16, 890.0, 1640.0, 2960.0, 890.0)),
        ("ext4 4 KiB", shape(16, 16, 950.0, 4600.0, 4600.0, 1500.0)),
        ("xfs 1 KiB", shape(4, 16, 1830.0, 2330.0, 3650.0, 1830.0)),
        ("xfs 4 KiB", shape(16, 16, 1520.0, 3100.0, 3100.0, 1520.0)),
        ("btrfs 4 KiB", shape(16, 16, 2720.0, 3700.0, 3700.0, 3550.0)),
    ]
}

fn found(latencies: &[f64], positions: usize) -> Result<Combs, NoComb> {
    find(&Rounds::new(latencies, positions).unwrap(), &Options::default())
}

/// Scores both periods of a shape over seeds.
fn score(shape: &Shape, rounds: usize, sigma: f64, seeds: u64) -> (Score, Score) {
    let (mut fundamental, mut taller) = (Score::default(), Score::default());
    let levels = shape.latencies();
    for seed in 0..seeds {
        let latencies = Planted::new(seed).rounds(&levels, rounds, sigma, 0.2, 26.0);
        let combs = found(&latencies, shape.positions);
        fundamental.count(combs.as_ref().ok().map(|c| c.fundamental.period == shape.block));
        taller.count(combs.as_ref().ok().and_then(|c| match c.taller {
            Ok(comb) => Some(comb.period == shape.page && shape.page > shape.block),
            Err(NoComb::Absent { .. }) => Some(shape.page == shape.block),
            Err(_) => None,
        }));
    }
    (fundamental, taller)
}

#[test]
fn both_periods_of_measured_file_systems_are_found() {
    for (name, shape) in measured_shapes() {
        for (sigma, rounds) in [(0.05, 30), (0.15, 60), (0.3, 100)] {
            let (fundamental, taller) = score(&shape, rounds, sigma, 40);
            fundamental.assert_never_wrong(&format!("{name}, block, sigma {sigma}"));
            taller.assert_never_wrong(&format!("{name}, page, sigma {sigma}"));
        }
    }
}
