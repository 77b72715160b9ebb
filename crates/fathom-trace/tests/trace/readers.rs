//! Our format, read by those that it is made for.

use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, import, skip};
use fathom_trace::format::{Reader, create};
use fathom_trace::import::Format;

/// Each prints: rows, the sum of lengths, the rows that have no duration, the paths in order, the columns' names.
const READERS: [(&str, &str); 4] = [
    (
        "pandas",
        "t = pandas.read_parquet(path)\n\
         print(len(t), t.length.sum(), t.duration_ns.isna().sum(), *sorted(t.path.unique()), *t.columns)",
    ),
    (
        "polars",
        "t = polars.read_parquet(path)\n\
         print(len(t), t['length'].sum(), t['duration_ns'].null_count(), *sorted(t['path'].unique()), *t.columns)",
    ),
    (
        "duckdb",
        "q = lambda s: duckdb.sql(s.replace('T', repr(path))).fetchall()\n\
         print(*q('select count(*), sum(length)::bigint, count(*) - count(duration_ns) from T')[0],\
         *[p for p, in q('select distinct path from T order by 1')], *[c[0] for c in q('describe select * from T')])",
    ),
    (
        "pyarrow",
        "import pyarrow.parquet as p, pyarrow.compute as c\n\
         t = p.read_table(path)\n\
         assert p.read_metadata(path).metadata[b'fathom.schema'] == b'fathom.trace/1'\n\
         print(len(t), c.sum(t['length']), t['duration_ns'].null_count, *sorted(set(t['path'].to_pylist())), *t.column_names)",
    ),
];

#[test]
fn pandas_polars_duckdb_and_arrow_read_what_is_written() {
    let python = std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let scratch = Scratch::new("readers");
    let path = scratch.0.join("t.parquet");
    // More than a group of rows; half of them say how long they took.
    let half = |name: &str, format| {
        let line = |at: u64| match format {
            Format::Msr => format!("128166372003061629,{name},{},Read,{},512,{at}\n", at % 3, at * 512),
            _ => format!("{},W,{},4096,1577808144360767\n", at % 2, at * 4096),
        };
        import((0..150_000).map(line).collect::<String>().as_bytes(), format)
    };
    let mut writer = create(&path, &Format::Msr.origin()).unwrap();
    let (operations, mut files, _) = half("host", Format::Msr);
    writer.add(&operations, &files).unwrap();
    let (operations, others, _) = half("", Format::Alibaba);
    let operations: Vec<_> = operations
        .into_iter()
        .map(|one| fathom_trace::Operation { file: files.id(others.path(one.file)), ..one })
        .collect();
    writer.add(&operations, &files).unwrap();
    writer.finish().unwrap();

    let sum = 150_000u64 * (512 + 4096);
    let columns =
        "start_ns duration_ns process thread kind file path descriptor offset length result flags to";
    let expected = format!("300000 {sum} 150000 0 1 host,0 host,1 host,2 {columns}");
    for (library, script) in READERS {
        let script = format!("import sys, {library}\npath = sys.argv[1]\n{script}");
        let output = Command::new(&python).args(["-c", &script]).arg(&path).output();
        let Ok(output) = output else {
            skip("readers", "there is no Python");
            return;
        };
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        if complaint.contains("ModuleNotFoundError") {
            skip(library, "it is not installed");
            continue;
        }
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{library}: {complaint}");
    }
    let read = |path: &Path| {
        let (operations, files) = Reader::open(path).and_then(Reader::read_all).unwrap();
        let named =
            |one: fathom_trace::Operation| (files.path(one.file).to_vec(), one.kind, one.offset, one.length);
        operations.into_iter().map(named).collect::<Vec<_>>()
    };
    // Words in place of numbers with a dictionary, in both kinds of pages, as other programs write.
    let script = "import sys, pyarrow.parquet as p\nhere, there, version = sys.argv[1:]\n\
                  p.write_table(p.read_table(here), there, use_dictionary=False, data_page_version=version)";
    for version in ["1.0", "2.0"] {
        let again = scratch.0.join(version);
        let output =
            Command::new(&python).args(["-c", script]).arg(&path).arg(&again).arg(version).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        if complaint.contains("ModuleNotFoundError") {
            skip("traces written by pyarrow", "it is not installed");
            return;
        }
        assert!(output.status.success(), "{complaint}");
        assert!(read(&again) == read(&path), "pages of version {version}");
    }
}
