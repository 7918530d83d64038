//! The next hops that are asked for, what is known of them, and what waits for them.

use std::net::IpAddr;

use function_kit::Shard;
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Slot, Verdict};
use stages::hearsay::{self, Others};
use stages::nd;
use stages::neighbours::{
    Asking, Entry, Limits, Neighbours as Table, PENDING_EACH, Question, Said, Wanted,
};
use stages::vlan;
use wire::bytes::u16_at;
use wire::{MacAddr, ethernet};

use crate::config::{Config, Side};
use crate::further::{numbered, ordinal};
use crate::interfaces::Interfaces;
use crate::reasons;
use crate::types::sides::{INSIDE, OUTSIDE, UNADDRESSED, is_further, side, towards_worker};

/// The next hops, and what waits for them.
pub(crate) struct Neighbours {
    table: Table,
    hops: Vec<Hop>,
    /// The place in `hops` of a VRF's next hop, by VLAN; empty where there are no VRFs.
    of_vlans: Vec<u16>,
    /// The places in `hops` of those behind further interfaces of each side, two of each: that of
    /// IPv4, and that of IPv6.
    further: [u16; 2],
    others: Others,
    has_asked: bool,
}

/// A next hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: Link,
    /// The address that is asked for; none where the MAC address is configured.
    asked: Option<IpAddr>,
    /// The MAC address, once it is known.
    mac: Option<MacAddr>,
}

/// A link: an interface, and the VLAN of a VRF on the inside port, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub port: PortId,
    pub vlan: u16,
}

impl Link {
    /// The number that says both.
    pub(super) fn number(self) -> u16 {
        match is_further(self.port) {
            true => FURTHER << VLAN_BITS | u16::from(self.port.0),
            false => u16::from(self.port.0) << VLAN_BITS | self.vlan,
        }
    }

    /// What an operator calls it.
    pub(super) fn name(self) -> String {
        match (self.port, self.vlan) {
            (INSIDE, 0) => "inside".to_owned(),
            (INSIDE, vlan) => format!("inside vlan {vlan}"),
            (OUTSIDE, _) => "outside".to_owned(),
            (port, _) => format!("port {}", port.0),
        }
    }

    /// The link of a number.
    pub(super) fn of(number: u16) -> Link {
        let (port, rest) = (number >> VLAN_BITS, number & ((1 << VLAN_BITS) - 1));
        match port {
            FURTHER => Link { port: PortId(rest as u8), vlan: 0 },
            port => Link { port: PortId(port as u8), vlan: rest },
        }
    }
}

impl Neighbours {
    /// Those of a configuration; none where every next hop has a configured MAC address.
    pub fn new(config: &Config, shard: Shard, clock: Clock) -> Option<Neighbours> {
        let known = [config.inside_next_hop_mac.0, config.outside_next_hop_mac.0];
        let hop = |port: PortId, vlan: u16, asked: Option<IpAddr>| {
            let mac = asked.is_none().then_some(known[side(port)]);
            Hop { link: Link { port, vlan }, asked, mac }
        };
        let mut hops = vec![
            hop(INSIDE, 0, config.inside_next_hop.map(IpAddr::V4)),
            hop(INSIDE, 0, config.inside_next_hop_ipv6.map(IpAddr::V6)),
            hop(OUTSIDE, 0, config.outside_next_hop.map(IpAddr::V4)),
            hop(OUTSIDE, 0, config.outside_next_hop_ipv6.map(IpAddr::V6)),
        ];
        let mut of_vlans = vec![0; if config.vrfs.is_empty() { 0 } else { 1 << VLAN_BITS }];
        for vrf in &config.vrfs {
            let asked = vrf.next_hop.or(config.inside_next_hop);
            if let Some(place) = of_vlans.get_mut(usize::from(vrf.vlan)) {
                *place = hops.len() as u16;
            }
            hops.push(hop(INSIDE, vrf.vlan, asked.map(IpAddr::V4)));
        }
        let beginning = |hops: &Vec<Hop>| hops.len() as u16;
        let mut further = [beginning(&hops); 2];
        for (place, wanted) in [Side::Inside, Side::Outside].into_iter().enumerate() {
            further[place] = beginning(&hops);
            for (port, one) in numbered(config).filter(|(_, one)| one.side == wanted) {
                let mac = one.next_hop_mac.map(|mac| mac.0);
                for asked in [one.next_hop.map(IpAddr::V4), one.next_hop_ipv6.map(IpAddr::V6)] {
                    let mac = mac.filter(|_| asked.is_none());
                    hops.push(Hop { link: Link { port, vlan: 0 }, asked, mac });
                }
            }
        }
        let asked = hops.iter().filter(|hop| hop.asked.is_some()).count();
        let limits = Limits {
            capacity: asked,
            pending: (PENDING_EACH * asked).min(PENDING_MAX),
            lifetime_s: LIFETIME_S,
        };
        (asked > 0 || !config.interfaces.is_empty()).then(|| Neighbours {
            table: Table::new(limits, clock),
            hops,
            further,
            of_vlans,
            others: Others::new((shard.index, shard.count), towards_worker),
            has_asked: false,
        })
    }

