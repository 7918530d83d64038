//! FRR's bgpd as a route reflector, without zebra and the kernel (`bgpd -n -Z`).

mod configuration;

use std::path::PathBuf;

use keys::Invalid;
use protocol_bgp::families::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::daemon;
use super::driver::{ADDED_MED, OWN_ROUTES, ROUTE_TARGET_CONSTRAINT, RoutingService, limited};
use super::foreign::{Foreign, Keys, Place, Prepared};
use crate::driver::{DriverError, Limitation, device_key};

/// The driver.
pub struct Frr;

/// Keys of `device: {name: frr}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// The program to start; by default the installed one.
    pub program: Option<PathBuf>,
    /// How long bgpd waits for further peers before it tells the first of them its table, in
    /// milliseconds. Left out, bgpd's own: 1,000, and 50 more for each peer, up to 10,000.
    #[schemars(range(max = 4_294_967_295u32))]
    pub coalesce_time_ms: Option<u32>,
}

impl Keys for Options {
    fn program(&self) -> Option<&PathBuf> {
        self.program.as_ref()
    }
}

impl Foreign for Frr {
    const NAME: &'static str = "frr";
    const SUMMARY: &'static str = "FRR's bgpd as a route reflector, without zebra";
    // Another bgpd may be in the search path.
    const PROGRAM: (&'static str, &'static str) = ("/usr/lib/frr/bgpd", "frr");
    const VERSION: &'static str = "--version";
    type Keys = Options;

    /// `FRRouting 8.4.4` of `bgpd version 8.4.4`.
    fn version(line: String) -> String {
        line.rsplit_once(' ').map_or(line.clone(), |(_, number)| format!("FRRouting {number}"))
    }

    fn limitations(service: &RoutingService, keys: &Options) -> Result<Vec<Limitation>, Invalid> {
        service.refuse_but("frr", configuration::FAMILIES)?;
        let has = |family| service.families.contains(family);
        let pairs = [
            (Family::Ipv4Unicast, Family::Ipv4Labelled),
            (Family::Ipv6Unicast, Family::Ipv6Labelled),
        ];
        if let Some((one, other)) = pairs.into_iter().find(|(one, other)| has(*one) && has(*other))
        {
            let what = format!("bgpd has no `{one}` beside `{other}`");
            return Err(device_key("name", what, "leave one of them out of `families`"));
        }
        let mut found = vec![
            limited("it gives routes without a MED one of 0", ADDED_MED),
            limited("it may tell a client its own routes again", OWN_ROUTES),
        ];
        let wait_ms = keys.coalesce_time_ms.unwrap_or_else(|| usual_wait_ms(service));
        if wait_ms > 0 {
            let what = format!("it waits for {wait_ms} ms before it tells its first table");
            found.push(Limitation { what, ..Limitation::default() });
        }
        if service.route_target_constraint {
            found.push(limited("no route target constraint", ROUTE_TARGET_CONSTRAINT));
        }
        Ok(found)
    }

    fn prepare(
        service: &RoutingService,
        keys: &Options,
        place: &Place<'_>,
    ) -> Result<Prepared, DriverError> {
        let text = configuration::text(service, keys.coalesce_time_ms);
        let file = daemon::write(place.folder, "bgpd.conf", &text)?;
        let port = place.address.port().to_string();
        // `-S`: no other user, by which the kernel would forget that it ends with this process.
        // Without a log, as it has a line for each next hop of which it could not tell zebra.
        let words = [
            place.program,
            "-S",
            "-n",
            "-Z",
            "-l",
            "127.0.0.1",
            "-p",
            &port,
            "-P",
            "0",
            "-f",
            &file,
            "-i",
            &place.folder.file("bgpd.pid"),
            "--vty_socket",
            &place.folder.path().display().to_string(),
        ];
        // It reads its configuration before it takes connections.
        Ok(Prepared::new(&words))
    }
}

/// How long bgpd waits for further peers if it is told nothing about that.
fn usual_wait_ms(service: &RoutingService) -> u32 {
    let peers = u32::try_from(service.peers.len()).unwrap_or(u32::MAX);
    peers.saturating_mul(50).saturating_add(1000).min(10_000)
}
