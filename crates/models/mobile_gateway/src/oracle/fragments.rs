//! The model's fragments of packets for the gateway itself: of every packet a list of all bytes,
//! seen or not, and those that wait (RFC 791 section 3.2, RFC 5722).

use std::time::Duration;

use function_mobile_gateway::config::Fragments as Limits;
use model_kit::host::{set_ipv4_checksum, word};
use model_kit::slow::Pieces;
use wire::ipv4;

/// The packets of which fragments have come.
pub(super) struct Fragments {
    limits: Limits,
    all: Vec<Begun>,
}

struct Begun {
    /// Source, destination, protocol, identification.
    key: Key,
    pieces: Pieces,
    waiting: Vec<Vec<u8>>,
    until: Duration,
}

type Key = ([u8; 8], u8, u16);

impl Fragments {
    pub fn new(limits: Limits) -> Fragments {
        Fragments { limits, all: Vec::new() }
    }

    /// Takes a fragment without options; the packet, if this was the last one of it.
    pub fn take(&mut self, fragment: &[u8], now: Duration) -> Result<Vec<u8>, &'static str> {
        if self.limits.datagrams == 0 {
            return Err("ip-fragment");
        }
        let (start, len) = (start_of(fragment), fragment.len() - ipv4::HEADER_LEN);
        let more = word(fragment, 6) & ipv4::FLAG_MORE_FRAGMENTS != 0;
        if len == 0 || more && len % 8 != 0 || start + len > 0xffff {
            return Err("fragment-malformed");
        }
        if 14 + ipv4::HEADER_LEN + start + len > FRAME_LEN_MAX {
            return Err("too-long");
        }
        self.all.retain(|one| now < one.until);
        let mut ends = [0; 8];
        ends.copy_from_slice(&fragment[12..20]);
        let key = (ends, fragment[9], word(fragment, 4));
        let known = self.all.iter().position(|one| one.key == key);
        if known.is_some_and(|at| self.all[at].pieces.is_broken) {
            return Err("fragment-overlap");
        }
        self.check_room(&ends[..4], known.is_none())?;
        let at = known.unwrap_or_else(|| {
            let until = now + Duration::from_secs_f64(self.limits.timeout_s);
            let (pieces, waiting) = (Pieces::default(), Vec::new());
            self.all.push(Begun { key, pieces, waiting, until });
            self.all.len() - 1
        });
        let one = &mut self.all[at];
        let taken = one.pieces.take(start, len, more);
        if one.pieces.is_broken {
            one.waiting.clear();
        }
        taken?;
        one.waiting.push(fragment.to_vec());
        if !one.pieces.is_whole() {
            return Err("awaiting-fragments");
        }
        Ok(together(&self.all.remove(at).waiting))
    }

    /// Whether one more packet, and one more fragment that waits, of a sender have a place.
    fn check_room(&self, sender: &[u8], begins: bool) -> Result<(), &'static str> {
        let Limits { datagrams, datagrams_per_sender, waiting, waiting_per_sender, .. } =
            self.limits;
        let of_sender = || self.all.iter().filter(|one| &one.key.0[..4] == sender);
        if begins && of_sender().count() >= datagrams_per_sender as usize {
            return Err("fragment-limit");
        }
        if begins && self.all.len() >= datagrams as usize {
            return Err("fragments-full");
        }
        let its: usize = of_sender().map(|one| one.waiting.len()).sum();
        let all: usize = self.all.iter().map(|one| one.waiting.len()).sum();
        if its >= waiting_per_sender as usize {
            return Err("fragment-limit");
        }
        if all >= waiting as usize { Err("fragments-full") } else { Ok(()) }
    }
}

/// All fragments as one packet, with the header of the first.
fn together(fragments: &[Vec<u8>]) -> Vec<u8> {
    let mut ordered: Vec<&Vec<u8>> = fragments.iter().collect();
    ordered.sort_by_key(|fragment| start_of(fragment));
    let mut packet = ordered[0][..ipv4::HEADER_LEN].to_vec();
    for fragment in ordered {
        packet.extend(&fragment[ipv4::HEADER_LEN..]);
    }
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[6..8].fill(0);
    set_ipv4_checksum(&mut packet);
    packet
}

fn start_of(fragment: &[u8]) -> usize {
    8 * usize::from(word(fragment, 6) & ipv4::FRAGMENT_OFFSET_MASK)
}

/// The longest frame for which a worker has room.
const FRAME_LEN_MAX: usize = 2014;
