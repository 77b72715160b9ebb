//! File systems in user space: where a count tells nothing, a survey believes none, and nothing stays behind.

use std::path::Path;

use serde_json::Value;

use crate::faults::on_fuse;
use crate::support::{NO_MOUNTS, Outcome, can_mount, mounted, require};

/// What is asked here: all that rests on counts of space and on dirty data.
const ASKED: [&str; 8] = [
    "survey",
    "AT",
    "--only",
    "block_size,direct_pointers,allocation_scheme,extent_length,inline_limit,dirty_throttle_point",
    "--evidence",
    "witness,declared",
    "--json",
    "-",
];

/// The answers, and whether nothing is left.
#[track_caller]
fn findings(outcome: &Outcome, left: &[String]) -> Vec<Value> {
    assert!(left.is_empty(), "{left:?} after {outcome:?}");
    let survey: Value =
        serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    survey["findings"].as_array().unwrap().clone()
}

#[track_caller]
fn finding<'a>(findings: &'a [Value], parameter: &str) -> &'a Value {
    findings.iter().find(|finding| finding["parameter"] == parameter).unwrap()
}

/// What one method says of the block.
#[track_caller]
fn block_by<'a>(findings: &'a [Value], method: &str) -> &'a Value {
    let evidence = finding(findings, "block_size")["evidence"].as_array().unwrap();
    evidence.iter().find(|piece| piece["method"] == method).unwrap()
}

#[test]
fn a_count_of_blocks_that_moves_is_believed() {
    let Some(fared) = on_fuse("block=16384,unlink=hides", &ASKED) else { return };
    let findings = findings(&fared.outcome, &fared.left);
    for method in ["sparse_st_blocks", "seek_hole"] {
        assert_eq!(block_by(&findings, method)["value"], 16384, "{findings:#?}");
    }
}

#[test]
fn a_count_of_something_else_is_not() {
    for lie in ["length", "0", "4096", "131072", "67108864"] {
        let Some(fared) = on_fuse(&format!("block=16384,st_blocks={lie}"), &ASKED) else { return };
        let findings = findings(&fared.outcome, &fared.left);
        assert_eq!(block_by(&findings, "sparse_st_blocks")["status"], "inconclusive", "{lie}: {findings:#?}");
        assert_eq!(finding(&findings, "block_size")["value"], 16384, "{lie}: {findings:#?}");
        for parameter in ["direct_pointers", "allocation_scheme", "inline_limit", "extent_length"] {
            assert_eq!(finding(&findings, parameter)["status"], "inconclusive", "{lie}: {findings:#?}");
        }
    }
}

#[test]
fn where_nothing_gets_dirty_there_is_no_point_to_wait_at() {
    for plan in ["", "open=direct"] {
        let Some(fared) = on_fuse(plan, &ASKED) else { return };
        let findings = findings(&fared.outcome, &fared.left);
        let point = finding(&findings, "dirty_throttle_point");
        assert_eq!(
            (&point["status"], &point["value"]),
            (&"not_applicable".into(), &Value::Null),
            "{point:#}"
        );
    }
}

#[test]
fn what_is_never_cached_has_no_read_ahead() {
    let asked =
        ["survey", "AT", "--only", "readahead_window", "--evidence", "witness,declared", "--json", "-"];
    let Some(fared) = on_fuse("open=direct", &asked) else { return };
    let findings = findings(&fared.outcome, &fared.left);
    assert_eq!(finding(&findings, "readahead_window")["status"], "not_applicable", "{findings:#?}");
}

#[test]
fn settings_that_are_not_in_force_are_no_answer() {
    let asked = [
        "survey",
        "AT",
        "--only",
        "readahead_window,writeback_delay",
        "--evidence",
        "declared",
        "--max-time",
        "300s",
        "--json",
        "-",
    ];
    let Some(fared) = on_fuse("open=direct", &asked) else { return };
    let findings = findings(&fared.outcome, &fared.left);
    for parameter in ["readahead_window", "writeback_delay"] {
        let finding = finding(&findings, parameter);
        assert_eq!(
            (&finding["status"], &finding["value"]),
            (&"inconclusive".into(), &Value::Null),
            "{finding:#}"
        );
    }
}

