//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. Everything out of the ordinary
//! is of visitors, whom no configuration has; what was learned of them is removed in the end. The
//! size does not depend on the number of stations, and no frame waits for another.

mod acl;
mod moves;
mod steps;
mod switch;

use function_l2_switch::config::features::Attachment;
use function_l2_switch::config::{Config, Dir, Mac, Mode, Port, Station, WhenFull};
use function_l2_switch::control::Update;
use model_kit::build::{frame, text};
use model_kit::check::Step;
use packet::PortId;
use traffic::{Frames, Sizes, Stamp};
use wire::{MacAddr, ethernet};

use self::steps::{FILLED_MAX, Sample, first_pair, payload, visitor};
use super::workload::Stations;
use crate::generated::{Section, known_stations};
use crate::sections::Traffic;

/// The sample for a validated configuration.
pub fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Update>> {
    let config = &section.config;
    let (circuits, domain) = (config.circuits(), first_pair(config));
    let mut sample = Sample { config: config.clone(), circuits, domain, steps: Vec::new() };
    sample.clocks();
    sample.ordinary(section, traffic);
    sample.truncated();
    if config.mode == Mode::Patch {
        sample.patched();
        return sample.steps;
    }
    sample.sources();
    sample.groups();
    sample.formats();
    sample.learned();
    sample.updates(section);
    sample.unattached();
    sample.circuits();
    sample.flood_limits();
    // Limits in real time and copies that are numbered are a matter of milliseconds and of every
    // frame before: what asks for none of it is not held to it.
    if config.is_switch() {
        sample.storms();
        sample.mirrors();
    }
    sample.rules();
    sample.egress_rules();
    sample.full();
    sample.depart();
    sample.moves();
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let mut reasons = vec![("unhandled", "every frame gets a verdict")];
    if config.mode == Mode::Patch {
        let names =
            function_l2_switch::reasons::NAMES.iter().filter(|name| **name != "truncated").skip(1);
        reasons.extend(names.map(|name| (*name, "a patch looks at nothing")));
        return reasons;
    }
    reasons.extend(switch::unreachable(config));
    if !config.is_switch() {
        let names = ["storm-broadcast", "storm-multicast"].into_iter();
        let known = reasons.iter().any(|(name, _)| *name == "storm-unknown");
        let names = names.chain((!known).then_some("storm-unknown"));
        reasons
            .extend(names.map(|name| (name, "a bridge that is nothing else has no such limits")));
    }
    let first = config.domain(first_pair(config));
    if !switch::drops_unknown(config) {
        reasons.push(("unknown-station", "frames for unknown stations are flooded"));
    }
    reasons.extend(moves::unreachable(config));
    if !config.learning {
        reasons.push(("table-full", "the bridge learns nothing"));
    } else if config.when_full == WhenFull::Forward {
        reasons.push(("table-full", "frames go on whose source there is no room to learn"));
    } else if first.station_limit.unwrap_or(config.station_limit) > FILLED_MAX {
        reasons.push(("table-full", "more stations may be learned than a sample has"));
    }
    reasons
}

impl Sample {
    fn frame(&mut self, port: Port, about: &'static str, frame: Vec<u8>) {
        self.steps.push(Step::Frame { port: port.id(), frame, about });
    }

    fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    /// A frame between two stations of the first domain.
    fn send(&mut self, port: Port, about: &'static str, from: MacAddr, to: MacAddr) {
        let bytes = frame(to, from, ethernet::TYPE_IPV4, &payload());
        let bytes = self.tagged(port, bytes);
        self.frame(port, about, bytes);
    }

