//! A running NAT on one worker: what it consists of, and how it begins.

mod open;
mod order;
pub(crate) mod scratch;
mod slow_path;

use std::net::IpAddr;
use std::sync::Arc;

use function_kit::{Companion, SetupError, Shard, Standby};
use machine::clock::{Clock, Ticks};
use packet::{Made, PortId};
use protocol_replication::{Joined, Role, Status};

use crate::config::{Config, Pcp, TcpResets};
use crate::interfaces::Interfaces;
use crate::log::Journal as Log;
use crate::pipeline::scratch::Scratch;
use crate::standby::{Beside, Rehearsal, Replication};
use crate::state::State;
use crate::state::sweep::Sweep;
use crate::types::ending::Ending;

use crate::fragments::followed::Followed;
use crate::icmp::answers::IcmpHost;
use crate::mtu::long::Long;
use crate::neighbours::conflicts::Conflicts;
use crate::neighbours::table::Neighbours;

/// A running NAT on one worker.
pub struct Pipeline {
    pub(crate) state: State,
    pub(crate) interfaces: Interfaces,
    pub(crate) scratch: Box<Scratch>,
    pub(crate) sweep: Sweep,
    pub(crate) tcp_pick_up: bool,
    /// To whom segments of no session are answered by resets.
    pub(crate) tcp_resets: TcpResets,
    pub(crate) mss_clamp: u16,
    pub(crate) hairpinning: bool,
    pub(crate) icmp_host: IcmpHost,
    /// What holds for mappings that subscribers ask for; none where they cannot.
    pub(crate) pcp: Option<Pcp>,
    /// Counts packets that become IPv4, because they bear no identification.
    pub(crate) identification: u16,
    /// Counts packets that are cut on their way through a softwire.
    pub(crate) outer_identification: u32,
    /// None where fragments are dropped.
    pub(crate) followed: Option<Followed>,
    /// Where gateways write payloads.
    pub(crate) payload: Box<[u8]>,
    /// What leaves beside the frames that came: fragments that had waited, pieces, messages of the
    /// log; none where there are none of them.
    pub(crate) made: Option<Made>,
    /// A packet that is cut.
    pub(crate) uncut: Vec<u8>,
    /// Whether links take no longer packets than frames can bear.
    pub(crate) limits_lengths: bool,
    pub(crate) long: Box<Long>,
    /// None where every next hop has a configured MAC address.
    pub(crate) neighbours: Option<Box<Neighbours>>,
    /// Who else has its addresses.
    pub(crate) conflicts: Conflicts,
    pub(crate) replication: Option<Box<Replication>>,
    /// The address of the other NAT, where the configuration tells it.
    pub(crate) peer: Option<IpAddr>,
    /// The standby beside it, where it has one.
    pub(crate) beside: Option<Arc<Beside<Pipeline>>>,
    /// What whoever runs it has not taken yet.
    machines: Vec<Companion>,
}

impl Pipeline {
    /// The NAT of a configuration without a session.
    ///
    /// # Errors
    /// When its state does not fit into memory.
    pub fn new(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let mut pipeline = Pipeline::alone(config, shard, clock, now)?;
        pipeline.replicate(config, shard, (clock, now))?;
        Ok(pipeline)
    }

    /// Begins what the configuration says of replication.
    fn replicate(
        &mut self,
        config: &Config,
        shard: Shard,
        (clock, now): (Clock, Ticks),
    ) -> Result<(), SetupError> {
        match config.replication.role {
            Role::None => {}
            Role::Active => {
                let machine = self.tell_standby(config, shard, (clock, now))?;
                self.machines.push(machine);
            }
            Role::Standby => {
                let machine = self.listen(config, shard, clock)?;
                self.machines.push(machine);
            }
            Role::Pair => {
                let time = (clock, now);
                let (pair, machine) = Replication::pair((config, shard), &mut self.state, time)?;
                self.replication = Some(Box::new(pair));
                self.machines.push(machine);
            }
            Role::Rehearsal => {
                let mut standby = Pipeline::alone(config, shard, clock, now)?;
                let listener = standby.listen(config, shard, clock)?;
                let teller = self.tell_standby(config, shard, (clock, now))?;
                let beside = Beside::new(standby, now);
                let machine = Rehearsal::new(Arc::clone(&beside), Joined::new(teller, listener));
                self.machines.push(Box::new(machine));
                self.beside = Some(beside);
            }
        }
        Ok(())
    }

