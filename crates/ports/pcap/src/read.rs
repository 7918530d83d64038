//! Reading captures, record by record, with one clock for all formats: nanoseconds.
//!
//! pcap after draft-ietf-opsawg-pcap, pcapng after draft-ietf-opsawg-pcapng: sections, interfaces
//! with their own resolution of stamps, enhanced, simple and obsolete packet blocks. Other blocks
//! are passed over. At most 8 MB of the file are in memory, so a longer record is malformed.

use std::borrow::Cow;
use std::io::{self, Read};

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};

/// A capture that is being read.
pub struct CaptureFile<R: Read> {
    form: Form<R>,
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time of capture in nanoseconds of any epoch; `None` if the file does not contain it.
    pub at_ns: Option<u64>,
    /// Captured bytes of the frame.
    pub frame: Cow<'a, [u8]>,
    /// Original length of the frame in bytes.
    pub whole_len: usize,
    /// True if it is an Ethernet frame.
    pub is_ethernet: bool,
    link: DataLink,
}

impl Record<'_> {
    /// Returns the name of the link type of the frame: `ETHERNET`, `LINUX_SLL`, `RAW` …
    pub fn link_name(&self) -> String {
        format!("{:?}", self.link)
    }
}

/// Error of a capture file.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file ends within a record, or a record exceeds the maximum length.
    #[error("ends within a record")]
    CutShort,
    /// The file is not a capture, or is invalid from here.
    #[error("is not a capture, or is damaged: {0}")]
    Malformed(String),
    /// The file cannot be read.
    #[error("{0}")]
    Io(io::Error),
}

enum Form<R: Read> {
    Pcap { reader: Box<PcapReader<Again<R>>>, fraction_ns: u64, link: DataLink },
    Pcapng { reader: Box<PcapNgReader<Again<R>>>, interfaces: Vec<Interface> },
}

/// The four bytes that identify the format, and the bytes after them.
type Again<R> = io::Chain<io::Cursor<[u8; 4]>, R>;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: DataLink,
    resolution: u8,
}

impl<R: Read> CaptureFile<R> {
    /// Reads the head of a capture.
    ///
    /// # Errors
    /// When it is not a capture, or cannot be read.
    pub fn new(mut source: R) -> Result<CaptureFile<R>, CaptureError> {
        let mut magic = [0; 4];
        source.read_exact(&mut magic).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => CaptureError::Malformed("it is empty".to_owned()),
            _ => CaptureError::Io(error),
        })?;
        let again = io::Cursor::new(magic).chain(source);
        let form = if magic == SECTION_HEADER {
            let reader = Box::new(PcapNgReader::new(again).map_err(told)?);
            Form::Pcapng { reader, interfaces: Vec::new() }
        } else {
            let reader = Box::new(PcapReader::new(again).map_err(told)?);
            let header = reader.header();
            let fraction_ns = match header.ts_resolution {
                TsResolution::MicroSecond => 1000,
                TsResolution::NanoSecond => 1,
            };
            let link = header.datalink;
            Form::Pcap { reader, fraction_ns, link }
        };
        Ok(CaptureFile { form })
    }

    /// Returns true if the link type of a pcap file is not Ethernet; a pcapng file has it in later
    /// blocks.
    pub fn is_foreign(&self) -> bool {
        matches!(&self.form, Form::Pcap { link, .. } if *link != DataLink::ETHERNET)
    }

    /// Returns the next frame; `None` at the end of the file.
    ///
    /// # Errors
    /// When the file is invalid or cannot be read; no further frames can be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        match &mut self.form {
            Form::Pcap { reader, fraction_ns, link } => {
                let Some(packet) = reader.next_raw_packet() else { return Ok(None) };
                let packet = packet.map_err(told)?;
                let fraction = u64::from(packet.ts_frac) * *fraction_ns;
                Ok(Some(Record {
                    at_ns: Some(u64::from(packet.ts_sec) * 1_000_000_000 + fraction),
                    frame: packet.data,
                    whole_len: packet.orig_len as usize,
                    is_ethernet: *link == DataLink::ETHERNET,
                    link: *link,
                }))
            }
            Form::Pcapng { reader, interfaces } => next_of_blocks(reader, interfaces),
        }
    }
}