    /// A frame with the tags that the first domain has at a port.
    fn tagged(&self, port: Port, mut bytes: Vec<u8>) -> Vec<u8> {
        let at = |one: &&Attachment| one.port == port && one.domain == self.domain;
        let Some(circuit) = self.circuits.iter().find(at) else { return bytes };
        let inner = circuit.inner_vlan.map(|vlan| (ethernet::TYPE_VLAN, vlan));
        let outer = circuit.vlan.map(|vlan| (circuit.tpid.ether_type(), vlan));
        for (kind, vlan) in [inner, outer].into_iter().flatten() {
            bytes.splice(12..12, [kind.to_be_bytes(), vlan.to_be_bytes()].concat());
        }
        bytes
    }

    /// What the bench sends, between many stations and in several sizes.
    fn ordinary(&mut self, section: &Section, traffic: &Traffic) {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&ORDINARY_SIZES).unwrap_or_else(|_| Sizes::fixed(64)),
            ipv6_share: 0.3,
            ..traffic.clone()
        };
        let stations = Stations::new(section, &traffic);
        for sequence in 0..ORDINARY_FRAMES {
            for (index, direction) in stations.directions().iter().enumerate() {
                let draw = stations.draw(index, sequence);
                let mut frame = vec![0; stations.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                stations.write(&draw, stamp, &mut frame);
                let from = Port::of(PortId(direction.from.0));
                let about = match from {
                    Port::DOWNLINK => "a frame from the downlink side",
                    _ => "a frame from the uplink side",
                };
                self.frame(from, about, frame);
            }
        }
    }

    fn truncated(&mut self) {
        let whole = frame(visitor(2), visitor(1), ethernet::TYPE_IPV4, &payload());
        for len in [1, 6, 12, 13] {
            self.frame(Port::DOWNLINK, "a frame cut in its header", whole[..len].to_vec());
        }
        self.frame(Port::DOWNLINK, "a frame of its header alone", whole[..14].to_vec());
    }

    /// A patch takes everything else.
    fn patched(&mut self) {
        for port in Port::ALL {
            for (to, about) in [
                (visitor(2), "a frame for anybody"),
                (MacAddr::BROADCAST, "a frame for all"),
                (MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]), "a frame of LLDP"),
            ] {
                self.send(port, about, visitor(1), to);
            }
            self.send(port, "a frame from a group", MacAddr::BROADCAST, visitor(1));
        }
    }

    /// Sources that are no station's.
    fn sources(&mut self) {
        for (from, about) in [
            (MacAddr::ZERO, "a frame from no address"),
            (MacAddr::BROADCAST, "a frame from all"),
            (MacAddr([0x01, 0, 0x5e, 0, 0, 1]), "a frame from a group"),
        ] {
            self.send(Port::DOWNLINK, about, from, visitor(2));
            self.send(Port::UPLINK, about, from, MacAddr::BROADCAST);
        }
    }

    /// Destinations that are no single station's.
    fn groups(&mut self) {
        for port in Port::ALL {
            let from = visitor(10 + port.id().0);
            for (to, about) in [
                (MacAddr::BROADCAST, "a frame for all"),
                (MacAddr([0x01, 0, 0x5e, 0, 0, 1]), "a frame for a group of IPv4"),
                (MacAddr([0x33, 0x33, 0, 0, 0, 1]), "a frame for a group of IPv6"),
                (MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x10]), "a frame for all bridges' management"),
            ] {
                self.send(port, about, from, to);
            }
            for last in [0x02, 0x03, 0x0e, 0x0f] {
                let to = MacAddr([0x01, 0x80, 0xc2, 0, 0, last]);
                self.send(port, "a frame that no bridge forwards", from, to);
            }
        }
    }

    /// What a frame holds does not matter.
    fn formats(&mut self) {
        let (from, to) = (visitor(10), MacAddr::BROADCAST);
        let tagged = [&[0x00, 0x64][..], &ethernet::TYPE_IPV4.to_be_bytes(), &payload()].concat();
        for (ether_type, content, about) in [
            (ethernet::TYPE_VLAN, tagged.clone(), "a frame with a VLAN tag"),
            (ethernet::TYPE_SERVICE_VLAN, tagged, "a frame with a service VLAN tag"),
            (ethernet::TYPE_ARP, text(46), "a frame of ARP that is none"),
            (0x0026, text(46), "a frame with a length"),
            (0x9000, text(1500), "a long frame of an unknown type"),
        ] {
            self.frame(Port::DOWNLINK, about, frame(to, from, ether_type, &content));
        }
    }

    /// Stations are heard of, move, and are found.
    fn learned(&mut self) {
        let [here, there, third] = [3, 4, 5].map(visitor);
        self.send(Port::DOWNLINK, "before the station is heard of", third, here);
        self.send(Port::UPLINK, "from a station that nobody knew", here, third);
        self.send(Port::DOWNLINK, "to a station that was heard of", there, here);
        self.send(Port::UPLINK, "to a station behind the same port", here, here);
        self.send(Port::DOWNLINK, "to another behind the same port", third, there);
        self.send(Port::DOWNLINK, "from a station that moved", here, there);
        self.send(Port::UPLINK, "to a station that moved", visitor(6), here);
        self.send(Port::DOWNLINK, "to a station that moved, from its side", there, here);
    }

    /// Stations come, are elsewhere, and go.
    fn updates(&mut self, section: &Section) {
        let (station, domain) = (visitor(7), self.domain);
        for port in [Port::UPLINK, Port::DOWNLINK, Port::DOWNLINK] {
            self.update(Update::SetStation { mac: Mac(station), port, domain });
            self.send_from_both("to a station that was set", station);
        }
        for mac in [MacAddr::BROADCAST, MacAddr::ZERO, MacAddr([0x01, 0, 0x5e, 0, 0, 1])] {
            self.update(Update::SetStation { mac: Mac(mac), port: Port::UPLINK, domain });
            self.update(Update::Learn { mac: Mac(mac), port: Port::UPLINK, domain });
            self.update(Update::RemoveStation { mac: Mac(mac), domain });
        }
        self.update(Update::RemoveStation { mac: Mac(station), domain });
        self.send_from_both("to a station that was removed", station);
        self.update(Update::RemoveStation { mac: Mac(station), domain });
        self.configured(section);
    }

    /// A configured station goes and returns.
    fn configured(&mut self, section: &Section) {
        let in_domain = |station: &Station| station.domain == self.domain;
        let Some(first) = known_stations(section).find(in_domain) else { return };
        self.send_from_both("to a configured station", first.mac.0);
        let Station { mac, port, domain } = first;
        self.update(Update::RemoveStation { mac, domain });
        self.send_from_both("to a configured station that was removed", first.mac.0);
        self.update(Update::SetStation { mac, port, domain });
        self.send_from_both("to a configured station that returned", first.mac.0);
    }

    fn send_from_both(&mut self, about: &'static str, to: MacAddr) {
        for port in Port::ALL {
            self.send(port, about, visitor(10 + port.id().0), to);
        }
    }

    /// More stations than may be learned, where those are few.
    fn full(&mut self) {
        let limit = self.limit();
        if !self.config.learning || limit > FILLED_MAX {
            return;
        }
        for number in 0..=limit as u8 {
            self.send(Port::DOWNLINK, "from one of many", visitor(100 + number), visitor(10));
        }
    }

    /// What was learned of visitors is forgotten; who was not learned cannot be.
    fn depart(&mut self) {
        let many = (0..=self.limit().min(FILLED_MAX) as u8).map(|n| 100 + n);
        let domain = self.domain;
        for number in (0..12).chain(many) {
            self.update(Update::RemoveStation { mac: Mac(visitor(number)), domain });
        }
    }

    /// Most stations learned in the first domain.
    fn limit(&self) -> u32 {
        self.config.domain(self.domain).station_limit.unwrap_or(self.config.station_limit)
    }
}

/// Sizes of ordinary frames, check sequence included; up to a usual link's largest.
const ORDINARY_SIZES: [(u16, u32); 5] = [(64, 4), (65, 1), (128, 1), (570, 1), (1518, 1)];

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 150;
