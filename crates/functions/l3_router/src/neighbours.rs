//! The router's neighbours: what [`stages::neighbours`] knows of them becomes entries of next hops.
//!
//! An address on a link gets an entry of its own behind those of the next hops; a next hop without
//! an Ethernet address gets its own entry filled in, whether it or its neighbour came first.
//! Packets that waited leave as made frames, or are dropped, and then their senders are told.
use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Made, PortId, Verdict};
use stages::duplicates::{Duplicate, Duplicates};
use stages::nd;
use stages::neighbours::{Asking, Full, Limits, Question};
pub(super) use stages::neighbours::{Entry, Said, Wanted};
use wire::MacAddr;

use super::config::Config;
use super::host::{Around, Host, Trouble};
use super::interfaces::Interfaces;
use super::reasons::{self, Tallies};
use super::rewrite::rewrite_one;
use super::state::{Hop, State};

/// The neighbours that were asked for.
pub(super) struct Neighbours {
    table: stages::neighbours::Neighbours,
    /// Who else has addresses of the router's.
    duplicates: Duplicates,
}

impl Neighbours {
    /// An empty table, where the configuration asks for one.
    pub fn new(config: &Config, clock: Clock) -> Option<Neighbours> {
        let limits = Limits {
            capacity: config.neighbour_capacity as usize,
            pending: config.pending_capacity as usize,
            lifetime_s: config.neighbour_lifetime_s,
        };
        config.resolve.then(|| Neighbours {
            table: stages::neighbours::Neighbours::new(limits, clock),
            duplicates: Duplicates::new(clock),
        })
    }

    /// The next hop's place of a neighbour that is known.
    pub fn known(&self, state: &State, wanted: Wanted) -> Option<u32> {
        let (number, entry) = self.table.known(wanted.link, wanted.address)?;
        Some(place(state, number, &entry))
    }

