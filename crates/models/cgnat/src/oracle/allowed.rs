//! Which packets may open a session, and which outside ends a new mapping may get.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::gateway::script::Wish;
use super::networks::{first, holds};
use super::state::Model;
use super::tables::{End, Own};

impl Model {
    /// Whether a packet from inside is one that may open a session.
    pub(super) fn may_open(&self, own: Own, far: End, tcp_flags: u8) -> Result<(), &'static str> {
        let is_subscriber = match own.1.0.address {
            IpAddr::V4(inside) => self.has_inside(own.1.0.realm, inside),
            IpAddr::V6(inside) => self.is_subscriber(inside),
        };
        if !is_subscriber {
            return Err("not-inside");
        }
        if matches!(far.0.octets()[0], 0 | 127 | 224..) {
            return Err("martian");
        }
        if self.has_inside(0, far.0) || self.vrf_has(own.1.0.realm, far.0) {
            return Err("to-inside");
        }
        if own.0 == 1 && tcp_flags != 0 {
            return Err("icmp-no-session");
        }
        if own.0 == 6 && tcp_flags & 0b110 != 0b010 && !self.config.tcp_pick_up {
            return Err("tcp-no-session");
        }
        if self.is_outside(far.0) && !self.config.hairpinning {
            return Err("hairpin-off");
        }
        Ok(())
    }
}

/// What is known of a mapping that is to be.
pub(super) struct Allowed<'a> {
    model: &'a Model,
    own: Own,
    /// What its port must be beside free.
    wish: Wish,
    now: Duration,
    /// The outside addresses of its subscriber, of which there is one (RFC 4787 REQ-2, paired).
    addresses: BTreeSet<Ipv4Addr>,
    /// The blocks of its subscriber, by address and number.
    blocks: BTreeSet<(Ipv4Addr, u16)>,
    /// The same that it had a little before, and that a device may still have set aside for it.
    former: BTreeSet<(Ipv4Addr, u16)>,
    former_addresses: BTreeSet<Ipv4Addr>,
}

