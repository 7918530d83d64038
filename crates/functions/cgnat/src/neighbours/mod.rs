//! Next hops without a MAC address: each is asked for it by ARP (IPv4) or Neighbor Discovery (IPv6)
//! as soon as the NAT runs, and packets to one that has not answered wait.
//!
//! ```text
//!  send: MAC addresses of the next hop, where they are configured  -----------------------> out
//!        [`UNADDRESSED`] --> translated, cut, tagged --> depart: known ---------------------> out
//!                                                        unknown: waits --> answer: made --> out
//! ```
//! A packet waits as it is to leave but for its MAC addresses, so that nothing before knows of
//! neighbours, and where all next hops have configured MAC addresses no packet is looked at. A link
//! is an interface, or a VRF of the inside port; it has one next hop of each version of IP at most.
//! Who does not answer is asked again when a packet comes for him. Each of several workers asks for
//! itself, and hands answers over to the others, because a card gives an answer to one of them.
//!
//! **Not supported:** hosts that are neighbours themselves, other than the next hops.

pub(crate) mod conflicts;
mod stage;
pub(crate) mod table;
