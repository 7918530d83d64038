//! Captures: copies of packets from running workers, written as pcapng.
//!
//! A tap on each worker copies what is asked for into a ring of bounded size; a full ring is a
//! counted miss, so a slow reader never holds a worker back, and workers without a tap do nothing.
//! The thread of the client that asked drains the rings and writes blocks to it: a packet with
//! nanoseconds, its direction, and for one that was dropped the reason as a comment; at the end
//! what was missed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::Tap;
use function_kit::{PortName, Spoken};
use host::Observer;
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot, Verdict};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, PcapError};
use port_memory::{Receiver, Sender, ring};

use crate::protocol::{Capture, Direction};
use crate::times::WallClock;
use crate::unit::Refused;

/// Filter of a capture, with ports and drop reasons as numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    port: Option<PortId>,
    direction: Option<Direction>,
    reason: Option<u8>,
    snaplen: usize,
    /// The protocol whose frames are copied; none for all frames.
    spoken: Option<&'static Spoken>,
    /// Number of the function's own ports; a worker has others towards other workers.
    ports: usize,
}

impl Filter {
    /// Converts the names in a request to numbers.
    ///
    /// # Errors
    /// A port or drop reason that the function does not have, or one beside a protocol, whose
    /// messages have none where they pass by a socket.
    pub fn new(
        wanted: &Capture,
        ports: &[PortName],
        drops: &[&str],
        spoken: Option<&'static Spoken>,
    ) -> Result<Filter, Refused> {
        let beside = [
            ("port", wanted.port.is_some()),
            ("direction", wanted.direction.is_some()),
            ("reason", wanted.reason.is_some()),
        ];
        if let (Some(_), Some((key, _))) = (&wanted.protocol, beside.iter().find(|(_, is)| *is)) {
            let what = format!("a capture of a protocol has no {key}");
            return Err(Refused::new(what, "capture its messages alone, or frames without it"));
        }
        let number = |what: &str, name: &Option<String>, known: &[&str]| match name {
            None => Ok(None),
            Some(name) => match known.iter().position(|one| one == name) {
                Some(number) => Ok(Some(number as u8)),
                None => {
                    let remedy = keys::nearest(name, known.iter())
                        .map_or_else(|| known.join(", "), |near| format!("did you mean `{near}`?"));
                    Err(Refused::new(format!("there is no {what} `{name}`"), remedy))
                }
            },
        };
        let ports: Vec<&str> = ports.iter().map(|name| &**name).collect();
        let reason = number("reason for dropping", &wanted.reason, drops)?;
        Ok(Filter {
            port: number("port", &wanted.port, &ports)?.map(PortId),
            direction: wanted.direction.or(reason.map(|_| Direction::Drop)),
            reason,
            snaplen: wanted.snaplen.unwrap_or(SNAPLEN_MAX).clamp(1, SNAPLEN_MAX),
            spoken,
            ports: ports.len(),
        })
    }

    fn takes(&self, direction: Direction, port: PortId) -> bool {
        // A message that was heard is dropped then, and is not shown twice.
        let is_any = self.spoken.is_none() || direction != Direction::Drop;
        // What one worker hands to another is shown where it came in.
        let is_new = self.spoken.is_none() || usize::from(port.0) < self.ports;
        is_new
            && self.direction.map_or(is_any, |only| only == direction)
            && self.port.is_none_or(|only| only == port)
    }
}

/// Counters of a capture, for other threads to read.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Packets that were copied.
    pub copied: AtomicU64,
    /// Packets that were not copied because the ring was full.
    pub missed: AtomicU64,
}

/// The tap of one worker.
pub(crate) struct Copies {
    ring: Sender,
    filter: Filter,
    tally: Arc<Tally>,
}

/// Creates a tap and the receiving end of its ring.
///
/// # Errors
/// When there is no memory for the ring.
pub(crate) fn tap(filter: Filter, tally: &Arc<Tally>) -> io::Result<(Copies, Receiver)> {
    let (ring, receiver) = ring(RING_BYTES)?;
    Ok((Copies { ring, filter, tally: Arc::clone(tally) }, receiver))
}

