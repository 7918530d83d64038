//! What is done to packets for policy's sake: access lists at both ends, policers, remarking.
//!
//! ```text
//!  reverse path > ingress list > policer > remark > route > egress list > rewrite
//! ```
//! Each is a file: `acl`, `police`, `remark`; `key` is what a list sees of a packet. A list without
//! rules and a router without policers cost one question a batch. What the check has refused
//! (malformed, expired, not for this station) no list sees.

pub(super) mod acl;

mod key;

pub mod police;

mod samples;

pub(super) mod reload;
use engine::Refusal;
use function_kit::SetupError;
use machine::clock::{Clock, Ticks};
use packet::{Batch, Slot, Verdict};

use self::acl::{Acl, AclScratch, Passed};
use self::police::Police;
use self::samples::Samples;
use super::config::{Config, List, Resolved};
use super::control::Update;
use super::reasons;
use super::scratch::Scratch;
use super::state::State;

/// Access lists and policers of a worker.
pub struct Services {
    /// What packets that come in meet.
    pub ingress: Acl,
    /// What packets that leave meet.
    pub egress: Acl,
    /// The policers.
    pub police: Police,
    /// Packets for the log.
    pub(super) samples: Samples,
    acl_scratch: Box<AclScratch>,
    /// Whether addresses on links without a next hop lead out.
    resolves: bool,
}

impl Services {
    /// Those that the configuration describes, with full buckets at `now`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<Services, SetupError> {
        Ok(Services {
            ingress: Acl::new(config, List::Ingress)?,
            egress: Acl::new(config, List::Egress)?,
            police: Police::new(config, clock, now)?,
            samples: Samples::new(config, clock),
            acl_scratch: Box::new(AclScratch::new()),
            resolves: config.resolve,
        })
    }

    /// The ingress list and the policers; `tells_interfaces` is whether packets' interfaces are
    /// known.
    pub(super) fn admit(
        &mut self,
        state: &State,
        scratch: &mut Scratch,
        batch: &mut Batch,
        tells_interfaces: bool,
        now: Ticks,
    ) {
        let Services { ingress, police, samples, acl_scratch, .. } = self;
        samples.begin(now);
        police.begin();
        if !ingress.is_empty() {
            let interface = &scratch.interface;
            let at = |batch: &Batch, slot: Slot| match tells_interfaces {
                true => place(state.interfaces.get(interface[usize::from(slot)])),
                false => (batch.port(slot).0, 0),
            };
            let passed = |slot, policer| police.note(slot, policer);
            let mut passed = Passed {
                known: &scratch.known,
                place: at,
                meets: |_| true,
                refuse: reasons::ACL_INGRESS,
                note: passed,
                list: "ingress",
                samples,
            };
            ingress.filter_ipv4(batch, &mut scratch.ipv4, acl_scratch, &mut passed);
            ingress.filter_ipv6(batch, &mut scratch.ipv6, acl_scratch, &mut passed);
        }
        if police.is_on() {
            police.police(batch, &mut scratch.ipv4, now, false);
            police.police(batch, &mut scratch.ipv6, now, true);
        }
    }

    /// The egress list, which packets meet that would leave, also if they wait for a neighbour
    /// first.
    pub(super) fn dismiss(
        &mut self,
        state: &State,
        scratch: &mut Scratch,
        batch: &mut Batch,
        now: Ticks,
    ) {
        let Services { egress, samples, acl_scratch, resolves, .. } = self;
        samples.begin(now);
        let hop = &scratch.hop;
        let leads_out = |slot: Slot| {
            let number = hop[usize::from(slot)];
            let verdict = state.hops[number as usize].verdict;
            matches!(verdict, Verdict::Forward(_))
                || verdict == reasons::drop(reasons::UNRESOLVED)
                || *resolves && (state.entries.link..state.first_dynamic()).contains(&number)
        };
        let at = |_: &Batch, slot: Slot| {
            let hop = &state.hops[hop[usize::from(slot)] as usize];
            place(state.interfaces.get(hop.interface))
        };
        let mut passed = Passed {
            known: &scratch.known,
            place: at,
            meets: leads_out,
            refuse: reasons::ACL_EGRESS,
            note: |_, _| {},
            list: "egress",
            samples,
        };
        egress.filter_ipv4(batch, &mut scratch.ipv4, acl_scratch, &mut passed);
        egress.filter_ipv6(batch, &mut scratch.ipv6, acl_scratch, &mut passed);
    }

    /// Whether `Services::admit` has anything to do.
    pub fn admits(&self) -> bool {
        !self.ingress.is_empty() || self.police.is_on()
    }

    /// Whether `Services::dismiss` has anything to do.
    pub fn dismisses(&self) -> bool {
        !self.egress.is_empty()
    }

    /// Applies a change that is the services'; none for others.
    pub fn apply(&mut self, update: &Update, now: Ticks) -> Option<Result<(), Refusal>> {
        Some(match *update {
            Update::SetRule { list, number, rule } => self.list(list).set(number, rule),
            Update::RemoveRule { list, number } => self.list(list).remove(number),
            Update::SetPolicer { number, policer } => self.police.set(number, policer, now),
            Update::RemovePolicer { number } => self.police.remove(number),
            _ => return None,
        })
    }

    /// Memory they hold.
    pub fn bytes(&self) -> usize {
        let lists = self.ingress.bytes() + self.egress.bytes() + size_of::<AclScratch>();
        lists + self.police.bytes() + self.samples.bytes()
    }

    fn list(&mut self, list: List) -> &mut Acl {
        match list {
            List::Ingress => &mut self.ingress,
            List::Egress => &mut self.egress,
        }
    }
}

/// The port and VLAN of an interface.
#[inline(always)]
fn place(interface: &Resolved) -> (u8, u16) {
    (interface.port.0, interface.vlan)
}