impl<'a> Allowed<'a> {
    /// For a device that still sets aside what the subscriber had a little before, or not.
    pub fn new(
        model: &'a Model,
        (own, wish): (Own, Wish),
        now: Duration,
        sets_aside: bool,
    ) -> Allowed<'a> {
        let ends = model.tables.ends_of(own.1.0);
        let former = match sets_aside {
            true => model.tables.lingering_ends_of(own.1.0),
            false => BTreeSet::new(),
        };
        let addresses = |ends: &BTreeSet<End>| ends.iter().map(|end| end.0).collect();
        let size = model.config.port_block.size;
        let blocks = |ends: &BTreeSet<End>| {
            ends.iter().filter_map(|end| Some((end.0, end.1.checked_div(size)?))).collect()
        };
        Allowed {
            model,
            own,
            wish,
            now,
            addresses: addresses(&ends),
            blocks: blocks(&ends),
            former: blocks(&former),
            former_addresses: addresses(&former),
        }
    }

    /// Whether it may get this one.
    pub fn has(&self, end: End) -> bool {
        let is_paired = self.addresses.is_empty() || self.addresses.contains(&end.0);
        is_paired && self.may_use(end.0) && self.fits_blocks(end, false) && self.is_free(end, false)
    }

    /// Any that it may get; `strict` leaves out what may not be free yet.
    ///
    /// # Errors
    /// Why there is none.
    pub fn any(&self, strict: bool) -> Result<End, &'static str> {
        let pools = self.addresses_of_pools();
        let there = |addresses: &BTreeSet<Ipv4Addr>| addresses.iter().copied().collect();
        let candidates: Vec<Ipv4Addr> = match (self.addresses.is_empty(), strict) {
            (false, _) => there(&self.addresses),
            (true, true) if !self.former_addresses.is_empty() => there(&self.former_addresses),
            (true, _) => pools.collect(),
        };
        for &address in candidates.iter().filter(|address| self.may_use(**address)) {
            if let Some(end) = self.any_of(address, strict) {
                return Ok(end);
            }
        }
        let nowhere = self.addresses.is_empty() && (self.former_addresses.is_empty() || !strict);
        if nowhere {
            return Err("pool-exhausted");
        }
        let most = usize::from(self.model.config.port_block.per_subscriber);
        match self.model.config.port_block.size != 0 && self.block_count(strict) >= most {
            true => Err("block-limit"),
            false => Err("ports-exhausted"),
        }
    }

    /// Whether it may get an end on an address of the pools that is such.
    pub fn has_any(&self, is_such: impl Fn(Ipv4Addr) -> bool) -> bool {
        let mut such = self.addresses_of_pools().filter(|address| is_such(*address));
        such.any(|address| self.may_use(address) && self.any_of(address, false).is_some())
    }

    fn addresses_of_pools(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.model.pools.iter().flat_map(|(pool, _)| {
            let count = 1u64 << (32 - pool.len);
            (0..count).map(|offset| Ipv4Addr::from_bits(first(*pool) + offset as u32))
        })
    }

    fn any_of(&self, address: Ipv4Addr, strict: bool) -> Option<End> {
        let (first, last) = (self.model.first_port(), u32::from(u16::MAX));
        // Ports of a block fit all or none.
        let step = match self.model.config.port_block.size {
            0 => last + 1,
            size => u32::from(size),
        };
        let starts = (first..=last).step_by(step as usize);
        let fitting = starts.filter(|&start| self.fits_blocks((address, start as u16), strict));
        let mut ports = fitting.flat_map(|start| start..=(start + step - 1).min(last));
        ports
            .find(|&port| self.is_free((address, port as u16), strict))
            .map(|port| (address, port as u16))
    }

    /// Whether an address is of a pool that is open, or the subscriber's already.
    fn may_use(&self, address: Ipv4Addr) -> bool {
        let own = self.addresses.contains(&address) || self.former_addresses.contains(&address);
        self.model.pools.iter().any(|(pool, open)| {
            let is_its = self.model.is_for(*pool, self.own.1.0.realm);
            holds(*pool, address) && is_its && (*open || own)
        })
    }

    fn is_free(&self, end: End, strict: bool) -> bool {
        let size = self.model.config.port_block.size;
        let same_block = |next: u16| next.checked_div(size) == end.1.checked_div(size);
        let next = end.1.checked_add(1).filter(|next| same_block(*next));
        let is_paired = self.wish != Wish::Pair
            || next.is_some_and(|next| self.nobody_has((end.0, next), strict));
        self.wish.fits(self.own.1.1, end.1) && self.nobody_has(end, strict) && is_paired
    }

    fn nobody_has(&self, end: End, strict: bool) -> bool {
        let is_given_away =
            u32::from(end.1) >= self.model.first_port() && end.1 != 0 && self.model.gives_away(end);
        let tables = &self.model.tables;
        is_given_away
            && match strict {
                true => tables.may_surely_have(self.own, end, self.now),
                false => tables.may_have(self.own, end, self.now),
            }
    }

    /// Whether a port lies in a block of the subscriber's, or in one that it may get.
    fn fits_blocks(&self, end: End, strict: bool) -> bool {
        let size = self.model.config.port_block.size;
        let Some(number) = end.1.checked_div(size) else { return true };
        let block = (end.0, number);
        if self.blocks.contains(&block) || self.former.contains(&block) {
            return true;
        }
        let ports = (number * size, number * size + (size - 1));
        let pools = &self.model.pools;
        let is_open = pools.iter().any(|(pool, open)| *open && holds(*pool, end.0));
        let is_taken = self.model.tables.is_taken(self.own.1.0, end.0, ports);
        let most = usize::from(self.model.config.port_block.per_subscriber);
        is_open && !is_taken && self.block_count(strict) < most
    }

    fn block_count(&self, strict: bool) -> usize {
        match strict {
            true => self.blocks.union(&self.former).count(),
            false => self.blocks.len(),
        }
    }
}
