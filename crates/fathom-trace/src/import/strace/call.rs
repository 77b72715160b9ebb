//! One call as strace prints it: `NAME(ARGUMENTS) = RESULT <SECONDS>`.

use std::borrow::Cow;

use memchr::{memchr, memmem, memrchr};

use super::super::text::Text;
use super::errno;
use crate::calls::{Call, Under, What, at_position};
use crate::operation::CallKind;

/// What a line holds.
pub(super) enum Parsed<'a> {
    /// A call that files or descriptors depend on.
    Call(Call<'a>),
    /// Any other.
    Other,
}

/// Where a call's arguments stand.
#[derive(Clone, Copy)]
enum Shape {
    /// `(FD, DATA, LENGTH)`.
    Data,
    /// `(FD, DATA, LENGTH, OFFSET)`.
    DataAt,
    /// `(FD, VECTORS, COUNT)`: the length is what was moved.
    Vectors,
    /// `(FD, VECTORS, COUNT, OFFSET[, FLAGS])`, with that many fields behind the vectors.
    VectorsAt(usize),
    /// `(FD)`, or what follows does not matter.
    Descriptor,
    /// `(FD, OFFSET, WHENCE)`.
    Seek,
    /// `(FD, OFFSET, LENGTH, ...)`.
    Range,
    /// `(FD, LENGTH)`.
    Length,
    /// `(FD, MODE, OFFSET, LENGTH)`.
    Allocate,
    /// `(ADDRESS, LENGTH, PROTECTION, FLAGS, FD, OFFSET)`.
    Map,
    /// `(FD, COMMAND, ...)`.
    Control,
    /// `("PATH", FLAGS[, MODE])`.
    Open,
    /// `(FD, "PATH", FLAGS[, MODE])`.
    OpenAt,
    /// `("PATH", LENGTH)`.
    Truncate,
    /// `("PATH")`.
    Path,
    /// `(FD, "PATH", FLAGS)`.
    RemoveAt,
    /// `("OLD", "NEW")`.
    Rename,
    /// `(FD, "OLD", FD, "NEW"[, FLAGS])`.
    RenameAt,
    /// `(FIRST, LAST, FLAGS)`.
    CloseRange,
    /// Any that makes a thread or process.
    Fork,
    /// None that matter.
    None,
}

fn shape(name: &[u8]) -> Option<(What, Shape)> {
    let (kind, shape) = match name {
        b"read" => (CallKind::Read, Shape::Data),
        b"write" => (CallKind::Write, Shape::Data),
        b"pread64" | b"pread" => (CallKind::Pread, Shape::DataAt),
        b"pwrite64" | b"pwrite" => (CallKind::Pwrite, Shape::DataAt),
        b"readv" => (CallKind::Readv, Shape::Vectors),
        b"writev" => (CallKind::Writev, Shape::Vectors),
        b"preadv" => (CallKind::Preadv, Shape::VectorsAt(2)),
        b"pwritev" => (CallKind::Pwritev, Shape::VectorsAt(2)),
        b"preadv2" => (CallKind::Preadv, Shape::VectorsAt(3)),
        b"pwritev2" => (CallKind::Pwritev, Shape::VectorsAt(3)),
        b"close" => (CallKind::Close, Shape::Descriptor),
        b"lseek" => (CallKind::Seek, Shape::Seek),
        b"fsync" => (CallKind::Fsync, Shape::Descriptor),
        b"fdatasync" => (CallKind::Fdatasync, Shape::Descriptor),
        b"sync_file_range" => (CallKind::SyncRange, Shape::Range),
        b"ftruncate" => (CallKind::Truncate, Shape::Length),
        b"fallocate" => (CallKind::Allocate, Shape::Allocate),
        b"mmap" => (CallKind::Map, Shape::Map),
        b"dup" | b"dup2" => (CallKind::Dup, Shape::Descriptor),
        b"dup3" | b"fcntl" => (CallKind::Dup, Shape::Control),
        b"open" | b"creat" => (CallKind::Open, Shape::Open),
        b"openat" | b"openat2" => (CallKind::Open, Shape::OpenAt),
        b"unlink" => (CallKind::Unlink, Shape::Path),
        b"unlinkat" => (CallKind::Unlink, Shape::RemoveAt),
        b"rename" => (CallKind::Rename, Shape::Rename),
        b"renameat" | b"renameat2" => (CallKind::Rename, Shape::RenameAt),
        b"chdir" => return Some((What::ChangeDirectory, Shape::Path)),
        b"fchdir" => return Some((What::ChangeDirectory, Shape::Descriptor)),
        b"close_range" => return Some((What::CloseRange, Shape::CloseRange)),
        b"truncate" => return Some((What::TruncatePath, Shape::Truncate)),
        b"clone" | b"clone3" | b"fork" | b"vfork" => return Some((forked(name), Shape::Fork)),
        b"execve" | b"execveat" => return Some((What::Exec, Shape::None)),
        _ => return None,
    };
    Some((What::Do(kind), shape))
}

