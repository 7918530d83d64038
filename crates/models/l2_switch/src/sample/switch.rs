//! Frames that reach circuits, limits and mirrors: with and without tags, to one and to many.
use std::time::Duration;

use function_l2_switch::config::features::{
    Attachment, Direction, Erspan, ErspanType, Mirror, Storm, StormUnit,
};
use function_l2_switch::config::{Mac, Port, Unknown};
use function_l2_switch::control::Update;
use function_l2_switch::storm::{BURST_MIN, BURST_S};
use model_kit::build::frame;
use model_kit::check::Step;
use wire::{MacAddr, ethernet};

use super::{Sample, payload, visitor};

impl Sample {
    /// Frames that no circuit takes, and such as end within a tag.
    pub(super) fn unattached(&mut self) {
        for port in Port::first(self.config.ports) {
            let of_port: Vec<Attachment> =
                self.circuits.iter().filter(|one| one.port == port).copied().collect();
            let is_free = |vlan: &u16| of_port.iter().all(|one| one.vlan != Some(*vlan));
            let vlan = (1..4095).rev().find(is_free).unwrap_or(4095);
            for kind in [ethernet::TYPE_VLAN, ethernet::TYPE_SERVICE_VLAN] {
                let mut frame = self.of_vlan(kind, 0x6000 | vlan);
                self.frame(port, "a frame of a VLAN without a circuit", frame.clone());
                // Where no circuit looks at tags, it is up to a link whether such a frame gets
                // through.
                if of_port.iter().any(|one| one.vlan.is_some()) {
                    frame.truncate(16);
                    self.frame(port, "a frame cut in its tag", frame);
                }
            }
            for one in of_port.iter().take(CIRCUITS_MAX).filter(|one| one.inner_vlan.is_some()) {
                let outer = self.of_vlan(one.tpid.ether_type(), one.vlan.unwrap_or(0));
                let mut frame = [&outer[..16], &[0x81, 0, 0x0f, 0xfe], &outer[16..]].concat();
                self.frame(port, "a frame of an inner VLAN without a circuit", frame.clone());
                frame.truncate(20);
                self.frame(port, "a frame cut in its inner tag", frame);
                self.frame(port, "a frame without the inner tag", outer);
            }
            self.frame(port, "a frame without a tag", self.plain(visitor(30), visitor(31)));
            self.frame(port, "a frame with a priority alone", self.of_vlan(0x8100, 0xe000));
        }
        self.forget(30);
    }

    /// A frame with one tag.
    pub(super) fn of_vlan(&self, kind: u16, tag: u16) -> Vec<u8> {
        let inside = [&tag.to_be_bytes()[..], &ethernet::TYPE_IPV4.to_be_bytes(), &payload()];
        frame(visitor(31), visitor(30), kind, &inside.concat())
    }

    fn plain(&self, from: MacAddr, to: MacAddr) -> Vec<u8> {
        frame(to, from, ethernet::TYPE_IPV4, &payload())
    }

    /// From every circuit to all, to a stranger, and to a station behind each of the others.
    pub(super) fn circuits(&mut self) {
        let circuits: Vec<Attachment> = self.circuits.iter().take(CIRCUITS_MAX).copied().collect();
        for (number, from) in (40..).zip(&circuits) {
            self.by(from, 5, "for all, from a circuit", visitor(number), MacAddr::BROADCAST);
            let stranger = MacAddr([0x0a, 0, 0, 9, 9, 9]);
            self.by(from, 0, "for a stranger, from a circuit", visitor(number), stranger);
        }
        for (number, from) in (40..).zip(&circuits) {
            for (other, to) in (40..).zip(&circuits).filter(|(_, to)| to.domain == from.domain) {
                let about = if to == from { "to its own circuit" } else { "to another circuit" };
                self.by(from, 3, about, visitor(number), visitor(other));
            }
        }
        if let [one, other, ..] = circuits[..] {
            self.by(&other, 0, "from a circuit to which it moved", visitor(40), visitor(41));
            self.by(&one, 0, "and back", visitor(40), visitor(41));
        }
        for number in 40..40 + circuits.len() as u8 {
            self.forget(number);
        }
    }