impl Copies {
    /// Copies one packet: a head of fixed length, then its first bytes.
    fn copy(
        &mut self,
        batch: &Batch,
        slot: Slot,
        now: Ticks,
        (kind, port): (u8, PortId),
        reason: u8,
    ) {
        let frame = batch.frame(slot);
        let message = self.filter.spoken.map(|spoken| (spoken.message)(frame));
        if message == Some(None) {
            return;
        }
        let len = frame.len().min(self.filter.snaplen);
        let Some(room) = self.ring.reserve(HEAD_BYTES + len) else {
            self.tally.missed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let (head, bytes) = room.split_at_mut(HEAD_BYTES);
        head[..8].copy_from_slice(&now.to_le_bytes());
        head[8..12].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        head[12..].copy_from_slice(&[kind, port.0, reason, 0]);
        bytes.copy_from_slice(&frame[..len]);
        if let (Some(Some(at)), Some(spoken)) = (message, self.filter.spoken) {
            spoken.content.hide(&mut bytes[at.start.min(len)..at.end.min(len)]);
        }
        self.tally.copied.fetch_add(1, Ordering::Relaxed);
    }
}

impl Tap for Copies {
    fn received(&mut self, batch: &Batch, now: Ticks) {
        for slot in batch.slots() {
            let port = batch.port(slot);
            if self.filter.takes(Direction::In, port) {
                self.copy(batch, slot, now, (IN, port), 0);
            }
        }
        self.ring.publish();
    }

    fn decided(&mut self, batch: &Batch, now: Ticks) {
        for slot in batch.slots() {
            match batch.verdict(slot) {
                Verdict::Forward(port) if self.filter.takes(Direction::Out, port) => {
                    self.copy(batch, slot, now, (OUT, port), 0);
                }
                Verdict::Drop(reason) => {
                    let port = batch.port(slot);
                    let wanted = self.filter.reason.is_none_or(|only| only == reason.0);
                    if wanted && self.filter.takes(Direction::Drop, port) {
                        self.copy(batch, slot, now, (DROP, port), reason.0);
                    }
                }
                Verdict::Forward(_) | Verdict::Punt(_) => {}
            }
        }
        self.ring.publish();
    }

    /// Handles generated frames, which leave or are dropped like others but have no ingress port.
    fn made(&mut self, batch: &Batch, now: Ticks) {
        self.decided(batch, now);
    }
}

/// A running capture, with what its client's thread needs to write it.
pub(crate) struct Stream {
    /// Receiving ends of the rings, one per worker.
    pub rings: Vec<Receiver>,
    /// Counters of copied and missed packets.
    pub tally: Arc<Tally>,
    /// Names of the ports.
    pub ports: Vec<PortName>,
    /// Names of the drop reasons.
    pub drops: &'static [&'static str],
    /// Converts the time stamps of packets to wall-clock time.
    pub wall: WallClock,
    /// Number of packets after which the capture ends.
    pub count: u64,
    /// Largest number of bytes of a message of a trace.
    pub snaplen: usize,
    /// Who traces a protocol beside the workers, if that is wanted.
    pub traced: Option<Arc<Observer>>,
}

impl Stream {
    /// Writes packets to the client until the count is reached, the client closes its end, or the
    /// client reads too slowly.
    ///
    /// # Errors
    /// When the client has disconnected or is too slow.
    pub fn write_to(mut self, client: &mut UnixStream) -> io::Result<()> {
        let mut writer = PcapNgWriter::new(Vec::new()).map_err(as_io)?;
        for name in &self.ports {
            write_interface(&mut writer, name)?;
        }
        let mut interfaces = BTreeMap::new();
        client.set_read_timeout(Some(PAUSE))?;
        let mut left = self.count;
        loop {
            left -= self.drain(&mut writer, left)?;
            left -= self.drain_trace(&mut writer, &mut interfaces, left)?;
            client.write_all(writer.get_ref())?;
            writer.get_mut().clear();
            if left == 0 || !is_listening(client)? {
                break;
            }
        }
        self.write_end(&mut writer)?;
        client.write_all(writer.get_ref())
    }

