//! The papers' own experiments, each with its paper's settings, so that a reader can repeat a figure.
//!
//! A recipe is a [`Workload`] with a name: what the paper did, what it concluded, how this differs from
//! what it did, and how to look at the samples. It uses the same inference as the experiments where
//! there is one, on the paper's own way of measuring: often that way is what went wrong.

mod look;
mod workloads;

use fathom_program::workload::Workload;
use fathom_run::samples::Samples;

/// One experiment of a paper.
pub struct Recipe {
    /// The name of the recipe: the paper's letter and the question.
    pub name: &'static str,
    /// Where the experiment stands in the paper.
    pub source: &'static str,
    /// What the paper did.
    pub did: &'static str,
    /// What the paper concluded.
    pub concluded: &'static str,
    /// What differs from the paper's experiment.
    pub differs: &'static str,
    workload: fn() -> Workload,
    look: fn(&Samples) -> String,
}

impl Recipe {
    /// The workload to run.
    pub fn workload(&self) -> Workload {
        (self.workload)()
    }

    /// Fathom's conclusion from samples of this recipe: a sentence or a few lines.
    pub fn conclude(&self, samples: &Samples) -> String {
        (self.look)(samples)
    }
}

/// The recipe of this name.
pub fn by_name(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

/// Every recipe, in the order of the papers.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "paper-a-block-256",
        source: "paper A, figure 5",
        did: "100 reads of 256 B from the start of a file, three trials",
        concluded: "peaks at each 16th read: blocks of 4096 B",
        differs: "the file is cached, as peaks of one height say that it was",
        workload: || workloads::small_reads(256, 100, 3),
        look: |samples| look::comb(samples, 2, 256),
    },
    Recipe {
        name: "paper-a-block-512",
        source: "paper A, figure 6",
        did: "100 reads of 512 B from the start of a file, three trials",
        concluded: "peaks at each 8th read: blocks of 4096 B",
        differs: "the file is cached, as peaks of one height say that it was",
        workload: || workloads::small_reads(512, 100, 3),
        look: |samples| look::comb(samples, 2, 512),
    },
    Recipe {
        name: "paper-a-prefetch",
        source: "paper A, figures 8 and 9",
        did: "180 reads of 4096 B in sequence, without a pause, three trials",
        concluded: "peaks at reads 1, 15, 30, 45, 60, 75, 90: 15 blocks are fetched at once, 14 of them ahead, 'more a hypothesis'",
        differs: "the file is dropped from the cache before each trial; the file has 1 MiB instead of 18 GiB",
        workload: || workloads::sequence(4096, 180, 0, 1 << 20, 3),
        look: |samples| look::waits(samples, 1, 4096),
    },
    Recipe {
        name: "paper-a-prefetch-cached",
        source: "paper A, figures 8 and 9",
        did: "the same, and the paper does not say that the file was not cached",
        concluded: "as above",
        differs: "each page has been read once before and is still cached, and 64 others were read after it; 21 rounds",
        workload: || workloads::second_reads(180, 21),
        look: |samples| look::peaks(samples, 2, 0, 4096),
    },
    Recipe {
        name: "paper-a-cache",
        source: "paper A, figure 10",
        did: "for i from 1 to 64: read i times 256 MiB, open again, read them again and time it",
        concluded: "slower from 53 times on: a cache of 13 GiB",
        differs: "each size is read once to warm up and once for the time; three trials are one. Needs --max-write 17G --max-time 2h",
        workload: || workloads::growing(64, 256 << 20, false),
        look: look::growing,
    },
    Recipe {
        name: "paper-a-extents",
        source: "paper A, figures 13 to 15",
        did: "350 writes of 1049000 B into a file of 16 GB made by fallocate, each with an fsync that is timed",
        concluded: "peaks at 78, 162, 245, 329: extents of 83 or 84 MiB, with 'more questions than answers'",
        differs: "the file is new and grows instead of being allocated before. Needs --max-write 400M",
        workload: || workloads::block_writes(1_049_000, 350, 1, true),
        look: |samples| look::peaks(samples, 1, 1, 1_049_000),
    },
    Recipe {
        name: "paper-b-read-cached",
        source: "paper B, part 4",
        did: "read a file with blocks of 512 B to 512 KiB while it is cached",
        concluded: "1961 to 10077 MiB/s",
        differs: "64 MiB instead of 2.6 GiB",
        workload: || workloads::by_block_size(false),
        look: look::rates,
    },
    Recipe {
        name: "paper-b-read-cold",
        source: "paper B, part 4",
        did: "the same after the cache was dropped",
        concluded: "631 to 1133 MiB/s",
        differs: "64 MiB instead of 2.6 GiB; only this file is dropped, which needs no root",
        workload: || workloads::by_block_size(true),
        look: look::rates,
    },
    Recipe {
        name: "paper-b-calls",
        source: "paper B, part 5",
        did: "read and lseek each byte of files of 10 KB to 5 MB",
        concluded: "1.5 to 2.4 million reads and 3.0 to 4.5 million seeks a second",
        differs: "100 KB; each call is timed alone, which the clock's own cost is part of",
        workload: workloads::calls,
        look: look::calls,
    },
    Recipe {
        name: "paper-c-block",
        source: "paper C, figure 2",
        did: "reads of 8 B in sequence, the sum of their latencies",
        concluded: "a step every 4096 B: the disk's block",
        differs: "64 KiB of a cached file, 20 rounds, each latency by itself",
        workload: || workloads::small_reads(8, 8192, 20),
        look: |samples| look::comb(samples, 2, 8),
    },
    Recipe {
        name: "paper-c-prefetch",
        source: "paper C, figure 3",
        did: "reads of 512 B in sequence with 1 to 10 ms between them",
        concluded: "spikes aligned precisely on each 128 KiB: the prefetch size",
        differs: "1 ms, 1.5 MiB, three rounds, the file dropped from the cache before each",
        workload: || workloads::sequence(512, 3072, 1_000_000, 3 << 19, 3),
        look: |samples| look::waits(samples, 1, 512),
    },
    Recipe {
        name: "paper-c-cache",
        source: "paper C, figure 4",
        did: "working sets of a growing number of blocks, read backward to warm up and again for the time",
        concluded: "a step at 512 blocks: a cache of 2 MB",
        differs: "32 sizes up to 4 MiB; the file is dropped from the cache between sizes instead of unmounted",
        workload: || workloads::growing(32, 128 << 10, true),
        look: look::growing,
    },
    Recipe {
        name: "paper-c-inode",
        source: "paper C, figure 5",
        did: "block-sized writes to a new file",
        concluded: "the 13th takes twice as long: 12 direct pointers",
        differs: "blocks of 4 KiB, 64 of them, 30 rounds",
        workload: || workloads::block_writes(4096, 64, 30, false),
        look: |samples| look::peaks(samples, 1, 0, 4096),
    },
    Recipe {
        name: "paper-c-inode-sync",
        source: "paper C, figure 5",
        did: "the same with fsync after each write",
        concluded: "the 13th takes twice as long: 12 direct pointers",
        differs: "blocks of 4 KiB, 32 of them, 10 rounds",
        workload: || workloads::block_writes(4096, 32, 10, true),
        look: |samples| look::peaks(samples, 1, 1, 4096),
    },
    Recipe {
        name: "paper-d-block",
        source: "paper D, figure 2",
        did: "writes of 512 B until the file has 1 MB, 100 times, the minimum for each offset, folded modulo 16 KiB",
        concluded: "clusters at each 1024, 2048 or 4096 B: the block",
        differs: "each round writes a new file instead of remounting",
        workload: || workloads::block_writes(512, 2048, 100, false),
        look: |samples| look::comb(samples, 1, 512),
    },
    Recipe {
        name: "paper-d-prefetch",
        source: "paper D, figure 3",
        did: "read the first 2 MiB of 3 MB in reads of 512 B, wait 5 s, then read backward 512 B in each 1024",
        concluded: "reads are quick up to 176 KB behind what was read: 'with some doubt' the prefetch",
        differs: "the file is dropped from the cache instead of rebooting",
        workload: || workloads::backward(&[2 << 20], 5_000_000_000),
        look: look::behind,
    },
    Recipe {
        name: "paper-d-prefetch-sweep",
        source: "paper D, figure 4",
        did: "the same for first parts of 2 MiB, 2 MiB less 4 KiB and so on, 256 of them, waiting 1 s each",
        concluded: "'no satisfying explanation of overall behavior'",
        differs: "the file is dropped from the cache instead of rebooting once; the wait is 50 ms",
        workload: || {
            let primed: Vec<u64> = (0..256).map(|less| (2 << 20) - less * 4096).collect();
            workloads::backward(&primed, 50_000_000)
        },
        look: look::behind,
    },
    Recipe {
        name: "paper-d-cache",
        source: "paper D, figure 5",
        did: "read 128 MiB backward in reads of 1 MiB, ten times, then forward",
        concluded: "slower from 80 MB on: 80 MB of 119 were cached",
        differs: "nothing but the machine, which has more memory",
        workload: workloads::backward_then_forward,
        look: |samples| look::peaks(samples, 2, 0, 1 << 20),
    },
    Recipe {
        name: "paper-d-inode",
        source: "paper D, figure 6",
        did: "writes of 1 KiB until the file has 64 KiB, 100 times, the median for each",
        concluded: "a spike at the 13th: 12 direct pointers",
        differs: "each round writes a new file instead of remounting",
        workload: || workloads::block_writes(1024, 64, 100, false),
        look: |samples| look::peaks(samples, 1, 0, 1024),
    },
    Recipe {
        name: "paper-e-copy",
        source: "paper E, figures 6 and 8",
        did: "read a cached file of 512 MB with blocks of 4 KiB to 16 MiB",
        concluded: "slower from 64 KiB on, an eighth of the L2 cache",
        differs: "64 MiB",
        workload: workloads::copies,
        look: look::rates,
    },
];

#[cfg(test)]
mod tests;
