//! The other workers of a router, and the frames by which one tells another what it knows.
//!
//! ```text
//!  the first --which next hops are there--> all others
//!  any other --packets of BFD-------------> the first, which has all sessions
//!  each      --what neighbours say--------> all others ([`stages::hearsay`])
//! ```
//! A card gives a packet to any worker, so whoever has one of a session hands it over. A change is
//! told at once; beside that all is told anew, a share every few milliseconds, so that a frame for
//! which a ring had no room is made up for.
use function_kit::Shard;
use machine::clock::{Clock, Ticks};
use packet::{Made, PortId, Verdict};
use stages::hearsay::Others;
use wire::bytes::array_at;
use wire::ethernet;

use super::config::Config;

/// The workers of a router, as one of them sees them.
pub(super) struct Workers {
    index: u32,
    count: u32,
    /// The port towards the first of them.
    first_port: u8,
    /// Those who are told of neighbours.
    pub others: Others,
    /// Next hops that are there now, or are not, of which nobody was told yet.
    news: Vec<(u32, bool)>,
    /// When a share was told last, and from which next hop on the next one is.
    share: (Ticks, u32),
    share_ticks: Ticks,
}

impl Workers {
    /// Those of a configuration; one that tells nobody is alone.
    pub fn new(config: &Config, shard: Shard, clock: Clock, now: Ticks) -> Workers {
        let Shard { index, count } = match config.hands_over() {
            true => shard,
            false => Shard::WHOLE,
        };
        let first_port = config.port_names().len() as u8;
        let towards = |worker| PortId(first_port + worker as u8);
        Workers {
            index,
            count,
            first_port,
            others: Others::new((index, count), towards),
            news: Vec::new(),
            share: (now, 0),
            share_ticks: clock.ticks(SHARE_EVERY),
        }
    }

    /// Whether this is the one that has the sessions.
    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// Whether a port leads to another worker.
    pub fn is_worker(&self, port: PortId) -> bool {
        let number = u32::from(port.0.wrapping_sub(self.first_port));
        port != PortId::HOST && self.count > 1 && number < self.count
    }

    /// Sends a packet without tag, which came in by an interface, to the first worker.
    pub fn hand_over(&self, frame: &mut [u8], interface: u16) -> Verdict {
        let [high, low] = interface.to_be_bytes();
        if let Some(to) = frame.first_chunk_mut::<6>() {
            *to = [GROUP, PACKET, 0, 0, high, low];
        }
        Verdict::Forward(PortId(self.first_port))
    }

    /// Notes what the others are to be told.
    pub fn note(&mut self, hop: u32, is_up: bool) {
        if self.count > 1 {
            self.news.push((hop, is_up));
        }
    }

    /// Tells the others of next hops: what was noted, and the next share of `all` from a next hop
    /// on if one is due.
    pub fn tell<I: Iterator<Item = (u32, bool)>>(
        &mut self,
        made: &mut Made,
        all: impl FnOnce(u32) -> I,
        now: Ticks,
    ) {
        let is_due = now.wrapping_sub(self.share.0) > self.share_ticks;
        if self.count < 2 || !is_due && self.news.is_empty() {
            return;
        }
        if is_due {
            let before = self.news.len();
            self.news.extend(all(self.share.1).take(HOPS_PER_FRAME));
            let is_whole = self.news.len() - before == HOPS_PER_FRAME;
            let last = self.news.last().map_or(0, |(hop, _)| *hop);
            self.share = (now, if is_whole { last + 1 } else { 0 });
        }
        for states in self.news.chunks(HOPS_PER_FRAME) {
            let mut frame = vec![0; ethernet::HEADER_LEN];
            frame[..2].copy_from_slice(&[GROUP, HOPS]);
            frame[ethernet::offset::TYPE..].copy_from_slice(&TYPE_EXPERIMENTAL.to_be_bytes());
            for (hop, is_up) in states {
                frame.extend(hop.to_be_bytes());
                frame.push(u8::from(*is_up));
            }
            for other in (0..self.count).filter(|other| *other != self.index) {
                let to = Verdict::Forward(PortId(self.first_port + other as u8));
                made.push(PortId(self.first_port + self.index as u8), &frame, to);
            }
        }
        self.news.clear();
    }
}

/// What another worker has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Next hops that are there, or are not.
    Hops,
    /// A packet that came in by an interface.
    Packet(u16),
    /// What a neighbour says.
    Neighbour,
}

impl Told {
    /// What a frame of another worker is.
    pub fn of(frame: &[u8]) -> Told {
        match frame.first_chunk::<6>() {
            Some([GROUP, HOPS, ..]) => Told::Hops,
            Some([GROUP, PACKET, 0, 0, high, low]) => {
                Told::Packet(u16::from_be_bytes([*high, *low]))
            }
            _ => Told::Neighbour,
        }
    }
}

/// The next hops in a frame that tells of them, and whether each is there.
pub(super) fn hops_in(frame: &[u8]) -> impl Iterator<Item = (u32, bool)> + '_ {
    let states = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    states.chunks_exact(5).map(|state| (u32::from_be_bytes(array_at(state, 0)), state[4] == 1))
}

/// How the destination of a frame for another worker begins: no interface has a group's address.
const GROUP: u8 = 3;

/// What comes behind that, by what the frame is.
const HOPS: u8 = 1;
const PACKET: u8 = 2;

/// An EtherType that no protocol has (IEEE 802, local experimental).
const TYPE_EXPERIMENTAL: u16 = 0x88b5;

/// Next hops in a frame, which is about 1,000 bytes.
const HOPS_PER_FRAME: usize = 200;

/// Time between two shares: of 1,000 sessions all are told anew in 50 ms.
const SHARE_EVERY: std::time::Duration = std::time::Duration::from_millis(10);
