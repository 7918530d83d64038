//! The thread that writes: from the rings of the queues into the file.
//!
//! Records gather in a buffer and are written together; a buffer that the disk does not take is
//! counted frame by frame, and the file ends with the last whole record. It is tried again with the
//! next.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::QueueCounters;
use pcap_file::pcap::{PcapHeader, PcapWriter, RawPcapPacket};
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use port_memory::Receiver;

use crate::config::Format;
use crate::replay::STAMP_LEN;
use crate::shared::{NOT_WRITTEN, Shared};

/// State of the writing thread.
pub(crate) struct Capture {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) format: Format,
    pub(crate) rings: Vec<Receiver>,
    pub(crate) counters: Arc<QueueCounters>,
}

impl Capture {
    /// Writes until the port is closed and the rings are empty.
    pub(crate) fn run(mut self) {
        let buffer = Buffer::default();
        let mut form = match Form::new(self.format, buffer.clone()) {
            Ok(form) => form,
            Err(error) => {
                Shared::note(&self.shared.capture_failed, Some(self.failure(&error)));
                return;
            }
        };
        // The head was written when the file was opened.
        let head = std::mem::take(&mut *buffer.0.borrow_mut());
        let mut output = Output { written: head.len() as u64, frames: 0 };
        loop {
            // Looked at first: what came before it is still written.
            let is_last = self.shared.stop.load(Ordering::Acquire);
            let gathered = self.gather(&mut form, &buffer, &mut output);
            let len = buffer.0.borrow().len();
            if len > 0 && (gathered == 0 || len >= WRITE_BYTES) {
                self.flush(&buffer, &mut output);
            }
            if gathered == 0 && is_last {
                return;
            }
            if gathered == 0 {
                std::thread::park_timeout(WAIT);
            }
        }
    }

    /// Reads frames from the rings until there are enough for one write; returns their number.
    fn gather(&mut self, form: &mut Form, buffer: &Buffer, output: &mut Output) -> u64 {
        let mut gathered = 0;
        for ring in &mut self.rings {
            while buffer.0.borrow().len() < WRITE_BYTES {
                let Some(record) = ring.next_frame() else { break };
                let (stamp, frame) = record.split_at(STAMP_LEN.min(record.len()));
                let at_ns = stamp.try_into().map_or(0, u64::from_le_bytes);
                gathered += 1;
                match form.write(frame, at_ns) {
                    Ok(()) => output.frames += 1,
                    Err(_) => self.counters.dropped(NOT_WRITTEN, 1),
                }
            }
            ring.release();
        }
        gathered
    }

    /// Writes the buffer to the file, completely or not at all.
    fn flush(&mut self, buffer: &Buffer, output: &mut Output) {
        let mut bytes = buffer.0.borrow_mut();
        match self.file.write_all(&bytes) {
            Ok(()) => {
                output.written += bytes.len() as u64;
                Shared::note(&self.shared.capture_failed, None);
            }
            Err(error) => {
                self.counters.dropped(NOT_WRITTEN, output.frames);
                // No record is left half written; devices have no length.
                let _ = self.file.set_len(output.written);
                let _ = self.file.seek(SeekFrom::Start(output.written));
                Shared::note(&self.shared.capture_failed, Some(self.failure(&error)));
                // A closed port waits for nothing.
                if !self.shared.stop.load(Ordering::Acquire) {
                    std::thread::park_timeout(AFTER_FAILURE);
                }
            }
        }
        bytes.clear();
        output.frames = 0;
    }

    fn failure(&self, error: &dyn std::fmt::Display) -> String {
        format!("{} cannot be written: {error}", self.path.display())
    }
}

/// State of the file: how much of it is complete.
struct Output {
    written: u64,
    /// Number of frames in the buffer.
    frames: u64,
}

/// Returns the bytes at the start of a capture.
///
/// # Errors
/// Never in practice; the format's writer may return one.
pub(crate) fn head(format: Format) -> Result<Vec<u8>, PcapError> {
    let buffer = Buffer::default();
    Form::new(format, buffer.clone())?;
    Ok(std::mem::take(&mut *buffer.0.borrow_mut()))
}

/// Records collected for one write; the format's writer has the other reference.
#[derive(Clone, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The writer of a format.
enum Form {
    Pcap(PcapWriter<Buffer>),
    Pcapng(Box<PcapNgWriter<Buffer>>),
}

impl Form {
    fn new(format: Format, buffer: Buffer) -> Result<Form, PcapError> {
        if format == Format::Pcap {
            let header = PcapHeader {
                snaplen: SNAP_LEN,
                datalink: DataLink::ETHERNET,
                ts_resolution: TsResolution::NanoSecond,
                endianness: Endianness::native(),
                ..PcapHeader::default()
            };
            return PcapWriter::with_header(buffer, header).map(Form::Pcap);
        }
        let mut writer = PcapNgWriter::new(buffer)?;
        let options = vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)];
        let interface =
            InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: SNAP_LEN, options };
        writer.write_block(&interface.into_block())?;
        Ok(Form::Pcapng(Box::new(writer)))
    }

    fn write(&mut self, frame: &[u8], at_ns: u64) -> Result<(), PcapError> {
        let (data, len) = (Cow::Borrowed(frame), frame.len() as u32);
        match self {
            Form::Pcap(writer) => writer.write_raw_packet(&RawPcapPacket {
                ts_sec: (at_ns / 1_000_000_000) as u32,
                ts_frac: (at_ns % 1_000_000_000) as u32,
                incl_len: len,
                orig_len: len,
                data,
            }),
            Form::Pcapng(writer) => writer.write_pcapng_block(EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_nanos(at_ns),
                original_len: len,
                data,
                options: Vec::new(),
            }),
        }
        .map(drop)
    }
}

/// Snapshot length in bytes, longer than any frame.
const SNAP_LEN: u32 = 262_144;
/// Value of `if_tsresol` for nanoseconds: 10^-9.
const NANOSECONDS: u8 = 9;
/// Largest amount that is written at once, in bytes.
const WRITE_BYTES: usize = 256 << 10;
/// Interval between two polls of empty rings.
const WAIT: Duration = Duration::from_millis(1);
/// Time after which a failed write is tried again.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
