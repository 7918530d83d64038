//! `plumbline nat`: looks up the subscriber of an outside address and port from the rules in a
//! file alone.
//!
//! Deterministic rules (RFC 7422), one-to-one rules and port forwarding fix the mapping, so neither
//! a log nor a running NAT is needed. Ports from a pool are allocated on demand: only the log can
//! identify the subscriber, and the answer says so.

mod answer;
mod port_forwarding;
mod rules;

use std::net::Ipv4Addr;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;
use answer::{Answer, Protocol};
use rules::{Rules, Source};

/// Looks up who has which outside address and ports of a carrier-grade NAT, from its rules alone.
///
/// Deterministic rules (RFC 7422), one-to-one rules and port forwarding map addresses in a fixed
/// way, so that no log is needed: the file is enough. The command starts no NAT and asks none.
/// Ports are those of UDP and TCP, and the identifiers of ICMP queries.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    lookup: Lookup,
}

#[derive(Subcommand)]
enum Lookup {
    /// Prints the outside address and the ports of a subscriber
    Forward(Forward),
    /// Prints the subscriber that has an outside address and port
    Reverse(Reverse),
}

#[derive(clap::Args)]
struct Forward {
    #[command(flatten)]
    source: Source,
    /// The subscriber's address
    #[arg(value_name = "INSIDE-ADDRESS")]
    inside: Ipv4Addr,
    /// The realm to which the inside address belongs
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    realm: u16,
}

#[derive(clap::Args)]
struct Reverse {
    #[command(flatten)]
    source: Source,
    /// The outside address
    #[arg(value_name = "OUTSIDE-ADDRESS")]
    outside: Ipv4Addr,
    /// The outside port
    port: u16,
    /// The protocol; needed if the ports of an address are forwarded to different hosts by protocol
    #[arg(long, value_name = "NAME")]
    protocol: Option<Protocol>,
}

const EXAMPLES: &str = "\
Examples:
  plumbline nat reverse scenario.yaml 198.18.0.7 4711
  plumbline nat forward scenario.yaml 10.0.0.5
  plumbline nat reverse /etc/plumbline/nat.yaml 198.18.0.7 4711 --run --json";

/// Runs `plumbline nat`.
///
/// # Errors
/// When the file has no such rules, or no rule covers the address.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let (source, answer) = match &args.lookup {
        Lookup::Forward(asked) => {
            let rules = Rules::read(&asked.source)?;
            (&asked.source, rules.forward(asked.realm, asked.inside)?)
        }
        Lookup::Reverse(asked) => {
            let rules = Rules::read(&asked.source)?;
            (&asked.source, rules.reverse(asked.outside, asked.port, asked.protocol)?)
        }
    };
    show(&answer, source.json)?;
    Ok(Exit::Passed)
}

fn show(answer: &Answer, as_json: bool) -> Result<(), Problem> {
    if as_json { print_json(answer) } else { print(&answer.to_string()) }
}