/// Returns the next frame of a pcapng file.
fn next_of_blocks<'a, R: Read>(
    reader: &'a mut PcapNgReader<Again<R>>,
    interfaces: &mut Vec<Interface>,
) -> Result<Option<Record<'a>>, CaptureError> {
    // The block that is given back borrows the reader, which a loop that goes on with it cannot
    // show: so what a block is to us is found first, and the block's bytes are copied out of the
    // reader.
    loop {
        let Some(block) = reader.next_block() else { return Ok(None) };
        let known = |index: usize, interfaces: &[Interface]| {
            let unknown = || CaptureError::Malformed(format!("no interface {index}"));
            interfaces.get(index).copied().ok_or_else(unknown)
        };
        match block.map_err(told)? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(block) => {
                if interfaces.len() >= INTERFACES_MAX {
                    return Err(CaptureError::Malformed("too many interfaces".to_owned()));
                }
                interfaces.push(Interface::of(&block));
            }
            Block::EnhancedPacket(block) => {
                let interface = known(block.interface_id as usize, interfaces)?;
                // The reader takes whatever unit the stamp has for nanoseconds.
                let units = block.timestamp.as_nanos() as u64;
                let (whole_len, data) = (block.original_len as usize, block.data.into_owned());
                return Ok(Some(interface.record(Some(units), data, whole_len)));
            }
            Block::Packet(block) => {
                let interface = known(usize::from(block.interface_id), interfaces)?;
                let (whole_len, data) = (block.original_len as usize, block.data.into_owned());
                return Ok(Some(interface.record(Some(block.timestamp), data, whole_len)));
            }
            Block::SimplePacket(block) => {
                let interface = known(0, interfaces)?;
                let whole_len = block.original_len as usize;
                let mut data = block.data.into_owned();
                data.truncate(whole_len);
                return Ok(Some(interface.record(None, data, whole_len)));
            }
            _ => {}
        }
    }
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>) -> Interface {
        let resolution = block.options.iter().find_map(|option| match option {
            InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
            _ => None,
        });
        Interface { link: block.linktype, resolution: resolution.unwrap_or(MICROSECONDS) }
    }

    fn record(self, units: Option<u64>, frame: Vec<u8>, whole_len: usize) -> Record<'static> {
        let at_ns = units.map(|units| nanos(units, self.resolution));
        let is_ethernet = self.link == DataLink::ETHERNET;
        Record { at_ns, frame: Cow::Owned(frame), whole_len, is_ethernet, link: self.link }
    }
}

/// Converts a time stamp to nanoseconds: `resolution` is a power of ten, or of two if its highest
/// bit is set (`if_tsresol`, draft-ietf-opsawg-pcapng, section 4.2).
fn nanos(units: u64, resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    let units = u128::from(units);
    let nanos = match resolution & 0x80 {
        0 if exponent <= 9 => units * 10_u128.pow(9 - exponent),
        0 => 10_u128.checked_pow(exponent - 9).map_or(0, |fine| units / fine),
        _ => (units * 1_000_000_000) >> exponent,
    };
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

fn told(error: PcapError) -> CaptureError {
    match error {
        PcapError::IncompleteBuffer => CaptureError::CutShort,
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            CaptureError::CutShort
        }
        PcapError::IoError(error) => CaptureError::Io(error),
        other => CaptureError::Malformed(other.to_string()),
    }
}

/// Block type at the start of a pcapng file; equal in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Default resolution of an interface: microseconds.
const MICROSECONDS: u8 = 6;
/// Largest number of interfaces, far above any real machine; each needs memory.
const INTERFACES_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_all_resolutions_become_nanoseconds() {
        assert_eq!(nanos(1_500_000, 6), 1_500_000_000);
        assert_eq!(nanos(7, 9), 7);
        assert_eq!(nanos(7, 0), 7_000_000_000);
        assert_eq!(nanos(7_999, 12), 7);
        assert_eq!(nanos(3, 0x81), 1_500_000_000, "halves of a second");
        assert_eq!((nanos(u64::MAX, 0), nanos(u64::MAX, 0x7f)), (u64::MAX, 0));
    }
}