/// Whether a call makes a thread or process, and what they share.
pub(super) fn fork(text: &[u8]) -> Option<What> {
    let is_one = [b"clone".as_slice(), b"fork", b"vfork"].iter().any(|name| text.starts_with(name));
    is_one.then(|| forked(text))
}

/// What a new thread or process shares, by its call's arguments.
fn forked(arguments: &[u8]) -> What {
    let has = |flag: &[u8]| memmem::find(arguments, flag).is_some();
    What::Fork { shares: has(b"CLONE_FILES"), is_thread: has(b"CLONE_THREAD") }
}

/// Parses a call from its name on.
pub(super) fn parse(thread: u32, start_ns: i64, text: &[u8]) -> Result<Parsed<'_>, &'static str> {
    let open = memchr(b'(', text).ok_or("no call")?;
    let name = &text[..open];
    if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return Err("no call");
    }
    let Some((what, shape)) = shape(name) else { return Ok(Parsed::Other) };
    let (arguments, result, duration_ns) = split(&text[open + 1..])?;
    let mut call = Call { duration_ns, ..Call::new(thread, start_ns, what) };
    let named = take_result(result, &mut call)?;
    if fill(&mut call, shape, arguments, name).is_none() {
        return Err("arguments that make no sense");
    }
    if call.what == What::Do(CallKind::Open)
        && let Some(path) = named
    {
        (call.path, call.under) = (Some(path), call.under.of_the_process());
    }
    Ok(if call.what == What::Nothing { Parsed::Other } else { Parsed::Call(call) })
}

type Split<'a> = (&'a [u8], &'a [u8], Option<u64>);

/// Arguments, result and duration.
fn split(text: &[u8]) -> Result<Split<'_>, &'static str> {
    let mut text = text.trim_ascii_end();
    let mut duration = None;
    if let Some(inside) = text.strip_suffix(b">")
        && let Some(at) = memrchr(b'<', inside)
    {
        let mut seconds = Text(&inside[at + 1..]);
        if let Some(nanos) = seconds.seconds_ns().filter(|_| seconds.is_empty()) {
            duration = u64::try_from(nanos).ok();
            text = inside[..at].trim_ascii_end();
        }
    }
    // The last " = " behind a ")": data may hold others, and so may a file's name in the result.
    let mut end = text.len();
    while let Some(at) = memmem::rfind(&text[..end], b"= ") {
        let before = text[..at].trim_ascii_end();
        if let Some(arguments) = before.strip_suffix(b")")
            && before.len() < at
        {
            return Ok((arguments, &text[at + 2..], duration));
        }
        end = at;
    }
    Err("a call without its result")
}

/// `5`, `0x7f00`, `3</path>`, `-1 ENOENT (No such file or directory)` or `?`; gives the path.
fn take_result<'a>(text: &'a [u8], call: &mut Call) -> Result<Option<Cow<'a, [u8]>>, &'static str> {
    let mut text = Text(text);
    if text.skip(b'?') {
        return Ok(None);
    }
    if text.0.starts_with(b"0x") {
        // An address says no more than that it went well.
        call.result = Some(0);
        return Ok(None);
    }
    let value = text.signed().ok_or("a result that is no number")?;
    if value == -1 {
        text.spaces();
        let error = errno::number(text.word()).ok_or("an error without a name that is known")?;
        call.result = Some(-error);
        return Ok(None);
    }
    call.result = Some(value);
    Ok(annotation(&mut text).filter(|path| path.first() == Some(&b'/')))
}

