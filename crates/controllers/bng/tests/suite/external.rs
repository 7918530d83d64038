//! External servers of DHCP behind the relay, which share their leases; written from RFC 2131,
//! RFC 3046 and RFC 8415 section 19.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The servers, by their addresses.
#[derive(Default)]
pub struct External {
    /// Those that are silent.
    pub dead: BTreeSet<IpAddr>,
    /// Addresses by station.
    pub leases: BTreeMap<[u8; 6], Ipv4Addr>,
    /// For how long leases are valid, in seconds.
    pub valid_s: u32,
    /// The last byte of the address that was given last.
    pub last: u8,
    /// Kinds of messages that have come, and the relay agent's option, or the Interface-Id.
    pub asked: Vec<(u8, Vec<u8>)>,
}

impl External {
    /// The answer of a server to a datagram.
    pub fn hear(&mut self, to: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.dead.contains(&to.ip()) {
            return None;
        }
        match to.ip() {
            IpAddr::V4(server) => self.hear_v4(server, bytes),
            IpAddr::V6(_) => self.hear_v6(bytes),
        }
    }

    fn hear_v4(&mut self, server: Ipv4Addr, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut rest, mut options) = (&bytes[240..], BTreeMap::new());
        while let [code, len, behind @ ..] = rest
            && *code != 255
        {
            let (value, behind) = behind.split_at(usize::from(*len));
            options.insert(*code, value.to_vec());
            rest = behind;
        }
        let address = |bytes: &[u8]| Ipv4Addr::from(<[u8; 4]>::try_from(bytes).expect("four"));
        assert_eq!(address(&bytes[24..28]), Ipv4Addr::new(192, 0, 2, 9), "giaddr");
        let chaddr: [u8; 6] = bytes[28..34].try_into().expect("six");
        let ciaddr = address(&bytes[12..16]);
        let kind = options[&53][0];
        self.asked.push((kind, options[&82].clone()));
        // What is for another server it does not take.
        let named = options.get(&54).map(|it| address(it));
        let known = self.leases.get(&chaddr).copied();
        let (kind, yiaddr) = match kind {
            DISCOVER => {
                let next = Ipv4Addr::new(10, 2, 0, self.last.wrapping_add(1));
                (OFFER, known.unwrap_or(next))
            }
            REQUEST if named.is_some_and(|named| named != server) => return None,
            REQUEST => {
                let asked = options.get(&50).map_or(ciaddr, |it| address(it));
                let is_offered = named.is_some() && !self.leases.values().any(|it| *it == asked);
                if known == Some(asked) || is_offered {
                    self.last = self.last.max(asked.octets()[3]);
                    self.leases.insert(chaddr, asked);
                    (ACK, asked)
                } else {
                    (NAK, Ipv4Addr::UNSPECIFIED)
                }
            }
            _ => {
                self.leases.remove(&chaddr);
                return None;
            }
        };
        let mut reply = bytes[..240].to_vec();
        reply[0] = 2;
        reply[16..20].copy_from_slice(&yiaddr.octets());
        reply.extend([53, 1, kind, 54, 4]);
        reply.extend(server.octets());
        if kind != NAK {
            reply.extend([51, 4]);
            reply.extend(self.valid_s.to_be_bytes());
            reply.extend([3, 4, 10, 1, 0, 1]);
        }
        reply.extend([82, options[&82].len() as u8]);
        reply.extend(&options[&82]);
        reply.push(255);
        Some(reply)
    }

    /// An address and a prefix for everybody, and the end of both.
    fn hear_v6(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let around = read(&bytes[34..]);
        let message = &around[&9];
        let inner = read(&message[4..]);
        self.asked.push((message[0], around[&18].clone()));
        let kind = match message[0] {
            SOLICIT => ADVERTISE,
            _ => REPLY,
        };
        let lifetimes = [self.valid_s.to_be_bytes(); 2].concat();
        let na = [&ADDRESS.octets()[..], &lifetimes].concat();
        let pd = [&lifetimes[..], &[56], &PREFIX.octets()].concat();
        let times = [0; 8];
        let mut reply = [&[kind][..], &message[1..4]].concat();
        reply.extend(option(1, &inner[&1]));
        reply.extend(option(2, &DUID));
        if message[0] != RELEASE {
            reply.extend(option(3, &[&inner[&3][..4], &times, &option(5, &na)].concat()));
            reply.extend(option(25, &[&inner[&25][..4], &times, &option(26, &pd)].concat()));
        }
        let mut wrapped = bytes[..34].to_vec();
        wrapped[0] = RELAY_REPLY;
        wrapped.extend(option(18, &around[&18]));
        wrapped.extend(option(9, &reply));
        Some(wrapped)
    }
}

fn read(mut rest: &[u8]) -> BTreeMap<u16, Vec<u8>> {
    let mut options = BTreeMap::new();
    while let [a, b, c, d, behind @ ..] = rest {
        let (value, behind) = behind.split_at(usize::from(u16::from_be_bytes([*c, *d])));
        options.insert(u16::from_be_bytes([*a, *b]), value.to_vec());
        rest = behind;
    }
    options
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// What a client of DHCPv6 is given.
pub const ADDRESS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xe, 0, 0, 0, 0, 7);
pub const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xf00, 0, 0, 0, 0, 0);

/// What the servers call themselves.
pub const DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0x67];

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const ACK: u8 = 5;
const NAK: u8 = 6;
const SOLICIT: u8 = 1;
const ADVERTISE: u8 = 2;
const REPLY: u8 = 7;
const RELEASE: u8 = 8;
const RELAY_REPLY: u8 = 13;
