//! Runs in a browser: a list, each run's page, several side by side, and how a bench gets on.
//!
//! It reads and never writes: there is nothing to ask but GET and HEAD, no name leads out of the
//! folder of runs, no link is followed, and every page is rendered from the record, so that a file
//! somebody put there is never run. Whoever can reach the port can read all runs; therefore it is
//! meant for loopback, and a request under a foreign host name is refused (a page elsewhere could
//! otherwise read along by giving its own name this machine's address). Heads, bodies, times,
//! connections and records are bounded.
//!
//! Deliberately absent: accounts, encryption, changing anything, and starting a bench.

mod answer;
mod archive;
mod guard;
mod pages;
mod server;

pub use server::Server;
pub use web::ServeError;
