//! Fields of a session's record that would be bare numbers otherwise: what is so of it, and what
//! leads to things beside it.

use zerocopy::FromZeros;

/// What is so of a session, a bit each, so that one test tells whether a packet of it goes the way
/// of most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(transparent)]
pub struct Marks(u8);

impl Marks {
    /// Nothing of the following.
    pub const NONE: Marks = Marks(0);
    /// The other end is a subscriber, reached by its outside address.
    pub const HAIRPIN: Marks = Marks(1);
    /// The index of mappings, and the outside port, name this one of its ring.
    pub const FIRST: Marks = Marks(2);
    /// An ALG reads what it says.
    pub const ALG: Marks = Marks(4);
    /// The subscriber has an IPv6 address.
    pub const IPV6: Marks = Marks(8);
    /// The next packet from inside is to be told to a standby, which thinks that the session ends
    /// soon.
    pub const WATCHED: Marks = Marks(16);
    /// The subscriber is of a VRF.
    pub const VRF: Marks = Marks(32);
    /// The subscriber is behind a softwire.
    pub const SOFTWIRE: Marks = Marks(64);
    /// A call of PPTP, whose ports are identifiers in the key of enhanced GRE.
    pub const CALL: Marks = Marks(128);

    /// Of those one is enough for packets from inside to take the slow path.
    const SLOW_OUT: Marks = Marks::HAIRPIN
        .with(Marks::ALG)
        .with(Marks::IPV6)
        .with(Marks::WATCHED)
        .with(Marks::SOFTWIRE)
        .with(Marks::CALL);
    /// Of those one is enough for packets from outside to take the slow path.
    const SLOW_IN: Marks = Marks::HAIRPIN
        .with(Marks::ALG)
        .with(Marks::IPV6)
        .with(Marks::VRF)
        .with(Marks::SOFTWIRE)
        .with(Marks::CALL);

    /// These and others.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, others: Marks) -> Marks {
        Marks(self.0 | others.0)
    }

    /// Whether one of `some` is among them.
    #[inline(always)]
    pub const fn has(self, some: Marks) -> bool {
        self.0 & some.0 != 0
    }

    /// Adds others.
    #[inline(always)]
    pub fn set(&mut self, others: Marks) {
        self.0 |= others.0;
    }

    /// Takes others away.
    #[inline(always)]
    pub fn clear(&mut self, others: Marks) {
        self.0 &= !others.0;
    }

    /// Whether packets from inside take the slow path.
    #[inline(always)]
    pub const fn leaves_slowly(self) -> bool {
        self.has(Marks::SLOW_OUT)
    }

    /// Whether packets from outside take the slow path.
    #[inline(always)]
    pub const fn arrives_slowly(self) -> bool {
        self.has(Marks::SLOW_IN)
    }
}

/// A number below 2^32 - 1, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(transparent)]
pub struct Place(u32);

impl Place {
    /// That of a number.
    #[inline]
    pub const fn at(number: u32) -> Place {
        Place(number + 1)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// Whether there is a number.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The number, which is forgotten.
    pub fn take(&mut self) -> Option<u32> {
        std::mem::take(self).get()
    }
}

/// What a NAT with a standby, or a standby, keeps of a session for the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(transparent)]
pub struct Replica(u32);

impl Replica {
    /// Of an active NAT: the time that its standby was told.
    #[inline]
    pub const fn told(time: u32) -> Replica {
        Replica(time)
    }

    /// The time that the standby of an active NAT was told.
    #[inline]
    pub const fn as_told(self) -> u32 {
        self.0
    }

    /// Of a standby: the number that the session has at the active NAT.
    #[inline]
    pub const fn of(number: u32) -> Replica {
        Replica(number + 1)
    }

    /// The number that a session of a standby has at the active NAT, if it was told of it.
    #[inline]
    pub const fn number(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// Whether the session of a standby has a number at the active NAT.
    #[inline]
    pub const fn is_of(self, number: u32) -> bool {
        self.0 == number + 1
    }
}
