//! Mappings that a gateway asks for.

use std::net::Ipv4Addr;

use super::super::state::Model;
use super::super::tables::{End, Own, Session};
use super::reading::{Made, Reading};
use super::script::{Ask, Wish};

/// The port that a device told, and whether it told that it has none.
type Hint = (Option<u16>, bool);

impl Model {
    /// The outside end of an inside one, on the outside address of the session.
    pub(super) fn ask(
        &mut self,
        ask: &Ask,
        message: usize,
        hint: Hint,
        reading: &mut Reading<'_>,
    ) -> Option<End> {
        let own = |port| (ask.protocol, (reading.own.1.0, port));
        let one = own(ask.port);
        let end = match ask.wish {
            Wish::Pair => {
                let next = own(ask.port.checked_add(1)?);
                let wish = match self.tables.mappings.get(&next).map(|known| known.outside.1) {
                    None => Wish::Pair,
                    Some(0) => return None,
                    Some(port) if (port - 1) % 2 != ask.port % 2 => return None,
                    Some(port) => Wish::Port(port - 1),
                };
                let end = self.ask_one(one, (wish, ask.remote), (message, hint), reading)?;
                let beside = Wish::Port(end.1.checked_add(1)?);
                let hint = (end.1.checked_add(1).filter(|_| !hint.1), hint.1);
                self.ask_one(next, (beside, ask.remote), (message, hint), reading)?;
                end
            }
            wish => self.ask_one(one, (wish, ask.remote), (message, hint), reading)?,
        };
        (end.0 == reading.outside.0).then_some(end)
    }

    fn ask_one(
        &mut self,
        own: Own,
        (wish, remote): (Wish, Option<Ipv4Addr>),
        (message, (hint, is_refused)): (usize, Hint),
        reading: &mut Reading<'_>,
    ) -> Option<End> {
        // Where it passed nothing on, it may count what is over.
        let left = if is_refused { &[] } else { reading.left };
        let session = Session::new(reading.now);
        if let Some(mapping) = self.tables.mappings.get(&own) {
            let outside = mapping.outside;
            if !wish.fits(own.1.1, outside.1) {
                return None;
            }
            if !mapping.expected.contains_key(&remote) {
                self.check_limits(own.1.0, false, left).ok()?;
                reading.made.push((message, own, remote));
            }
            self.tables.expect(own, remote, session);
            return Some(outside);
        }
        self.check_limits(own.1.0, true, left).ok()?;
        let hint = hint.map(|port| (reading.outside.0, port));
        let outside = self.choose_wished(own, reading.now, (wish, hint), left).ok()?;
        self.tables.begin(own, outside);
        self.tables.expect(own, remote, session);
        reading.made.push((message, own, remote));
        Some(outside)
    }

    /// Takes back what was made for messages from a place on.
    pub(super) fn take_back(&mut self, reading: &mut Reading<'_>, from: usize) {
        let is_kept = |made: &Made| made.0 < from;
        for (_, own, remote) in reading.made.iter().filter(|made| !is_kept(made)) {
            self.tables.undo_expected(*own, *remote, reading.now);
        }
        reading.made.retain(is_kept);
    }
}
