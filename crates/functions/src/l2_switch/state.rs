//! The state of one worker: where stations are, and when learned ones were last heard of.
//!
//! A station's entry is a word of 32 bits beside its domain and address in one index, so that a frame
//! touches a cache line for each of its two addresses and writes one only when a station is new, has
//! moved, or is heard of for the first time in a 256th of the ageing time.
//!
//! ```text
//!  31       30 .. 15                14 .. 0
//! +--------+-----------------------+-------------------------------------------+
//! | static |  attachment circuit   | when last heard of, in 256ths of ageing   |
//! +--------+-----------------------+-------------------------------------------+
//! ```
//! 25.6 bytes a station for which there is room, and 8 more for a learned one. A learned station is
//! forgotten when it was not heard of for the ageing time, or up to a 256th of it later; its place is
//! free again when the sweep comes by, [`SWEEP`] places a batch.

use std::collections::BTreeSet;
use std::ops::Range;

use engine::Refusal;
use machine::clock::{Clock, Ticks};
use tables::index::{Index, Place};
use wire::MacAddr;

use super::circuits::Circuits;
use super::config::{Config, Mac, Mode, Port, Station, Unknown, WhenFull};
use crate::unit::SetupError;

/// Everything a worker knows.
pub struct State {
    /// What decides where a frame goes.
    pub mode: Mode,
    /// What becomes of frames for unknown stations.
    pub unknown: Unknown,
    /// Whether sources are learned, and what becomes of a frame when that is impossible.
    pub learning: Option<WhenFull>,
    /// What the source address of a frame from a port becomes in a patch.
    pub swaps: [Option<MacAddr>; 2],
    /// Which frames belong to which domain.
    pub circuits: Circuits,
    /// Entry by domain and address.
    pub stations: Index<u64>,
    /// Addresses of stations that are known without being learned.
    pub fixed: BTreeSet<u64>,
    /// Addresses of learned stations.
    pub learned: Vec<u64>,
    /// Most of either.
    pub limits: Limits,
    /// Learned stations that were forgotten because of their age.
    pub aged: u64,
    /// Learned stations by domain, and the most there may be.
    learned_in: Vec<Share>,
    age: Age,
    sweep_at: Option<usize>,
}

/// How many stations there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Known without being learned.
    pub fixed: usize,
    /// Learned.
    pub learned: usize,
}

/// What a domain has of the learned stations.
#[derive(Clone, Copy, Debug)]
struct Share {
    used: usize,
    limit: usize,
}

/// What is known of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(u32);

/// What became of a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It was known to be there.
    Again,
    /// It is learned now.
    New,
    /// It was behind another circuit.
    Moved,
    /// There is no room for it.
    NoRoom,
}

