//! The access list at run time: a batch's headers as keys of a [`Classifier`], and what the first rule
//! that matches decides.
//!
//! IP addresses and protocol count for whole headers alone; ports for those of TCP, UDP and SCTP in a
//! packet that is no later fragment, right behind the IPv4 header or the fixed one of IPv6.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use packet::{Batch, PortId, Slots};
use tables::classifier::{Classifier, Condition, Field, NO_MATCH};
use wire::bytes::{array_at, put_array, u16_at};
use wire::{ethernet, ipv4, ipv6, protocol};

use super::circuits::TAG_LEN;
use super::config::Config;
use super::config::acl::{Action, Rule};
use super::reasons;

/// The rules, and room for the keys of a batch.
pub struct Acl {
    classifier: Classifier<KEY_LEN>,
    /// By priority.
    rules: BTreeMap<u32, Rule>,
    keys: Box<[[u8; KEY_LEN]; 256]>,
    values: Box<[u32; 256]>,
}

impl Acl {
    /// The list of a validated configuration, with room for [`RULES_SPARE`] more.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(config: &Config) -> io::Result<Acl> {
        let mut acl = Acl {
            classifier: Classifier::new(&FIELDS, config.acl.len() + RULES_SPARE)?,
            rules: BTreeMap::new(),
            keys: Box::new([[0; KEY_LEN]; 256]),
            values: Box::new([NO_MATCH; 256]),
        };
        for rule in &config.acl {
            acl.set(*rule).map_err(io::Error::other)?;
        }
        Ok(acl)
    }

    /// Sets the rule of a priority.
    ///
    /// # Errors
    /// When there is no room for one more.
    pub fn set(&mut self, rule: Rule) -> Result<(), tables::classifier::Refused> {
        let value = u32::from(rule.action == Action::Deny);
        self.classifier.insert(rule.priority, &conditions(&rule), value)?;
        self.rules.insert(rule.priority, rule);
        Ok(())
    }

    /// Takes the rule of a priority away; whether there was one.
    pub fn remove(&mut self, priority: u32) -> bool {
        self.classifier.remove(priority);
        self.rules.remove(&priority).is_some()
    }

    /// All rules in their order.
    pub fn said(&self) -> impl Iterator<Item = Rule> + '_ {
        self.rules.values().copied()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.classifier.bytes() + size_of::<[[u8; KEY_LEN]; 256]>() + size_of::<[u32; 256]>()
    }

    /// Drops those of the frames, whole Ethernet headers at least, that a rule denies.
    pub fn judge(&mut self, batch: &mut Batch, frames: &Slots) {
        let frames = frames.as_slice();
        for (key, &slot) in self.keys.iter_mut().zip(frames) {
            *key = key_of(batch.port(slot), batch.frame(slot));
        }
        let values = &mut self.values[..frames.len()];
        self.classifier.classify_batch(&self.keys[..frames.len()], values);
        for (&slot, &mut value) in frames.iter().zip(values) {
            if value == DENIED {
                batch.set_verdict(slot, reasons::drop(reasons::ACL_DENIED));
            }
        }
    }
}

/// What the headers of a frame say, field behind field as in [`FIELDS`].
fn key_of(port: PortId, frame: &[u8]) -> [u8; KEY_LEN] {
    let mut key = [0; KEY_LEN];
    key[0] = port.0;
    put_array::<12>(&mut key, MACS, array_at(frame, 0));
    let mut at = ethernet::offset::TYPE;
    let mut kind = u16_at(frame, at);
    for tag in 0..2 {
        let is_tag = matches!(kind, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN);
        if !is_tag || frame.len() < at + TAG_LEN + 2 {
            break;
        }
        if tag == 0 {
            put_array(&mut key, VLAN, (u16_at(frame, at + 2) & 0xfff).to_be_bytes());
        }
        at += TAG_LEN;
        kind = u16_at(frame, at);
    }
    put_array(&mut key, KIND, kind.to_be_bytes());
    let packet = &frame[at + 2..];
    match kind {
        ethernet::TYPE_IPV4 => of_ipv4(packet, &mut key),
        ethernet::TYPE_IPV6 => of_ipv6(packet, &mut key),
        _ => {}
    }
    key
}

