//! The state of one worker: where stations are, and which frames belong together.
//!
//! Stations are those of a [`MacTable`]: what it calls a bridge is a domain, by its place among
//! all, and what a station is behind is an attachment circuit. Without attachments, that is the
//! number of its port.

use std::ops::Range;
use std::time::Duration;

use engine::Refusal;
use machine::clock::{Clock, Ticks};
pub use tables::mac::UNITS;
use tables::mac::{Heard, Limits, MacTable, MoveLimit, bridge_of, mac_of, station};
use wire::MacAddr;

use super::circuits::Circuits;
use super::config::features::Flapping;
use super::config::{Config, Mac, Mode, Port, Station, Unknown, WhenFull};
use function_kit::SetupError;

/// Everything a worker knows.
pub struct State {
    /// What decides where a frame goes.
    pub mode: Mode,
    /// What becomes of frames for unknown stations.
    pub unknown: Unknown,
    /// Whether sources are learned, and what becomes of a frame when that is impossible.
    pub learning: Option<Learning>,
    /// What the source address of a frame from a port becomes in a patch.
    pub swaps: [Option<MacAddr>; 2],
    /// Which frames belong to which domain.
    pub circuits: Circuits,
    /// Where stations are.
    pub stations: MacTable,
    /// A 256th of the ageing time.
    unit_s: f64,
    clock: Clock,
}

/// What becomes of frames whose source cannot be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learning {
    /// Because there is no room.
    pub when_full: WhenFull,
    /// Because it has moved too often.
    pub drops_refused: bool,
}

impl State {
    /// The state that the configuration describes at `now`.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<State, SetupError> {
        let learns = config.learning && config.mode == Mode::Bridge;
        let limits = Limits {
            fixed: config.static_limit(),
            learned: if learns { config.station_limit as usize } else { 0 },
        };
        let circuits = Circuits::new(config)
            .map_err(|source| SetupError::Memory { what: "circuits", source })?;
        let ticks = |seconds: f64| clock.ticks(Duration::from_secs_f64(seconds));
        let of_domains = (0..circuits.domains.len()).map(|domain| circuits.station_limit(domain));
        let mut stations = MacTable::new(limits, of_domains, ticks(config.ageing_s), now)
            .map_err(|source| SetupError::Memory { what: "stations", source })?;
        if let Some(limit) = config.move_limit {
            stations.limit_moves(MoveLimit {
                moves: limit.moves,
                interval: ticks(limit.interval_s),
                hold: ticks(limit.hold_s),
                refuses: limit.action != Flapping::Report,
            });
        }
        let drops_refused = config.move_limit.is_some_and(|limit| limit.action == Flapping::Drop);
        let mut state = State {
            mode: config.mode,
            unknown: config.unknown(),
            learning: learns.then_some(Learning { when_full: config.when_full, drops_refused }),
            circuits,
            swaps: Port::ALL.map(|port| config.source_from(port)),
            stations,
            unit_s: config.ageing_s / UNITS as f64,
            clock,
        };
        for station in config.all_stations() {
            state.set_station(station).map_err(|refusal| SetupError::Table {
                what: "a station",
                why: refusal.to_string(),
            })?;
        }
        Ok(state)
    }

    /// Makes a station known without learning it.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_station(&mut self, station: Station) -> Result<(), Refusal> {
        let (station, circuit) = self.place_of(station).ok_or(Refusal::Invalid)?;
        self.stations.set(station, circuit).map_err(|_| Refusal::Full)
    }

    /// Makes a station unknown.
    ///
    /// # Errors
    /// When it is unknown at `now`.
    pub fn remove_station(&mut self, mac: Mac, domain: u16, now: Ticks) -> Result<(), Refusal> {
        self.stations.advance(now);
        let domain = self.circuits.domain_of(domain).ok_or(Refusal::NotFound)?;
        let was_known = self.stations.remove(station(mac.0.0, domain));
        if was_known { Ok(()) } else { Err(Refusal::NotFound) }
    }

    /// Learns a station as if a frame had come in.
    ///
    /// # Errors
    /// When it is none, nothing is learned, there is no room, or it has moved too often.
    pub fn learn_from_control(&mut self, station: Station, now: Ticks) -> Result<(), Refusal> {
        self.stations.advance(now);
        let (station, circuit) = match self.learning {
            Some(_) => self.place_of(station).ok_or(Refusal::Invalid)?,
            None => return Err(Refusal::Invalid),
        };
        match self.stations.hear(self.stations.bucket(station), station, circuit) {
            Heard::NoRoom => Err(Refusal::Full),
            Heard::Refused => Err(Refusal::Exists),
            Heard::Again | Heard::New | Heard::Moved => Ok(()),
        }
    }

    /// The key and the circuit of a station; none where it is none, or its port is not in its
    /// domain.
    fn place_of(&self, known: Station) -> Option<(u64, u16)> {
        let circuit = self.circuits.at(known.port, known.domain)?;
        let domain = self.circuits.all[usize::from(circuit)].domain;
        is_station(known.mac.0).then(|| (station(known.mac.0.0, domain), circuit))
    }

    /// A key as the station that it stands for; none where it is not known.
    pub fn station(&self, station: u64) -> Option<Station> {
        let circuit = self.stations.behind(station)?;
        let circuit = self.circuits.all.get(usize::from(circuit))?;
        let domain = self.circuits.domains.get(bridge_of(station))?.id;
        Some(Station { mac: Mac(MacAddr(mac_of(station))), port: Port::of(circuit.port), domain })
    }

    /// Those of some learned stations that are known at `now`, and their keys.
    pub fn learned_at(
        &self,
        places: Range<usize>,
        now: Ticks,
    ) -> impl Iterator<Item = (Station, u64)> + '_ {
        let known = self.stations.learned_at(places, now);
        known.filter_map(|station| Some((self.station(station)?, station)))
    }

    /// How long before `now` a learned station was heard of, in seconds, to a 256th of the ageing
    /// time.
    pub fn age_s(&self, station: u64, now: Ticks) -> Option<f64> {
        self.stations.age_units(station, now).map(|age| f64::from(age) * self.unit_s)
    }

    /// A span of time in seconds.
    pub fn seconds(&self, span: Ticks) -> f64 {
        self.clock.duration(span).as_secs_f64()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.stations.bytes() + self.circuits.bytes()
    }
}