/// Time in 256ths of the ageing time since the set-up.
#[derive(Clone, Copy, Debug)]
struct Age {
    start: Ticks,
    unit: Ticks,
    unit_s: f64,
    /// The present as of the last batch or change.
    now: u64,
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
        let room = limits.fixed + limits.learned;
        let circuits = Circuits::new(config)
            .map_err(|source| SetupError::Memory { what: "circuits", source })?;
        let ageing = clock.ticks(std::time::Duration::from_secs_f64(config.ageing_s));
        let unit_s = config.ageing_s / UNITS as f64;
        let mut state = State {
            mode: config.mode,
            unknown: config.unknown(),
            learning: learns.then_some(config.when_full),
            learned_in: (0..circuits.domains.len())
                .map(|domain| Share { used: 0, limit: circuits.station_limit(domain) })
                .collect(),
            circuits,
            swaps: Port::ALL.map(|port| config.source_from(port)),
            stations: Index::with_capacity(room)
                .map_err(|source| SetupError::Memory { what: "stations", source })?,
            fixed: BTreeSet::new(),
            learned: Vec::with_capacity(limits.learned),
            limits,
            aged: 0,
            age: Age { start: now, unit: (ageing / UNITS).max(1), unit_s, now: 0 },
            sweep_at: None,
        };
        for station in config.known_stations() {
            state.set_station(station).map_err(|refusal| SetupError::Table {
                what: "a station",
                why: refusal.to_string(),
            })?;
        }
        Ok(state)
    }

    /// Notes the present, and frees some places of stations that were forgotten.
    #[inline(always)]
    pub fn advance(&mut self, now: Ticks) {
        let present = self.age.of(now);
        if present > self.age.now {
            self.begin_sweep(present);
        }
        if self.sweep_at.is_some() {
            self.sweep();
        }
    }

    /// The entry of a station that is known at present.
    #[inline(always)]
    pub fn find(&self, place: Place, address: u64) -> Option<Entry> {
        let entry = Entry(self.stations.get_at(place, address)?);
        entry.is_known(self.age.now).then_some(entry)
    }

    /// Notes that a frame of a station came in at a port.
    #[inline(always)]
    pub fn hear(&mut self, place: Place, address: u64, circuit: u16) -> Heard {
        let wanted = Entry::learned(circuit, self.age.now);
        match self.stations.get_at(place, address).map(Entry) {
            Some(entry) if entry == wanted || entry.is_static() => Heard::Again,
            found => self.learn(address, wanted, found),
        }
    }

    #[inline(never)]
    fn learn(&mut self, address: u64, wanted: Entry, found: Option<Entry>) -> Heard {
        if found.is_none() {
            let share = &mut self.learned_in[domain_of(address)];
            if self.learned.len() >= self.limits.learned || share.used >= share.limit {
                return Heard::NoRoom;
            }
            share.used += 1;
            self.learned.push(address);
        }
        // There is room: the index was made for as many as both limits together.
        let _ = self.stations.insert(address, wanted.0);
        match found.filter(|entry| entry.is_known(self.age.now)) {
            None => Heard::New,
            Some(entry) if entry.circuit() != wanted.circuit() => Heard::Moved,
            Some(_) => Heard::Again,
        }
    }

    /// Makes a station known without learning it.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_station(&mut self, station: Station) -> Result<(), Refusal> {
        let (address, circuit) = self.place_of(station).ok_or(Refusal::Invalid)?;
        if !self.fixed.contains(&address) {
            if self.fixed.len() >= self.limits.fixed {
                return Err(Refusal::Full);
            }
            if self.stations.get(address).is_some()
                && let Some(at) = self.learned.iter().position(|&other| other == address)
            {
                self.forget_learned(at);
            }
            self.fixed.insert(address);
        }
        self.stations.insert(address, Entry::fixed(circuit).0).map_err(|_| Refusal::Full)?;
        Ok(())
    }

    /// Makes a station unknown.
    ///
    /// # Errors
    /// When it is unknown at `now`.
    pub fn remove_station(&mut self, mac: Mac, domain: u16, now: Ticks) -> Result<(), Refusal> {
        self.advance(now);
        let domain = self.circuits.domain_of(domain).ok_or(Refusal::NotFound)?;
        let address = key(mac.0, domain);
        if self.fixed.remove(&address) {
            self.stations.remove(address);
            return Ok(());
        }
        let place = self.stations.bucket(address);
        self.find(place, address).ok_or(Refusal::NotFound)?;
        if let Some(at) = self.learned.iter().position(|&other| other == address) {
            self.forget_learned(at);
        }
        self.stations.remove(address);
        Ok(())
    }

    /// Learns a station as if a frame had come in.
    ///
    /// # Errors
    /// When it is none, nothing is learned, or there is no room.
    pub fn learn_from_control(&mut self, station: Station, now: Ticks) -> Result<(), Refusal> {
        self.advance(now);
        let (address, circuit) = match self.learning {
            Some(_) => self.place_of(station).ok_or(Refusal::Invalid)?,
            None => return Err(Refusal::Invalid),
        };
        match self.hear(self.stations.bucket(address), address, circuit) {
            Heard::NoRoom => Err(Refusal::Full),
            _ => Ok(()),
        }
    }

    /// The key and the circuit of a station; none where it is none, or its port is not in its domain.
    fn place_of(&self, station: Station) -> Option<(u64, u16)> {
        let circuit = self.circuits.at(station.port, station.domain)?;
        let domain = self.circuits.all[usize::from(circuit)].domain;
        is_station(station.mac.0).then(|| (key(station.mac.0, domain), circuit))
    }

    /// Takes a learned station off the list of them.
    fn forget_learned(&mut self, at: usize) {
        let address = self.learned.swap_remove(at);
        self.learned_in[domain_of(address)].used -= 1;
    }

    /// A key as the station that it stands for; none where it is not known.
    pub fn station(&self, address: u64) -> Option<Station> {
        let circuit = Entry(self.stations.get(address)?).circuit();
        let circuit = self.circuits.all.get(usize::from(circuit))?;
        let domain = self.circuits.domains.get(domain_of(address))?.id;
        Some(Station { mac: Mac(mac(address)), port: Port::of(circuit.port), domain })
    }

    /// Those of some learned stations that are known at `now`, and their keys.
    pub fn learned_at(
        &self,
        places: Range<usize>,
        now: Ticks,
    ) -> impl Iterator<Item = (Station, u64)> + '_ {
        let present = self.age.of(now);
        self.learned.get(places).unwrap_or(&[]).iter().filter_map(move |&address| {
            let entry = Entry(self.stations.get(address)?);
            entry.is_known(present).then(|| Some((self.station(address)?, address)))?
        })
    }

    /// How long before `now` a learned station was heard of, in seconds, to a 256th of the ageing
    /// time.
    pub fn age_s(&self, address: u64, now: Ticks) -> Option<f64> {
        let entry = self.stations.get(address)?;
        let age = (self.age.of(now) as u32).wrapping_sub(entry) & TIME_MASK;
        Some(f64::from(age) * self.age.unit_s)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let addresses = self.learned.capacity() + self.fixed.len();
        self.stations.bytes() + addresses * size_of::<u64>() + self.circuits.bytes()
    }

    fn begin_sweep(&mut self, present: u64) {
        if present - self.age.now > u64::from(TIME_MASK / 2) {
            // Nothing was heard of for so long that the times of entries have lost their meaning.
            self.learned_in.iter_mut().for_each(|share| share.used = 0);
            for address in self.learned.drain(..) {
                self.stations.remove(address);
                self.aged += 1;
            }
        }
        self.age.now = present;
        self.sweep_at = Some(self.sweep_at.unwrap_or(0));
    }

    #[inline(never)]
    fn sweep(&mut self) {
        let mut at = self.sweep_at.unwrap_or(0);
        for _ in 0..SWEEP {
            let Some(&address) = self.learned.get(at) else {
                self.sweep_at = None;
                return;
            };
            let entry = self.stations.get(address).map(Entry);
            if entry.is_some_and(|entry| entry.is_known(self.age.now)) {
                at += 1;
            } else {
                self.stations.remove(address);
                self.forget_learned(at);
                self.aged += 1;
            }
        }
        self.sweep_at = Some(at);
    }
}