fn of_ipv4(packet: &[u8], key: &mut [u8; KEY_LEN]) {
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return };
    let len = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != ipv4::VERSION || len < ipv4::HEADER_LEN || packet.len() < len {
        return;
    }
    key[FLAGS] = HAS_IP;
    key[PROTOCOL] = header[ipv4::offset::PROTOCOL];
    put_array::<4>(key, SOURCE + 12, array_at(header, ipv4::offset::SOURCE));
    put_array::<4>(key, DESTINATION + 12, array_at(header, ipv4::offset::DESTINATION));
    let is_first = u16_at(header, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FRAGMENT_OFFSET_MASK == 0;
    if is_first {
        of_ports(&packet[len..], key);
    }
}

fn of_ipv6(packet: &[u8], key: &mut [u8; KEY_LEN]) {
    let Some((header, rest)) = packet.split_first_chunk::<{ ipv6::HEADER_LEN }>() else { return };
    if header[0] >> 4 != ipv6::VERSION {
        return;
    }
    key[FLAGS] = HAS_IP;
    key[PROTOCOL] = header[ipv6::offset::NEXT_HEADER];
    put_array::<16>(key, SOURCE, array_at(header, ipv6::offset::SOURCE));
    put_array::<16>(key, DESTINATION, array_at(header, ipv6::offset::DESTINATION));
    of_ports(rest, key);
}

fn of_ports(payload: &[u8], key: &mut [u8; KEY_LEN]) {
    let has_ports = matches!(key[PROTOCOL], protocol::TCP | protocol::UDP | protocol::SCTP);
    if let Some(ports) = payload.first_chunk::<4>().filter(|_| has_ports) {
        key[FLAGS] |= HAS_PORTS;
        put_array(key, PORTS, *ports);
    }
}

/// What a rule wants of each field.
fn conditions(rule: &Rule) -> [Condition; FIELDS.len()] {
    let exact = |value: Option<u128>| match value {
        Some(value) => Condition::Masked { value, mask: u128::MAX },
        None => Condition::Any,
    };
    let mac = |mac: Option<super::config::Mac>| {
        exact(mac.map(|mac| u128::from(super::state::key(mac.0, 0))))
    };
    let range = |ports: Option<[u16; 2]>| match ports {
        Some([first, last]) => Condition::Range { first, last },
        None => Condition::Any,
    };
    let networks = [rule.source, rule.destination];
    let family = networks.into_iter().flatten().next().map(|one| match one.address {
        IpAddr::V4(_) => ethernet::TYPE_IPV4,
        IpAddr::V6(_) => ethernet::TYPE_IPV6,
    });
    let [source, destination] = networks.map(|network| match network {
        None => Condition::Any,
        Some(network) => {
            let (value, bits) = match network.address {
                IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
                IpAddr::V6(address) => (u128::from(address), 128),
            };
            let host_bits = bits - u32::from(network.len);
            Condition::Masked { value, mask: u128::MAX.checked_shl(host_bits).unwrap_or(0) }
        }
    });
    let kinds = [rule.ether_type, family].map(|kind| kind.map(u128::from));
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    let has_ip = rule.protocol.is_some() || family.is_some();
    let flags = u128::from(if has_ip { HAS_IP } else { 0 } | if has_ports { HAS_PORTS } else { 0 });
    [
        exact(rule.port.map(|port| u128::from(port.id().0))),
        mac(rule.destination_mac),
        mac(rule.source_mac),
        exact(rule.vlan.map(u128::from)),
        exact(kinds[0].or(kinds[1])),
        exact(rule.protocol.map(u128::from)),
        Condition::Masked { value: flags, mask: flags },
        source,
        destination,
        range(rule.source_ports),
        range(rule.destination_ports),
    ]
}

/// Port, destination, source, VLAN, type, protocol, what there is, addresses, ports.
const FIELDS: [Field; 11] = [
    Field::Masked(1),
    Field::Masked(6),
    Field::Masked(6),
    Field::Masked(2),
    Field::Masked(2),
    Field::Masked(1),
    Field::Masked(1),
    Field::Masked(16),
    Field::Masked(16),
    Field::Ranged,
    Field::Ranged,
];

const KEY_LEN: usize = 55;
const MACS: usize = 1;
const VLAN: usize = 13;
const KIND: usize = 15;
const PROTOCOL: usize = 17;
const FLAGS: usize = 18;
const SOURCE: usize = 19;
const DESTINATION: usize = 35;
const PORTS: usize = 51;

/// The frame has a whole IP header.
const HAS_IP: u8 = 1;
/// It has ports.
const HAS_PORTS: u8 = 2;

/// The value of rules that deny.
const DENIED: u32 = 1;

/// Rules that control may add.
pub const RULES_SPARE: usize = 64;
