//! Column chunks that take no search: of words that have numbers already, and of one value or none all the way. And kinds of
//! operations that are read as numbers.
//!
//! The library's own dictionary hashes every value and compares it, which takes longer than reading the line that it
//! came from. A chunk is what the Parquet format says: a page with the dictionary, and one with the levels and places
//! as runs ("RLE/bit-packing hybrid").

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageMetadata, PageReader, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use crate::operation::CallKind;

/// A chunk and what the file's table of contents says of it.
pub(super) type Chunk = (Bytes, ColumnCloseResult);

/// Words by numbers, as the rows of a group hold them.
#[derive(Default)]
pub(super) struct Words {
    /// Each row's place in the dictionary.
    places: Vec<u32>,
    /// The place of each number, from 1; 0 where the group does not have it.
    by_number: Vec<u32>,
    numbers: Vec<usize>,
    /// The words one after the other, each with its length before it (`PLAIN`).
    dictionary: Vec<u8>,
}

impl Words {
    /// Adds a row.
    pub(super) fn push<W: AsRef<[u8]>>(&mut self, number: usize, word: impl FnOnce() -> W) {
        if number >= self.by_number.len() {
            self.by_number.resize(number + 1, 0);
        }
        if self.by_number[number] == 0 {
            self.numbers.push(number);
            self.by_number[number] = self.numbers.len() as u32;
            let word = word();
            self.dictionary.extend((word.as_ref().len() as u32).to_le_bytes());
            self.dictionary.extend(word.as_ref());
        }
        self.places.push(self.by_number[number] - 1);
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.dictionary.clear();
        self.numbers.drain(..).for_each(|number| self.by_number[number] = 0);
    }

    /// The rows as a chunk.
    ///
    /// # Errors
    /// None that a buffer in memory can have.
    pub(super) fn chunk(&self, column: &ColumnDescPtr) -> Result<Chunk> {
        let count = self.numbers.len();
        let places =
            if count == 1 { one(self.places.len()) } else { packed(&self.places, (count - 1).ilog2() + 1) };
        let dictionary = Some((self.dictionary.clone(), count));
        chunk(column, self.places.len(), dictionary, &places)
    }
}

pub(super) const UNKNOWN_KIND: &str = "a kind of operation that is not known";

/// The pages of the column of kinds as pages of their numbers: the library copies a number for each row quicker than a word.
pub(super) struct NumberedKinds(pub(super) Box<dyn PageReader>);

/// The numbers of kinds whose names stand one after the other, each with its length before it (`PLAIN`).
fn numbers(mut names: &[u8]) -> Result<Bytes> {
    let mut numbers = Vec::new();
    while let Some((length, rest)) = names.split_first_chunk() {
        let name = rest.split_at_checked(u32::from_le_bytes(*length) as usize);
        let kind = name.and_then(|(name, rest)| Some((CallKind::named(name)? as i32, rest)));
        let (number, rest) = kind.ok_or_else(|| ParquetError::General(UNKNOWN_KIND.to_owned()))?;
        numbers.extend(number.to_le_bytes());
        names = rest;
    }
    Ok(numbers.into())
}

impl PageReader for NumberedKinds {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let mut page = self.0.get_next_page()?;
        if let Some(
            Page::DictionaryPage { buf, .. }
            | Page::DataPage { buf, encoding: Encoding::PLAIN, .. }
            | Page::DataPageV2 { buf, encoding: Encoding::PLAIN, .. },
        ) = &mut page
        {
            *buf = numbers(buf)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}

impl Iterator for NumberedKinds {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Rows that all have one value, given as its bytes, or that have none.
///
/// # Errors
/// As [`Words::chunk`].
pub(super) fn constant(column: &ColumnDescPtr, rows: usize, value: Option<Vec<u8>>) -> Result<Chunk> {
    let places = if value.is_some() { one(rows) } else { Vec::new() };
    chunk(column, rows, value.map(|value| (value, 1)), &places)
}

/// A dictionary of so many values, none where all are null; `places` begins with their width in bits.
fn chunk(
    column: &ColumnDescPtr,
    rows: usize,
    dictionary: Option<(Vec<u8>, usize)>,
    places: &[u8],
) -> Result<Chunk> {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut sink);
    let mut write = |page: Page| {
        let size = page.buffer().len();
        pages.write_page(CompressedPage::new(page, size))
    };
    let (encoding, is_present) = match dictionary {
        Some((words, count)) => {
            let (buf, num_values) = (words.into(), count as u32);
            write(Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false })?;
            (Encoding::RLE_DICTIONARY, true)
        }
        None => (Encoding::PLAIN, false),
    };
    let mut data = Vec::new();
    if column.max_def_level() > 0 {
        let levels = run(rows, u8::from(is_present));
        data.extend((levels.len() as u32).to_le_bytes());
        data.extend(levels);
    }
    data.extend(places);
    let data_page_offset = write(Page::DataPage {
        buf: data.into(),
        num_values: rows as u32,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    })?
    .offset as i64;
    let bytes: Bytes = sink.into_inner()?.into();
    let metadata = ColumnChunkMetaData::builder(column.clone())
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, encoding])
        .set_num_values(rows as i64)
        .set_compression(Compression::UNCOMPRESSED)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(bytes.len() as i64)
        .set_dictionary_page_offset(is_present.then_some(0))
        .set_data_page_offset(data_page_offset)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok((bytes, close))
}

/// The first place for all rows, in one bit.
fn one(rows: usize) -> Vec<u8> {
    let mut places = vec![1];
    places.extend(run(rows, 0));
    places
}

/// `count` times one value of one bit.
fn run(count: usize, value: u8) -> Vec<u8> {
    let mut run = Vec::new();
    number(count << 1, &mut run);
    run.push(value);
    run
}

/// Places of `width` bits each, all in one run of whole groups of eight, with the width before.
fn packed(places: &[u32], width: u32) -> Vec<u8> {
    let groups = places.len().div_ceil(8);
    let mut packed = Vec::with_capacity(8 + groups * width as usize);
    packed.push(width as u8);
    number(groups << 1 | 1, &mut packed);
    let (mut bits, mut filled) = (0_u64, 0);
    for &place in places {
        bits |= u64::from(place) << filled;
        filled += width;
        if filled >= 32 {
            packed.extend((bits as u32).to_le_bytes());
            bits >>= 32;
            filled -= 32;
        }
    }
    let missing = groups * width as usize - (places.len() * width as usize - filled as usize) / 8;
    packed.extend(&bits.to_le_bytes()[..missing.min(8)]);
    packed.resize(packed.len() + missing.saturating_sub(8), 0);
    packed
}

/// Seven bits a byte, the lowest first (ULEB128).
fn number(mut value: usize, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_fill_bytes_from_the_lowest_bit_up_to_whole_groups() {
        // The example of the format's description: 0 to 7 in three bits.
        assert_eq!(packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        for count in 1..70 {
            for width in [1, 5, 11, 20, 32] {
                let bytes = packed(&vec![1; count], width);
                let header = 1 + if count.div_ceil(8) << 1 >= 0x80 { 2 } else { 1 };
                assert_eq!(bytes.len(), header + count.div_ceil(8) * width as usize, "{count} of {width}");
            }
        }
    }

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let of = |value| {
            let mut bytes = Vec::new();
            number(value, &mut bytes);
            bytes
        };
        assert_eq!([of(1), of(127)], [[1], [127]]);
        assert_eq!(of(300), [0xAC, 2]);
    }
}