    /// Reads packets from the rings, up to a limit of packets and of memory.
    fn drain(&mut self, writer: &mut PcapNgWriter<Vec<u8>>, left: u64) -> io::Result<u64> {
        let mut taken = 0;
        for ring in &mut self.rings {
            while taken < left && writer.get_ref().len() < BUFFER_BYTES_MAX {
                let Some(record) = ring.next_frame() else { break };
                let Some((head, bytes)) = record.split_first_chunk::<HEAD_BYTES>() else { break };
                write_packet(writer, head, bytes, self.drops, self.wall)?;
                taken += 1;
            }
            ring.release();
        }
        Ok(taken)
    }

    /// Writes the messages of a trace, each with its interface, whose number is behind those of the
    /// ports.
    fn drain_trace(
        &self,
        writer: &mut PcapNgWriter<Vec<u8>>,
        interfaces: &mut BTreeMap<String, u32>,
        left: u64,
    ) -> io::Result<u64> {
        let Some(traced) = &self.traced else { return Ok(0) };
        let records = traced.trace().take(left.min(RECORDS_MAX) as usize);
        for record in &records {
            let new = (self.ports.len() + interfaces.len()) as u32;
            let number = match interfaces.get(&record.interface) {
                Some(number) => *number,
                None => {
                    let name = record.interface.as_str();
                    write_interface(writer, if name.is_empty() { "sockets" } else { name })?;
                    interfaces.insert(record.interface.clone(), new);
                    new
                }
            };
            let block = EnhancedPacketBlock {
                interface_id: number,
                timestamp: Duration::from_nanos(record.unix_ns),
                original_len: record.frame.len() as u32,
                data: Cow::Borrowed(&record.frame[..record.frame.len().min(self.snaplen)]),
                options: vec![EnhancedPacketOption::Flags(if record.is_heard { 1 } else { 2 })],
            };
            writer.write_block(&block.into_block()).map_err(as_io)?;
        }
        Ok(records.len() as u64)
    }

    fn write_end(&self, writer: &mut PcapNgWriter<Vec<u8>>) -> io::Result<()> {
        let now = self.wall.unix_ns(machine::clock::now());
        let dropped = self.traced.as_ref().map_or(0, |traced| traced.trace().counts()[1]);
        let missed = self.tally.missed.load(Ordering::Relaxed) + dropped;
        let block = InterfaceStatisticsBlock {
            interface_id: 0,
            // The format has the upper half first, whatever the order of bytes.
            timestamp: if cfg!(target_endian = "little") { now.rotate_left(32) } else { now },
            options: vec![
                InterfaceStatisticsOption::Comment(Cow::Borrowed("of all interfaces together")),
                InterfaceStatisticsOption::IsbIfDrop(missed),
            ],
        };
        writer.write_block(&block.into_block()).map(drop).map_err(as_io)
    }
}

fn write_interface(writer: &mut PcapNgWriter<Vec<u8>>, name: &str) -> io::Result<()> {
    let options = vec![
        InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
        InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
    ];
    let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
    writer.write_block(&block.into_block()).map(drop).map_err(as_io)
}

fn write_packet(
    writer: &mut PcapNgWriter<Vec<u8>>,
    head: &[u8; HEAD_BYTES],
    bytes: &[u8],
    drops: &[&str],
    wall: WallClock,
) -> io::Result<()> {
    let [t0, t1, t2, t3, t4, t5, t6, t7, l0, l1, l2, l3, kind, port, reason, _] = *head;
    let at = Ticks::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
    let mut options = Vec::with_capacity(2);
    if kind == DROP {
        let reason = drops.get(usize::from(reason)).copied().unwrap_or("unknown-reason");
        options.push(EnhancedPacketOption::Comment(Cow::Owned(format!("dropped: {reason}"))));
    }
    // Bits 0 and 1 of the flags: 1 inbound, 2 outbound.
    options.push(EnhancedPacketOption::Flags(if kind == OUT { 2 } else { 1 }));
    let block = EnhancedPacketBlock {
        interface_id: u32::from(port),
        timestamp: Duration::from_nanos(wall.unix_ns(at)),
        original_len: u32::from_le_bytes([l0, l1, l2, l3]),
        data: Cow::Borrowed(bytes),
        options,
    };
    writer.write_block(&block.into_block()).map(drop).map_err(as_io)
}

