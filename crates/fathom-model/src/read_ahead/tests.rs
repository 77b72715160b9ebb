use super::*;
use crate::file_read::{Batch, Read};

const FILE: FileId = FileId(0);

fn limits(kernel: Kernel, window: u64, largest_order: u32) -> Limits {
    Limits {
        kernel,
        window,
        largest_io: 1024,
        least_order: 0,
        largest_order,
        is_random: false,
        file_pages: 1 << 16,
    }
}

/// Which reads of `request` pages bring something in, and how many KiB.
fn ramp(limits: Limits, offsets: impl IntoIterator<Item = u64>, request: u64) -> Vec<(u64, u64)> {
    let (mut cache, mut reader) = (PageCache::new(None), Reader::default());
    let mut seen = Vec::new();
    for index in offsets {
        let mut read = Read::new(FILE, index * PAGE, request * PAGE, &reader);
        let mut steps = Vec::new();
        let size = limits.file_pages * PAGE;
        while read.turn(&mut cache, &mut reader, limits, size, None, &mut steps) != Batch::Done {}
        let added = |step: &Step| if let Step::Added { order, .. } = step { 4 << order } else { 0 };
        let kib: u64 = steps.iter().map(added).sum();
        if kib > 0 {
            seen.push((index * 4, kib));
        }
    }
    seen
}

fn sizes(limits: Limits, reads: u64) -> Vec<u64> {
    ramp(limits, 0..reads, 1).into_iter().map(|(_, kib)| kib).collect()
}

#[test]
fn a_window_of_128_kib_opens_as_measured_on_linux_6_18() {
    let expected =
        [(0, 16), (4, 32), (16, 16), (48, 32), (64, 32), (96, 64), (128, 64), (192, 128), (256, 128)];
    assert_eq!(ramp(limits(Kernel::V6_18, 32, 9), 0..96, 1)[..9], expected);
}

#[test]
fn windows_of_100_kib_and_1_mib_open_as_measured_on_linux_6_18() {
    let expected = [(0, 8), (4, 16), (8, 32), (24, 64), (56, 100), (120, 100), (220, 100), (320, 100)];
    assert_eq!(ramp(limits(Kernel::V6_18, 25, 9), 0..81, 1), expected);
    let expected = [16, 64, 112, 64, 128, 128, 256, 256, 512, 512, 1024];
    assert_eq!(sizes(limits(Kernel::V6_18, 256, 9), 1000)[..11], expected);
}

#[test]
fn without_large_folios_the_window_doubles_on_every_kernel() {
    for kernel in [Kernel::V2_6, Kernel::V6_1, Kernel::V6_12, Kernel::V6_18] {
        assert_eq!(sizes(limits(kernel, 32, 0), 200)[..6], [16, 32, 64, 128, 128, 128], "{kernel:?}");
    }
}

#[test]
fn where_no_window_is_allowed_a_read_brings_in_its_pages_one_by_one() {
    assert_eq!(ramp(limits(Kernel::V6_18, 0, 9), 0..4, 1), [(0, 4), (4, 4), (8, 4), (12, 4)]);
    assert_eq!(ramp(limits(Kernel::V6_18, 0, 9), [7], 3), [(28, 12)]);
}

#[test]
fn a_lonely_read_brings_in_what_it_asks_for() {
    for kernel in [Kernel::V2_6, Kernel::V6_1, Kernel::V6_12, Kernel::V6_18] {
        assert_eq!(
            ramp(limits(kernel, 32, 0), [1000, 5000, 3000], 3),
            [(4000, 12), (20000, 12), (12000, 12)]
        );
    }
}

#[test]
fn advised_of_random_access_a_read_brings_in_what_it_asks_for_at_the_start_too() {
    let random = Limits { is_random: true, ..limits(Kernel::V6_18, 32, 9) };
    assert_eq!(ramp(random, [0, 1, 2], 1), [(0, 4), (4, 4), (8, 4)]);
}