    /// A frame with the tags of a circuit and a priority.
    fn by(
        &mut self,
        circuit: &Attachment,
        priority: u16,
        about: &'static str,
        from: MacAddr,
        to: MacAddr,
    ) {
        let mut frame = self.plain(from, to);
        let inner = circuit.inner_vlan.map(|vlan| (ethernet::TYPE_VLAN, vlan));
        let outer = circuit.vlan.map(|vlan| (circuit.tpid.ether_type(), vlan));
        for (kind, vlan) in [inner, outer].into_iter().flatten() {
            let tag = [kind.to_be_bytes(), (priority << 13 | vlan).to_be_bytes()].concat();
            frame.splice(12..12, tag);
        }
        self.frame(circuit.port, about, frame);
    }

    /// What was learned of a visitor goes, in whatever domain.
    pub(super) fn forget(&mut self, number: u8) {
        let mut domains: Vec<u16> = self.circuits.iter().map(|one| one.domain).collect();
        domains.dedup();
        for domain in domains.into_iter().take(2 * CIRCUITS_MAX) {
            self.update(Update::RemoveStation { mac: Mac(visitor(number)), domain });
        }
    }

    /// Limits of the downlink port that a few frames reach, and then those that it had.
    pub(super) fn storms(&mut self) {
        let port = Port::DOWNLINK;
        for unit in [StormUnit::Pps, StormUnit::Percent] {
            let limit = match unit {
                StormUnit::Pps => Some(100.0),
                // Some 1,500 of the shortest frames per second.
                StormUnit::Percent => Some(0.01),
            };
            let [broadcast, multicast, unknown] = [limit; 3];
            let storm = Storm { port, broadcast, multicast, unknown, unit, link_gbps: 10.0 };
            self.update(Update::SetStormControl(storm));
            let group = MacAddr([0x01, 0, 0x5e, 0, 0, 7]);
            let stranger = MacAddr([0x0a, 0, 0, 9, 9, 9]);
            for to in [MacAddr::BROADCAST, group, stranger] {
                for _ in 0..20 {
                    self.send(port, "one of many at once", visitor(10), to);
                }
            }
            self.steps.push(Step::Wait(Duration::from_millis(20)));
            self.send(port, "for all, when it may again", visitor(10), MacAddr::BROADCAST);
        }
        let none = Storm {
            port,
            broadcast: None,
            multicast: None,
            unknown: None,
            unit: StormUnit::Pps,
            link_gbps: 10.0,
        };
        let impossible = Storm { broadcast: Some(-1.0), ..none };
        self.update(Update::SetStormControl(impossible));
        let before = self.config.storm_control.iter().find(|storm| storm.port == port).copied();
        self.update(Update::SetStormControl(before.unwrap_or(none)));
    }

    /// More frames than a domain floods at once.
    pub(super) fn flood_limits(&mut self) {
        let limited = self.config.domains.iter().find_map(|domain| {
            let frames = burst(domain.flood_pps?)?;
            Some((domain.id, frames))
        });
        let Some((domain, frames)) = limited else { return };
        let circuits: Vec<Attachment> =
            self.circuits.iter().filter(|one| one.domain == domain).copied().collect();
        for circuit in circuits {
            let limited = self.config.storm_control.iter().any(|storm| storm.port == circuit.port);
            if !limited {
                for _ in 0..frames + 2 {
                    let to = MacAddr::BROADCAST;
                    self.by(&circuit, 0, "one of many that are flooded", visitor(50), to);
                }
            }
        }
        self.forget(50);
    }

    /// The time that a mirror tells begins when it is set: so, with the sample.
    pub(super) fn clocks(&mut self) {
        let tells = |mirror: &Mirror| mirror.erspan.is_some_and(|to| to.kind == ErspanType::Iii);
        let mirrors = self.config.mirrors.clone();
        for mirror in mirrors.into_iter().filter(tells) {
            self.update(Update::SetMirror(mirror));
        }
    }