impl Entry {
    fn fixed(circuit: u16) -> Entry {
        Entry(STATIC | u32::from(circuit) << CIRCUIT_SHIFT)
    }

    #[inline(always)]
    fn learned(circuit: u16, time: u64) -> Entry {
        Entry(u32::from(circuit) << CIRCUIT_SHIFT | time as u32 & TIME_MASK)
    }

    /// Behind which circuit the station is; without attachments, that is the number of its port.
    #[inline(always)]
    pub fn circuit(self) -> u16 {
        (self.0 >> CIRCUIT_SHIFT) as u16
    }

    #[inline(always)]
    fn is_static(self) -> bool {
        self.0 & STATIC != 0
    }

    #[inline(always)]
    fn is_known(self, now: u64) -> bool {
        let age = (now as u32).wrapping_sub(self.0) & TIME_MASK;
        self.is_static() | (u64::from(age) <= UNITS)
    }
}

impl Age {
    #[inline(always)]
    fn of(&self, now: Ticks) -> u64 {
        now.saturating_sub(self.start) / self.unit
    }
}

/// An address in a domain, by the domain's place among all, as a number.
#[inline(always)]
pub fn key(mac: MacAddr, domain: u16) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    let [high, low] = domain.to_be_bytes();
    u64::from_be_bytes([high, low, a, b, c, d, e, f])
}

/// The place among all domains of the one in a key.
fn domain_of(key: u64) -> usize {
    (key >> DOMAIN_SHIFT) as usize
}

/// A number as an address.
pub fn mac(key: u64) -> MacAddr {
    let [_, _, a, b, c, d, e, f] = key.to_be_bytes();
    MacAddr([a, b, c, d, e, f])
}

fn is_station(mac: MacAddr) -> bool {
    !mac.is_multicast() && mac != MacAddr::ZERO
}

/// Parts of the ageing time that are told apart.
pub const UNITS: u64 = 256;

/// Places that a batch looks at while a sweep is under way.
pub const SWEEP: usize = 64;

/// Where the domain stands in a key.
pub const DOMAIN_SHIFT: u32 = 48;

