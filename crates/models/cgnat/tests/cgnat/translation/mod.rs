//! Translation between IPv4 and IPv6: the fast way and the slow one, what a checksum must be, and
//! what tshark says.

mod made;

mod differential;
mod dissection;
mod examples;
mod laws;