    /// Those that were asked for, each with the name of its interface.
    pub fn entries(&self) -> impl Iterator<Item = (String, &Entry)> + '_ {
        self.table.entries().map(|entry| (Link::of(entry.link).name(), entry))
    }

    /// The place of the next hop on a link.
    #[inline(always)]
    fn place(&self, link: Link, is_ipv6: bool) -> usize {
        if is_further(link.port) {
            let first = usize::from(self.further[side(link.port)]);
            return first + 2 * ordinal(link.port) + usize::from(is_ipv6);
        }
        match link.vlan {
            0 => 2 * side(link.port) + usize::from(is_ipv6),
            vlan => self.of_vlans.get(usize::from(vlan)).copied().unwrap_or(0).into(),
        }
    }

    /// The next hop with an address on a link.
    pub(super) fn find(&self, link: Link, address: IpAddr) -> Option<usize> {
        let place = self.place(link, address.is_ipv6());
        let hop = self.hops.get(place)?;
        (hop.link == link && hop.asked == Some(address)).then_some(place)
    }

    /// Gives a frame that leaves by a port the MAC addresses of its next hop, or lets it wait. A
    /// question is to be sent then.
    pub(super) fn address(
        &mut self,
        batch: &mut Batch,
        (slot, port): (Slot, PortId),
        interfaces: &Interfaces,
        now: Ticks,
    ) -> Option<Question> {
        let (vlan, is_ipv6) = link_and_family(batch.frame(slot));
        let port = interfaces.way_out(port, batch.frame(slot));
        batch.set_verdict(slot, Verdict::Forward(port));
        let link = Link { port, vlan };
        let place = self.place(link, is_ipv6);
        let hop = self.hops[place];
        if let Some(mac) = hop.mac {
            set_addresses(batch.frame_mut(slot), mac, interfaces.mac(port));
            return None;
        }
        let mut question = None;
        if let (Some(_), Some(address)) = (batch.long(slot), hop.asked) {
            // It stands for more packets than may wait for a neighbour.
            let wanted = Wanted { link: link.number(), address, listed: Some(place as u32) };
            self.table.look_for(wanted, now, |one| question = Some(one));
            batch.set_verdict(slot, reasons::drop(reasons::PENDING_FULL));
            return question;
        }
        let waits = hop.asked.map(|address| {
            let wanted = Wanted { link: link.number(), address, listed: Some(place as u32) };
            let packet = (batch.port(slot), link.number(), batch.frame(slot));
            self.table.wait(packet, wanted, now, |one| question = Some(one))
        });
        let reason = match waits {
            Some(Ok(())) => reasons::AWAITING,
            _ => reasons::PENDING_FULL,
        };
        batch.set_verdict(slot, reasons::drop(reason));
        question
    }

    /// Takes note of what a next hop says of itself, and sends on what waited; whether that was of
    /// use.
    pub(super) fn heard(
        &mut self,
        (link, address): (Link, IpAddr),
        said: Said,
        (interfaces, made): (&Interfaces, &mut Made),
        now: Ticks,
    ) -> bool {
        let Some(number) = self.table.heard(link.number(), address, said, now) else {
            return false;
        };
        let listed = self.table.get(number).and_then(|entry| entry.listed);
        let Some(hop) = listed.and_then(|place| self.hops.get_mut(place as usize)) else {
            return false;
        };
        hop.mac = Some(said.mac);
        while let Some(waiting) = self.table.next_leaving() {
            let verdict = Verdict::Forward(link.port);
            if let Some(slot) = made.push(waiting.port, &waiting.frame, verdict) {
                set_addresses(
                    made.batch_mut().frame_mut(slot),
                    said.mac,
                    interfaces.mac(link.port),
                );
            }
            self.table.give_back(waiting);
        }
        true
    }

    /// Asks for all next hops at first, then whatever is due; what waited for one that does not
    /// answer is dropped.
    pub(super) fn tick(&mut self, (interfaces, made): (&Interfaces, &mut Made), now: Ticks) {
        if !self.has_asked {
            self.has_asked = true;
            for (place, hop) in self.hops.iter().enumerate() {
                let Some(address) = hop.asked else { continue };
                let (link, listed) = (hop.link.number(), Some(place as u32));
                let wanted = Wanted { link, address, listed };
                self.table.look_for(wanted, now, |question| ask(interfaces, made, question));
            }
        }
        while let Some((_, entry)) =
            self.table.tick(now, |question| ask(interfaces, made, question))
        {
            let hop = entry.listed.and_then(|place| self.hops.get_mut(place as usize));
            hop.into_iter().for_each(|hop| hop.mac = None);
            self.table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
        }
    }

    /// Hands what a next hop said over to the other workers.
    pub(super) fn share(&self, link: Link, frame: (&[u8], MacAddr), made: &mut Made) {
        self.others.tell((link.port, link.number()), frame, made);
    }
}

