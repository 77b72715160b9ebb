//! What blkparse prints in its default format.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//!   8,0    3        4     0.000310000     0  C   W 223490 + 8 [0]
//! ```
//! Device, CPU, sequence, time in s, process, action, letters, sector and sectors. After the events stand
//! totals, which are none. Source: blkparse(1).

use super::requests::{InFlight, Moment, Request, SECTOR, kind};
use super::text::Text;
use super::{Lines, Output};

#[derive(Default)]
pub(super) struct Reader {
    in_flight: InFlight,
    in_totals: bool,
}

impl Lines for Reader {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let mut text = Text(line);
        text.spaces();
        let starts_with_digit = text.0.first().is_some_and(u8::is_ascii_digit);
        if text.is_empty() || !starts_with_digit && (self.in_totals || is_total(text.0)) {
            self.in_totals |= !text.is_empty();
            output.ignored += 1;
            return Ok(());
        }
        self.in_totals = false;
        let request = event(&mut text)?;
        match request {
            Some(request) => self.in_flight.note(request, output),
            None => output.ignored += 1,
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output) {
        self.in_flight.end(output);
    }
}

/// The first lines of blkparse's totals, and its word on what it could not read.
fn is_total(line: &[u8]) -> bool {
    [b"CPU".as_slice(), b"Total", b"Throughput", b"Events", b"Skips", b"Input file"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// A request; nothing where a line tells of something else.
fn event(text: &mut Text) -> Result<Option<Request>, &'static str> {
    let major = text.number_before(b',').ok_or("no device")?;
    let minor = text.number().ok_or("no device")?;
    let device = u32::try_from(major).ok().zip(u32::try_from(minor).ok()).ok_or("no device")?;
    text.spaces();
    text.number().ok_or("no CPU")?;
    text.spaces();
    text.number().ok_or("no sequence number")?;
    text.spaces();
    let time_ns = text.seconds_ns().ok_or("no time")?;
    text.spaces();
    let process = text.number().and_then(|process| u32::try_from(process).ok()).ok_or("no process")?;
    let moment = match text.word() {
        b"Q" => Moment::Queued,
        b"D" => Moment::Issued,
        b"C" => Moment::Completed,
        action if !action.is_empty() && action.len() <= 3 && action.iter().all(u8::is_ascii_alphabetic) => {
            return Ok(None);
        }
        _ => return Err("no action"),
    };
    let letters = text.word();
    text.spaces();
    // A flush has neither place nor size: `D  FN [kworker/0:1H]`. SCSI commands of programs have others.
    let Some(sector) = text.number() else {
        return Ok(kind(letters, 0).map(|kind| Request {
            moment,
            time_ns,
            process,
            device,
            kind,
            sector: 0,
            bytes: 0,
        }));
    };
    text.spaces();
    let sectors = match text.word() {
        b"+" => {
            text.spaces();
            text.number().ok_or("no number of sectors")?
        }
        _ => 0,
    };
    let end = sector.checked_add(sectors).and_then(|end| end.checked_mul(SECTOR));
    end.filter(|&end| i64::try_from(end).is_ok()).ok_or("a sector beyond all bounds")?;
    let bytes = sectors * SECTOR;
    Ok(kind(letters, bytes).map(|kind| Request { moment, time_ns, process, device, kind, sector, bytes }))
}
