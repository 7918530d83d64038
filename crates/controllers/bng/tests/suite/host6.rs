//! A client of DHCPv6, written from RFC 8415, that wants an address and a prefix.

use std::net::Ipv6Addr;
use std::time::Duration;

use function_bng::config::Line;
use protocol_kit::Time;
use wire::{MacAddr, ipv6, udp};

use crate::host::frame;

/// The client.
#[derive(Default)]
pub struct Dhcp6 {
    state: State,
    xid: u32,
    /// When it says something again.
    next: Option<Time>,
    until: Time,
    server: Vec<u8>,
    /// Its address, if it has an address and a prefix.
    pub address: Option<Ipv6Addr>,
    /// Its identity associations, as it was given them.
    associations: Vec<Item>,
}

/// An option: its code and value.
pub type Item = (u16, Vec<u8>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Off,
    Looks,
    Bound,
    Renews,
}

impl Dhcp6 {
    /// It wants to be up.
    pub fn begin(&mut self, now: Time) {
        (self.state, self.next, self.address) = (State::Looks, Some(now), None);
        self.xid += 1;
    }

    /// It is switched off; returns the message by which it says so.
    pub fn release(&mut self, (line, mac): (Line, [u8; 6])) -> Vec<Vec<u8>> {
        let had = self.address.take().is_some();
        (self.state, self.next) = (State::Off, None);
        let release = had.then(|| self.message((line, mac), RELEASE, self.associations.clone()));
        release.into_iter().collect()
    }

    /// It has found its address used by somebody else, and begins anew. Its prefix it keeps.
    pub fn decline(&mut self, (line, mac): (Line, [u8; 6]), now: Time) -> Vec<Vec<u8>> {
        let address = self.associations.iter().filter(|(code, _)| *code == IA_NA).cloned();
        let decline = self.message((line, mac), DECLINE, address.collect());
        self.begin(now);
        vec![decline]
    }

    pub fn poll(&mut self, line: Line, mac: [u8; 6], now: Time) -> Vec<Vec<u8>> {
        if self.next.is_none_or(|next| next > now) {
            return Vec::new();
        }
        if self.state != State::Looks && now >= self.until {
            self.begin(now);
        }
        let message = match self.state {
            State::Off => return Vec::new(),
            State::Looks => {
                let wanted = vec![(IA_NA, ia(1)), (IA_PD, ia(2)), (RAPID_COMMIT, Vec::new())];
                self.message((line, mac), SOLICIT, wanted)
            }
            State::Bound | State::Renews => {
                self.xid += u32::from(self.state == State::Bound);
                self.state = State::Renews;
                self.message((line, mac), RENEW, self.associations.clone())
            }
        };
        self.next = Some(now.after(Duration::from_secs(4)));
        vec![message]
    }

    pub fn deadline(&self) -> Option<Time> {
        self.next
    }

    /// A packet of IPv6 comes to it.
    pub fn hear(&mut self, packet: &[u8], now: Time) {
        let is_reply = packet[6] == 17 && packet[48] == REPLY;
        let is_its = is_reply && packet[49..52] == self.xid.to_be_bytes()[1..];
        if !is_its || matches!(self.state, State::Off | State::Bound) {
            return;
        }
        let (_, options) = read(packet);
        let of = |code| options.iter().find(|(other, _)| *other == code).cloned();
        let associations: Vec<Item> = [IA_NA, IA_PD].into_iter().filter_map(of).collect();
        // Behind the header of the association stands the option of the address.
        if associations.iter().filter_map(leaf_of).count() < 2 {
            if self.state == State::Renews {
                self.begin(now);
            }
            return;
        }
        let address = leaf_of(&associations[0]).expect("an address");
        let number = |at: usize| address[at..at + 4].try_into().map(u32::from_be_bytes);
        let valid = Duration::from_secs(number(4 + 20).expect("four").into());
        let octets: [u8; 16] = address[4..20].try_into().expect("sixteen");
        self.address = Some(octets.into());
        self.server = of(SERVER).expect("a server").1;
        self.associations = associations;
        self.state = State::Bound;
        (self.next, self.until) = (Some(now.after(valid / 2)), now.after(valid));
    }

    fn message(&self, (line, mac): (Line, [u8; 6]), kind: u8, more: Vec<Item>) -> Vec<u8> {
        let mut options = vec![(CLIENT, [&[0, 3, 0, 1][..], &mac].concat()), (ELAPSED, vec![0, 0])];
        if kind != SOLICIT {
            options.push((SERVER, self.server.clone()));
        }
        options.extend(more);
        let source = ipv6::link_local(MacAddr(mac));
        let packet = message(source, kind, self.xid, &options);
        frame((line, mac), [0x33, 0x33, 0, 1, 0, 2], 0x86dd, &packet)
    }
}

/// The option of an address or a prefix in an association, behind its header; none of one that has
/// a status instead.
fn leaf_of(item: &Item) -> Option<&[u8]> {
    item.1.get(12..).filter(|leaf| leaf.len() > 2 && leaf[..2] != STATUS.to_be_bytes())
}

/// The value of an identity association without an address.
pub fn ia(id: u8) -> Vec<u8> {
    [&[0, 0, 0, id][..], &[0; 8]].concat()
}

/// A packet of IPv6.
pub fn packet(
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (next_header, hop_limit): (u8, u8),
    body: &[u8],
) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([next_header, hop_limit]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(body);
    packet
}

/// A packet with a message of a client.
pub fn message(source: Ipv6Addr, kind: u8, xid: u32, options: &[Item]) -> Vec<u8> {
    let to = "ff02::1:2".parse().expect("an address");
    let mut body = xid.to_be_bytes().to_vec();
    body[0] = kind;
    for (code, value) in options {
        body.extend(code.to_be_bytes());
        body.extend((value.len() as u16).to_be_bytes());
        body.extend(value);
    }
    let len = 8 + body.len() as u16;
    let mut header = [0; 8];
    let fields =
        |checksum| udp::Fields { source_port: 546, destination_port: 547, length: len, checksum };
    fields(0).emit(&mut header);
    fields(udp::checksum_ipv6(source, to, &header, &body)).emit(&mut header);
    packet((source, to), (17, 1), &[&header[..], &body].concat())
}

/// The type of a message in a packet, and its options.
pub fn read(packet: &[u8]) -> (u8, Vec<Item>) {
    let message = &packet[40 + 8..];
    let (mut rest, mut options) = (&message[4..], Vec::new());
    while let [a, b, c, d, behind @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        options.push((u16::from_be_bytes([*a, *b]), behind[..len].to_vec()));
        rest = &behind[len..];
    }
    (message[0], options)
}

const SOLICIT: u8 = 1;
const RENEW: u8 = 5;
const REPLY: u8 = 7;
const RELEASE: u8 = 8;
const DECLINE: u8 = 9;

const CLIENT: u16 = 1;
const SERVER: u16 = 2;
const IA_NA: u16 = 3;
const ELAPSED: u16 = 8;
const STATUS: u16 = 13;
const RAPID_COMMIT: u16 = 14;
const IA_PD: u16 = 25;
