//! Joining: frames of one connection that follow each other become one.

use wire::bytes::{put_u16, u16_at, u32_at};
use wire::{checksum, ipv4, ipv6, tcp};

use crate::header::Header;
use crate::layout::Layout;

/// The longest frame that comes of joining, in bytes.
pub const COALESCED_BYTES_MAX: usize = 65_535;

/// Joins the frames of a few connections at a time.
///
/// Frames that cannot be joined are handed on at once, behind what is held of their connection, so
/// that no connection's frames change their order. Nothing is held longer than until
/// [`Coalescer::flush`].
#[derive(Debug)]
pub struct Coalescer {
    held: Box<[Held]>,
    /// Whose place the next connection has.
    next: usize,
}

/// What is held of a connection.
#[derive(Debug)]
struct Held {
    /// Where it goes.
    tag: u16,
    /// The frame; empty where nothing is held.
    frame: Vec<u8>,
    layout: Layout,
    /// Bytes of payload of each frame but the last.
    segment_len: usize,
    count: u16,
    /// No frame follows: the last one was shorter, or says so.
    is_closed: bool,
}

impl Coalescer {
    /// Makes one that holds this many connections, of 64 KiB each.
    pub fn new(connections: usize) -> Coalescer {
        let layout =
            Layout { is_ipv6: false, is_udp: false, ip: 0, transport: 0, payload: 0, end: 0 };
        let held = |_| Held {
            tag: 0,
            frame: Vec::with_capacity(COALESCED_BYTES_MAX),
            layout,
            segment_len: 0,
            count: 0,
            is_closed: false,
        };
        Coalescer { held: (0..connections.max(1)).map(held).collect(), next: 0 }
    }

    /// Takes a frame that goes to `tag`, and hands on what is ready.
    pub fn push(&mut self, tag: u16, frame: &[u8], mut ready: impl FnMut(u16, &Header, &[u8])) {
        let Some(layout) = Layout::of_tcp(frame) else {
            return ready(tag, &Header::default(), frame);
        };
        let of = self.held.iter_mut().find(|held| held.is_of(tag, frame, &layout));
        let may_be_joined = is_plain(frame, &layout);
        if let Some(held) = of {
            if may_be_joined && held.join(frame, &layout) {
                return;
            }
            held.flush(&mut ready);
        }
        if !may_be_joined {
            return ready(tag, &Header::default(), frame);
        }
        let place = match self.held.iter().position(|held| held.frame.is_empty()) {
            Some(free) => free,
            None => {
                self.next = (self.next + 1) % self.held.len();
                self.next
            }
        };
        self.held[place].flush(&mut ready);
        self.held[place].begin(tag, frame, layout);
    }

    /// Hands on all that is held.
    pub fn flush(&mut self, mut ready: impl FnMut(u16, &Header, &[u8])) {
        self.held.iter_mut().for_each(|held| held.flush(&mut ready));
    }
}

impl Held {
    /// Whether a frame is of the connection that is held.
    fn is_of(&self, tag: u16, frame: &[u8], layout: &Layout) -> bool {
        let own = &self.layout;
        let tuple = |frame: &[u8], layout: &Layout| {
            let (from, len) = match layout.is_ipv6 {
                false => (ipv4::offset::SOURCE, 8),
                true => (ipv6::offset::SOURCE, 32),
            };
            let at = layout.ip + from;
            (at..at + len, u32_at(frame, layout.transport))
        };
        if self.frame.is_empty()
            || tag != self.tag
            || (layout.is_ipv6, layout.ip) != (own.is_ipv6, own.ip)
        {
            return false;
        }
        let ((addresses, ports), (_, ports_held)) = (tuple(frame, layout), tuple(&self.frame, own));
        ports == ports_held && frame[addresses.clone()] == self.frame[addresses]
    }

    fn begin(&mut self, tag: u16, frame: &[u8], layout: Layout) {
        self.frame.extend_from_slice(frame);
        self.segment_len = layout.end - layout.payload;
        self.is_closed = is_last(frame, &layout);
        (self.tag, self.layout, self.count) = (tag, layout, 1);
    }

    /// Takes a frame of the connection if it follows what is held.
    fn join(&mut self, frame: &[u8], layout: &Layout) -> bool {
        let payload = &frame[layout.payload..];
        if self.is_closed
            || payload.len() > self.segment_len
            || self.frame.len() + payload.len() > COALESCED_BYTES_MAX
            || !self.follows(frame, layout)
        {
            return false;
        }
        self.is_closed = payload.len() < self.segment_len || is_last(frame, layout);
        let flags = layout.transport + tcp::offset::FLAGS;
        self.frame[flags] |= frame[flags];
        self.frame.extend_from_slice(payload);
        self.count += 1;
        true
    }

