//! An access list at run time: headers as keys of a [`Classifier`], and what the first rule that
//! matches decides. A switch has one for what comes in and one for what leaves.
//!
//! IP addresses count for whole headers alone; the protocol is what stands behind the extension
//! headers of IPv6; ports count in a packet that is no later fragment. What a rule asks for and
//! cannot be read (behind a third tag, or more headers than are walked) no rule is asked about: the
//! frame is dropped by a reason of its own.
//!
//! The first byte of a key says what else it holds, so that a rule for a network of IPv4 looks at
//! that byte and at those of the network, and neither at the type of the frame nor at the bytes
//! that only an address of IPv6 has. Headers behind Ethernet's are read if any rule asks for them.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use packet::{Batch, PortId, Reason, Slot, Slots, Verdict};
use stages::transport::{self, Upper};
use tables::classifier::{Classifier, Condition, Field, NO_MATCH, Refused};
use wire::bytes::{array_at, put_array, u16_at};
use wire::ethernet::TAG_LEN;
use wire::{ethernet, ipv4, ipv6};

use super::config::acl::{Action, Ports, Rule};
use super::reasons;

/// The rules, and room for the keys of a batch.
pub struct Acl {
    classifier: Classifier<KEY_LEN>,
    /// By priority.
    rules: BTreeMap<u32, Rule>,
    /// Whether a rule names anything of IP.
    looks_at_ip: bool,
    /// What rules ask for, by the bits of a key that say that it could not be read.
    needs: u8,
    keys: Box<[Key; 256]>,
    values: Box<[u32; 256]>,
}

/// What the headers of a frame say, field behind field as in [`FIELDS`].
type Key = [u8; KEY_LEN];

impl Acl {
    /// A list of these rules, with room for [`RULES_SPARE`] more.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(rules: &[Rule]) -> io::Result<Acl> {
        let mut acl = Acl {
            classifier: Classifier::new(&FIELDS, rules.len() + RULES_SPARE)?,
            rules: BTreeMap::new(),
            looks_at_ip: false,
            needs: 0,
            keys: Box::new([[0; KEY_LEN]; 256]),
            values: Box::new([NO_MATCH; 256]),
        };
        for rule in rules {
            acl.set(*rule).map_err(io::Error::other)?;
        }
        Ok(acl)
    }

    /// Sets the rule of a priority.
    ///
    /// # Errors
    /// When there is no room for one more.
    pub fn set(&mut self, rule: Rule) -> Result<(), Refused> {
        let value = u32::from(rule.action == Action::Deny);
        self.classifier.insert(rule.priority, &conditions(&rule), value)?;
        self.rules.insert(rule.priority, rule);
        self.settle();
        Ok(())
    }

    /// Takes the rule of a priority away; whether there was one.
    pub fn remove(&mut self, priority: u32) -> bool {
        self.classifier.remove(priority);
        let was_there = self.rules.remove(&priority).is_some();
        self.settle();
        was_there
    }

    /// All rules in their order.
    pub fn said(&self) -> impl Iterator<Item = Rule> + '_ {
        self.rules.values().copied()
    }

    /// Whether there is no rule.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.classifier.bytes() + size_of::<[Key; 256]>() + size_of::<[u32; 256]>()
    }

    /// Drops those of the frames, whole Ethernet headers at least, that a rule denies where they
    /// came in.
    pub fn judge(&mut self, batch: &mut Batch, frames: &Slots) {
        self.judge_at(batch, frames, reasons::ACL_DENIED, |batch, slot| batch.port(slot));
    }

    /// Drops those of the frames that a rule denies where they are to leave.
    pub fn judge_leaving(&mut self, batch: &mut Batch, frames: &Slots) {
        let leaves_by = |batch: &Batch, slot| match batch.verdict(slot) {
            Verdict::Forward(port) => port,
            _ => batch.port(slot),
        };
        self.judge_at(batch, frames, reasons::EGRESS_DENIED, leaves_by);
    }

    #[inline(always)]
    fn judge_at(
        &mut self,
        batch: &mut Batch,
        frames: &Slots,
        reason: Reason,
        port: impl Fn(&Batch, Slot) -> PortId,
    ) {
        let frames = frames.as_slice();
        match self.looks_at_ip {
            true => self.read::<true>(batch, frames, port),
            false => self.read::<false>(batch, frames, port),
        }
        let values = &mut self.values[..frames.len()];
        self.classifier.classify_batch(&self.keys[..frames.len()], values);
        let needs = self.needs;
        for ((&slot, &mut value), key) in frames.iter().zip(values).zip(&*self.keys) {
            if let Some(reason) = refused(key, needs, value, reason) {
                batch.set_verdict(slot, reasons::drop(reason));
            }
        }
    }

    /// Why a frame, a whole Ethernet header at least, may not leave by a port; none if it may.
    #[inline(never)]
    pub fn refuses(&self, port: PortId, frame: &[u8]) -> Option<Reason> {
        let mut key = [0; KEY_LEN];
        match self.looks_at_ip {
            true => write_key::<true>(port, frame, &mut key),
            false => write_key::<false>(port, frame, &mut key),
        }
        let value = self.classifier.classify(&key).unwrap_or(NO_MATCH);
        refused(&key, self.needs, value, reasons::EGRESS_DENIED)
    }

    /// Writes the keys of frames.
    #[inline(always)]
    fn read<const IP: bool>(
        &mut self,
        batch: &Batch,
        frames: &[Slot],
        port: impl Fn(&Batch, Slot) -> PortId,
    ) {
        for (key, &slot) in self.keys.iter_mut().zip(frames) {
            write_key::<IP>(port(batch, slot), batch.frame(slot), key);
        }
    }

    fn settle(&mut self) {
        let needs = self.rules.values().map(needs_of);
        self.needs = needs.fold(0, |all, needs| all | needs);
        let names_ip = |rule: &Rule| rule.source.is_some() || rule.destination.is_some();
        self.looks_at_ip =
            self.needs & (HIDDEN_IPV4 | HIDDEN_IPV6) != 0 || self.rules.values().any(names_ip);
    }
}

