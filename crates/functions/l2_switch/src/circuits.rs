//! Attachment circuits at run time: which one takes a frame, which domain it belongs to, who else
//! does.
//!
//! The circuit of a frame is found by its port and outer VLAN in an array, and only where a circuit
//! of that VLAN asks for an inner one, by both in an index: the most specific one takes it.

use std::collections::BTreeSet;
use std::io;

use packet::PortId;
use tables::index::Index;
use wire::bytes::array_at;
use wire::ethernet::{HEADER_LEN, TAG_LEN, TYPE_SERVICE_VLAN, TYPE_VLAN};

use super::config::features::{Attachment, Tpid};
use super::config::{Config, Port, Unknown};

/// All circuits and domains of a switch.
pub struct Circuits {
    /// The circuits, by their numbers.
    pub all: Vec<Circuit>,
    /// The domains, in the order of their identifiers.
    pub domains: Vec<Domain>,
    ports: Vec<OfPort>,
    /// By port, protocol identifier and VLAN of the outer tag: a circuit, whether it asks for an
    /// inner one, or [`NONE`].
    outer: Vec<u16>,
    inner: Index<u64>,
}

/// What takes frames of a port that no VLAN tells, and whether tags matter at all.
#[derive(Clone, Copy)]
struct OfPort {
    untagged: u16,
    any: u16,
    looks_at_tags: bool,
}

/// An attachment circuit.
#[derive(Clone, Copy, Debug)]
pub struct Circuit {
    /// Its port.
    pub port: PortId,
    /// The place of its domain among all.
    pub domain: u16,
    /// The tags of its frames, outer one first, without priorities: identifier and VLAN.
    pub tags: [[u8; TAG_LEN]; 2],
    /// How many of them there are.
    pub tag_count: u8,
}

/// A bridge domain.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The number by which the configuration calls it.
    pub id: u16,
    /// Its circuits.
    pub members: Vec<u16>,
    /// What becomes of frames for unknown stations.
    pub unknown: Unknown,
    station_limit: usize,
}

/// The circuit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub circuit: u16,
    /// How many tags it takes off.
    pub tags: u8,
}

/// Why no circuit takes a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It ends within a header or a tag.
    Truncated,
    /// None is for such frames.
    Unattached,
}

