//! What is planted: block size, latencies and faults, and the words for them.

use std::str::FromStr;
use std::time::Duration;

use fuser::Errno;
use strum::EnumString;

use crate::stripes::{Layout, Stripes};

/// Everything that decides how the file system behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The unit that space is handed out in: `f_bsize`, `st_blksize` and the step of `st_blocks`, in bytes.
    pub block_bytes: u32,
    /// The size that `statfs(2)` declares, in bytes. Writes past it give ENOSPC.
    pub size_bytes: u64,
    /// How long each call takes, in addition to the way to the server and back.
    pub call: Duration,
    /// How long every request takes that a caller waits for, in addition to the way to the server and back: lookups of
    /// names and closes of files as well.
    pub round_trip: Duration,
    /// How long FUSE_FLUSH, a part of closing a file, takes in addition to [`Plan::round_trip`].
    pub flush: Duration,
    /// How long the kernel may believe attributes: `attr_valid`.
    pub attributes: Duration,
    /// How long it may believe what a name stands for: `entry_valid`.
    pub entries: Duration,
    /// How long it may believe that there is nothing of a name: `entry_valid` of the number zero.
    pub negative: Duration,
    /// Bytes that one request reads, at most: the option `max_read` of the mount.
    pub max_read: Option<u32>,
    /// Bytes that one request writes, at most: `max_write`.
    pub max_write: u32,
    /// Where what is written waits.
    pub writes: Writes,
    /// Requests that are answered at once: threads of the server.
    pub threads: u16,
    /// Requests for reading ahead and for writing back that the kernel sends at once, at most: `max_background`.
    pub background: u16,
    /// How much longer a read takes for each page of 4 KiB asked of the server.
    pub page: Duration,
    /// How much longer a read takes where it asks for a page that is not in the server's memory: one that was not read
    /// since it was written. Zero where all files are in memory.
    pub cold: Duration,
    /// Bytes that the server brings into its memory, from where a request ends, after two requests in order.
    pub ahead: u64,
    /// How much longer a write takes for each block that had no space yet.
    pub new_block: Duration,
    /// What `stat(2)` says of the space of a file.
    pub blocks: Blocks,
    /// What becomes of a file's cached data when it is opened.
    pub opening: Opening,
    /// How files are said to be divided among servers, if at all.
    pub stripes: Option<Stripes>,
    /// Whether a file that is removed while it is open is renamed to `.fuse_hidden` and a number until it is closed,
    /// as libfuse does.
    pub hides: bool,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// Where what is written waits until a file is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// Nowhere: each write is a request, and takes a round trip.
    #[default]
    Through,
    /// In the kernel's cache, which the kernel flushes when a file is closed: FUSE_WRITEBACK_CACHE.
    Cached,
    /// In the server, which answers writes at once and takes the round trip at FUSE_FLUSH, as sshfs does.
    Late,
}

/// What becomes of a file's cached data when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// They stay, as on a local file system: FOPEN_KEEP_CACHE.
    #[default]
    Keeps,
    /// They go, as where libfuse is not told anything.
    Drops,
    /// There are none: FOPEN_DIRECT_IO.
    Bypasses,
}

/// What `st_blocks` says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocks {
    /// The space that was handed out.
    #[default]
    Taken,
    /// The file's length, as sshfs says.
    Length,
    /// So many bytes of every file.
    Constant(u64),
}

/// Something that goes wrong at a known call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub happens: Happens,
    /// In which call.
    pub call: Call,
    /// In how manieth of them.
    pub when: When,
}

/// What a fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happens {
    /// The call fails: EIO, ENOSPC or EINTR.
    Fails(Errno),
    /// Half of the bytes are moved.
    Short,
    /// The call is answered this much later.
    Hang(Duration),
}

/// Which calls of a kind a fault concerns; they are counted from 1 on since the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// That one alone.
    Nth(u64),
    /// That one and all later ones.
    From(u64),
    /// Those that would write beyond so many bytes in all.
    AfterBytes(u64),
}

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, EnumString)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each is the system call of that name")]
pub enum Call {
    Read,
    Write,
    Fsync,
    Open,
    Create,
    Mkdir,
    Unlink,
    Rename,
    Rmdir,
    Stat,
    Truncate,
    Readdir,
    Statfs,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            block_bytes: 4096,
            size_bytes: 1 << 30,
            call: Duration::ZERO,
            round_trip: Duration::ZERO,
            flush: Duration::ZERO,
            // The kernel alone changes anything, so what it knows stays true.
            attributes: Duration::from_secs(3600),
            entries: Duration::from_secs(3600),
            negative: Duration::ZERO,
            max_read: None,
            max_write: 1 << 20,
            writes: Writes::Through,
            threads: 2,
            background: 16,
            page: Duration::ZERO,
            cold: Duration::ZERO,
            ahead: 0,
            new_block: Duration::ZERO,
            blocks: Blocks::Taken,
            opening: Opening::Keeps,
            stripes: None,
            hides: false,
            faults: Vec::new(),
        }
    }
}