fn fill<'a>(call: &mut Call<'a>, shape: Shape, arguments: &'a [u8], name: &[u8]) -> Option<()> {
    let mut left = Text(arguments);
    let mut last = Fields(arguments);
    let names = matches!(
        shape,
        Shape::Open
            | Shape::OpenAt
            | Shape::Truncate
            | Shape::Path
            | Shape::RemoveAt
            | Shape::Rename
            | Shape::RenameAt
    );
    if !names && !matches!(shape, Shape::Map | Shape::Fork | Shape::None) {
        take_descriptor(call, &mut left)?;
    }
    match shape {
        Shape::Data | Shape::Length => call.length = last.number()?,
        Shape::DataAt => {
            call.offset = Some(last.number()?);
            call.length = last.number()?;
        }
        Shape::Vectors => call.length = moved(call),
        Shape::VectorsAt(behind) => {
            last.skip(behind - 2);
            call.offset = u64::try_from(Text(last.next()).signed()?).ok();
            call.what = at_position(call.what, call.offset);
            call.length = moved(call);
        }
        Shape::Descriptor | Shape::None => {}
        Shape::Seek => {
            call.flags = whence(last.next())?;
            call.length = Text(last.next()).signed()?.unsigned_abs();
        }
        Shape::Range => {
            last.next();
            call.length = last.number()?;
            call.offset = Some(last.number()?);
        }
        Shape::Allocate => {
            call.length = last.number()?;
            call.offset = Some(last.number()?);
        }
        Shape::Map => {
            call.offset = Some(last.number()?);
            take_descriptor(call, &mut Text(last.next()))?;
            last.skip(2);
            call.length = last.number()?;
        }
        Shape::Control => control(call, &mut left, &mut last, name),
        Shape::Open => take_open(call, arguments, name == b"creat")?,
        Shape::OpenAt => {
            call.under = under(&mut left)?;
            take_open(call, left.0, false)?;
        }
        Shape::Truncate => {
            call.path = Some(quoted(arguments)?.0);
            call.length = last.number()?;
        }
        Shape::Path => call.path = Some(quoted(arguments)?.0),
        Shape::RemoveAt => {
            call.under = under(&mut left)?;
            call.path = Some(quoted(left.0)?.0);
            if memmem::find(last.next(), b"AT_REMOVEDIR").is_some() {
                call.what = What::Nothing;
            }
        }
        Shape::Rename => {
            let (old, rest) = quoted(arguments)?;
            call.path = Some(old);
            call.to = Some((quoted(rest)?.0, Under::Here));
        }
        Shape::RenameAt => {
            call.under = under(&mut left)?;
            let (old, rest) = quoted(left.0)?;
            call.path = Some(old);
            left = Text(rest.strip_prefix(b",")?);
            left.spaces();
            let new = under(&mut left)?;
            let (path, rest) = quoted(left.0)?;
            call.to = Some((path, new));
            call.flags = rename_flags(rest);
        }
        Shape::CloseRange => {
            call.flags = if memmem::find(last.next(), b"CLOSE_RANGE_CLOEXEC").is_some() { 4 } else { 0 };
            // The last of all has several ways to be written.
            call.length = last.number().unwrap_or(u64::from(u32::MAX));
        }
        Shape::Fork => call.what = forked(arguments),
    }
    Some(())
}

/// What a seek counts from, as the kernel numbers it.
fn whence(name: &[u8]) -> Option<u32> {
    let names = [b"SEEK_SET".as_slice(), b"SEEK_CUR", b"SEEK_END", b"SEEK_DATA", b"SEEK_HOLE"];
    names.iter().position(|known| *known == name).map(|at| at as u32)
}

/// What moved data in vectors; the vectors' own lengths are not told apart from data that looks like them.
fn moved(call: &Call) -> u64 {
    call.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0)
}

/// dup3, and those of fcntl's commands that make descriptors.
fn control(call: &mut Call, left: &mut Text, last: &mut Fields, name: &[u8]) {
    if name == b"dup3" {
        if last.next() == b"O_CLOEXEC" {
            call.what = What::DupCloseOnExec;
        }
        return;
    }
    left.until(b',');
    left.spaces();
    let command = left.0.split(|&byte| byte == b',' || byte == b')').next().unwrap_or_default();
    call.what = match command {
        b"F_DUPFD" => What::Do(CallKind::Dup),
        b"F_DUPFD_CLOEXEC" => What::DupCloseOnExec,
        b"F_SETFD" => {
            call.flags = u32::from(last.next() == b"FD_CLOEXEC");
            What::SetCloseOnExec
        }
        _ => What::Nothing,
    };
}

/// `3` or `3</path>`, or `AT_FDCWD</path>`.
fn take_descriptor<'a>(call: &mut Call<'a>, text: &mut Text<'a>) -> Option<()> {
    if text.0.starts_with(b"AT_FDCWD") {
        return Some(());
    }
    call.descriptor = i32::try_from(text.signed()?).ok()?;
    call.path = annotation(text);
    Some(())
}