const STATIC: u32 = 1 << 31;
const CIRCUIT_SHIFT: u32 = 15;
const TIME_MASK: u32 = (1 << CIRCUIT_SHIFT) - 1;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn station(last: u8) -> MacAddr {
        MacAddr([0x0a, 0, 0, 0, 0, last])
    }

    fn clock() -> Clock {
        Clock::with_rate(2.6e9)
    }

    fn known(state: &State, last: u8) -> Option<Port> {
        let address = key(station(last), 0);
        state.find(state.stations.bucket(address), address)?;
        Some(state.station(address)?.port)
    }

    fn behind(mac: MacAddr, port: Port) -> Station {
        Station { mac: Mac(mac), port, domain: 0 }
    }

    #[test]
    fn stations_are_forgotten_after_the_ageing_time_and_no_earlier() {
        let config = Config { station_limit: 2, ..Config::default() };
        let mut state = State::new(&config, clock(), 1000).expect("a small bridge");
        let at = |seconds: f64| 1000 + clock().ticks(Duration::from_secs_f64(seconds));
        assert_eq!(state.learn_from_control(behind(station(1), Port::Uplink), at(0.0)), Ok(()));
        assert_eq!(state.learn_from_control(behind(station(2), Port::Uplink), at(100.0)), Ok(()));
        state.advance(at(299.9));
        assert_eq!(known(&state, 1), Some(Port::Uplink));
        let third = state.learn_from_control(behind(station(3), Port::Uplink), at(300.0));
        assert_eq!(third, Err(Refusal::Full));
        state.advance(at(302.5));
        assert_eq!((known(&state, 1), known(&state, 2)), (None, Some(Port::Uplink)));
        assert_eq!((state.learned.len(), state.aged), (1, 1));
        assert_eq!(state.learn_from_control(behind(station(3), Port::Downlink), at(303.0)), Ok(()));
        assert_eq!(state.learned_at(0..2, at(399.0)).count(), 2);
        assert_eq!(state.learned_at(0..2, at(403.0)).count(), 1);
        // Years later.
        state.advance(at(1e9));
        assert_eq!((state.learned.len(), state.stations.len()), (0, state.fixed.len()));
    }

    #[test]
    fn a_large_table_is_swept_in_parts() {
        let config = Config { station_limit: 10_000, ..Config::default() };
        let mut state = State::new(&config, clock(), 0).expect("a small bridge");
        for number in 0..10_000u32 {
            let [.., a, b] = number.to_be_bytes();
            let mac = MacAddr([0x0a, 0, 0, 1, a, b]);
            assert_eq!(state.learn_from_control(behind(mac, Port::Downlink), 1), Ok(()));
        }
        let later = clock().ticks(Duration::from_secs(1000));
        for batch in 1..=10_000 / SWEEP {
            state.advance(later);
            assert_eq!(state.learned.len(), 10_000 - batch * SWEEP);
        }
        state.advance(later);
        state.advance(later);
        assert_eq!((state.learned.len(), state.sweep_at), (0, None));
        assert_eq!(state.stations.len(), state.fixed.len());
    }

    #[test]
    fn a_learned_station_may_become_a_fixed_one_and_back() {
        let mut state = State::new(&Config::default(), clock(), 0).expect("a small bridge");
        assert_eq!(state.learn_from_control(behind(station(1), Port::Uplink), 1), Ok(()));
        assert_eq!(state.set_station(behind(station(1), Port::Downlink)), Ok(()));
        assert_eq!((state.learned.len(), known(&state, 1)), (0, Some(Port::Downlink)));
        assert_eq!(state.learn_from_control(behind(station(1), Port::Uplink), 2), Ok(()));
        assert_eq!(known(&state, 1), Some(Port::Downlink), "a fixed one does not move");
        assert_eq!(state.remove_station(Mac(station(1)), 0, 3), Ok(()));
        assert_eq!(known(&state, 1), None);
        assert_eq!(state.remove_station(Mac(station(1)), 0, 3), Err(Refusal::NotFound));
        assert_eq!(state.learn_from_control(behind(station(1), Port::Uplink), 4), Ok(()));
        assert_eq!((state.learned.len(), known(&state, 1)), (1, Some(Port::Uplink)));
        assert_eq!(state.remove_station(Mac(station(1)), 0, 5), Ok(()));
        assert_eq!(state.learned.len(), 0);
        assert_eq!(
            state.set_station(behind(MacAddr::BROADCAST, Port::Uplink)),
            Err(Refusal::Invalid)
        );
    }
}