/// What is planted of requests and of what the kernel may believe, and the methods of the witness that must tell it.
#[test]
fn the_kernels_requests_tell_what_is_planted() {
    let asked = [
        "survey",
        "AT",
        "--only",
        "request_size_read,request_size_write,entry_timeout,negative_timeout",
        "--evidence",
        "witness,declared",
        "--json",
        "-",
    ];
    let Some(fared) = on_fuse("entry=1s,attr=1s,max_read=65536,max_write=20480", &asked) else { return };
    let findings = findings(&fared.outcome, &fared.left);
    let seen = &finding(&findings, "request_size_read")["evidence"][0];
    if seen["status"] == "refused" || seen["status"] == "inconclusive" {
        // The tracepoint is of Linux 6.12, and needs a privilege.
        require("the_kernels_requests_tell_what_is_planted", false, &seen["caveats"].to_string());
        return;
    }
    assert_eq!(finding(&findings, "request_size_read")["value"], 65536, "{findings:#?}");
    assert_eq!(finding(&findings, "request_size_read")["agreement"], "agree", "{findings:#?}");
    assert_eq!(finding(&findings, "request_size_write")["value"], 20480, "{findings:#?}");
    assert_eq!(finding(&findings, "negative_timeout")["value"], 0, "{findings:#?}");
    // A machine that is busy may make the step too wide to tell, and then nothing is told.
    let entry = &finding(&findings, "entry_timeout")["interval"];
    assert!(entry.is_null() || entry[0].as_f64() < Some(1.1e9) && entry[1].as_f64() > Some(1e9), "{entry}");
}

#[test]
fn stripes_are_those_that_are_declared() {
    let asked = ["survey", "AT", "--only", "stripe_size,stripe_count", "--json", "-"];
    for (plan, size, count) in [
        ("stripe=1048576", 1 << 20, 1),
        ("stripe=65536,stripes=5", 65536, 5),
        ("stripe=4194304,stripes=2000,layout=lustre", 4 << 20, 2000),
    ] {
        let Some(fared) = on_fuse(plan, &asked) else { return };
        let findings = findings(&fared.outcome, &fared.left);
        assert_eq!(finding(&findings, "stripe_size")["value"], size, "{plan}: {findings:#?}");
        assert_eq!(finding(&findings, "stripe_count")["value"], count, "{plan}: {findings:#?}");
    }
    let Some(fared) = on_fuse("", &asked) else { return };
    for one in findings(&fared.outcome, &fared.left) {
        assert_eq!((&one["status"], &one["value"]), (&"not_applicable".into(), &Value::Null), "{one:#}");
    }
}

/// Surveys a mount over a directory of the temporary file system by `program` of the Debian package; `SOURCE` stands
/// for the directory below.
fn real_mount(name: &str, program: &str, package: &str, mount: &str) {
    let is_there = |at: &&str| Path::new(at).join(program).exists();
    let missing = format!("{program} is missing: install {package}");
    if !require(name, can_mount(), NO_MOUNTS)
        || !require(name, Path::new("/dev/fuse").exists(), "there is no /dev/fuse")
        || !require(name, ["/usr/bin", "/usr/sbin"].iter().any(is_there), &missing)
    {
        return;
    }
    // The server of the files must not outlive the test: it ends when its mount goes.
    let setup = format!(
        "SOURCE=$(dirname \"$LEFT\")/below; mkdir -p \"$SOURCE/a\" \"$SOURCE/b\"; export SOURCE\n{mount}\n\
         for i in $(seq 500); do mountpoint -q \"$AT\" && break; sleep 0.01; done; mountpoint -q \"$AT\""
    );
    let jobs = ["run", "AT", "--no-report", "--", "fio", "--name=x", "--size=256k", "--rw=randrw"];
    let (ran, left) = mounted(&setup, &jobs);
    assert!(ran.code == Some(0) && left.is_empty(), "{left:?} after {ran:?}");
    let (outcome, left) = mounted(&setup, &ASKED);
    let findings = findings(&outcome, &left);
    let block = finding(&findings, "block_size");
    let below = rustix::fs::statfs(std::env::temp_dir().as_path()).unwrap().f_bsize as u64;
    assert!(block["value"].is_null() || block["value"] == below, "{block:#}");
    let point = finding(&findings, "dirty_throttle_point");
    assert_eq!(point["value"], Value::Null, "{point:#}");
}

#[test]
fn bindfs_is_surveyed() {
    real_mount("bindfs_is_surveyed", "bindfs", "bindfs", "bindfs \"$SOURCE/a\" \"$AT\"");
}

#[test]
fn mergerfs_is_surveyed() {
    real_mount("mergerfs_is_surveyed", "mergerfs", "mergerfs", "mergerfs \"$SOURCE/a:$SOURCE/b\" \"$AT\"");
}