/// Why a frame is dropped, for the key of which the rules have an answer and need so much.
#[inline(always)]
fn refused(key: &Key, needs: u8, value: u32, denied: Reason) -> Option<Reason> {
    match key[WHAT] & needs {
        0 => (value == DENIED).then_some(denied),
        _ => Some(reasons::ACL_UNREADABLE),
    }
}

/// Writes what the headers of a frame say.
#[inline(always)]
fn write_key<const IP: bool>(port: PortId, frame: &[u8], key: &mut Key) {
    *key = [0; KEY_LEN];
    key[BY] = port.0;
    let Some(macs) = frame.first_chunk::<12>() else { return };
    put_array(key, MACS, *macs);
    let mut at = ethernet::offset::TYPE;
    let mut kind = u16_at(frame, at);
    for tag in 0..2 {
        let is_tag = matches!(kind, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN);
        if !is_tag || frame.len() < at + TAG_LEN + 2 {
            break;
        }
        if tag == 0 {
            put_array(key, VLAN, (u16_at(frame, at + 2) & 0xfff).to_be_bytes());
        }
        at += TAG_LEN;
        kind = u16_at(frame, at);
    }
    put_array(key, KIND, kind.to_be_bytes());
    if matches!(kind, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN) {
        key[WHAT] |= HIDDEN_TYPE;
    }
    if !IP {
        return;
    }
    let packet = &frame[at + 2..];
    match kind {
        ethernet::TYPE_IPV4 => of_ipv4(packet, key),
        ethernet::TYPE_IPV6 => of_ipv6(packet, key),
        _ => {}
    }
}

#[inline(always)]
fn of_ipv4(packet: &[u8], key: &mut Key) {
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return };
    let len = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != ipv4::VERSION || len < ipv4::HEADER_LEN || packet.len() < len {
        return;
    }
    key[WHAT] |= HAS_IP | HAS_IPV4;
    key[PROTOCOL] = header[ipv4::offset::PROTOCOL];
    put_array::<4>(key, SOURCE + 12, array_at(header, ipv4::offset::SOURCE));
    put_array::<4>(key, DESTINATION + 12, array_at(header, ipv4::offset::DESTINATION));
    let total = usize::from(u16_at(header, ipv4::offset::TOTAL_LEN));
    match packet.get(..total).and_then(transport::of_ipv4) {
        Some(upper) => of_upper(&upper, HIDDEN_IPV4, key),
        None => key[WHAT] |= HIDDEN_IPV4,
    }
}

fn of_ipv6(packet: &[u8], key: &mut Key) {
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else { return };
    if header[0] >> 4 != ipv6::VERSION {
        return;
    }
    key[WHAT] |= HAS_IP;
    key[PROTOCOL] = header[ipv6::offset::NEXT_HEADER];
    put_array::<16>(key, SOURCE, array_at(header, ipv6::offset::SOURCE));
    put_array::<16>(key, DESTINATION, array_at(header, ipv6::offset::DESTINATION));
    let total = ipv6::HEADER_LEN + usize::from(u16_at(header, ipv6::offset::PAYLOAD_LEN));
    match packet.get(..total) {
        Some(packet) => {
            let upper = transport::behind(packet, key[PROTOCOL], transport::HEADERS_MAX);
            key[PROTOCOL] = upper.protocol;
            of_upper(&upper, HIDDEN_IPV6, key);
        }
        None => key[WHAT] |= HIDDEN_IPV6,
    }
}

/// What stands behind the headers of IP, or that it is hidden.
#[inline(always)]
fn of_upper(upper: &Upper, hidden: u8, key: &mut Key) {
    key[WHAT] |= if upper.is_read { 0 } else { hidden };
    if let Some(ports) = upper.ports {
        key[WHAT] |= HAS_PORTS;
        put_array(key, PORTS, ports);
    }
}

