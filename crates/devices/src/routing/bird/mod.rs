//! BIRD as a route reflector: BGP alone, with nothing told to the kernel.

mod configuration;

use keys::Invalid;

use super::daemon::{self, Options};
use super::driver::{
    ORDER_OF_ROUTES, OWN_CLUSTER_OF_NON_CLIENTS, ROUTE_TARGET_CONSTRAINT, RoutingService, limited,
};
use super::foreign::{Foreign, Place, Prepared};
use crate::driver::{DriverError, Limitation};

/// The driver.
pub struct Bird;

impl Foreign for Bird {
    const NAME: &'static str = "bird";
    const SUMMARY: &'static str = "BIRD 2 as a route reflector, without the kernel";
    const PROGRAM: (&'static str, &'static str) = ("/usr/sbin/bird", "bird2");
    const VERSION: &'static str = "--version";
    type Keys = Options;

    fn limitations(service: &RoutingService, _: &Options) -> Result<Vec<Limitation>, Invalid> {
        let has = configuration::FAMILIES.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
        service.refuse_but("bird", &has)?;
        service.refuse_no_client_to_client("bird")?;
        // `deterministic med` would change that, and makes BIRD 2.0.12 prefer longer paths at
        // times.
        let order = "its decision about MEDs may depend on the order in which routes come";
        let cluster = "it takes routes of non-clients that have been in its cluster";
        let mut found =
            vec![limited(order, ORDER_OF_ROUTES), limited(cluster, OWN_CLUSTER_OF_NON_CLIENTS)];
        if service.route_target_constraint {
            found.push(limited("no route target constraint", ROUTE_TARGET_CONSTRAINT));
        }
        Ok(found)
    }

    fn prepare(
        service: &RoutingService,
        _: &Options,
        place: &Place<'_>,
    ) -> Result<Prepared, DriverError> {
        let text = configuration::text(service, place.address.port());
        let file = daemon::write(place.folder, "bird.conf", &text)?;
        let socket = place.folder.file("bird.ctl");
        // It has all its configuration before it listens.
        let prepared = Prepared::new(&[place.program, "-f", "-c", &file, "-s", &socket]);
        let recovers = service.graceful_restart.then(|| "-R".to_owned());
        Ok(Prepared { again: recovers.into_iter().collect(), ..prepared })
    }
}
