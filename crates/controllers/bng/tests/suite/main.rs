//! The controller in virtual time: clients, a gateway that applies its changes, and a server of
//! RADIUS, over links that lose, repeat and reorder.

mod changes;
mod dialled;
mod external;
mod gateway;
mod host;
mod host6;
mod hostile;
mod kept;
mod keys;
mod leases;
mod real;
mod relayed;
mod restarts;
mod server;
mod six;
mod walk;
mod world;
