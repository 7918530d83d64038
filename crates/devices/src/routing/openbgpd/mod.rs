//! OpenBGPD as a route reflector, with a `/run` of its own.
//!
//! Its three processes below the first one live in `/run/openbgpd`, which nobody makes where no
//! service does. So it has a mount namespace of its own with an empty `/run`, which goes with it.

mod configuration;

use function_kit::sections::function_key;
use keys::Invalid;

use super::daemon::{self, Options};
use super::driver::{
    COMING_BACK, GRACEFUL_RESTART, OWN_AS, ROUTE_TARGET_CONSTRAINT, RoutingService, limited,
};
use super::foreign::{Foreign, Place, Prepared};
use crate::driver::{DriverError, Limitation, Unavailable};

/// The driver.
pub struct Openbgpd;

impl Foreign for Openbgpd {
    const NAME: &'static str = "openbgpd";
    const SUMMARY: &'static str = "OpenBGPD as a route reflector";
    const PROGRAM: (&'static str, &'static str) = ("/usr/sbin/bgpd", "openbgpd");
    const VERSION: &'static str = "-V";
    type Keys = Options;

    fn available() -> Result<(), Unavailable> {
        // FRR's daemon has the same name, and this one does not come with it.
        let tools = [daemon::SETPRIV, ("unshare", "util-linux"), ("mount", "mount")];
        daemon::installed(&[Self::PROGRAM, ("bgpctl", Self::PROGRAM.1)])?;
        daemon::installed(&tools)?;
        if !netns::may_make_namespaces() {
            return Err(Unavailable {
                why: "no right to make a namespace of mounts (CAP_SYS_ADMIN)".to_owned(),
                remedy: "run plumbline with sudo".to_owned(),
            });
        }
        Ok(())
    }

    fn limitations(service: &RoutingService, _: &Options) -> Result<Vec<Limitation>, Invalid> {
        service.refuse_but("openbgpd", configuration::FAMILIES)?;
        service.refuse_no_client_to_client("openbgpd")?;
        if service.hold_time_s == 0 {
            let what = "openbgpd has no sessions that last for ever".to_owned();
            return Err(function_key("hold-time-s", what, "set it to 3 or more"));
        }
        let what = "a peer whose session has ended is not heard for half a minute";
        let mut found = vec![
            limited(what, COMING_BACK),
            limited("it takes routes with its own AS in their path", OWN_AS),
        ];
        if service.route_target_constraint {
            found.push(limited("no route target constraint", ROUTE_TARGET_CONSTRAINT));
        }
        if service.graceful_restart {
            let what = "of graceful restart it has the end of tables alone";
            found.push(limited(what, GRACEFUL_RESTART));
        }
        Ok(found)
    }

    fn prepare(
        service: &RoutingService,
        _: &Options,
        place: &Place<'_>,
    ) -> Result<Prepared, DriverError> {
        let socket = place.folder.file("bgpd.sock");
        let text = configuration::text(service, place.address.port(), &socket);
        let file = daemon::write(place.folder, "bgpd.conf", &text)?;
        let own_run = ["unshare", "--mount", "sh", "-c", IN_OWN_RUN];
        let words = [&own_run[..], &[place.program, "-d", "-f", &file]].concat();
        Ok(Prepared { says: Some(CONFIGURED), ..Prepared::new(&words) })
    }
}

/// What its decision engine says last when it has its configuration. Its session engine listens
/// before that, and what comes then is told to others as by somebody who is no route reflector.
const CONFIGURED: &str = "RDE soft reconfiguration done";

/// Makes an empty `/run` with the folder in which its processes live, and becomes the daemon.
const IN_OWN_RUN: &str =
    "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/openbgpd && exec \"$0\" \"$@\"";