    /// The neighbours, to look at them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.table.entries()
    }

    /// The neighbour of a number below the capacity.
    pub fn get(&self, number: u32) -> Option<&Entry> {
        self.table.get(number)
    }

    /// Most neighbours.
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Who else has addresses of the router's.
    pub fn duplicates(&self) -> &[Duplicate] {
        self.duplicates.heard()
    }

    /// A station says that it has an address; whether that is the router's own there.
    pub fn has_ours(
        &mut self,
        state: &State,
        (at, address): (u16, IpAddr),
        mac: MacAddr,
        now: Ticks,
    ) -> bool {
        let own = state.interfaces.get(at);
        let is_own = match address {
            IpAddr::V4(address) => own.ip.is_some_and(|ip| ip.address == address),
            IpAddr::V6(address) => own
                .ipv6
                .is_some_and(|ip| ip.address == address || nd::link_local(own.mac.0) == address),
        };
        is_own && mac != own.mac.0 && self.duplicates.hear((at, address), mac, now)
    }

    /// Lets a packet wait for its neighbour.
    pub fn wait(
        &mut self,
        (state, made): (&State, &mut Made),
        packet: (PortId, u16, &[u8]),
        wanted: Wanted,
        now: Ticks,
    ) -> Verdict {
        let waits =
            self.table.wait(packet, wanted, now, |question| ask(&state.interfaces, made, question));
        self.drop_leaving(made);
        reasons::drop(match waits {
            Ok(()) => reasons::AWAITING,
            Err(Full::Neighbours) => reasons::NEIGHBOURS_FULL,
            Err(Full::Pending) => reasons::PENDING_FULL,
        })
    }

    /// Asks for a neighbour whose packet cannot wait.
    pub fn look_for(
        &mut self,
        (state, made): (&State, &mut Made),
        wanted: Wanted,
        now: Ticks,
    ) -> Verdict {
        self.table.look_for(wanted, now, |question| ask(&state.interfaces, made, question));
        self.drop_leaving(made);
        reasons::drop(reasons::PENDING_FULL)
    }

    /// Takes note of what a neighbour says of itself; whether that was of any use.
    pub fn heard(
        &mut self,
        (state, made): (&mut State, &mut Made),
        (interface, address): (u16, IpAddr),
        said: Said,
        now: Ticks,
    ) -> bool {
        let Some(number) = self.table.heard(interface, address, said, now) else { return false };
        self.reached((state, made), number, said.mac);
        true
    }

    /// Takes note of what the host knows of a neighbour: for ever, or as if it had answered; `None`
    /// without room.
    pub fn tell(
        &mut self,
        (state, made): (&mut State, &mut Made),
        (link, address): (u16, IpAddr),
        (mac, is_fixed): (MacAddr, bool),
        now: Ticks,
    ) -> Option<()> {
        if !is_fixed && self.table.is_fixed(link, address) {
            return Some(());
        }
        let wanted = Wanted { link, address, listed: state.asked_at(link, address) };
        let number = self.table.tell(wanted, mac, is_fixed, now)?;
        self.reached((state, made), number, mac);
        Some(())
    }

    /// Forgets what was set of a neighbour; whether there was such a one.
    pub fn loosen(
        &mut self,
        (state, made): (&mut State, &mut Made),
        (link, address): (u16, IpAddr),
    ) -> bool {
        let Some((number, entry)) = self.table.loosen(link, address) else { return false };
        let reason =
            if entry.listed.is_some() { reasons::UNRESOLVED } else { reasons::NO_NEXT_HOP };
        let at = place(state, number, &entry);
        state.set_hop(at, Hop::absent(reason, link));
        state.place_neighbour((link, address), None);
        state.reach_tunnels();
        self.drop_leaving(made);
        true
    }

    /// Frames go to a neighbour by its Ethernet address, and what waited for it first.
    fn reached(&mut self, (state, made): (&mut State, &mut Made), number: u32, mac: MacAddr) {
        let Some(entry) = self.table.get(number) else { return };
        let interface = entry.link;
        let own = state.interfaces.get(interface);
        let at = place(state, number, entry);
        let source = state.source_of(at, own.mac.0);
        let hop = Hop::to(mac, source, own.port, interface);
        let own_place = entry.listed.is_none().then_some(at);
        let whom = (interface, entry.address);
        state.set_hop(at, hop);
        state.place_neighbour(whom, own_place);
        state.reach_tunnels();
        while let Some(waiting) = self.table.next_leaving() {
            if let Some(slot) = made.push(waiting.port, &waiting.frame, hop.verdict) {
                rewrite_one(made.batch_mut(), slot, &hop);
                let batch = made.batch_mut();
                let verdict = state.interfaces.send(batch, slot, interface, hop.verdict);
                batch.set_verdict(slot, verdict);
            }
            self.table.give_back(waiting);
        }
    }

    /// Asks once more, gives up, forgets: whatever is due.
    pub fn tick(
        &mut self,
        (state, made): (&mut State, &mut Made),
        host: &mut Host,
        tallies: &mut Tallies,
        now: Ticks,
    ) {
        while let Some((number, entry)) =
            self.table.tick(now, |question| ask(&state.interfaces, made, question))
        {
            let is_listed = entry.listed.is_some();
            let reason = if is_listed { reasons::UNRESOLVED } else { reasons::NO_NEXT_HOP };
            let at = place(state, number, &entry);
            state.set_hop(at, Hop::absent(reason, entry.link));
            state.place_neighbour((entry.link, entry.address), None);
            state.reach_tunnels();
            while let Some(waiting) = self.table.next_leaving() {
                let dropped = reasons::drop(reasons::UNRESOLVED);
                if made.push(waiting.port, &waiting.frame, dropped).is_some() {
                    let interfaces = &state.interfaces;
                    let around = &mut Around { interfaces, tallies, made: Some(made), now };
                    let why = (Trouble::NoNeighbour, reasons::UNRESOLVED);
                    let packet = (&waiting.frame[..], waiting.port, waiting.came_by);
                    host.refuse(packet, around, why);
                }
                self.table.give_back(waiting);
            }
        }
        self.duplicates.forget(now);
        // Far ends of tunnels are asked for before a packet comes for them, which could not wait.
        for (link, address, listed) in state.sought() {
            let wanted = Wanted { link, address, listed };
            self.table.look_for(wanted, now, |question| ask(&state.interfaces, made, question));
        }
        self.drop_leaving(made);
    }

    /// A next hop is another now: what was known of it is not, and what waited for it is dropped.
    /// What was set of it still holds.
    pub fn forget_hop(&mut self, (state, made): (&mut State, &mut Made), hop: u32) {
        let Some(entry) = self.table.forget(hop) else { return };
        self.drop_leaving(made);
        if let Some(mac) = entry.mac.filter(|_| entry.is_fixed()) {
            // Its place has just become free, and time is nothing to what is fixed.
            self.tell((state, made), (entry.link, entry.address), (mac, true), 0);
        }
    }

    /// A next hop was set: it is reached if its neighbour is known, or as soon as it answers.
    pub fn enlist(&mut self, (state, made): (&mut State, &mut Made), hop: u32) {
        let Some((link, address)) = state.asks_for(hop) else { return };
        let Some(number) = self.table.enlist(link, address, hop) else { return };
        if let Some(mac) = self.table.get(number).and_then(|entry| entry.mac) {
            self.reached((state, made), number, mac);
        }
    }

    /// What waited for a neighbour that is not known any more is dropped.
    fn drop_leaving(&mut self, made: &mut Made) {
        self.table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
    }
}

/// The place of a neighbour among the next hops.
fn place(state: &State, number: u32, entry: &Entry) -> u32 {
    entry.listed.unwrap_or(state.first_dynamic() + number)
}

/// Sends a question, with the tag of its interface.
fn ask(interfaces: &Interfaces, made: &mut Made, question: Question) {
    let own = interfaces.get(question.link);
    let mut asking = Asking {
        mac: own.mac.0,
        ipv4: own.ip.map(|ip| ip.address),
        // Who has a link-local address may have no way to any other.
        ipv6: own.asking_ipv6().map(|own_address| match question.address {
            IpAddr::V6(asked) if asked.is_unicast_link_local() => nd::link_local(own.mac.0),
            _ => own_address,
        }),
    };
    match interfaces.addresses.towards(question.link, question.address) {
        Some(IpAddr::V4(address)) => asking.ipv4 = Some(address),
        Some(IpAddr::V6(address)) => asking.ipv6 = Some(address),
        None => {}
    }
    let mut frame = [0; nd::FRAME_LEN];
    let Some(len) = question.write(asking, &mut frame) else { return };
    let forward = Verdict::Forward(own.port);
    if let Some(slot) = made.push(own.port, &frame[..len], forward) {
        let verdict = interfaces.send(made.batch_mut(), slot, question.link, forward);
        made.batch_mut().set_verdict(slot, verdict);
    }
}
