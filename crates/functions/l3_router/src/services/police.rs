//! Policing: which policer a packet has, its colour before and behind it, and what becomes of red
//! ones.
use std::collections::BTreeMap;

use engine::Refusal;
use function_kit::SetupError;
use machine::clock::{Clock, Ticks};
use packet::{Batch, Slot, Slots};
use stages::remark;
use tables::policer::{Colour, Policers};
use wire::bytes::array_at;
use wire::{ethernet, ipv4, ipv6};

use super::super::config::{Config, PoliceBy, Policer, Remark, SourcePolicers};
use super::super::reasons;

/// The policers of a worker.
pub struct Police {
    by: PoliceBy,
    remark: Remark,
    table: Policers,
    policers: BTreeMap<u32, Policer>,
    /// Those among which sources choose.
    by_source: SourcePolicers,
    /// The policer of each packet of the batch, where the list tells it.
    noted: [u32; 256],
    /// Packets of each colour.
    tallies: [u64; 3],
}

impl Police {
    /// The policers of the configuration, full at `now`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<Police, SetupError> {
        let memory = |source| SetupError::Memory { what: "policers", source };
        let room = config.policers_max() as usize;
        let table = Policers::new(room, clock.ticks_per_second()).map_err(memory)?;
        let mut police = Police {
            by: config.police_by,
            remark: config.remark,
            table,
            policers: BTreeMap::new(),
            by_source: config.policers_by_source.unwrap_or_default(),
            noted: [NONE; 256],
            tallies: [0; 3],
        };
        if police.is_on() {
            for (number, policer) in config.all_policers() {
                police.set(number, policer, now).map_err(|refusal| SetupError::Table {
                    what: "a policer",
                    why: refusal.to_string(),
                })?;
            }
        }
        Ok(police)
    }

    /// Takes the rates of the first of some workers for its own.
    pub fn join(&mut self, first: &mut Police, workers: usize) {
        self.table.join(&mut first.table, workers);
    }

    /// Whether packets are policed.
    pub fn is_on(&self) -> bool {
        self.by != PoliceBy::None
    }

    /// Sets up a policer, full at `now`.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set(&mut self, number: u32, policer: Policer, now: Ticks) -> Result<(), Refusal> {
        // Two levels, as the configuration has them; the table would take three. It refuses itself
        // that one with children gets a parent.
        if policer.parent.is_some_and(|parent| self.table.parent(parent).is_some()) {
            return Err(Refusal::NotFound);
        }
        self.table.set(number, &policer.policing(), now).map_err(refusal)?;
        self.policers.insert(number, policer);
        Ok(())
    }

    /// Removes a policer; its packets keep their colour from then on.
    ///
    /// # Errors
    /// When there is no such one, or it is a parent.
    pub fn remove(&mut self, number: u32) -> Result<(), Refusal> {
        if !self.policers.contains_key(&number) {
            return Err(Refusal::NotFound);
        }
        self.table.clear(number).map_err(refusal)?;
        self.policers.remove(&number);
        Ok(())
    }

    /// The policers by number.
    pub fn policers(&self) -> &BTreeMap<u32, Policer> {
        &self.policers
    }

    /// Policers there is room for.
    pub fn policers_max(&self) -> usize {
        self.table.count()
    }

    /// Packets that were green, yellow and red.
    pub fn tallies(&self) -> [u64; 3] {
        self.tallies
    }

    /// Memory of its table.
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// A batch begins, of which no list has told anything.
    pub(super) fn begin(&mut self) {
        if self.by == PoliceBy::Acl {
            self.noted = [NONE; 256];
        }
    }

    /// What the list says is the policer of a packet.
    #[inline(always)]
    pub(super) fn note(&mut self, slot: Slot, policer: u32) {
        self.noted[usize::from(slot)] = policer;
    }

    /// Gives each packet its colour, marks it and drops it if it is red and red ones are dropped.
    pub(super) fn police(
        &mut self,
        batch: &mut Batch,
        slots: &mut Slots,
        now: Ticks,
        is_ipv6: bool,
    ) {
        if self.by != PoliceBy::Acl {
            for &slot in slots.as_slice() {
                self.noted[usize::from(slot)] = self.number_of(batch, slot, is_ipv6);
            }
        }
        for &slot in slots.as_slice() {
            self.table.prefetch(self.noted[usize::from(slot)]);
        }
        let Police { table, noted, tallies, remark, .. } = self;
        slots.retain(|slot| {
            let number = noted[usize::from(slot)];
            if !table.is_set(number) {
                return true;
            }
            let frame = batch.frame(slot);
            let count = batch.segments(slot);
            let len_bytes = (batch.link_bytes(slot) as u32) - count * ethernet::HEADER_LEN as u32;
            let before = remark::colour_of(remark::dscp(frame, is_ipv6));
            let colour = table.mark(number, now, len_bytes, before);
            tallies[colour as usize] += u64::from(count);
            let wanted = [remark.green, remark.yellow, remark.red][colour as usize];
            match wanted {
                Some(dscp) => remark::set_dscp(batch.frame_mut(slot), is_ipv6, dscp),
                None if colour == Colour::Red => {
                    batch.set_verdict(slot, reasons::drop(reasons::POLICED));
                    return false;
                }
                None => {}
            }
            true
        });
    }

    /// The number of a packet's policer; there may be none of that number.
    #[inline(always)]
    fn number_of(&self, batch: &Batch, slot: Slot, is_ipv6: bool) -> u32 {
        let frame = batch.frame(slot);
        match self.by {
            PoliceBy::None | PoliceBy::Acl => NONE,
            PoliceBy::Port => batch.port(slot).0.into(),
            PoliceBy::Dscp => remark::dscp(frame, is_ipv6).into(),
            PoliceBy::Source => {
                let SourcePolicers { first, count } = self.by_source;
                first + hash_of_source(frame, is_ipv6, count)
            }
        }
    }
}

