//! What VPP cannot do of a service, or does otherwise.

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Beyond, Bridge, Interface, ReversePath, Router, Service};

use crate::driver::{self, Limitation, no_broadband, no_chain, refuse_beyond};

/// Returns what VPP does differently of a service.
pub(super) fn limitations(service: &Service) -> Result<Vec<Limitation>, Invalid> {
    refuse_beyond("vpp", service)?;
    match service {
        Service::Bridge(bridge) => of_bridge(bridge),
        Service::Router(router) => of_router(router),
        Service::MobileGateway(_) => Err(no_gateway()),
        Service::Nat(_) => Err(no_nat()),
        Service::BroadbandGateway(_) => Err(no_broadband()),
        Service::Chain(_) => Err(no_chain()),
    }
}

fn of_router(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    let asks = |one: &Interface| one.reverse_path != ReversePath::None;
    let has_source = router.next_hops.iter().any(|hop| {
        let own = router.interfaces.get(usize::from(hop.port.0)).map(|interface| interface.mac);
        hop.source.is_some() && hop.source != own
    });
    let beyond = Beyond::of(&[
        ("interfaces[].vlan", "VLAN interfaces", !router.vlans.is_empty()),
        ("vrfs", "tables of VRFs", router.vrfs().len() > 1),
        ("ingress-acl", "access lists", !router.access.ingress.is_empty()),
        ("egress-acl", "access lists of what leaves", !router.access.egress.is_empty()),
        ("police-by", "policers", router.access.police_by.is_some()),
        ("interfaces[].urpf", "a route to the source", router.interfaces.iter().any(asks)),
        ("next-hops[].source", "source addresses by next hop", has_source),
    ]);
    if let Some(&first) = beyond.first() {
        return Err(driver::undone("vpp", first));
    }
    if router.routes.len() > ROUTES_MAX {
        let what = format!("{} routes are more than this device supports", router.routes.len());
        return Err(function_key("", what, &format!("use at most {ROUTES_MAX} routes")));
    }
    Ok(vec![Limitation {
        what: "VPP answers no ARP request whose sender is another station than the frame's"
            .to_owned(),
        steps: vec!["an ARP request from another station than its sender"],
        ..Limitation::default()
    }])
}

fn of_bridge(bridge: &Bridge) -> Result<Vec<Limitation>, Invalid> {
    if let Some(patch) = &bridge.patch {
        return match patch {
            [None, None] => Ok(Vec::new()),
            _ => Err(function_key(
                "",
                "vpp's cross-connect writes no source addresses into frames".to_owned(),
                "leave the function's source addresses out",
            )),
        };
    }
    let one = |what: &str, verdict| Limitation {
        what: what.to_owned(),
        verdicts: vec![verdict],
        ..Limitation::default()
    };
    let mut found = vec![
        one("VPP forwards frames whose source is a group or no address", "invalid-source"),
        one(
            "VPP forwards frames for addresses that bridges keep (IEEE 802.1D)",
            "reserved-address",
        ),
    ];
    if bridge.ageing_s.is_some() {
        found.push(Limitation {
            what: "VPP ages stations in whole minutes".to_owned(),
            ..Limitation::default()
        });
    }
    Ok(found)
}

/// Returns the error for a mobile gateway.
pub(super) fn no_gateway() -> Invalid {
    let what =
        "vpp's GTP-U tunnels do not check that a packet's source is the user of its tunnel, \
                and have no policers for users"
            .to_owned();
    function_key("", what, "use embedded, process, linux or ovs for mobile-gateway")
}

fn no_nat() -> Invalid {
    let what = "vpp's nat44-ed chooses an outside port for each session, which is no \
                endpoint-independent mapping (RFC 4787 REQ-1)"
        .to_owned();
    function_key("", what, "use embedded, process or linux for cgnat")
}

/// Largest number of routes of both families.
const ROUTES_MAX: usize = 1_000_000;
