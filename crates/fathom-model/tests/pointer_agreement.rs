//! The blocks that lead to a file's data, held against the device's own counts: files are read cold, a page here and a
//! page there, on ext2 and ext4 with blocks of several sizes, and each read has to bring in as many sectors as the
//! model says: the page and those blocks of pointers or extents that were not read before. Needs root and a loop
//! device; where it can't be run it says so, and with `FATHOM_REQUIRE=all` it fails.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::process::{Command, Stdio};

use fathom_model::allocation::{Layout, Scheme};
use fathom_model::file_read::PAGE;

const READS: u64 = 60;
const SECTOR: u64 = 512;

/// Makes a file system of a kind and a block, and a file of so many pages, of which every second is a hole if that is
/// wanted; mounts it again; and prints for each of the pages how many sectors reading it took.
const SCRIPT: &str = r#"
set -eu
kind=$1 block=$2 pages=$3 stride=$4; shift 4
work=$(mktemp -d /dev/shm/pointer-agreement-XXXXXX)
device=
leave() { umount "$work/on" 2>/dev/null || true; [ -z "$device" ] || losetup -d "$device"; rm -rf "$work"; }
trap leave EXIT
mkdir "$work/on"; truncate -s 256M "$work/image"
device=$(losetup -f --show "$work/image"); name=${device#/dev/}
"mkfs.$kind" -q -b "$block" "$device"
mount -t "$kind" "$device" "$work/on"
if [ "$stride" = 1 ]; then
    head -c $((pages * 4096)) /dev/zero > "$work/on/file"
else
    for ((at = 0; at < pages; at += stride)); do dd if=/dev/zero of="$work/on/file" bs=4096 count=1 seek=$at conv=notrunc status=none; done
fi
umount "$work/on"
# Within five seconds of a mount ext4's driver, which mounts ext2 as well, reads the bitmaps of all groups by itself
# (ext4_register_li_request). Where ext2 has its own driver there is no such option, and nothing reads them.
mount -t "$kind" -o noatime,no_prefetch_block_bitmaps "$device" "$work/on" 2>/dev/null ||
    mount -t "$kind" -o noatime "$device" "$work/on"
echo 0 > "/sys/block/$name/queue/read_ahead_kb"
# Opening it brings in the directory and the inode.
exec 3< "$work/on/file"
sectors() { read -r -a counts < "/sys/block/$name/stat"; echo "${counts[2]}"; }
for page in "$@"; do
    before=$(sectors); dd if="$work/on/file" of=/dev/null bs=4096 skip="$page" count=1 status=none
    echo $(($(sectors) - before))
done
exec 3<&-
"#;

struct Place {
    kind: &'static str,
    block: u64,
    pages: u64,
    /// Every so many pages one is written.
    stride: u64,
}

const PLACES: [Place; 7] = [
    Place { kind: "ext2", block: 1024, pages: 40_000, stride: 1 },
    Place { kind: "ext2", block: 1024, pages: 2_000, stride: 1 },
    Place { kind: "ext2", block: 2048, pages: 10_000, stride: 1 },
    Place { kind: "ext2", block: 4096, pages: 5_000, stride: 1 },
    Place { kind: "ext4", block: 4096, pages: 5_000, stride: 1 },
    Place { kind: "ext4", block: 1024, pages: 500, stride: 2 },
    Place { kind: "ext4", block: 1024, pages: 8, stride: 2 },
];

#[test]
fn a_cold_read_brings_in_the_blocks_that_lead_to_it_and_no_others() {
    if let Err(reason) = possible() {
        let all = std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all");
        assert!(!all, "skipped, and everything is required: pointer_agreement: {reason}");
        println!("skipped: pointer_agreement: {reason}");
        return;
    }
    let (mut reads, mut pointers) = (0, 0);
    for (seed, place) in (1..).zip(&PLACES) {
        let pages = pages_of(place, seed);
        let (kernel, model) = (on_kernel(place, &pages), on_model(place, &pages));
        let wrong = kernel.iter().zip(&model).position(|(kernel, model)| kernel != model);
        let Place { kind, block, pages: size, .. } = place;
        assert_eq!(
            kernel, model,
            "{kind} with blocks of {block}, {size} pages: the first wrong is read {wrong:?} of {pages:?}"
        );
        reads += model.len();
        pointers += model.iter().filter(|sectors| **sectors > PAGE / SECTOR).count();
    }
    println!("{reads} reads, of which {pointers} read pointers, are the same");
}

fn possible() -> Result<(), String> {
    let works = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
        output.is_ok_and(|status| status.success())
    };
    if !works("unshare", &["--mount", "true"]) {
        return Err("mounting needs root".to_owned());
    }
    if !works("losetup", &["--find"]) {
        return Err("there are no loop devices".to_owned());
    }
    let missing = ["mkfs.ext2", "mkfs.ext4"].into_iter().find(|program| !works(program, &["-V"]));
    missing.map_or(Ok(()), |program| Err(format!("{program} is not installed")))
}

/// Pages at random, none twice.
fn pages_of(place: &Place, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let written = place.pages / place.stride;
    let mut pages: Vec<u64> = Vec::new();
    while (pages.len() as u64) < READS.min(written) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half of them near the beginning, where what leads there changes.
        let within = if state >> 63 == 0 { written } else { written.min(400) };
        let page = (state >> 33) % within * place.stride;
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    pages
}

fn on_kernel(place: &Place, pages: &[u64]) -> Vec<u64> {
    let output = Command::new("unshare")
        .args(["--mount", "bash", "-c", SCRIPT, "script", place.kind])
        .args([place.block, place.pages, place.stride].map(|number| number.to_string()))
        .args(pages.iter().map(u64::to_string))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().unwrap()).collect()
}

fn on_model(place: &Place, pages: &[u64]) -> Vec<u64> {
    let scheme = match place.kind {
        "ext2" => Scheme::Indirect { direct: 12, pointers: place.block / 4 },
        _ => Scheme::Extents { in_inode: 4, in_leaf: (place.block - 12) / 12, longest: 128 << 20 },
    };
    let (mut layout, mut free) = (Layout::new(scheme, place.block), 0);
    match place.stride {
        1 => _ = layout.allocate([0, place.pages], &mut free),
        stride => (0..place.pages / stride).for_each(|at| {
            layout.allocate([at * stride, at * stride + 1], &mut free);
        }),
    }
    layout.write_dirty();
    layout.forget();
    let read = |&page: &u64| {
        let unread = |pointer: &(u32, u64)| layout.pointer(*pointer).is_some_and(|(_, is_cached)| !is_cached);
        let chain: Vec<_> = layout.chain(page).into_iter().filter(unread).collect();
        chain.iter().for_each(|&pointer| layout.cache(pointer));
        (PAGE + chain.len() as u64 * place.block) / SECTOR
    };
    pages.iter().map(read).collect()
}
