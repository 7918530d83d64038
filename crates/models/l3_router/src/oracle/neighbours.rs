//! The model's neighbours by interface, and what becomes of packets that wait for them.
use std::net::IpAddr;
use std::time::Duration;

use function_l3_router::config::{Config, Resolved};
use model_kit::check::Expected;
use model_kit::host::Cause;
use model_kit::neighbours::{self, Due, Own};
pub(super) use model_kit::neighbours::{Said, read};

use super::frames::leave;
use super::host::{Buckets, Held};

/// The list, and what it has made.
pub(super) struct Neighbours {
    list: neighbours::Neighbours<Key, Waiting>,
    /// What was made and not told yet.
    pub made: Vec<Expected>,
}

/// What is kept of a neighbour.
#[derive(Clone)]
struct Key {
    out: Resolved,
    /// The next hop's number, if it is one.
    hop: Option<u32>,
    /// The source address of frames to it.
    source: [u8; 6],
}

/// A packet for it: as it came in by an interface, and as it is to leave.
struct Waiting {
    at: Resolved,
    header: Vec<u8>,
    came: Vec<u8>,
    sent: Vec<u8>,
}

/// Whom a packet is to reach.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub out: Resolved,
    pub address: IpAddr,
    pub hop: Option<u32>,
    pub source: [u8; 6],
}

impl Neighbours {
    pub fn new(config: &Config) -> Neighbours {
        let capacity = if config.resolve { config.neighbour_capacity } else { 0 };
        let (pending, lifetime_s) = (config.pending_capacity, config.neighbour_lifetime_s);
        let list = neighbours::Neighbours::new(capacity, pending, lifetime_s);
        Neighbours { list, made: Vec::new() }
    }

    fn find(&self, out: &Resolved, address: IpAddr) -> Option<usize> {
        self.list.find(|entry| entry.key.out == *out && entry.address == address)
    }

    /// The Ethernet address of one that is known.
    pub fn station(&self, out: &Resolved, address: IpAddr) -> Option<[u8; 6]> {
        self.list.get(self.find(out, address)?)?.mac
    }

    /// The packet leaves, or waits.
    pub fn send(
        &mut self,
        wanted: Wanted,
        held: Held,
        sent: &[u8],
        now: Duration,
    ) -> Result<Expected, &'static str> {
        let Wanted { out, address, hop, source } = wanted;
        let number = match self.find(&out, address) {
            Some(number) => number,
            None => {
                let key = Key { out, hop, source };
                let is_kept = |key: &Key| key.hop.is_some();
                let (number, asks, free) = self.list.add_or_replace(key, address, is_kept, now)?;
                if asks {
                    self.made.extend(question(&out, address, None));
                }
                self.made.extend(free.iter().map(|_| Expected::Drop("unresolved")));
                number
            }
        };
        if let Some(entry) = self.list.get(number)
            && let Some(mac) = entry.mac
        {
            let frame = [&mac[..], &entry.key.source, &held.header[12..14], sent].concat();
            return Ok(leave(&out, frame));
        }
        let waiting = Waiting {
            at: *held.at,
            header: held.header.to_vec(),
            came: held.packet.to_vec(),
            sent: sent.to_vec(),
        };
        Err(self.list.wait(number, waiting))
    }

    /// Asks for a neighbour before a packet comes for it.
    pub fn seek(&mut self, wanted: Wanted, now: Duration) {
        let Wanted { out, address, hop, source } = wanted;
        if self.find(&out, address).is_none()
            && let Ok((_, asks, free)) = self.list.add_or_replace(
                Key { out, hop, source },
                address,
                |key| key.hop.is_some(),
                now,
            )
        {
            self.made.extend(question(&out, address, None).filter(|_| asks));
            self.made.extend(free.iter().map(|_| Expected::Drop("unresolved")));
        }
    }

    /// Whether what was said is of use.
    pub fn heard(
        &mut self,
        at: &Resolved,
        address: IpAddr,
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        let Some(number) = self.find(at, address) else { return false };
        let Some(free) = self.list.heard(number, said, now) else { return false };
        let Some(Key { out, source, .. }) = self.list.get(number).map(|one| one.key.clone()) else {
            return false;
        };
        for waiting in free {
            let frame = [said.0, &source, &waiting.header[12..14], &waiting.sent].concat();
            self.made.push(leave(&out, frame));
        }
        true
    }

    /// A next hop is another now.
    pub fn forget(&mut self, hop: u32) {
        let Some(number) = self.list.find(|entry| entry.key.hop == Some(hop)) else { return };
        let dropped = self.list.forget(number).len();
        self.made.extend((0..dropped).map(|_| Expected::Drop("unresolved")));
    }

    /// A next hop was set whose neighbour may be there already: frames to it are the next hop's.
    pub fn enlist(&mut self, wanted: Wanted) {
        let Some(number) = self.find(&wanted.out, wanted.address) else { return };
        if let Some(entry) = self.list.get_mut(number) {
            (entry.key.hop, entry.key.source) = (wanted.hop, wanted.source);
        }
    }

    /// Asks again, or tells the senders of what waited.
    pub fn tick(&mut self, config: &Config, buckets: &mut Buckets, now: Duration) {
        for due in self.list.tick(now) {
            match due {
                Due::Ask(key, address, station) => {
                    self.made.extend(question(&key.out, address, station));
                }
                Due::Gone(free) => {
                    for waiting in free {
                        let Waiting { at, header, came, .. } = &waiting;
                        let held = Held { at, header, packet: came };
                        let cause = Cause { reason: "unresolved", v4: (3, 1, 0), v6: (1, 3, 0) };
                        let (reason, told) = buckets.refuse(config, held, cause, now);
                        self.made.push(Expected::Drop(reason));
                        self.made.extend(told);
                    }
                }
            }
        }
    }
}

/// An interface as a device on its link; the host makes itself an address of those that it has.
pub(super) fn own(out: &Resolved) -> Own {
    let [a, b, c, d, e, f] = out.mac.0.0;
    let words = [[a ^ 2, b], [c, 0xff], [0xfe, d], [e, f]].map(u16::from_be_bytes);
    let link_local =
        std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, words[0], words[1], words[2], words[3]);
    let ipv4 = out.ip.map(|ip| ip.address);
    let ipv6 = out.ipv6.map(|ip| ip.address).or(out.is_hosted.then_some(link_local));
    Own { mac: out.mac.0.0, ipv4, ipv6 }
}

fn question(out: &Resolved, address: IpAddr, station: Option<[u8; 6]>) -> Option<Expected> {
    Some(leave(out, neighbours::question(&own(out), address, station)?))
}
