//! Packets that are too long for the next link: they are cut, or their senders are told.

pub(crate) mod links;
pub(crate) mod long;
pub(crate) mod validate;
