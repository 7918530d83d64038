//! A running function without its types: what a worker runs.

use std::any::Any;
use std::io;

use engine::{Context, Drops, Event, Function, Names, Refusal, StageClock};
use machine::clock::Ticks;
use packet::{Batch, PortId, Room, Slot};
use protocol_kit::{Companion, Neighbour};

use crate::sought::Sought;
use crate::unit::{Standby, TablePage, TableSize};
use crate::update::AnyUpdate;

/// A running function.
pub trait Running: Any + Send {
    /// See [`Function::names`].
    fn names(&self) -> Names;
    /// See [`Function::process`].
    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>);
    /// See [`Function::apply`].
    ///
    /// # Errors
    /// When the change is impossible.
    fn apply(&mut self, update: AnyUpdate, now: Ticks) -> Result<(), Refusal>;
    /// See [`Function::tallies`].
    fn tallies(&self) -> &[u64];
    /// See [`Function::state_bytes`].
    fn state_bytes(&self) -> usize;
    /// See [`Function::reads_datagrams`].
    fn reads_datagrams(&self) -> &'static [u16];
    /// See [`Function::make_room`].
    ///
    /// # Errors
    /// When there is no memory.
    fn make_room(&mut self, room: Room) -> io::Result<()>;
    /// See [`Function::context`].
    fn context(&self, batch: &Batch, slot: Slot) -> Context;
    /// See [`Function::tick`].
    fn tick(&mut self, now: Ticks);
    /// See [`Function::event`].
    fn event(&mut self) -> Option<Event>;
    /// See [`Function::link`].
    fn link(&mut self, port: PortId, is_up: bool);
    /// See [`Function::made`].
    fn made(&mut self, now: Ticks) -> Option<&mut Batch>;
    /// See [`NetworkFunction::table_sizes`](crate::NetworkFunction::table_sizes).
    fn table_sizes(&self) -> Vec<TableSize>;
    /// See [`NetworkFunction::table_page`](crate::NetworkFunction::table_page).
    fn table_page(&self, table: usize, from: u64, limit: usize, now: Ticks) -> TablePage;
    /// See [`NetworkFunction::table_found`](crate::NetworkFunction::table_found).
    fn table_found(
        &self,
        table: usize,
        sought: Sought,
        from: u64,
        limit: usize,
        now: Ticks,
    ) -> Option<TablePage>;
    /// See [`NetworkFunction::neighbours`](crate::NetworkFunction::neighbours).
    fn neighbours(&self, limit: usize) -> Vec<Neighbour>;
    /// See [`NetworkFunction::neighbours_in`](crate::NetworkFunction::neighbours_in).
    fn neighbours_in(&self, of: (&str, &str), limit: usize) -> Vec<Neighbour>;
    /// See [`NetworkFunction::standby`](crate::NetworkFunction::standby).
    fn standby(&self) -> Option<Standby>;
    /// See [`NetworkFunction::machines`](crate::NetworkFunction::machines).
    fn machines(&mut self) -> Vec<Companion>;
    /// See [`NetworkFunction::wind_down`](crate::NetworkFunction::wind_down).
    fn wind_down(&mut self) -> u64;
    /// See [`NetworkFunction::lines`](crate::NetworkFunction::lines).
    fn lines(&mut self) -> Vec<String>;
    /// See [`NetworkFunction::set_mtu`](crate::NetworkFunction::set_mtu).
    fn set_mtu(&mut self, port: PortId, mtu: u16);
    /// See [`NetworkFunction::join`](crate::NetworkFunction::join); both are of one configuration.
    fn join(&mut self, first: &mut dyn Running, workers: usize);
}

impl Function for Box<dyn Running> {
    type Update = AnyUpdate;
    /// What it has depends on the function: [`Function::names`] tells it.
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&["unhandled"]);
    const TALLIES: &'static [&'static str] = &[];

    fn names(&self) -> Names {
        (**self).names()
    }

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        (**self).process(batch, now, stages);
    }

    fn apply(&mut self, update: AnyUpdate, now: Ticks) -> Result<(), Refusal> {
        (**self).apply(update, now)
    }

    fn tallies(&self) -> &[u64] {
        (**self).tallies()
    }

    fn state_bytes(&self) -> usize {
        (**self).state_bytes()
    }

    fn reads_datagrams(&self) -> &'static [u16] {
        (**self).reads_datagrams()
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        (**self).make_room(room)
    }

    fn context(&self, batch: &Batch, slot: Slot) -> Context {
        (**self).context(batch, slot)
    }

    fn tick(&mut self, now: Ticks) {
        (**self).tick(now);
    }

    fn event(&mut self) -> Option<Event> {
        (**self).event()
    }

    fn link(&mut self, port: PortId, is_up: bool) {
        (**self).link(port, is_up);
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        (**self).made(now)
    }
}