fn is_station(mac: MacAddr) -> bool {
    !mac.is_multicast() && mac != MacAddr::ZERO
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn mac(last: u8) -> MacAddr {
        MacAddr([0x0a, 0, 0, 0, 0, last])
    }

    fn clock() -> Clock {
        Clock::with_rate(2.6e9)
    }

    fn known(state: &State, last: u8) -> Option<Port> {
        let station = tables::mac::station(mac(last).0, 0);
        state.stations.find(state.stations.bucket(station), station)?;
        Some(state.station(station)?.port)
    }

    fn behind(mac: MacAddr, port: Port) -> Station {
        Station { mac: Mac(mac), port, domain: 0 }
    }

    #[test]
    fn stations_are_forgotten_after_the_ageing_time_and_no_earlier() {
        let config = Config { station_limit: 2, ..Config::default() };
        let mut state = State::new(&config, clock(), 1000).expect("a small bridge");
        let at = |seconds: f64| 1000 + clock().ticks(Duration::from_secs_f64(seconds));
        assert_eq!(state.learn_from_control(behind(mac(1), Port::UPLINK), at(0.0)), Ok(()));
        assert_eq!(state.learn_from_control(behind(mac(2), Port::UPLINK), at(100.0)), Ok(()));
        state.stations.advance(at(299.9));
        assert_eq!(known(&state, 1), Some(Port::UPLINK));
        let third = state.learn_from_control(behind(mac(3), Port::UPLINK), at(300.0));
        assert_eq!(third, Err(Refusal::Full));
        state.stations.advance(at(302.5));
        assert_eq!((known(&state, 1), known(&state, 2)), (None, Some(Port::UPLINK)));
        assert_eq!((state.stations.learned().len(), state.stations.aged()), (1, 1));
        assert_eq!(state.learn_from_control(behind(mac(3), Port::DOWNLINK), at(303.0)), Ok(()));
        assert_eq!(state.learned_at(0..2, at(399.0)).count(), 2);
        assert_eq!(state.learned_at(0..2, at(403.0)).count(), 1);
        // Years later.
        state.stations.advance(at(1e9));
        assert!(state.stations.learned().is_empty());
    }

    #[test]
    fn a_learned_station_may_become_a_fixed_one_and_back() {
        let mut state = State::new(&Config::default(), clock(), 0).expect("a small bridge");
        assert_eq!(state.learn_from_control(behind(mac(1), Port::UPLINK), 1), Ok(()));
        assert_eq!(state.set_station(behind(mac(1), Port::DOWNLINK)), Ok(()));
        assert_eq!((state.stations.learned().len(), known(&state, 1)), (0, Some(Port::DOWNLINK)));
        assert_eq!(state.learn_from_control(behind(mac(1), Port::UPLINK), 2), Ok(()));
        assert_eq!(known(&state, 1), Some(Port::DOWNLINK), "a fixed one does not move");
        assert_eq!(state.remove_station(Mac(mac(1)), 0, 3), Ok(()));
        assert_eq!(known(&state, 1), None);
        assert_eq!(state.remove_station(Mac(mac(1)), 0, 3), Err(Refusal::NotFound));
        assert_eq!(state.learn_from_control(behind(mac(1), Port::UPLINK), 4), Ok(()));
        assert_eq!((state.stations.learned().len(), known(&state, 1)), (1, Some(Port::UPLINK)));
        assert_eq!(state.remove_station(Mac(mac(1)), 0, 5), Ok(()));
        assert_eq!(state.stations.learned().len(), 0);
        assert_eq!(
            state.set_station(behind(MacAddr::BROADCAST, Port::UPLINK)),
            Err(Refusal::Invalid)
        );
    }
}