/// A number below `count` by the source address: of its 32-bit words' exclusive or, multiplied by
/// 2^32 divided by the golden ratio, the upper part.
#[inline(always)]
fn hash_of_source(frame: &[u8], is_ipv6: bool, count: u32) -> u32 {
    let word = |at: usize| u32::from_be_bytes(array_at(frame, ethernet::HEADER_LEN + at));
    let folded = match is_ipv6 {
        false => word(ipv4::offset::SOURCE),
        true => (0..4).fold(0, |folded, part| folded ^ word(ipv6::offset::SOURCE + 4 * part)),
    };
    hash_of(folded, count)
}

/// The same of an address's words, folded.
#[inline(always)]
pub fn hash_of(folded: u32, count: u32) -> u32 {
    ((u64::from(folded.wrapping_mul(0x9e37_79b1)) * u64::from(count)) >> 32) as u32
}

fn refusal(refused: tables::policer::Refused) -> Refusal {
    use tables::policer::Refused;
    match refused {
        Refused::Number { .. } => Refusal::Full,
        Refused::Rate => Refusal::Invalid,
        Refused::Parent { .. } => Refusal::NotFound,
        Refused::Children { .. } => Refusal::Exists,
    }
}

/// No policer's number.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_are_one_router_have_one_rate() {
        let keys = serde_json::json!({
            "core": 2,
            "police-by": "port",
            "policers": [{"algorithm": "rfc2698", "committed-rate": 10_000_000,
                "committed-burst": 20_000, "excess-rate": 10_000_000, "excess-burst": 20_000}],
        });
        let config: Config = serde_json::from_value(keys).expect("a section");
        let clock = Clock::with_rate(1e9);
        let police = || Police::new(&config, clock, 0).expect("memory");
        let mut workers = [police(), police()];
        let [first, second] = &mut workers;
        second.join(first, 2);
        let mut batch = Batch::new(1, packet::Room::default()).expect("memory");
        // 40 Mbit/s for each of them, for a second.
        for frame in 0..10_000_u64 {
            batch.clear();
            batch.append(packet::PortId(0), 1014).expect("room").fill(0);
            let mut slots = Slots::default();
            slots.push(0);
            workers[frame as usize % 2].police(&mut batch, &mut slots, frame * 100_000, false);
        }
        let green: u64 = workers.iter().map(|one| one.tallies()[0]).sum();
        let expected = 10_000_000 / 8 / 1000;
        assert!(green.abs_diff(expected + 20) <= expected / 100, "{green} packets are green");
    }
}