    /// Whether the headers are those of the next frame.
    fn follows(&self, frame: &[u8], layout: &Layout) -> bool {
        let (own, held) = (&self.layout, &self.frame);
        if (own.transport, own.payload) != (layout.transport, layout.payload) {
            return false;
        }
        let is_same = |from: usize, to: usize| held[from..to] == frame[from..to];
        let (ip, at) = (layout.ip, layout.transport);
        let network = match layout.is_ipv6 {
            false => {
                let id = |frame: &[u8]| u16_at(frame, ip + ipv4::offset::IDENTIFICATION);
                // It says nothing of a datagram that is never cut (RFC 6864 section 4.1).
                let dont = frame[ip + ipv4::offset::FLAGS_FRAGMENT] & DONT_FRAGMENT != 0;
                is_same(0, ip + ipv4::offset::TOTAL_LEN)
                    && is_same(ip + ipv4::offset::FLAGS_FRAGMENT, ip + ipv4::offset::CHECKSUM)
                    && (dont || id(frame) == id(held).wrapping_add(self.count))
            }
            true => {
                is_same(0, ip + ipv6::offset::PAYLOAD_LEN)
                    && is_same(ip + ipv6::offset::NEXT_HEADER, at)
            }
        };
        let sequence = |frame: &[u8]| u32_at(frame, at + tcp::offset::SEQUENCE);
        let closing = tcp::FLAG_FIN | tcp::FLAG_PSH;
        let flags = |frame: &[u8]| frame[at + tcp::offset::FLAGS] & !closing;
        network
            && sequence(frame) == sequence(held).wrapping_add((held.len() - own.payload) as u32)
            && is_same(at + tcp::offset::ACKNOWLEDGMENT, at + tcp::offset::FLAGS)
            && flags(frame) == flags(held)
            && is_same(at + tcp::offset::WINDOW, at + tcp::offset::CHECKSUM)
            && is_same(at + tcp::offset::URGENT, layout.payload)
    }

    fn flush(&mut self, mut ready: impl FnMut(u16, &Header, &[u8])) {
        let layout = self.layout;
        let header = match self.count {
            _ if self.frame.is_empty() => return,
            1 => Header::default(),
            _ => {
                let (head, payload) = self.frame.split_at_mut(layout.payload);
                layout.set_len(head, payload.len());
                let len = layout.payload - layout.transport + payload.len();
                let sum = layout.pseudo_header(head, len).fold();
                put_u16(head, layout.transport + tcp::offset::CHECKSUM, sum);
                Header {
                    flags: Header::NEEDS_CHECKSUM,
                    gso: layout.gso(),
                    header_len: layout.payload as u16,
                    segment_len: self.segment_len as u16,
                    checksum_start: layout.transport as u16,
                    checksum_offset: tcp::offset::CHECKSUM as u16,
                }
            }
        };
        ready(self.tag, &header, &self.frame);
        self.frame.clear();
    }
}

/// Whether a frame may be joined with others: data and nothing else, without options of IP, padding
/// or errors. A checksum of all ones is not what cutting would make of it again.
fn is_plain(frame: &[u8], layout: &Layout) -> bool {
    let flags = frame[layout.transport + tcp::offset::FLAGS];
    let usual = tcp::FLAG_FIN | tcp::FLAG_PSH | tcp::FLAG_ECE;
    if flags & !usual != tcp::FLAG_ACK
        || layout.payload == layout.end
        || layout.end != frame.len()
        || frame.len() > COALESCED_BYTES_MAX
        || u16_at(frame, layout.transport + tcp::offset::CHECKSUM) == 0xffff
    {
        return false;
    }
    let ip = &frame[layout.ip..layout.transport];
    let is_usual = match layout.is_ipv6 {
        false => {
            ip.len() == ipv4::HEADER_LEN
                && checksum::checksum(ip) == 0
                && u16_at(ip, ipv4::offset::CHECKSUM) != 0xffff
        }
        true => ip.len() == ipv6::HEADER_LEN,
    };
    let segment = &frame[layout.transport..];
    is_usual && layout.pseudo_header(frame, segment.len()).add_bytes(segment).checksum() == 0
}

/// Whether the sender wants it handed on (PSH), or has no more.
fn is_last(frame: &[u8], layout: &Layout) -> bool {
    frame[layout.transport + tcp::offset::FLAGS] & (tcp::FLAG_FIN | tcp::FLAG_PSH) != 0
}

/// In the first byte of flags and fragment offset.
const DONT_FRAGMENT: u8 = (ipv4::FLAG_DONT_FRAGMENT >> 8) as u8;
