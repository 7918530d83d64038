//! `plumbline nat`: whose an outside address and port are, by the rules of a file alone.
//!
//! Deterministic rules (RFC 7422), one-to-one and one-to-many rules say it without a log and without a NAT that runs. Of
//! what a pool gives away only the log can tell, and the answer says so.

mod answer;
mod one_to_many;
mod rules;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;
use answer::Answer;
use one_to_many::Protocol;
use rules::Rules;

/// Tells who has which outside address and ports of a carrier-grade NAT, by its rules alone.
///
/// Deterministic rules (RFC 7422), one-to-one and one-to-many rules map addresses so that no log is needed: the
/// file is enough. Nothing runs, and nothing is asked. Ports are those of UDP and TCP, and the identifiers of
/// ICMP queries.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    way: Way,
}

#[derive(Subcommand)]
enum Way {
    /// Tells the outside address and the ports of a subscriber
    Forward(Forward),
    /// Tells which subscriber has an outside address and port
    Reverse(Reverse),
}

#[derive(clap::Args)]
struct Forward {
    #[command(flatten)]
    source: Source,
    /// The subscriber's address
    #[arg(value_name = "INSIDE-ADDRESS")]
    inside: Ipv4Addr,
    /// The realm in which it has this address
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
    /// Of which protocol; needed where the ports of an address are forwarded to several
    #[arg(long, value_name = "NAME")]
    protocol: Option<Protocol>,
}

/// Where the rules are.
#[derive(clap::Args)]
struct Source {
    /// The scenario file, YAML or JSON
    #[arg(value_name = "SCENARIO")]
    file: PathBuf,
    /// The file is one for `plumbline run`
    #[arg(long, conflicts_with = "cell")]
    run: bool,
    /// Which cell of the scenario; default: the first
    #[arg(long, value_name = "ID")]
    cell: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline nat reverse scenario.yaml 198.18.0.7 4711
  plumbline nat forward scenario.yaml 10.0.0.5
  plumbline nat reverse /etc/plumbline/nat.yaml 198.18.0.7 4711 --run --json";

/// Does it.
///
/// # Errors
/// A file without such rules, or an address of which they do not tell.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let (source, answer) = match &args.way {
        Way::Forward(asked) => {
            let rules = Rules::read(&asked.source)?;
            (&asked.source, rules.forward(asked.realm, asked.inside)?)
        }
        Way::Reverse(asked) => {
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
