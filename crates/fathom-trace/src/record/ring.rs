//! The kernel's ring buffer as bytes: sub-buffers of events, with times as differences.
//!
//! A sub-buffer begins with a time stamp (8 bytes) and a count of bytes with flags (8 bytes). An event begins
//! with 32 bits: 5 of type or length, 27 of time since the one before. Source: the kernel's
//! `include/linux/ring_buffer.h` (`enum ring_buffer_type`) and `kernel/trace/ring_buffer.c`.

/// What a sub-buffer's header takes.
const HEADER: usize = 16;
/// In the count: events were lost before this sub-buffer.
const MISSED: u64 = 1 << 31;
const COUNT: u64 = (1 << 30) - 1;

/// An event: when, in ns, and its fields' bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) time_ns: u64,
    pub(super) bytes: &'a [u8],
}

/// Goes through a sub-buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubBuffer<'a> {
    rest: &'a [u8],
    time_ns: u64,
    /// Events were lost before it.
    pub(super) missed: bool,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl<'a> SubBuffer<'a> {
    /// The events of a sub-buffer; none where its header is cut off.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let count = u64_at(bytes, 8)?;
        let end = HEADER.saturating_add((count & COUNT) as usize).min(bytes.len());
        Some(Self { rest: bytes.get(HEADER..end)?, time_ns: u64_at(bytes, 0)?, missed: count & MISSED != 0 })
    }

    /// The event that begins here, and how long it is with its header; nothing where it is none of use.
    fn first(&mut self) -> Option<(Option<&'a [u8]>, usize)> {
        let header = u32_at(self.rest, 0)?;
        // Bit fields lie the other way round on big-endian machines, on which Linux's tracers do not run us.
        let (kind, delta) = (header & 31, u64::from(header >> 5));
        match kind {
            0 => {
                let length = u32_at(self.rest, 4)? as usize;
                self.time_ns = self.time_ns.wrapping_add(delta);
                Some((self.rest.get(8..4 + length), 4 + length))
            }
            // What remains of the sub-buffer was never filled.
            29 if delta == 0 => None,
            29 => Some((None, 4 + u32_at(self.rest, 4)? as usize)),
            30 => {
                self.time_ns = self.time_ns.wrapping_add(delta + (u64::from(u32_at(self.rest, 4)?) << 27));
                Some((None, 8))
            }
            31 => {
                // 59 bits of the whole time; the upper ones do not change within a run.
                let low = delta + (u64::from(u32_at(self.rest, 4)?) << 27);
                self.time_ns = self.time_ns & !((1 << 59) - 1) | low;
                Some((None, 8))
            }
            words => {
                let length = words as usize * 4;
                self.time_ns = self.time_ns.wrapping_add(delta);
                Some((self.rest.get(4..4 + length), 4 + length))
            }
        }
    }
}

impl<'a> Iterator for SubBuffer<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let (bytes, length) = self.first()?;
            // Lengths are multiples of four; one that is not comes from elsewhere, and ends the sub-buffer.
            self.rest = self.rest.get(length.max(4)..)?;
            if let Some(bytes) = bytes {
                return Some(Event { time_ns: self.time_ns, bytes });
            }
        }
    }
}

/// Where a field of an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The field's value; one of fewer than eight bytes is taken for unsigned.
    pub(super) fn of(self, bytes: &[u8]) -> Option<u64> {
        self.at(bytes, 0)
    }

    /// The value at a place of a field that is a list of words.
    pub(super) fn at(self, bytes: &[u8], place: usize) -> Option<u64> {
        let start = self.offset + place * 8;
        match self.size {
            2 => Some(u64::from(u16::from_ne_bytes(*bytes.get(start..)?.first_chunk()?))),
            4 => Some(u64::from(u32_at(bytes, start)?)),
            _ => u64_at(bytes, start),
        }
    }
}

/// The kernel's description of an event.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The number that stands at the beginning of each event of this kind.
    pub(super) id: u64,
    fields: Vec<(String, Field)>,
}

impl Layout {
    /// Reads `ID: 443` and lines like `field:long id; offset:8; size:8; signed:1;`, with tabs between.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let name = parts.next()?.rsplit(' ').next()?.split('[').next()?.to_owned();
            let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
            let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
            Some((name, Field { offset, size }))
        });
        Some(Self { id, fields: fields.collect() })
    }

    /// Where a field stands.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(parts: &[Vec<u8>]) -> Vec<u8> {
        let data = parts.concat();
        let mut page = 1000u64.to_ne_bytes().to_vec();
        page.extend((data.len() as u64).to_ne_bytes());
        page.extend(data);
        page.resize(4096, 0xee);
        page
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn events_of_every_length_and_times_of_every_kind_are_read() {
        let page = page(&[
            words(&[2 | 5 << 5, 11, 12]),
            words(&[30 | 3 << 5, 2]),
            words(&[12 << 5, 12, 21, 22]),
            words(&[29 | 1 << 5, 4]),
            words(&[1, 31]),
            words(&[31 | 7 << 5, 1]),
            words(&[1 | 1 << 5, 41]),
            words(&[29, 0, 0]),
        ]);
        let found: Vec<(u64, Vec<u8>)> =
            SubBuffer::new(&page).unwrap().map(|event| (event.time_ns, event.bytes.to_vec())).collect();
        let second = 1005 + 3 + (2 << 27) + 12;
        let expected = [
            (1005, words(&[11, 12])),
            (second, words(&[21, 22])),
            (second, words(&[31])),
            ((1 << 27) + 8, words(&[41])),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn no_bytes_break_it() {
        let mut state = 7u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..96)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Small numbers lead further in.
                    (state >> 33) as u8 & if state >> 63 == 0 { 0x1f } else { 0xff }
                })
                .collect();
            assert!(SubBuffer::new(&bytes).is_none_or(|events| events.count() <= 24));
        }
    }

    #[test]
    fn a_layout_is_read_as_the_kernel_writes_it() {
        let text = "name: sys_enter\nID: 443\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
        let layout = Layout::parse(text).unwrap();
        assert_eq!((layout.id, layout.field("common_pid")), (443, Some(Field { offset: 4, size: 4 })));
        let bytes = words(&[443, 77, 5, 0, 1, 0, 2, 0]);
        assert_eq!(layout.field("args").unwrap().at(&bytes, 1), Some(2));
        assert_eq!(layout.field("id").unwrap().of(&bytes), Some(5));
    }
}
