//! The slow, obviously right model of a bridge: stations in a map, each with the time at which it was
//! last heard of.
//!
//! It shares no code with the pipeline but the catalogue, names and the constants of the standards.
//! Time is counted in 256ths of the ageing time, as the pipeline does.

use std::collections::BTreeMap;
use std::time::Duration;

use packet::PortId;
use wire::{MacAddr, ethernet};

use super::config::{Config, Mode, Port, Unknown, WhenFull};
use super::control::Update;
use super::state::UNITS;
use crate::check::{Expected, Oracle};

/// The model.
pub struct Model {
    config: Config,
    stations: BTreeMap<MacAddr, Station>,
}

/// What is known of a station.
#[derive(Clone, Copy)]
struct Station {
    port: Port,
    /// When it was last heard of; none where it is known without being learned.
    heard: Option<u64>,
}

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let now = self.forget(now);
        match self.judge(Port::of(port), frame, now) {
            Ok((port, frame)) => Expected::Forward { port: port.id(), frame },
            Err(reason) => Expected::Drop(reason),
        }
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        let now = self.forget(now);
        match *update {
            Update::SetStation { mac, port } => {
                let is_new = self.stations.get(&mac.0).is_none_or(|known| known.heard.is_some());
                let has_room = !is_new || self.count(false) < self.config.static_limit();
                let is_possible = is_station(mac.0) && has_room;
                if is_possible {
                    self.stations.insert(mac.0, Station { port, heard: None });
                }
                is_possible
            }
            Update::RemoveStation { mac } => self.stations.remove(&mac.0).is_some(),
            Update::Learn { mac, port } => {
                self.learns() && is_station(mac.0) && self.learn(mac.0, port, now)
            }
        }
    }
}

impl Model {
    /// The bridge as configured.
    pub fn new(config: &Config) -> Model {
        let known = config
            .known_stations()
            .map(|station| (station.mac.0, Station { port: station.port, heard: None }));
        Model { config: config.clone(), stations: known.collect() }
    }

    /// IEEE 802.1D-2004 section 7.7: learn, then filter or forward.
    fn judge(
        &mut self,
        port: Port,
        frame: &[u8],
        now: u64,
    ) -> Result<(Port, Vec<u8>), &'static str> {
        if frame.len() < ethernet::HEADER_LEN {
            return Err("truncated");
        }
        if self.config.mode == Mode::Patch {
            let mut sent = frame.to_vec();
            if let Some(mac) = self.config.source_from(port) {
                sent[6..12].copy_from_slice(&mac.0);
            }
            return Ok((port.other(), sent));
        }
        let address = |at: usize| {
            let mut octets = [0; 6];
            octets.copy_from_slice(&frame[at..at + 6]);
            MacAddr(octets)
        };
        let (destination, source) = (address(0), address(6));
        if !is_station(source) {
            return Err("invalid-source");
        }
        if destination.0[..5] == [0x01, 0x80, 0xc2, 0, 0] && destination.0[5] <= 0x0f {
            return Err("reserved-address");
        }
        if self.learns() {
            let has_learned = self.learn(source, port, now);
            if !has_learned && self.config.when_full == WhenFull::Drop {
                return Err("table-full");
            }
        }
        let out = match self.stations.get(&destination) {
            Some(known) if known.port == port => return Err("same-port"),
            Some(known) => known.port,
            None if destination.is_multicast() => port.other(),
            None if self.config.unknown() == Unknown::Flood => port.other(),
            None => return Err("unknown-station"),
        };
        Ok((out, frame.to_vec()))
    }

    /// Whether the station is known now: a static one stays where it is.
    fn learn(&mut self, source: MacAddr, port: Port, now: u64) -> bool {
        let is_static = self.stations.get(&source).is_some_and(|known| known.heard.is_none());
        let is_new = !self.stations.contains_key(&source);
        if is_new && self.count(true) >= self.config.station_limit as usize {
            return false;
        }
        if !is_static {
            self.stations.insert(source, Station { port, heard: Some(now) });
        }
        true
    }

    /// Forgets who was not heard of for the ageing time; gives the present.
    fn forget(&mut self, now: Duration) -> u64 {
        let unit_s = self.config.ageing_s / UNITS as f64;
        let now = (now.as_secs_f64() / unit_s) as u64;
        self.stations.retain(|_, known| known.heard.is_none_or(|heard| now - heard <= UNITS));
        now
    }

    fn learns(&self) -> bool {
        self.config.learning && self.config.mode == Mode::Bridge
    }

    fn count(&self, learned: bool) -> usize {
        self.stations.values().filter(|known| known.heard.is_some() == learned).count()
    }
}

/// Whether an address is one of a station.
fn is_station(mac: MacAddr) -> bool {
    mac.0[0] & 1 == 0 && mac.0 != [0; 6]
}
