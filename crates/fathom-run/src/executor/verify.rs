//! Blocks that say where they belong, and the comparison of what is read with that: fio's `verify`.
//!
//! The header is ours. Each interval of a block has one, and its checksum is over the whole interval, header and all:
//! where a block is another one, an older one or damaged anywhere, the job fails.

use std::path::Path;

use fathom_program::call::Call;
use fathom_program::job::{Job, PatternPart};
use fathom_program::job_calls::ANY_WRITE;

use crate::fault::Fault;

const MAGIC: [u8; 4] = *b"fthm";
/// Magic, length, offset, the number of the write, nothing; then the checksum, cut or filled up with zeros.
const HEADER: usize = 56;
const FIELDS: usize = 24;

type Sum = [u8; HEADER - FIELDS];

/// Fills the blocks of one job, and compares them.
#[derive(Debug)]
pub(crate) struct Verifier {
    method: String,
    /// None where the header or the pattern alone is compared.
    checksum: Option<fn(&[u8]) -> Sum>,
    /// Where in an interval the header is; none with `verify=pattern`, where all of a block is the pattern.
    header: Option<usize>,
    pattern: Vec<PatternPart>,
    /// Bytes between two headers; zero for the block.
    interval: usize,
}

impl Verifier {
    /// What a job's `verify` asks for, where something is compared.
    pub(crate) fn of(job: &Job) -> Result<Option<Self>, Fault> {
        let Some(verify) = job.verify.as_ref().filter(|verify| verify.method != "null") else {
            return Ok(None);
        };
        let (method, pattern) = (verify.method.clone(), verify.pattern.clone());
        if method == "pattern" && pattern.is_empty() {
            return Err(Fault::Unsupported("verify=pattern needs verify_pattern=".to_owned()));
        }
        let header = (method != "pattern").then_some(verify.offset as usize);
        let interval = verify.interval as usize;
        let blocks = job.directions().map(|direction| job.blocks[direction as usize].least as usize);
        let least = blocks.chain((interval > 0).then_some(interval)).min().unwrap_or(0);
        if header.is_some_and(|offset| offset + HEADER > least) {
            return Err(Fault::Unsupported(format!(
                "verify={method}: a header of {HEADER} bytes at {} does not fit into {least} bytes",
                verify.offset
            )));
        }
        Ok(Some(Self { checksum: checksum(&method), method, header, pattern, interval }))
    }

    fn interval(&self, block: &[u8]) -> usize {
        if self.interval == 0 { block.len().max(1) } else { self.interval }
    }

    /// Makes a block ready to be written. The end of a block that holds no header has none.
    pub(crate) fn fill(&self, block: &mut [u8], call: &Call) {
        let mut offset = call.offset;
        for part in block.chunks_mut(self.interval(block)) {
            self.fill_pattern(part, offset);
            if let Some(at) = self.header.filter(|at| at + HEADER <= part.len()) {
                let fields = fields(part.len(), offset, call.flags);
                part[at..at + HEADER].fill(0);
                part[at..at + FIELDS].copy_from_slice(&fields);
                if let Some(checksum) = self.checksum {
                    let sum = checksum(part);
                    part[at + FIELDS..at + HEADER].copy_from_slice(&sum);
                }
            }
            offset += part.len() as u64;
        }
    }

    fn fill_pattern(&self, part: &mut [u8], offset: u64) {
        if self.pattern.is_empty() {
            return;
        }
        let position = offset.to_le_bytes();
        let bytes = self.pattern.iter().flat_map(|one| match one {
            PatternPart::Bytes(bytes) => bytes.as_slice(),
            PatternPart::Offset => &position,
        });
        part.iter_mut().zip(bytes.cycle()).for_each(|(byte, wanted)| *byte = *wanted);
    }