/// The port by which a frame is ready to leave whose next hop is yet to be found.
#[inline(always)]
pub(super) fn unaddressed(batch: &Batch, slot: Slot) -> Option<PortId> {
    let Verdict::Forward(port) = batch.verdict(slot) else { return None };
    batch.frame(slot).starts_with(&UNADDRESSED).then_some(port)
}

/// The VLAN of a frame that is ready to leave, and whether its packet is IPv6.
fn link_and_family(frame: &[u8]) -> (u16, bool) {
    let at = ethernet::offset::TYPE;
    match u16_at(frame, at) {
        ethernet::TYPE_VLAN => (u16_at(frame, at + 2) & ((1 << VLAN_BITS) - 1), false),
        ether_type => (0, ether_type == ethernet::TYPE_IPV6),
    }
}

/// The link on which another worker has heard a frame.
pub(super) fn shared_link(frame: &[u8]) -> Option<Link> {
    hearsay::link_of(frame).map(Link::of)
}

/// Sends a question, with the tag of its link.
pub(super) fn ask(interfaces: &Interfaces, made: &mut Made, question: Question) {
    let Link { port, vlan } = Link::of(question.link);
    let asking = Asking {
        mac: interfaces.mac(port),
        ipv4: Some(interfaces.ip(port)),
        ipv6: Some(interfaces.ipv6(port)),
    };
    let mut frame = [0; nd::FRAME_LEN];
    let Some(len) = question.write(asking, &mut frame) else { return };
    let Some(slot) = made.push(port, &frame[..len], Verdict::Forward(port)) else { return };
    // A worker's headroom is larger than a tag.
    if vlan != 0 && !vlan::put_on(made.batch_mut(), slot, vlan) {
        made.take_back();
    }
}

fn set_addresses(frame: &mut [u8], to: MacAddr, from: MacAddr) {
    if let Some(header) = frame.first_chunk_mut::<12>() {
        header[..6].copy_from_slice(&to.0);
        header[6..].copy_from_slice(&from.0);
    }
}

/// Bits of a link's number that say its VLAN.
const VLAN_BITS: u32 = 12;

/// What stands for the port in the number of a further interface's link.
const FURTHER: u16 = 0xf;

/// Most packets that wait for next hops in all.
const PENDING_MAX: usize = 512;

/// Seconds after which a next hop that has answered is asked again.
const LIFETIME_S: u32 = 1200;