impl FromStr for Plan {
    type Err = String;

    /// `block=BYTES`, `size=BYTES`, `call=TIME`, `page=TIME`, `new_block=TIME`, `rtt=TIME`, `flush=TIME`, `attr=TIME`,
    /// `cold=TIME`, `ahead=BYTES`, `entry=TIME`, `negative=TIME`, `max_read=BYTES`, `max_write=BYTES`, `cache=writeback`,
    /// `write=late`, `threads=N`, `background=N`, `st_blocks=length`, `st_blocks=BYTES`,
    /// `open=direct`, `open=drops`, `unlink=hides`, `stripe=BYTES`, `stripes=N`, `layout=ceph`, `layout=lustre`, and faults:
    /// `eio=CALL@N`, `eintr=CALL@N`, `short=CALL@N`, `hang=CALL@N:TIME` and `enospc=BYTES`, where `N+` means the
    /// Nth call and all after it. Separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut plan = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            plan.set(word).ok_or_else(|| {
                format!("'{word}' is no setting of the FUSE file system; 'fathom lab fuse --help' lists them")
            })?;
        }
        if !plan.block_bytes.is_power_of_two() || plan.block_bytes < 512 {
            return Err(format!("block={}: it must be a power of two from 512 on", plan.block_bytes));
        }
        if let Some(Stripes { bytes, count, .. }) = plan.stripes.filter(|stripes| !stripes.is_possible()) {
            return Err(format!(
                "stripe={bytes},stripes={count}: a stripe must be a multiple of 65536 bytes, and there are 1 to 2000 of them"
            ));
        }
        Ok(plan)
    }
}

impl Plan {
    fn set(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=')?;
        let fault = |happens, (call, when)| Fault { happens, call, when };
        match key {
            "block" => self.block_bytes = value.parse().ok()?,
            "size" => self.size_bytes = value.parse().ok()?,
            "call" => self.call = duration(value)?,
            "page" => self.page = duration(value)?,
            "cold" => self.cold = duration(value)?,
            "ahead" => self.ahead = value.parse().ok()?,
            "rtt" => self.round_trip = duration(value)?,
            "flush" => self.flush = duration(value)?,
            "attr" => self.attributes = duration(value)?,
            "entry" => self.entries = duration(value)?,
            "negative" => self.negative = duration(value)?,
            "max_read" => self.max_read = Some(value.parse().ok()?),
            "max_write" => self.max_write = value.parse().ok()?,
            "cache" if value == "writeback" => self.writes = Writes::Cached,
            "write" if value == "late" => self.writes = Writes::Late,
            "threads" => self.threads = value.parse().ok().filter(|&count| count > 0)?,
            "background" => self.background = value.parse().ok().filter(|&count| count > 0)?,
            "new_block" => self.new_block = duration(value)?,
            "st_blocks" if value == "length" => self.blocks = Blocks::Length,
            "st_blocks" => self.blocks = Blocks::Constant(value.parse().ok()?),
            "open" if value == "direct" => self.opening = Opening::Bypasses,
            "open" if value == "drops" => self.opening = Opening::Drops,
            "unlink" if value == "hides" => self.hides = true,
            "stripe" => self.stripes.get_or_insert_default().bytes = value.parse().ok()?,
            "stripes" => self.stripes.get_or_insert_default().count = value.parse().ok()?,
            "layout" if value == "ceph" => self.stripes.get_or_insert_default().layout = Layout::Ceph,
            "layout" if value == "lustre" => self.stripes.get_or_insert_default().layout = Layout::Lustre,
            "eio" => self.faults.push(fault(Happens::Fails(Errno::EIO), place(value)?)),
            "eintr" => self.faults.push(fault(Happens::Fails(Errno::EINTR), place(value)?)),
            "short" => self.faults.push(fault(Happens::Short, place(value)?)),
            "hang" => {
                let (at, time) = value.split_once(':')?;
                self.faults.push(fault(Happens::Hang(duration(time)?), place(at)?));
            }
            "enospc" => {
                let bytes = When::AfterBytes(value.parse().ok()?);
                self.faults.push(fault(Happens::Fails(Errno::ENOSPC), (Call::Write, bytes)));
            }
            _ => return None,
        }
        Some(())
    }
}

