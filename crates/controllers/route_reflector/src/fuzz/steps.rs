//! What may happen with the reflector beside the plain one.

use super::model::Attributes;

/// What happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// The session of a peer stands.
    Open(u16),
    /// It has ended, and the peer's paths with it.
    Close(u16),
    /// It has ended, and the peer's paths stay.
    Lose(u16),
    /// A peer is to say all again.
    Mark(u16),
    /// It has.
    Sweep(u16),
    /// A peer says paths to prefixes of these numbers.
    Announce(u16, Vec<u8>, Attributes),
    /// It takes them back.
    Withdraw(u16, Vec<u8>),
    /// It wants to be told all again.
    Refresh(u16),
    /// It asks for route targets, by these numbers of [`super::wire::ASKED`].
    Ask(u16, Vec<u8>, Attributes),
    /// It asks for those no more.
    AskNoMore(u16, Vec<u8>),
    /// It has asked for all that it asks for.
    HasAsked(u16),
    /// That is waited for no more.
    Expire(u16),
    /// It is drained, or is so no more.
    Drain(u16, bool),
    /// It takes this many bytes.
    Take(u16, usize),
    /// The reflector does a part of what there is to do.
    Work,
    /// The stranger says this in an UPDATE.
    Hear(Vec<u8>),
}
