//! `plumbline serve`: runs in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde_json::json;
use serve::{ServeError, Server};

use crate::exit::Exit;
use crate::locate::RUNS_DIR;
use crate::output::{print, print_json, tell};
use crate::problem::Problem;
use crate::stop::on_ctrl_c_saying;

/// Shows runs in a browser: list, report pages, comparison, progress of a running bench.
///
/// The server only reads files. Everyone who can reach the address can read all runs; therefore it
/// listens on the loopback address by default. Ctrl-C stops it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = RUNS_DIR)]
    runs_dir: PathBuf,
    /// The address and port to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT, value_parser = address)]
    listen: SocketAddr,
    /// Print the address as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline serve
  plumbline serve --runs-dir results --listen 127.0.0.1:0
  ssh -L 8484:127.0.0.1:8484 lab-machine plumbline serve     # from a machine elsewhere";

/// Runs `plumbline serve`.
///
/// # Errors
/// When the server cannot listen on the address.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    if args.runs_dir.exists() && !args.runs_dir.is_dir() {
        let problem = Problem::of_usage("this is not a folder", "name the folder that holds runs");
        return Err(problem.at("file", args.runs_dir.display()));
    }
    let server = Server::bind(args.listen, args.runs_dir.clone()).map_err(refused)?;
    let address = server.address().map_err(|error| Problem::of_environment(error, ""))?;
    let stop = on_ctrl_c_saying("\n");
    if !address.ip().is_loopback() {
        tell(
            "warning: everyone who can reach this address can read all runs; there is no password \
             and no encryption\n",
        );
    }
    if !args.runs_dir.exists() {
        let folder = args.runs_dir.display();
        tell(&format!("note: {folder} does not exist yet; its runs are shown once it does\n"));
    }
    let url = format!("http://{}/", reachable(address));
    if args.json {
        print_json(&json!({"url": url, "runs_dir": args.runs_dir}))?;
    } else {
        print(&format!("{url}\n"))?;
        tell("Press Ctrl-C to stop.\n");
    }
    server.run(&stop).map_err(|error| {
        Problem::of_environment(format!("the server cannot continue: {error}"), "start it again")
    })?;
    Ok(Exit::Passed)
}

/// The address that a browser on this machine can open: the loopback address in place of the
/// unspecified address `0.0.0.0`.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        false => address,
    }
}

fn refused(error: ServeError) -> Problem {
    let remedy = match error.source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "choose another port, or any free one with --listen 127.0.0.1:0"
        }
        std::io::ErrorKind::PermissionDenied => "choose a port above 1023",
        _ => "name an address of this machine, as in --listen 127.0.0.1:8484",
    };
    Problem::of_environment(error, remedy)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let with_port = |ip: IpAddr| SocketAddr::new(ip, DEFAULT.port());
    let text = text.replacen("localhost", "127.0.0.1", 1);
    let parsed = text.parse().or_else(|_| text.parse().map(with_port));
    parsed.map_err(|_| "expected an address and a port, as in 127.0.0.1:8484 or [::1]:8484".into())
}

const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8484);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_in_several_ways() {
        assert_eq!(address("localhost:80").map(|a| a.to_string()), Ok("127.0.0.1:80".into()));
        assert_eq!(address("0.0.0.0").map(|a| a.port()), Ok(8484));
        assert!(address("[::1]:0").is_ok_and(|a| a.ip().is_loopback()));
        for wrong in ["", "8484", "example.com:80", "127.0.0.1:99999"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        let all: SocketAddr = SocketAddr::from(([0, 0, 0, 0], 80));
        assert_eq!(reachable(all).to_string(), "127.0.0.1:80");
    }
}
