//! GoBGP as a route reflector, without zebra.

mod configuration;

use std::process::Command;

use function_kit::sections::function_key;
use keys::Invalid;

use super::daemon::{self, Options};
use super::driver::{
    FULL_TABLE, NO_ADVERTISE, NON_CLIENTS, ORDER_OF_ROUTES, OWN_AS, OWN_CLUSTER, OWN_ORIGINATOR,
    PARTIAL_BIT, RoutingService, limited,
};
use super::foreign::{Foreign, Place, Prepared};
use crate::driver::{DriverError, Limitation, Unavailable};

/// The driver.
pub struct Gobgp;

impl Foreign for Gobgp {
    const NAME: &'static str = "gobgp";
    const SUMMARY: &'static str = "GoBGP as a route reflector";
    const PROGRAM: (&'static str, &'static str) = ("/usr/bin/gobgpd", "gobgpd");
    const VERSION: &'static str = "--version";
    type Keys = Options;

    fn available() -> Result<(), Unavailable> {
        daemon::installed(&[Self::PROGRAM, CONTROL, daemon::SETPRIV])
    }

    fn limitations(service: &RoutingService, _: &Options) -> Result<Vec<Limitation>, Invalid> {
        service.refuse_but("gobgp", configuration::FAMILIES)?;
        service.refuse_no_client_to_client("gobgp")?;
        if service.kinds().iter().any(|kind| kind.is_external) {
            let what = "gobgp would tell a peer of another AS its own address as next hop";
            return Err(function_key("peers", what.to_owned(), "use another device for them"));
        }
        let what = "GoBGP 3.10 may never tell all of a table of hundreds of thousands of routes";
        let order = "its decision about MEDs may depend on the order in which routes come";
        let non_clients = "it tells non-clients routes without ORIGINATOR_ID and CLUSTER_LIST, and \
                           leaves them with routes that are the best no more";
        Ok(vec![
            limited(what, FULL_TABLE),
            limited("a route with its own AS in its path leaves the one before it", OWN_AS),
            limited("a route with its own ORIGINATOR_ID leaves the one before it", OWN_ORIGINATOR),
            limited("it takes routes that have been in its cluster", OWN_CLUSTER),
            limited(order, ORDER_OF_ROUTES),
            limited("it tells routes with NO_ADVERTISE", NO_ADVERTISE),
            limited("it does not set the partial bit of what it does not know", PARTIAL_BIT),
            limited(non_clients, NON_CLIENTS),
        ])
    }

    fn prepare(
        service: &RoutingService,
        _: &Options,
        place: &Place<'_>,
    ) -> Result<Prepared, DriverError> {
        let text = configuration::text(service, place.address.port());
        let file = daemon::write(place.folder, "gobgpd.toml", &text)?;
        let control = format!("unix://{}", place.folder.file(SOCKET));
        let quiet = ["-l", "error", "-p", "--pprof-disable"];
        let words = [&[place.program, "-f", &file], &quiet[..], &["--api-hosts", &control]];
        let restarts = service.graceful_restart.then(|| "-r".to_owned());
        let count = service.peers.len();
        let prepared = Prepared::new(&words.concat());
        Ok(Prepared {
            again: restarts.into_iter().collect(),
            knows_peers: Box::new(move || known_peers(&control) >= count),
            ..prepared
        })
    }
}

/// Returns the number of peers that a daemon knows: it takes them in while it listens already.
fn known_peers(control: &str) -> usize {
    let said = Command::new(CONTROL.0).args(["--target", control, "neighbor"]).output();
    said.map_or(0, |said| String::from_utf8_lossy(&said.stdout).lines().skip(1).count())
}

/// The socket by which it is asked.
const SOCKET: &str = "gobgpd.sock";

/// What asks it, and its package.
const CONTROL: (&str, &str) = ("gobgp", "gobgpd");
