//! The ports of a chain: those of its functions that lead to no other function.
//!
//! ```text
//!  downlink 0 -> [ function 1 ] <-> [ function 2 ] <- 1 uplink
//!                     | 2               | 3
//!                  1-ge-3            2-port-3
//! ```
//! The first port of the first function and the second of the last keep their numbers. The further
//! ports of all functions follow, function by function, each behind the place of its function.

use std::sync::Arc;

use function_kit::PortName;
use function_kit::erased::Configured;
use packet::PortId;

/// Ports of a function that lead to its neighbours, or out of the chain at its ends.
pub const SIDES: u8 = 2;

/// A further port of a function, by which the chain has a port of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Further {
    /// The place of the function, from 0.
    pub place: u8,
    /// The port of the function.
    pub port: PortId,
}

/// The further ports of all functions, in the order of their numbers in the chain.
pub fn further(members: &[Arc<dyn Configured>]) -> Vec<Further> {
    let of = |(place, member): (u8, &Arc<dyn Configured>)| {
        let count = member.ports().len() as u8;
        (SIDES..count).map(move |port| Further { place, port: PortId(port) })
    };
    (0..).zip(members).flat_map(of).collect()
}

/// The names of the ports; an error is one that would be too long.
pub(super) fn names(members: &[Arc<dyn Configured>]) -> Result<Vec<PortName>, String> {
    let mut names = ["downlink", "uplink"].map(PortName::new).to_vec();
    for Further { place, port } in further(members) {
        let own = members[usize::from(place)].ports()[usize::from(port.0)];
        let name = format!("{}-{own}", place + 1);
        names.push(PortName::try_from(name).map_err(|error| error.to_string())?);
    }
    Ok(names)
}
