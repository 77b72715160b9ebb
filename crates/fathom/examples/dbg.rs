use fathom::experiment::*;
use fathom::inference::stalls;
use fathom::instrument::*;
use fathom::machine::Machine;
use fathom::machine::linux::*;
use fathom::workload::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let i = Instrument::calibrate().unwrap();
    println!("{:?}", i.certificate.resolution_ns);
    let mut l = Linux::at(
        std::path::Path::new(&a[1]),
        &i,
        Limits { max_write: 512 << 20, deadline: None },
        Arc::new(AtomicBool::new(false)),
    )
    .unwrap();
    let bytes: u64 = a[2].parse::<u64>().unwrap() << 20;
    let gap: u64 = a[3].parse().unwrap();
    let rounds: u32 = a[4].parse().unwrap();
    let all = Region { offset: 0, size: 4096, step: 4096, count: bytes / 4096 };
    let warm = Region { count: 128, ..all };
    let apart = bytes / 25 / 4096 * 4096;
    let iso = Region { offset: apart, size: 4096, step: apart, count: 24 };
    let w = Workload::new(vec![ScratchFile::filled("readahead", bytes)])
        .pass(Pass::untimed(0, &[Op::Open, Op::Evict]))
        .pass(Pass::timed(0, &[Op::Pread], iso).direction(Direction::Random).needs(CacheState::Cold))
        .pass(Pass::untimed(0, &[Op::Open, Op::Evict]))
        .pass(Pass::timed(0, &[Op::Pread], all).gap(gap).needs(CacheState::Cold))
        .pass(Pass::timed(0, &[Op::Pread], warm).gap(gap).needs(CacheState::Cached))
        .warmup(1)
        .rounds(rounds);
    let s = l.run(&w).unwrap();
    println!("elapsed {}", s.elapsed_ns as f64 / 1e9);
    let m = s.matrix(3, 0);
    let n = all.count as usize;
    for k in 1..bytes / (2 << 20) {
        let p = (k * 512) as usize;
        print!(
            "{}M:{:?} ",
            k * 2,
            m.iter().skip(p).step_by(n).map(|x| (*x / 2596.0) as u64).collect::<Vec<_>>()
        );
    }
    println!();
    let mut big: Vec<(u64, usize, usize)> = vec![];
    for (i, x) in m.iter().enumerate() {
        if *x > 2.6e6 {
            big.push(((*x / 2596.0) as u64, i / n, (i % n) * 4));
        }
    }
    println!("over 1ms: {:?}", big);
    for r in 0..rounds as usize {
        println!(
            "round {} sum of >50us: {} ms; sum all {} ms",
            r,
            m[r * n..(r + 1) * n].iter().filter(|x| **x > 130000.0).sum::<f64>() / 2596e3,
            m[r * n..(r + 1) * n].iter().sum::<f64>() / 2596e3
        );
    }
    let f = stalls::find(&s, stalls::Passes { misses: 1, sequence: 3, hits: 4 }).unwrap();
    for l in &f.levels {
        println!("{} {:?}", l.len(), l.iter().take(40).map(|x| x * 4).collect::<Vec<_>>());
    }
    println!("{:?} every {}", stalls::regularity(&f), f.every_read);
    let _ = Effort::Full;
}
