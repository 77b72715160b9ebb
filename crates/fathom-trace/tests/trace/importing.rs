//! Each format by an example whose operations are known, with lines that make no sense in between.

use std::path::Path;

use crate::support::{Scratch, blktrace_record, import};
use fathom_trace::format::{Reader, create};
use fathom_trace::import::Format;
use fathom_trace::{CallKind, Clock, Level, Operation};

/// What an operation must be: kind, file, start, duration, offset, length.
type Known = (CallKind, &'static str, i64, Option<u64>, Option<u64>, u64);

struct Example {
    format: Format,
    bytes: Vec<u8>,
    level: Level,
    clock: Clock,
    operations: Vec<Known>,
    rejected: &'static [u64],
}

fn text(format: Format, text: &str, operations: &[Known], rejected: &'static [u64]) -> Example {
    let origin = format.origin();
    let (level, clock) = (origin.level, origin.clock);
    Example {
        format,
        bytes: text.as_bytes().to_vec(),
        level,
        clock,
        operations: operations.to_vec(),
        rejected,
    }
}

fn examples() -> Vec<Example> {
    vec![
        msr(),
        alibaba(),
        tencent(),
        spc(),
        darshan(),
        fio2(),
        fio3(),
        strace(),
        blkparse(),
        blktrace(7),
        blktrace(8),
        vscsi(1),
        vscsi(2),
    ]
}

fn msr() -> Example {
    let lines = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
        128166372003061629,usr,0,Read,7014609920,24576,41286\n\
        128166372003061630,usr,0,Erase,7014609920,24576,41286\n\
        128166372016382155,usr,1,Write,1317441536,8192,1963\r\n\
        128166372016382155,usr,1,Write,99999999999999999999,8192,1963\n";
    let first = (128_166_372_003_061_629 - 116_444_736_000_000_000) * 100;
    let second = (128_166_372_016_382_155 - 116_444_736_000_000_000) * 100;
    let operations = [
        (CallKind::Read, "usr,0", first, Some(4_128_600), Some(7_014_609_920), 24576),
        (CallKind::Write, "usr,1", second, Some(196_300), Some(1_317_441_536), 8192),
    ];
    text(Format::Msr, lines, &operations, &[3, 5])
}

fn alibaba() -> Example {
    let lines = "419,W,8792731648,16384,1577808144360767\n\
        725,R,59110326272,360448,1577808144360813\n725,R,59110326272,360448\n,,,,\n";
    let operations = [
        (CallKind::Write, "419", 1_577_808_144_360_767_000, None, Some(8_792_731_648), 16384),
        (CallKind::Read, "725", 1_577_808_144_360_813_000, None, Some(59_110_326_272), 360_448),
    ];
    text(Format::Alibaba, lines, &operations, &[3, 4])
}

fn tencent() -> Example {
    let lines = "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n1538323201,6338688,8,2,1627\n";
    let operations = [
        (CallKind::Read, "1063", 1_538_323_200_000_000_000, None, Some(12_910_952 * 512), 65536),
        (CallKind::Write, "1627", 1_538_323_201_000_000_000, None, Some(6_338_688 * 512), 4096),
    ];
    text(Format::Tencent, lines, &operations, &[3])
}

fn spc() -> Example {
    let lines = "0,20941264,8192,W,0.551706\n1, 3436288 ,15872,r,1.011732,more\n1,3436288,15872,X,1.0\n";
    let operations = [
        (CallKind::Write, "0", 551_706_000, None, Some(20_941_264 * 512), 8192),
        (CallKind::Read, "1", 1_011_732_000, None, Some(3_436_288 * 512), 15872),
    ];
    text(Format::Spc, lines, &operations, &[3])
}

fn darshan() -> Example {
    let lines = "# darshan log version: 3.41\n\n\
        # DXT, file_id: 8515199880342690440, file_name: /scratch/out file\n\
        # DXT, rank: 3, hostname: node1\n\
        # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)\n\
        \x20X_MPIIO       3  write        0               0         1048576      4.8324      4.8436\n\
        \x20X_POSIX       3  write        0               0         1048576      4.8324      4.8436\n\
        \x20X_POSIX       3   read        1         1048576            4096      4.8436      4.8437  [247]\n\
        \x20X_POSIX       3  write        x               0         1048576      4.8324      4.8436\n";
    let operations = [
        (CallKind::Pwrite, "/scratch/out file", 4_832_400_000, Some(11_200_000), Some(0), 1 << 20),
        (CallKind::Pread, "/scratch/out file", 4_843_600_000, Some(100_000), Some(1 << 20), 4096),
    ];
    text(Format::Darshan, lines, &operations, &[9])
}

fn fio2() -> Example {
    let lines = "fio version 2 iolog\n/tmp/a b add\n/tmp/a b open\n/tmp/a b read 4096 8192\n\
        /tmp/a b wait 1500 0\n/tmp/a b sync 0 0\n/tmp/a b flip 0 0\n/tmp/a b close\n";
    let operations = [
        (CallKind::Open, "/tmp/a b", 0, None, None, 0),
        (CallKind::Pread, "/tmp/a b", 0, None, Some(4096), 8192),
        (CallKind::Fsync, "/tmp/a b", 1_500_000_000, None, None, 0),
        (CallKind::Close, "/tmp/a b", 1_500_000_000, None, None, 0),
    ];
    text(Format::Fio, lines, &operations, &[7])
}

fn fio3() -> Example {
    let lines = "fio version 3 iolog\n28 /f add\n176 /f open\n180 /f write 61440 4096\n\
        706 /f trim 0 4096\nnonsense\n887 /f close\n";
    let operations = [
        (CallKind::Open, "/f", 176_000, None, None, 0),
        (CallKind::Pwrite, "/f", 180_000, None, Some(61440), 4096),
        (CallKind::Discard, "/f", 706_000, None, Some(0), 4096),
        (CallKind::Close, "/f", 887_000, None, None, 0),
    ];
    text(Format::Fio, lines, &operations, &[6])
}

/// Names under the working directory, under others, and where nothing is known of either.
fn strace() -> Example {
    let lines = "5 1.000001 unlink(\"a\") = 0 <0.000001>\n\
        5 1.000002 openat(AT_FDCWD</w>, \"a\", O_RDWR|O_CREAT|O_TRUNC, 0666) = 3</w/a> <0.000001>\n\
        5 1.000003 write(3</w/a>, \"\"..., 7) = 7 <0.000001>\n\
        5 1.000004 rename(\"a\", \"./b\") = 0 <0.000001>\n\
        5 1.000005 write(3</w/b>, \"\"..., 7) = 7 <0.000001>\n\
        5 1.000006 unlinkat(4</w/d>, \"c\", 0) = -1 ENOENT (No such file or directory) <0.000001>\n\
        5 1.000007 unlinkat(4</w/d>, \"e\", AT_REMOVEDIR) = 0 <0.000001>\n\
        5 1.000008 chdir(\"d\") = 0 <0.000001>\n\
        5 1.000009 renameat2(AT_FDCWD, \"../b\", 9, \"x\", RENAME_NOREPLACE) = 0 <0.000001>\n\
        5 1.000010 renameat2(AT_FDCWD, \"../b\", AT_FDCWD, \"x\", RENAME_NOREPLACE) = 0 <0.000001>\n\
        5 1.000011 write(3</w/d/x>, \"\"..., 1) = 1 <0.000001>\n\
        5 1.000012 unlink() = 0 <0.000001>\n\
        5 1.000013 unlink(\"x\") = 0 <0.000001>\n\
        5 1.000014 write(3</w/d/x>(deleted), \"\"..., 1) = 1 <0.000001>\n";
    let at = |micros: i64| 1_000_000_000 + micros * 1000;
    let operations = [
        (CallKind::Unlink, "a", at(1), Some(1000), None, 0),
        (CallKind::Open, "/w/a", at(2), Some(1000), None, 0),
        (CallKind::Write, "/w/a", at(3), Some(1000), Some(0), 7),
        (CallKind::Rename, "/w/a", at(4), Some(1000), None, 0),
        (CallKind::Write, "/w/b", at(5), Some(1000), Some(7), 7),
        (CallKind::Unlink, "/w/d/c", at(6), Some(1000), None, 0),
        (CallKind::Rename, "/w/b", at(10), Some(1000), None, 0),
        (CallKind::Write, "/w/d/x", at(11), Some(1000), Some(14), 1),
        (CallKind::Unlink, "/w/d/x", at(13), Some(1000), None, 0),
        (CallKind::Write, "/w/d/x", at(14), Some(1000), Some(15), 1),
    ];
    text(Format::Strace, lines, &operations, &[12])
}

fn blkparse() -> Example {
    let lines = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        3     0.000003000   697  P   N [kjournald]\n\
        \x20 8,0    3        4     0.000010000   697  D   W 223490 + 8 [kjournald]\n\
        \x20 8,0    1        5     0.000020000     0  D  RA 4096 + 256 [cat]\n\
        \x20 8,0    1        6     0.000310000     0  C   W 223490 + 8 [0]\n\
        \x20 8,0    1        7     0.000320000    11  Q  FN [kworker/0:1H]\n\
        \x20 8,0    1        8     bad\n\
        \x20 9,0    1        9     0.000400000    12  Q   R 16 + 8 [dd]\n\
        \x20 9,0    1       10     0.000500000     0  C   R 16 + 8 [0]\n\
        CPU0 (8,0):\n Reads Queued:           0,        0KiB\tWrites Queued:  1,        4KiB\n\
        Total (8,0):\n\nThroughput (R/W): 0KiB/s / 0KiB/s\n";
    let operations = [
        (CallKind::Write, "8:0", 10_000, Some(300_000), Some(223_490 * 512), 4096),
        (CallKind::Read, "9:0", 400_000, Some(100_000), Some(16 * 512), 4096),
        (CallKind::Read, "8:0", 20_000, None, Some(4096 * 512), 131_072),
    ];
    text(Format::Blkparse, lines, &operations, &[8])
}

fn blktrace(version: u8) -> Example {
    let record = |sequence, time, sector, bytes, categories: u32, action, payload: &[u8]| {
        blktrace_record(version, sequence, time, sector, bytes, categories << 16 | action, payload)
    };
    let mut bytes = record(1, 0, 0, 0, 1 << 10, 0, b"fio\0");
    bytes.extend(record(2, 1000, 64, 8192, 1 << 1 | 1 << 6, 7, b""));
    bytes.extend(b"garbage");
    bytes.extend(record(3, 2500, 64, 8192, 1 << 1 | 1 << 7, 8, b""));
    bytes.extend(record(4, 3000, 128, 4096, 1 | 1 << 6, 7, b""));
    bytes.extend(&record(5, 4000, 128, 4096, 1 | 1 << 7, 8, b"")[..20]);
    let operations = vec![
        (CallKind::Write, "8:1", 1000, Some(1500), Some(64 * 512), 8192),
        (CallKind::Read, "8:1", 3000, None, Some(128 * 512), 4096),
    ];
    Example {
        format: Format::Blktrace,
        bytes,
        level: Level::Block,
        clock: Clock::Source,
        operations,
        rejected: &[3, 6],
    }
}

fn vscsi(version: u8) -> Example {
    let record = |command: u16, length: u32, block: u64, time: u64| {
        let mut record = Vec::new();
        let tail = [command.to_le_bytes(), (u16::from(version) << 8).to_le_bytes()].concat();
        if version == 2 {
            record.extend(&tail);
        }
        record.extend(7u32.to_le_bytes());
        record.extend(length.to_le_bytes());
        record.extend(1u32.to_le_bytes());
        if version == 1 {
            record.extend(&tail);
        }
        record.extend(block.to_le_bytes());
        record.extend(time.to_le_bytes());
        if version == 2 {
            record.extend(350u64.to_le_bytes());
        }
        record
    };
    let parts = [record(0x28, 4096, 2048, 10), record(0x2a, 512, 1, 20), record(0, 0, 0, 30), vec![1; 9]];
    let took = (version == 2).then_some(350_000);
    let operations = vec![
        (CallKind::Read, "disk", 10_000, took, Some(1 << 20), 4096),
        (CallKind::Write, "disk", 20_000, took, Some(512), 512),
    ];
    Example {
        format: Format::Vscsi,
        bytes: parts.concat(),
        level: Level::Block,
        clock: Clock::Source,
        operations,
        rejected: &[4],
    }
}

fn known(operation: &Operation, path: &[u8]) -> (CallKind, String, i64, Option<u64>, Option<u64>, u64) {
    let path = String::from_utf8_lossy(path).into_owned();
    (operation.kind, path, operation.start_ns, operation.duration_ns, operation.offset, operation.length)
}

#[test]
fn every_format_gives_what_stands_in_it_and_counts_the_rest() {
    for example in examples() {
        let name = example.format.name();
        let (operations, files, imported) = import(&example.bytes, example.format);
        let found: Vec<_> = operations.iter().map(|one| known(one, files.path(one.file))).collect();
        let expected: Vec<_> = example
            .operations
            .iter()
            .map(|one| (one.0, one.1.to_owned(), one.2, one.3, one.4, one.5))
            .collect();
        assert_eq!(found, expected, "{name}");
        let numbers: Vec<u64> = imported.rejected.first.iter().map(|reject| reject.number).collect();
        assert_eq!(numbers, example.rejected, "{name}: {:?}", imported.rejected);
        assert_eq!(imported.rejected.count, example.rejected.len() as u64, "{name}");
        assert_eq!(imported.bytes, example.bytes.len() as u64, "{name}");
        let origin = example.format.origin();
        assert_eq!((origin.level, origin.clock), (example.level, example.clock), "{name}");
    }
}

#[test]
fn every_format_is_told_by_its_beginning() {
    for example in examples() {
        assert_eq!(Format::detect(&example.bytes), Some(example.format));
    }
    assert_eq!(Format::detect(b""), None);
    assert_eq!(Format::detect(b"Lorem ipsum dolor\nsit amet\n"), None);
    assert_eq!(Format::detect(&[0; 4096]), None);
}

fn keep(path: &Path, operations: &[Operation], files: &fathom_trace::Files, format: Format) {
    let mut writer = create(path, &format.origin()).unwrap();
    // In uneven pieces, across the bounds of groups.
    for piece in operations.chunks(70_001) {
        writer.add(piece, files).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    let scratch = Scratch::new("keep");
    for (number, example) in examples().iter().enumerate() {
        let (operations, files, _) = import(&example.bytes, example.format);
        let many: Vec<Operation> =
            operations.iter().copied().cycle().take(if number == 0 { 150_000 } else { 1000 }).collect();
        let path = scratch.0.join(format!("{number}.parquet"));
        keep(&path, &many, &files, example.format);
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.origin(), &example.format.origin());
        let (back, names) = reader.read_all().unwrap();
        let with_path = |operations: &[Operation], files: &fathom_trace::Files| -> Vec<_> {
            operations
                .iter()
                .map(|one| {
                    let to = one.to.map(|to| files.path(to).to_vec());
                    let plain = Operation { file: fathom_trace::FileId(0), to: None, ..*one };
                    (files.path(one.file).to_vec(), to, plain)
                })
                .collect()
        };
        assert!(with_path(&back, &names) == with_path(&many, &files), "{} differs", example.format.name());
    }
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let scratch = Scratch::new("there");
    let path = scratch.0.join("trace");
    std::fs::write(&path, "precious").unwrap();
    let error = create(&path, &Format::Spc.origin()).err().unwrap().to_string();
    assert!(error.contains("cannot create") && error.contains("trace"), "{error}");
    assert!(Reader::open(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn lines_beyond_all_lengths_are_rejected_once() {
    let mut bytes = b"1,R,0,512,1\n".to_vec();
    bytes.resize(bytes.len() + (5 << 20), b'7');
    bytes.extend(b"\n1,W,512,512,2\n");
    let (operations, _, imported) = import(&bytes, Format::Alibaba);
    assert_eq!((operations.len(), imported.rejected.count, imported.rejected.first[0].number), (2, 1, 2));
}