/// What of a frame a rule has to know, by the bits of a key that say that it is hidden.
fn needs_of(rule: &Rule) -> u8 {
    let network = rule.source.or(rule.destination).map(|network| network.address);
    let looks_behind =
        rule.protocol.is_some() || rule.source_ports.is_some() || rule.destination_ports.is_some();
    let behind = match network {
        _ if !looks_behind => 0,
        Some(IpAddr::V4(_)) => HIDDEN_IPV4,
        Some(IpAddr::V6(_)) => HIDDEN_IPV6,
        None => HIDDEN_IPV4 | HIDDEN_IPV6,
    };
    let names_type = looks_behind || network.is_some() || rule.ether_type.is_some();
    behind | if names_type { HIDDEN_TYPE } else { 0 }
}

/// What a rule wants of each field.
fn conditions(rule: &Rule) -> [Condition; FIELDS.len()] {
    let exact = |value: Option<u128>| match value {
        Some(value) => Condition::Masked { value, mask: u128::MAX },
        None => Condition::Any,
    };
    let mac = |mac: Option<super::config::Mac>| {
        exact(mac.map(|mac| u128::from(tables::mac::station(mac.0.0, 0))))
    };
    let range = |ports: Option<Ports>| match ports {
        Some(Ports { first, last }) => Condition::Range { first, last },
        None => Condition::Any,
    };
    let networks = [rule.source, rule.destination];
    let [source, destination] = networks.map(|network| match network {
        None => Condition::Any,
        Some(network) => {
            let (value, all) = match network.address {
                IpAddr::V4(address) => (u128::from(u32::from(address)), u128::from(u32::MAX)),
                IpAddr::V6(address) => (u128::from(address), u128::MAX),
            };
            let host_bits = all.count_ones() - u32::from(network.len);
            Condition::Masked { value, mask: u128::MAX.checked_shl(host_bits).unwrap_or(0) & all }
        }
    });
    let has_network = networks.iter().any(Option::is_some);
    [
        of_what(rule),
        mac(rule.destination_mac),
        mac(rule.source_mac),
        exact(rule.vlan.map(u128::from)),
        // What holds an address of a family is of its type, and a rule that names both means the
        // same.
        exact(rule.ether_type.filter(|_| !has_network).map(u128::from)),
        exact(rule.protocol.map(u128::from)),
        source,
        destination,
        range(rule.source_ports),
        range(rule.destination_ports),
        exact(rule.port.map(|port| port.id().0.into())),
    ]
}

/// What a rule wants of the first byte: the family, and that there are ports.
fn of_what(rule: &Rule) -> Condition {
    let mut wanted = (0, 0);
    let mut want = |value: u8, mask: u8| {
        wanted.0 |= value;
        wanted.1 |= mask;
    };
    match rule.source.or(rule.destination).map(|network| network.address) {
        Some(IpAddr::V4(_)) => want(HAS_IP | HAS_IPV4, HAS_IP | HAS_IPV4),
        Some(IpAddr::V6(_)) => want(HAS_IP, HAS_IP | HAS_IPV4),
        None if rule.protocol.is_some() => want(HAS_IP, HAS_IP),
        None => {}
    }
    if rule.source_ports.is_some() || rule.destination_ports.is_some() {
        want(HAS_PORTS, HAS_PORTS);
    }
    Condition::Masked { value: wanted.0.into(), mask: wanted.1.into() }
}

/// What there is, destination, source, VLAN, type, protocol, addresses, ports, the switch's port.
const FIELDS: [Field; 11] = [
    Field::Masked(1),
    Field::Masked(6),
    Field::Masked(6),
    Field::Masked(2),
    Field::Masked(2),
    Field::Masked(1),
    Field::Masked(16),
    Field::Masked(16),
    Field::Ranged,
    Field::Ranged,
    Field::Masked(1),
];

const KEY_LEN: usize = 55;
const WHAT: usize = 0;
const MACS: usize = 1;
const VLAN: usize = 13;
const KIND: usize = 15;
const PROTOCOL: usize = 17;
/// An address of IPv4 is in the last bytes.
const SOURCE: usize = 18;
const DESTINATION: usize = 34;
const PORTS: usize = 50;
/// By which port the frame came in or leaves.
const BY: usize = 54;

/// A third tag hides the type and all behind it.
const HIDDEN_TYPE: u8 = 1 << 0;
/// What stands behind a header of IPv4 cannot be read to where rules look.
const HIDDEN_IPV4: u8 = 1 << 1;
/// The same of IPv6.
const HIDDEN_IPV6: u8 = 1 << 2;
/// The frame has a whole IP header.
const HAS_IP: u8 = 1 << 3;
/// It is one of IPv4.
const HAS_IPV4: u8 = 1 << 4;
/// It has ports.
const HAS_PORTS: u8 = 1 << 5;

/// The value of rules that deny.
const DENIED: u32 = 1;

/// Rules that control may add.
pub const RULES_SPARE: usize = 64;
