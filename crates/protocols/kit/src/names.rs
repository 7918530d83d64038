//! Numbers by which a machine and its driver name what they share.

/// A socket of a machine, by the machine's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket(pub u32);

/// An interface of the node, by the driver's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface(pub u32);