/// Returns true if the client still has its end open; waits for a moment.
fn is_listening(client: &mut UnixStream) -> io::Result<bool> {
    match client.read(&mut [0; 64]) {
        // It closed its end, or wants something else: both end the capture.
        Ok(_) => Ok(false),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

fn as_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// Size of the head of a packet in bytes: time, length, kind, port, reason.
const HEAD_BYTES: usize = 16;

const IN: u8 = 0;
const OUT: u8 = 1;
const DROP: u8 = 2;

/// Size of the ring of each worker in bytes, sufficient for some milliseconds of packets.
const RING_BYTES: usize = 8 << 20;

/// Largest amount that is written to the client at once, in bytes.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// Most messages of a trace that are written at once.
const RECORDS_MAX: u64 = 256;

/// Largest `snaplen` in bytes, longer than any frame.
const SNAPLEN_MAX: usize = 65_000 - HEAD_BYTES;

/// Interval between two reads of the rings.
const PAUSE: Duration = Duration::from_millis(1);

/// Value of the option `if_tsresol` for nanoseconds (10^-9 s).
const NANOSECONDS: u8 = 9;

#[cfg(test)]
mod tests {
    use packet::{Reason, Room};

    use super::*;

    const PORTS: [PortName; 2] = [PortName::new("access"), PortName::new("core")];
    const DROPS: &[&str] = &["unhandled", "no-route"];

    /// Returns a batch with a frame from port 0 that leaves by port 1, and a frame that is dropped.
    fn batch() -> Batch {
        let mut batch = Batch::new(4, Room { headroom: 0, frame: 100, long: 0 }).expect("memory");
        batch.append(PortId(0), 60).expect("room").fill(7);
        batch.append(PortId(0), 80).expect("room").fill(8);
        batch.set_verdict(0, Verdict::Forward(PortId(1)));
        batch.set_verdict(1, Verdict::Drop(Reason(1)));
        batch
    }

    fn copied(wanted: &Capture) -> Vec<(u8, u8, usize)> {
        let filter = Filter::new(wanted, &PORTS, DROPS, None).expect("names that are there");
        let tally = Arc::new(Tally::default());
        let (mut tap, mut ring) = tap(filter, &tally).expect("memory");
        let batch = batch();
        tap.received(&batch, 0);
        tap.decided(&batch, 0);
        std::iter::from_fn(|| {
            let record = ring.next_frame()?;
            Some((record[12], record[13], record.len() - HEAD_BYTES))
        })
        .collect()
    }

    #[test]
    fn a_filter_takes_what_is_asked_for() {
        let all = [(IN, 0, 60), (IN, 0, 80), (OUT, 1, 60), (DROP, 0, 80)];
        assert_eq!(copied(&Capture::default()), all);
        let of = |port: Option<&str>, direction, reason: Option<&str>, snaplen| Capture {
            protocol: None,
            port: port.map(str::to_owned),
            direction,
            reason: reason.map(str::to_owned),
            snaplen,
            count: None,
        };
        assert_eq!(copied(&of(Some("core"), None, None, None)), all[2..3]);
        assert_eq!(
            copied(&of(None, Some(Direction::In), None, Some(10))),
            [(IN, 0, 10), (IN, 0, 10)]
        );
        assert_eq!(copied(&of(None, None, Some("no-route"), None)), all[3..]);
        assert_eq!(copied(&of(None, None, Some("unhandled"), None)), []);
        let refused = Filter::new(&of(Some("cor"), None, None, None), &PORTS, DROPS, None);
        assert_eq!(refused.expect_err("no such port").remedy, "did you mean `core`?");
    }

    #[test]
    fn a_full_ring_is_a_counted_miss() {
        let filter = Filter::new(&Capture::default(), &PORTS, DROPS, None).expect("no names");
        let tally = Arc::new(Tally::default());
        let (mut tap, _ring) = tap(filter, &tally).expect("memory");
        let batch = batch();
        let rounds = RING_BYTES / 100;
        (0..rounds).for_each(|_| tap.received(&batch, 0));
        let (copied, missed) = (&tally.copied, &tally.missed);
        assert!(missed.load(Ordering::Relaxed) > 0);
        let sum = copied.load(Ordering::Relaxed) + missed.load(Ordering::Relaxed);
        assert_eq!(sum, 2 * rounds as u64);
    }
}