    /// Mirrors come, change and go; and those are there again that were.
    pub(super) fn mirrors(&mut self) {
        let last = Port::of(packet::PortId(self.config.ports - 1));
        let mac = |last| Mac(MacAddr([0x02, 0, 0x5e, 0, 0x53, last]));
        let erspan = Erspan {
            kind: ErspanType::Ii,
            session: 77,
            source: [192, 0, 2, 1].into(),
            destination: [198, 51, 100, 9].into(),
            source_mac: mac(1),
            destination_mac: mac(2),
        };
        let (port, to) = (Port::DOWNLINK, last);
        for direction in [Direction::Receive, Direction::Transmit] {
            let timed = Erspan { kind: ErspanType::Iii, ..erspan };
            for erspan in [None, Some(erspan), Some(timed)] {
                self.update(Update::SetMirror(Mirror { port, direction, to, erspan }));
                self.send_from_both("past a mirror", visitor(10));
                self.send_from_both("for all, past a mirror", MacAddr::BROADCAST);
                // No link carries it; a session would then count what never came in.
                if erspan.is_none() {
                    let short = self.plain(visitor(1), visitor(2))[..13].to_vec();
                    self.frame(port, "cut, past a mirror", short);
                }
            }
        }
        let beyond = Erspan { session: 1024, ..erspan };
        let direction = Direction::Receive;
        let erspan = Some(beyond);
        self.update(Update::SetMirror(Mirror { port, direction, to, erspan }));
        self.update(Update::SetMirror(Mirror { port, direction, to: port, erspan: None }));
        for direction in [Direction::Receive, Direction::Transmit] {
            self.update(Update::RemoveMirror { port, direction });
            self.update(Update::RemoveMirror { port, direction });
        }
        let before = self.config.mirrors.clone();
        for mirror in before.into_iter().filter(|mirror| mirror.port == port) {
            self.update(Update::SetMirror(mirror));
        }
    }

    /// Whether a domain has a single circuit, among those that the sample looks at.
    pub(super) fn has_lonely(circuits: &[Attachment]) -> bool {
        let alone = |one: &Attachment| {
            circuits.iter().filter(|other| other.domain == one.domain).count() == 1
        };
        circuits.iter().take(CIRCUITS_MAX).any(alone)
    }
}

/// Why a frame cannot meet each of the reasons that only switches have.
pub(super) fn unreachable(config: &super::Config) -> Vec<(&'static str, &'static str)> {
    let circuits = config.circuits();
    let mut reasons = Vec::new();
    let takes_any = |port: Port| {
        circuits.iter().any(|one| one.port == port && one.vlan.is_none() && !one.untagged)
    };
    if Port::first(config.ports).all(takes_any) {
        reasons.push(("unattached", "every port takes every frame"));
    }
    let first = super::first_pair(config);
    let unknown = config.domain(first).unknown.unwrap_or(config.unknown());
    if unknown == Unknown::Drop {
        reasons.push(("storm-unknown", "frames for unknown stations are dropped"));
    }
    let is_reached = |domain: &function_l2_switch::config::features::Domain| {
        let mut of_domain = circuits.iter().filter(|one| one.domain == domain.id);
        let is_limited =
            |one: &Attachment| config.storm_control.iter().any(|storm| storm.port == one.port);
        domain.flood_pps.and_then(burst).is_some() && of_domain.any(|one| !is_limited(one))
    };
    let limited = config.domains.iter().find(|domain| domain.flood_pps.and_then(burst).is_some());
    if !limited.is_some_and(is_reached) {
        reasons.push(("flood-limit", "no domain floods less than a sample has"));
    }
    if !Sample::has_lonely(&circuits) {
        reasons.push(("no-member", "every domain has several circuits"));
    }
    reasons
}

/// Whether a domain that the sample looks at drops frames for unknown stations.
pub(super) fn drops_unknown(config: &super::Config) -> bool {
    let drops = |id| config.domain(id).unknown.unwrap_or(config.unknown()) == Unknown::Drop;
    let first = super::first_pair(config);
    drops(first) || config.circuits().iter().take(CIRCUITS_MAX).any(|one| drops(one.domain))
}

/// How many frames a bucket of a rate lets pass at once; none where a sample has fewer.
fn burst(pps: f64) -> Option<u32> {
    let frames = (pps * BURST_S).floor().max(BURST_MIN);
    (frames <= FLOODED_MAX).then_some(frames as u32)
}

/// Circuits that frames go between; their number squared is that of frames.
const CIRCUITS_MAX: usize = 8;

/// Most frames that reach the limit of a domain.
const FLOODED_MAX: f64 = 64.0;