#[test]
fn gocryptfs_is_surveyed() {
    let mount = "mkdir \"$SOURCE/c\"; gocryptfs -init -q -extpass 'echo x' \"$SOURCE/c\"\n\
        gocryptfs -q -extpass 'echo x' \"$SOURCE/c\" \"$AT\"";
    real_mount("gocryptfs_is_surveyed", "gocryptfs", "gocryptfs", mount);
}

#[test]
fn sshfs_is_surveyed() {
    // Its server is spoken to over a pipe: no daemon, no key, no port.
    let server = "/usr/lib/openssh/sftp-server";
    let name = "sshfs_is_surveyed";
    if require(name, Path::new(server).exists(), "sftp-server is missing: install openssh-sftp-server") {
        let mount = format!(
            "printf '#!/bin/sh\\nexec {server}\\n' > \"$SOURCE/ssh\"; chmod +x \"$SOURCE/ssh\"\n\
             sshfs -o ssh_command=\"$SOURCE/ssh\" \"here:$SOURCE/a\" \"$AT\""
        );
        real_mount(name, "sshfs", "sshfs", &mount);
    }
}

/// Servers of two directories and a client that cuts files into shards, without a daemon or a port.
const GLUSTERFS: &str = r#"
SOURCE=$(dirname "$LEFT")/below; mkdir -p "$SOURCE/a" "$SOURCE/b"; cd "$SOURCE"
transport="option transport-type socket
option transport.address-family unix"
for one in a b; do
    printf 'volume %s-disk\ntype storage/posix\noption directory %s\nend-volume\n' $one "$SOURCE/$one" >> server.vol
    printf 'volume %s\ntype features/locks\nsubvolumes %s-disk\nend-volume\n' $one $one >> server.vol
    printf 'volume to-%s\ntype protocol/client\n%s\n' $one "$transport" >> client.vol
    printf 'option transport.socket.connect-path %s\noption remote-host 127.0.0.1\n' "$SOURCE/socket" >> client.vol
    printf 'option remote-subvolume %s\nend-volume\n' $one >> client.vol
done
printf 'volume server\ntype protocol/server\n%s\n' "$transport" >> server.vol
printf 'option transport.socket.listen-path %s\n' "$SOURCE/socket" >> server.vol
printf 'option auth.addr.a.allow *\noption auth.addr.b.allow *\nsubvolumes a b\nend-volume\n' >> server.vol
printf 'volume files\ntype cluster/distribute\nsubvolumes to-a to-b\nend-volume\n' >> client.vol
[ -z "$SHARD" ] || printf 'volume shards\ntype features/shard\n%s\nsubvolumes files\nend-volume\n' "$SHARD" >> client.vol
trap 'umount -l "$AT" || true; kill $(cat "$SOURCE/pid")' EXIT
glusterfs -f "$SOURCE/server.vol" -l "$SOURCE/server.log" -p "$SOURCE/pid"
glusterfs -f "$SOURCE/client.vol" -l "$SOURCE/client.log" "$AT"
for i in $(seq 100); do stat "$AT/.meta" > client.out 2>&1 && break; sleep 0.1; done; stat "$AT/.meta" > client.out
"#;

#[test]
fn shards_of_glusterfs_are_those_that_were_set() {
    let name = "shards_of_glusterfs_are_those_that_were_set";
    let missing = "glusterfs is missing: install glusterfs-server";
    if !require(name, can_mount(), NO_MOUNTS)
        || !require(name, Path::new("/dev/fuse").exists(), "there is no /dev/fuse")
        || !require(name, Path::new("/usr/sbin/glusterfs").exists(), missing)
    {
        return;
    }
    let asked = ["survey", "AT", "--only", "stripe_size,stripe_count", "--json", "-"];
    for (option, size) in [
        ("option shard-block-size 4MB", Some(4 << 20)),
        ("option shard-block-size 16MB", Some(16 << 20)),
        ("option shard-block-size 5.3MB", Some(5_557_452)),
        ("option shard-lru-limit 20", Some(64 << 20)),
        ("", None),
    ] {
        let (outcome, left) = mounted(&format!("SHARD='{option}'\n{GLUSTERFS}"), &asked);
        let findings = findings(&outcome, &left);
        assert_eq!(finding(&findings, "stripe_size")["value"].as_u64(), size, "{option}: {findings:#?}");
        assert_eq!(finding(&findings, "stripe_count")["status"], "not_applicable", "{option}: {findings:#?}");
    }
}