/// `3`, `3</path>`, `AT_FDCWD` or `AT_FDCWD</path>`, and the comma behind it.
fn under<'a>(text: &mut Text<'a>) -> Option<Under<'a>> {
    let here = text.0.strip_prefix(b"AT_FDCWD");
    let number = match here {
        Some(rest) => {
            text.0 = rest;
            None
        }
        None => Some(i32::try_from(text.signed()?).ok()?),
    };
    let under = match (number, annotation(text)) {
        (None, None) => Under::Here,
        (None, Some(path)) => Under::HereIs(path),
        (Some(_), Some(path)) => Under::Directory(path),
        (Some(number), None) => Under::Descriptor(number),
    };
    text.until(b',').map(|_| under)
}

/// The numbers of renameat2(2)'s flags.
fn rename_flags(text: &[u8]) -> u32 {
    let names: [&[u8]; 3] = [b"RENAME_NOREPLACE", b"RENAME_EXCHANGE", b"RENAME_WHITEOUT"];
    let is_set = |name: &[u8]| memmem::find(text, name).is_some();
    (0..).zip(names).map(|(bit, name)| u32::from(is_set(name)) << bit).sum()
}

/// `<path>`, in which `<` and `>` are escaped.
fn annotation<'a>(text: &mut Text<'a>) -> Option<Cow<'a, [u8]>> {
    text.skip(b'<').then(|| text.until(b'>')).flatten().map(unescape)
}

fn take_open<'a>(call: &mut Call<'a>, text: &'a [u8], creates: bool) -> Option<()> {
    let (path, rest) = quoted(text)?;
    call.path = Some(path);
    let flags = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
    let flags = flags.strip_prefix(b"{flags=").unwrap_or(flags);
    let flags = flags.split(|byte| matches!(byte, b',' | b'}' | b')')).next().unwrap_or_default();
    call.flags = if creates { 0o1101 } else { open_flags(flags) };
    Some(())
}

/// The numbers of open(2)'s flags on x86-64; those that are not named here change nothing that is followed.
fn open_flags(text: &[u8]) -> u32 {
    let flag = |name: &[u8]| match name {
        b"O_WRONLY" => 0o1,
        b"O_RDWR" => 0o2,
        b"O_CREAT" => 0o100,
        b"O_EXCL" => 0o200,
        b"O_NOCTTY" => 0o400,
        b"O_TRUNC" => 0o1000,
        b"O_APPEND" => 0o2000,
        b"O_NONBLOCK" => 0o4000,
        b"O_DSYNC" => 0o1_0000,
        b"O_DIRECT" => 0o4_0000,
        b"O_LARGEFILE" => 0o10_0000,
        b"O_DIRECTORY" => 0o20_0000,
        b"O_NOFOLLOW" => 0o40_0000,
        b"O_NOATIME" => 0o100_0000,
        b"O_CLOEXEC" => 0o200_0000,
        b"O_SYNC" => 0o401_0000,
        b"O_PATH" => 0o1000_0000,
        b"O_TMPFILE" => 0o2020_0000,
        _ => 0,
    };
    text.split(|&byte| byte == b'|').map(|name| flag(name.trim_ascii())).fold(0, |all, one| all | one)
}

/// A string in quotes, and what follows it.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let start = memchr(b'"', text)? + 1;
    let mut end = start;
    loop {
        match text.get(end)? {
            b'\\' => end += 2,
            b'"' => break,
            _ => end += 1,
        }
    }
    Some((unescape(&text[start..end]), &text[end + 1..]))
}

/// Undoes C's escapes: `\n`, `\"`, `\303`, `\x1b`.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            plain.push(*first);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        if digits > 0 {
            let value = rest[..digits].iter().fold(0u32, |sum, byte| sum * 8 + u32::from(byte - b'0'));
            plain.push(value as u8);
            rest = &rest[digits..];
        } else if let [letter, after @ ..] = rest {
            plain.push(match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'v' => 0x0b,
                b'f' => 0x0c,
                other => *other,
            });
            rest = after;
        }
    }
    Cow::Owned(plain)
}

/// A call's arguments, from the last to the first: what stands before them may hold anything.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> &'a [u8] {
        let at = memrchr(b',', self.0);
        let field = &self.0[at.map_or(0, |at| at + 1)..];
        self.0 = &self.0[..at.unwrap_or(0)];
        field.trim_ascii()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn number(&mut self) -> Option<u64> {
        let mut text = Text(self.next());
        text.any_number().filter(|_| text.is_empty())
    }
}