    fn tell_standby(
        &mut self,
        config: &Config,
        shard: Shard,
        time: (Clock, Ticks),
    ) -> Result<Companion, SetupError> {
        let (replication, machine) = Replication::active((config, shard), &mut self.state, time)?;
        self.replication = Some(Box::new(replication));
        Ok(machine)
    }

    fn listen(
        &mut self,
        config: &Config,
        shard: Shard,
        clock: Clock,
    ) -> Result<Companion, SetupError> {
        let (replication, machine) = Replication::standby((config, shard), &self.state, clock)?;
        self.replication = Some(Box::new(replication));
        Ok(machine)
    }

    fn alone(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let log = Log::new(config, shard, clock, now);
        let mut state = State::new(config, shard, clock)?;
        state.log = log;
        if let Some(granted) = &mut state.granted {
            granted.begun = state.times.moment(now);
        }
        let follows = config.fragments.datagrams > 0;
        let followed = follows.then(|| {
            let secret = state.allocation.secret();
            Followed::new(config, shard, &clock, secret)
        });
        let memory = |source| SetupError::Memory { what: "fragments", source };
        let followed = followed.transpose().map_err(memory)?;
        // Where nothing is cut, nothing is drawn: ports follow from what was.
        let begin = config.ds_lite.as_ref().map(|_| state.allocation.secret()[0] as u32);
        let outer_identification = begin.unwrap_or_default();
        let interfaces = Interfaces::new(config)?;
        Ok(Pipeline {
            limits_lengths: interfaces.shortest_mtu().is_some(),
            long: Long::new(),
            neighbours: Neighbours::new(config, shard, clock).map(Box::new),
            conflicts: Conflicts::new(clock),
            interfaces,
            scratch: Box::new(Scratch::new()),
            sweep: Sweep::new(&state, &clock, now),
            tcp_pick_up: config.tcp_pick_up,
            tcp_resets: config.tcp_resets,
            mss_clamp: config.mss_clamp,
            hairpinning: config.hairpinning,
            icmp_host: IcmpHost::new(config, &clock),
            pcp: config.pcp,
            identification: 0,
            outer_identification,
            followed,
            payload: state.algs.payload_room(),
            made: None,
            uncut: Vec::with_capacity(UNCUT_LEN),
            replication: None,
            peer: config.replication.other(),
            beside: None,
            machines: Vec::new(),
            state,
        })
    }

    /// How replication stands.
    pub fn replication(&self) -> Status {
        let replication = self.replication.as_ref();
        replication.map(|one| one.status(&self.state)).unwrap_or_default()
    }

    /// How it and the other NAT stand.
    pub(crate) fn standby(&self) -> Option<Standby> {
        let replication = self.replication.as_ref()?;
        let status = replication.status(&self.state);
        Some(Standby {
            role: replication.role(),
            peer: self.peer,
            is_connected: status.is_connected,
            is_here: self.has_rehearsal(),
            is_synchronised: status.is_synchronised,
            unacknowledged: status.unacknowledged + status.waiting,
        })
    }

    /// Begins its end in good order, and says how much of it is left.
    pub fn wind_down(&mut self) -> u64 {
        self.state.wind_down()
    }

    /// A round of its end in good order: what has replication to say first, until nobody hears it
    /// or there is nothing more.
    pub(crate) fn end_round(&mut self, now: Ticks) {
        let mut is_told = true;
        if self.state.ending == Some(Ending::Telling)
            && let Some(replication) = &mut self.replication
        {
            replication.round(&mut self.state, &mut self.interfaces, now);
            let status = replication.status(&self.state);
            is_told = !(replication.tells() && status.is_connected) || status.is_synchronised;
        }
        self.state.end_round(is_told, now);
    }

    /// Whether it has its standby beside it.
    pub fn has_rehearsal(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.is_here())
    }

    /// Takes the machines beside it, which speak for it to others.
    pub fn machines(&mut self) -> Vec<Companion> {
        std::mem::take(&mut self.machines)
    }

    /// Ends its replication as it is, and gives the standby beside it.
    pub fn fail_over(&mut self) -> Option<Pipeline> {
        self.beside.take()?.take()
    }

    /// What it knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Datagrams of which fragments are followed, and fragments that wait, by the port where they
    /// came in.
    pub fn fragment_sizes(&self, port: PortId) -> (usize, usize) {
        self.followed.as_ref().map_or((0, 0), |followed| followed.sizes(port))
    }
}

/// Room for a packet that is cut; a longer one gets more.
const UNCUT_LEN: usize = 2048;
