//! What the kernel cannot do of a service, or does otherwise.

use functions::service::{Beyond, Router, Service};

use super::options::Options;
use super::{bridge, gateway, nat};
use crate::driver::{DriverError, Limitation, refuse_beyond};

/// What of a service the kernel does otherwise.
pub(super) fn limitations(
    service: &Service,
    options: &Options,
) -> Result<Vec<Limitation>, DriverError> {
    refuse_beyond("linux", service)?;
    let mut found = match service {
        Service::Bridge(bridge) => bridge::limitations(bridge),
        Service::Router(router) => of_router(router)?,
        Service::MobileGateway(gateway) => gateway::limitations(gateway, options)?,
        Service::Nat(translator) => nat::limitations(translator)?,
        Service::Chain(_) => return Err(DriverError::no_chain()),
    };
    found.push(Limitation {
        what: "a link carries no frame shorter than an Ethernet header".to_owned(),
        verdicts: vec!["truncated"],
        ..Limitation::default()
    });
    if options.icmp {
        found.push(Limitation {
            what:
                "the kernel answers with ICMP errors, which the tester counts as frames of nobody"
                    .to_owned(),
            verdicts: Vec::new(),
            ..Limitation::default()
        });
    }
    Ok(found)
}

fn of_router(router: &Router) -> Result<Vec<Limitation>, DriverError> {
    if !router.vlans.is_empty() {
        let undone = Beyond { key: "interfaces[].vlan", what: "interfaces by VLAN" };
        return Err(DriverError::undone("linux", undone));
    }
    if router.routes.len() > ROUTES_MAX {
        let what = format!("{} routes are more than the kernel is given", router.routes.len());
        return Err(DriverError::new(what, format!("use at most {ROUTES_MAX} routes")));
    }
    Ok(Vec::new())
}

/// Routes of both families; a million take some ten seconds and, of IPv6, about a gigabyte.
const ROUTES_MAX: usize = 2_000_000;
