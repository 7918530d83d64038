//! What the kernel cannot do of a service, or does otherwise.

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Beyond, PoliceBy, Router, Service};

use super::options::Options;
use super::{access, bridge, gateway, nat};
use crate::driver::{self, Limitation, no_broadband, no_chain, refuse_beyond};

/// Returns what the kernel does differently of a service.
pub(super) fn limitations(
    service: &Service,
    options: &Options,
) -> Result<Vec<Limitation>, Invalid> {
    refuse_beyond("linux", service)?;
    let mut found = match service {
        Service::Bridge(bridge) => bridge::limitations(bridge),
        Service::Router(router) => of_router(router)?,
        Service::MobileGateway(gateway) => gateway::limitations(gateway, options)?,
        Service::Nat(translator) => nat::limitations(translator)?,
        Service::BroadbandGateway(_) => return Err(no_broadband()),
        Service::Chain(_) => return Err(no_chain()),
    };
    found.push(Limitation {
        what: "a link cannot carry frames shorter than an Ethernet header".to_owned(),
        verdicts: vec!["truncated"],
        ..Limitation::default()
    });
    if options.icmp {
        found.push(Limitation {
            what: "the kernel sends ICMP errors, which the tester counts as foreign frames"
                .to_owned(),
            verdicts: Vec::new(),
            ..Limitation::default()
        });
    }
    Ok(found)
}

fn of_router(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    if !router.vlans.is_empty() {
        let undone = Beyond { key: "interfaces[].vlan", what: "VLAN interfaces" };
        return Err(driver::undone("linux", undone));
    }
    if router.vrfs().len() > 1 {
        let undone = Beyond { key: "vrfs", what: "tables of VRFs, whose interfaces have VLANs" };
        return Err(driver::undone("linux", undone));
    }
    if router.access.police_by == Some(PoliceBy::Rule) {
        // In the check one packet of eight hundred passes, or not, against both oracles.
        let undone = Beyond { key: "police-by", what: "policers that rules choose" };
        return Err(driver::undone("linux", undone));
    }
    if router.routes.len() > ROUTES_MAX {
        let what = format!("{} routes are more than this device supports", router.routes.len());
        return Err(function_key("", what, &format!("use at most {ROUTES_MAX} routes")));
    }
    access::limitations(router)
}

/// Largest number of routes of both families; a million take about ten seconds and, for IPv6, about
/// a gigabyte.
const ROUTES_MAX: usize = 2_000_000;