    /// Compares a block that was read with what was written there.
    ///
    /// # Errors
    /// One line with the file, the byte, what was expected and what is there.
    pub(crate) fn check(&self, block: &mut [u8], call: &Call, path: &Path) -> Result<(), Fault> {
        let mut offset = call.offset;
        for part in block.chunks_mut(self.interval(block)) {
            self.check_part(part, offset, call.flags).map_err(|(at, wanted, found)| {
                let (place, method) = (offset + at as u64, &self.method);
                let (file, length) = (path.display(), call.bytes);
                Fault::Mismatch(format!(
                    "verify={method}: {file} at byte {place}, in the block of {length} bytes at {}: {wanted} was expected, and {found} is there",
                    call.offset
                ))
            })?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Where it differs, what was expected and what is there.
    fn check_part(&self, part: &mut [u8], offset: u64, number: u32) -> Result<(), (usize, String, String)> {
        let Some(at) = self.header.filter(|at| at + HEADER <= part.len()) else {
            return self.check_pattern(part, offset, 0..0);
        };
        let mut wanted = fields(part.len(), offset, number);
        let found: [u8; FIELDS] = part[at..at + FIELDS].try_into().unwrap_or_default();
        if number == ANY_WRITE {
            wanted[16..20].copy_from_slice(&found[16..20]);
        }
        if found != wanted {
            return Err((at, format!("the header of {}", in_words(&wanted)), in_words(&found)));
        }
        match self.checksum {
            None => self.check_pattern(part, offset, at..at + HEADER),
            Some(checksum) => {
                let found: Sum = part[at + FIELDS..at + HEADER].try_into().unwrap_or_default();
                part[at + FIELDS..at + HEADER].fill(0);
                let wanted = checksum(part);
                let same = wanted == found;
                same.then_some(()).ok_or_else(|| (0, format!("the checksum {}", hex(&found)), hex(&wanted)))
            }
        }
    }

    fn check_pattern(
        &self,
        part: &[u8],
        offset: u64,
        header: std::ops::Range<usize>,
    ) -> Result<(), (usize, String, String)> {
        if self.pattern.is_empty() {
            return Ok(());
        }
        let mut wanted = vec![0; part.len()];
        self.fill_pattern(&mut wanted, offset);
        let differs = |at: &usize| !header.contains(at) && part[*at] != wanted[*at];
        match (0..part.len()).find(differs) {
            Some(at) => Err((at, format!("{:#04x}", wanted[at]), format!("{:#04x}", part[at]))),
            None => Ok(()),
        }
    }
}

fn fields(length: usize, offset: u64, number: u32) -> [u8; FIELDS] {
    let mut fields = [0; FIELDS];
    fields[..4].copy_from_slice(&MAGIC);
    fields[4..8].copy_from_slice(&(length as u32).to_le_bytes());
    fields[8..16].copy_from_slice(&offset.to_le_bytes());
    fields[16..20].copy_from_slice(&number.to_le_bytes());
    fields
}

/// What a header says.
fn in_words(fields: &[u8; FIELDS]) -> String {
    let number = |at: usize| fields[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let offset = fields[8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    match fields.starts_with(&MAGIC) {
        true => format!("write {} of {} bytes at {offset}", number(16), number(4)),
        false => format!("no header but {}", hex(&fields[..4])),
    }
}

fn hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    bytes[..end].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checksum(method: &str) -> Option<fn(&[u8]) -> Sum> {
    use crc::{CRC_7_MMC, CRC_16_ARC, CRC_32_ISCSI, CRC_32_ISO_HDLC, CRC_64_XZ, Crc};
    static CRC7: Crc<u8> = Crc::<u8>::new(&CRC_7_MMC);
    static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
    static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
    static CRC64: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);
    Some(match method {
        "crc7" => |bytes| padded(&[CRC7.checksum(bytes)]),
        "crc16" => |bytes| padded(&CRC16.checksum(bytes).to_le_bytes()),
        "crc32" => |bytes| padded(&CRC32.checksum(bytes).to_le_bytes()),
        "crc32c" | "crc32c-intel" => |bytes| padded(&CRC32C.checksum(bytes).to_le_bytes()),
        "crc64" => |bytes| padded(&CRC64.checksum(bytes).to_le_bytes()),
        "xxhash" => |bytes| padded(&twox_hash::XxHash32::oneshot(0, bytes).to_le_bytes()),
        "md5" => digest::<md5::Md5>,
        "sha1" => digest::<sha1::Sha1>,
        "sha256" => digest::<sha2::Sha256>,
        "sha512" => digest::<sha2::Sha512>,
        "sha3-224" => digest::<sha3::Sha3_224>,
        "sha3-256" => digest::<sha3::Sha3_256>,
        "sha3-384" => digest::<sha3::Sha3_384>,
        "sha3-512" => digest::<sha3::Sha3_512>,
        _ => return None,
    })
}

fn digest<D: md5::Digest>(bytes: &[u8]) -> Sum {
    padded(&D::digest(bytes))
}

fn padded(bytes: &[u8]) -> Sum {
    let mut sum = Sum::default();
    let length = bytes.len().min(sum.len());
    sum[..length].copy_from_slice(&bytes[..length]);
    sum
}