fn place(text: &str) -> Option<(Call, When)> {
    let (name, count) = text.split_once('@')?;
    let when = match count.strip_suffix('+') {
        Some(count) => When::From(count.parse().ok()?),
        None => When::Nth(count.parse().ok()?),
    };
    Some((name.parse().ok()?, when))
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    Some(Duration::from_nanos(count.checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_what_the_words_say() {
        let read = |text: &str| text.parse::<Plan>().unwrap();
        let usual = Plan::default;
        assert_eq!(read(""), usual());
        let slow = Plan {
            block_bytes: 65536,
            size_bytes: 1000,
            call: Duration::from_micros(5),
            page: Duration::from_nanos(700),
            new_block: Duration::from_millis(1),
            ..usual()
        };
        assert_eq!(read("block=65536,size=1000,call=5us,page=700ns,new_block=1ms"), slow);
        let odd = Plan { blocks: Blocks::Length, opening: Opening::Bypasses, hides: true, ..usual() };
        assert_eq!(read("st_blocks=length,open=direct,unlink=hides"), odd);
        assert_eq!(read("st_blocks=131072"), Plan { blocks: Blocks::Constant(131_072), ..usual() });
        let far = Plan {
            round_trip: Duration::from_micros(300),
            flush: Duration::from_millis(1),
            attributes: Duration::from_secs(1),
            entries: Duration::ZERO,
            negative: Duration::from_millis(2500),
            max_read: Some(65536),
            max_write: 8192,
            writes: Writes::Cached,
            ..usual()
        };
        let words = "rtt=300us,flush=1ms,attr=1s,entry=0ns,negative=2500ms,max_read=65536,max_write=8192,cache=writeback";
        assert_eq!(read(words), far);
        let many = Plan { writes: Writes::Late, threads: 12, background: 8, ..usual() };
        assert_eq!(read("write=late,threads=12,background=8"), many);
        let lustre = Stripes { bytes: 1 << 20, count: 12, layout: Layout::Lustre };
        assert_eq!(read("stripe=1048576,stripes=12,layout=lustre").stripes, Some(lustre));
        assert_eq!(read("layout=ceph").stripes, Some(Stripes::default()));
        let reading_ahead = Plan { cold: Duration::from_millis(2), ahead: 65536, ..usual() };
        assert_eq!(read("cold=2ms,ahead=65536"), reading_ahead);
        let fault = |happens, call, when| Fault { happens, call, when };
        let faults = [
            fault(Happens::Fails(Errno::EIO), Call::Unlink, When::From(1)),
            fault(Happens::Short, Call::Read, When::Nth(7)),
            fault(Happens::Fails(Errno::ENOSPC), Call::Write, When::AfterBytes(1 << 20)),
            fault(Happens::Hang(Duration::from_secs(30)), Call::Write, When::Nth(2)),
            fault(Happens::Fails(Errno::EINTR), Call::Fsync, When::Nth(1)),
        ];
        let words = "eio=unlink@1+,short=read@7,enospc=1048576,hang=write@2:30s,eintr=fsync@1";
        assert_eq!(read(words).faults, faults);
    }

    #[test]
    fn nonsense_is_named() {
        for word in [
            "block",
            "eio=read",
            "eio=dance@1",
            "hang=read@1",
            "call=5",
            "call=5h",
            "open=late",
            "cache=none",
            "write=never",
            "threads=0",
            "attr=1",
            "st_blocks=many",
            "colour=red",
            "layout=raid",
            "stripes=many",
        ] {
            let complaint = format!("block=4096,{word}").parse::<Plan>().unwrap_err();
            assert!(
                complaint.starts_with(&format!("'{word}' is no setting of the FUSE file system")),
                "{complaint}"
            );
        }
        assert!("block=3000".parse::<Plan>().unwrap_err().contains("power of two"));
        for words in ["stripe=0", "stripe=100000", "stripes=0", "stripes=2001"] {
            assert!(words.parse::<Plan>().unwrap_err().contains("multiple of 65536 bytes"), "{words}");
        }
    }
}
