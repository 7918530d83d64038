//! How packets name a session: by what they bear on the inside, and by what they bear on the
//! outside.
//!
//! Both names are a few 64-bit words that lie in the same form in the record of the session
//! ([`crate::sessions::session`]), so that a packet is compared with it in a handful of
//! instructions.

use std::net::Ipv6Addr;

use tables::hash::Keyed;

/// A session as packets between subscriber and NAT name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// The subscriber's address, upper and lower half; IPv4 in the lowest 32 bits of the lower one.
    /// Of one behind a softwire the name of that above them (`ds_lite`).
    pub address: [u64; 2],
    /// Whom it talks to.
    pub far: Far,
    /// The subscriber's port in the upper half, and the realm (VRF, network of softwires) in the
    /// lower one.
    pub near: u32,
}

/// A session as packets between NAT and Internet name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Whom the subscriber talks to.
    pub far: Far,
    /// Outside address and port, 16 bits of port lowest.
    pub own: u64,
}

/// The other end of a session: protocol (8 bits), address (32) and port (16), the port lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromZeros)]
#[repr(transparent)]
pub struct Far(u64);

impl Far {
    /// An end by protocol, address and port.
    #[inline(always)]
    pub const fn new(protocol: u8, address: u32, port: u16) -> Far {
        Far((protocol as u64) << 48 | (address as u64) << 16 | port as u64)
    }

    /// An end from which packets are expected; anybody's where there is no address. No packet has
    /// such an end.
    pub const fn expected(protocol: u8, address: Option<u32>) -> Far {
        let anybody = if address.is_none() { ANYBODY } else { 0 };
        let address = match address {
            Some(address) => address,
            None => 0,
        };
        Far(Far::new(protocol, address, 0).0 | EXPECTED | anybody)
    }

    /// Anybody's end, of a mapping that its subscriber asked for by the Port Control Protocol. No
    /// packet has such an end.
    pub const fn granted(protocol: u8) -> Far {
        Far(Far::expected(protocol, None).0 | GRANTED)
    }

    /// Whether it is of such a mapping.
    pub const fn is_granted(self) -> bool {
        self.0 & GRANTED != 0
    }

    /// Whether packets are expected from it.
    pub const fn is_expected(self) -> bool {
        self.0 & EXPECTED != 0
    }

    /// Whether it stands for all that an address sends, or anybody.
    pub const fn expects(self, address: u32) -> bool {
        self.is_expected() && (self.0 & ANYBODY != 0 || self.address() == address)
    }

    /// What kind of end it is: 0 for one that packets have.
    pub const fn kind(self) -> u8 {
        (self.0 >> 56) as u8
    }

    /// An end of such a kind; none where there is none like that.
    pub const fn of_kind(kind: u8, protocol: u8, address: u32, port: u16) -> Option<Far> {
        const OF_ADDRESS: u8 = Far::expected(0, Some(0)).kind();
        const OF_ANYBODY: u8 = Far::expected(0, None).kind();
        const ASKED_FOR: u8 = Far::granted(0).kind();
        match (kind, address, port) {
            (0, ..) => Some(Far::new(protocol, address, port)),
            (OF_ADDRESS, _, 0) => Some(Far::expected(protocol, Some(address))),
            (OF_ANYBODY, 0, 0) => Some(Far::expected(protocol, None)),
            (ASKED_FOR, 0, 0) => Some(Far::granted(protocol)),
            _ => None,
        }
    }

    /// The number of the IP protocol.
    #[inline(always)]
    pub const fn protocol(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// The address.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// The port; 0 for ICMP and GRE, whose identifier is the port at the subscriber's end.
    #[inline(always)]
    pub const fn port(self) -> u16 {
        self.0 as u16
    }
}

impl Inside {
    /// A session of an IPv4 subscriber.
    #[inline(always)]
    pub const fn ipv4(address: u32, port: u16, realm: u16, far: Far) -> Inside {
        Inside { address: [0, address as u64], far, near: (port as u32) << 16 | realm as u32 }
    }

    /// The subscriber's port, or the identifier of its ICMP queries.
    #[inline(always)]
    pub const fn port(&self) -> u16 {
        (self.near >> 16) as u16
    }

    /// The realm.
    #[inline(always)]
    pub const fn realm(&self) -> u16 {
        self.near as u16
    }

    /// Whether it is of a subscriber behind a softwire.
    #[inline(always)]
    pub const fn is_tunnelled(&self) -> bool {
        self.realm() >= SOFTWIRES
    }

    /// The address by which its subscriber is known: behind a softwire whatever IPv4 address
    /// packets have there.
    #[inline(always)]
    pub const fn subscriber(&self) -> [u64; 2] {
        match self.is_tunnelled() {
            true => [self.address[0], self.address[1] & !INNER],
            false => self.address,
        }
    }

    /// A session of the same IPv4 subscriber from another address and port.
    pub const fn beside(&self, address: u32, port: u16, far: Far) -> Inside {
        let [high, low] = self.address;
        let near = (port as u32) << 16 | self.realm() as u32;
        Inside { address: [high, low & !INNER | address as u64], far, near }
    }

    /// The hash of the session.
    #[inline(always)]
    pub fn hash(&self, keyed: &Keyed) -> u64 {
        keyed.of4(self.address[0], self.address[1], self.far.0, u64::from(self.near))
    }

    /// The hash of its mapping: whomever it talks to.
    #[inline(always)]
    pub fn mapping_hash(&self, keyed: &Keyed) -> u64 {
        let near = u64::from(self.near) << 8 | u64::from(self.far.protocol());
        keyed.of4(self.address[0], self.address[1], near, MAPPING)
    }

    /// The hash of its subscriber.
    #[inline(always)]
    pub fn subscriber_hash(&self, keyed: &Keyed) -> u64 {
        let [high, low] = self.subscriber();
        keyed.of4(high, low, u64::from(self.realm()), SUBSCRIBER)
    }
}

impl Outside {
    /// A session by the outside address and port it has.
    #[inline(always)]
    pub const fn new(address: u32, port: u16, far: Far) -> Outside {
        Outside { far, own: (address as u64) << 16 | port as u64 }
    }

    /// The outside address.
    #[inline(always)]
    pub const fn address(&self) -> u32 {
        (self.own >> 16) as u32
    }

    /// The outside port.
    #[inline(always)]
    pub const fn port(&self) -> u16 {
        self.own as u16
    }

    /// The hash of the session.
    #[inline(always)]
    pub fn hash(&self, keyed: &Keyed) -> u64 {
        keyed.of2(self.far.0, self.own)
    }
}

/// The realm of the first network of softwires; the others follow. Those of VRFs are VLANs, and
/// lower.
pub const SOFTWIRES: u16 = 4096;

/// Where an IPv4 address stands in the lower half.
pub const INNER: u64 = u32::MAX as u64;

/// Of an end from which packets are expected.
const EXPECTED: u64 = 1 << 56;
/// The same, whoever sends them.
const ANYBODY: u64 = 1 << 57;
/// The same, by a mapping that the subscriber asked for.
const GRANTED: u64 = 1 << 58;

/// What tells the hash of a mapping from that of a session: no port and realm have so many bits.
const MAPPING: u64 = 1 << 40;
/// The same for a subscriber.
const SUBSCRIBER: u64 = 1 << 41;

/// An address as sessions have it.
pub fn halves(address: Ipv6Addr) -> [u64; 2] {
    let bits = address.to_bits();
    [(bits >> 64) as u64, bits as u64]
}

/// The address that a session has.
pub fn address_of([high, low]: [u64; 2]) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))
}