impl Circuits {
    /// Those of a validated configuration.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn new(config: &Config) -> io::Result<Circuits> {
        let attachments = config.circuits();
        let ids: BTreeSet<u16> = attachments.iter().map(|one| one.domain).collect();
        let mut domains: Vec<Domain> = ids
            .into_iter()
            .map(|id| {
                let said = config.domain(id);
                Domain {
                    id,
                    members: Vec::new(),
                    unknown: said.unknown.unwrap_or(config.unknown()),
                    station_limit: said.station_limit.unwrap_or(config.station_limit) as usize,
                }
            })
            .collect();
        let mut circuits = Circuits {
            all: Vec::new(),
            domains: Vec::new(),
            ports: vec![
                OfPort { untagged: NONE, any: NONE, looks_at_tags: false };
                config.ports.into()
            ],
            outer: vec![NONE; usize::from(config.ports) << (1 + VLAN_BITS)],
            inner: Index::with_capacity(attachments.len())?,
        };
        for (number, one) in (0u16..).zip(&attachments) {
            let domain = domains.partition_point(|domain| domain.id < one.domain);
            domains[domain].members.push(number);
            circuits.add(number, one, domain as u16);
        }
        circuits.domains = domains;
        Ok(circuits)
    }

    fn add(&mut self, number: u16, one: &Attachment, domain: u16) {
        let port = usize::from(one.port.id().0);
        let tag = |tpid: Tpid, vlan: u16| {
            let [a, b] = tpid.ether_type().to_be_bytes();
            let [c, d] = vlan.to_be_bytes();
            [a, b, c, d]
        };
        let is_service = one.tpid == Tpid::Service;
        let mut circuit =
            Circuit { port: one.port.id(), domain, tags: [[0; TAG_LEN]; 2], tag_count: 0 };
        self.ports[port].looks_at_tags |= one.vlan.is_some() || one.untagged;
        match (one.vlan, one.inner_vlan) {
            (None, _) if one.untagged => self.ports[port].untagged = number,
            (None, _) => self.ports[port].any = number,
            (Some(vlan), None) => {
                let entry = &mut self.outer[place(port, is_service, vlan)];
                *entry = (*entry & HAS_INNER) | number;
                (circuit.tags[0], circuit.tag_count) = (tag(one.tpid, vlan), 1);
            }
            (Some(vlan), Some(inner)) => {
                let at = place(port, is_service, vlan);
                let entry = &mut self.outer[at];
                // Another circuit, or none, may take the VLAN's other frames.
                *entry |= HAS_INNER;
                // There is room: the index was made for all circuits.
                let _ = self.inner.insert(inner_key(at, inner), u32::from(number));
                circuit.tags = [tag(one.tpid, vlan), tag(Tpid::Customer, inner)];
                circuit.tag_count = 2;
            }
        }
        self.all.push(circuit);
    }

    /// The circuit that takes a frame.
    ///
    /// # Errors
    /// Why there is none.
    #[inline]
    pub fn take(&self, port: PortId, frame: &[u8]) -> Result<Taken, NotTaken> {
        if frame.len() < HEADER_LEN {
            return Err(NotTaken::Truncated);
        }
        let port = usize::from(port.0);
        let Some(&of_port) = self.ports.get(port) else { return Err(NotTaken::Unattached) };
        if !of_port.looks_at_tags {
            return found(of_port.any, 0);
        }
        let kind = u16::from_be_bytes(array_at(frame, TYPE));
        let is_service = kind == TYPE_SERVICE_VLAN;
        if kind != TYPE_VLAN && !is_service {
            let circuit = if of_port.untagged != NONE { of_port.untagged } else { of_port.any };
            return found(circuit, 0);
        }
        if frame.len() < HEADER_LEN + TAG_LEN {
            return Err(NotTaken::Truncated);
        }
        let vlan = u16::from_be_bytes(array_at(frame, TYPE + 2)) & VLAN_MASK;
        if vlan == 0 && of_port.untagged != NONE {
            return found(of_port.untagged, 1);
        }
        let at = place(port, is_service, vlan);
        let entry = self.outer[at];
        if entry & HAS_INNER != 0
            && let Some(taken) = self.take_inner(at, frame)?
        {
            return Ok(taken);
        }
        match entry & !HAS_INNER {
            NONE => found(of_port.any, 0),
            circuit => found(circuit, 1),
        }
    }

    /// The circuit that takes a frame for both of its tags.
    fn take_inner(&self, at: usize, frame: &[u8]) -> Result<Option<Taken>, NotTaken> {
        if u16::from_be_bytes(array_at(frame, TYPE + TAG_LEN)) != TYPE_VLAN {
            return Ok(None);
        }
        if frame.len() < HEADER_LEN + 2 * TAG_LEN {
            return Err(NotTaken::Truncated);
        }
        let inner = u16::from_be_bytes(array_at(frame, TYPE + TAG_LEN + 2)) & VLAN_MASK;
        let circuit = self.inner.get(inner_key(at, inner));
        Ok(circuit.map(|circuit| Taken { circuit: circuit as u16, tags: 2 }))
    }

    /// The circuit by which a port belongs to a domain.
    pub fn at(&self, port: Port, domain: u16) -> Option<u16> {
        let domain = &self.domains[usize::from(self.domain_of(domain)?)];
        let is_at = |member: &u16| self.all[usize::from(*member)].port == port.id();
        domain.members.iter().copied().find(is_at)
    }

    /// The place of a domain among all.
    pub fn domain_of(&self, id: u16) -> Option<u16> {
        let at = self.domains.binary_search_by_key(&id, |domain| domain.id);
        at.ok().map(|at| at as u16)
    }

    /// Most stations learned in a domain.
    pub fn station_limit(&self, domain: usize) -> usize {
        self.domains[domain].station_limit
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.all.len() * size_of::<Circuit>() + self.outer.len() * 2 + self.inner.bytes()
    }
}

#[inline(always)]
fn found(circuit: u16, tags: u8) -> Result<Taken, NotTaken> {
    if circuit == NONE { Err(NotTaken::Unattached) } else { Ok(Taken { circuit, tags }) }
}

/// Where the circuits of an outer tag stand.
#[inline(always)]
fn place(port: usize, is_service: bool, vlan: u16) -> usize {
    (port << 1 | usize::from(is_service)) << VLAN_BITS | usize::from(vlan)
}

fn inner_key(at: usize, inner: u16) -> u64 {
    (at as u64) << VLAN_BITS | u64::from(inner)
}

/// Where the type of a frame stands, or its first tag.
const TYPE: usize = 12;
const VLAN_BITS: u32 = 12;
const VLAN_MASK: u16 = 0xfff;
/// No circuit.
const NONE: u16 = 0x7fff;
/// In an entry of an outer tag: some circuit asks for an inner one as well.
const HAS_INNER: u16 = 0x8000;
