//! The controller of this program, as embedded and process configure it.

use std::net::SocketAddr;

use function_kit::sections::function_key;
use keys::Invalid;
use serde_json::{Map, Value, json};

use super::driver::{Policies, RoutingService};
use crate::driver::Limitation;

/// Returns the keys of the controller, without its name.
pub(super) fn keys(service: &RoutingService, address: SocketAddr) -> Map<String, Value> {
    let Policies { import, export, .. } = &service.policies;
    let peer = |peer: &super::driver::RoutingPeer| {
        // One of another AS needs a policy in each direction (RFC 8212).
        let usual = (peer.asn != service.asn).then_some("accept");
        json!({
            "address": peer.address, "as": peer.asn, "client": peer.client, "passive": true,
            "import": import.as_deref().or(usual), "export": export.as_deref().or(usual),
        })
    };
    let families: Vec<String> = service.offered().iter().map(|family| family.to_string()).collect();
    let keys = json!({
        "as": service.asn,
        "identifier": service.identifier,
        "cluster": service.cluster,
        "client-to-client": service.client_to_client,
        "families": families,
        "hold-time-s": service.hold_time_s,
        "peers": service.peers.iter().map(peer).collect::<Vec<_>>(),
    });
    let mut all = keys.as_object().cloned().unwrap_or_default();
    if service.policies.all.is_array() {
        all.insert("policies".to_owned(), service.policies.all.clone());
    }
    if service.graceful_restart {
        // Some of the peers connect for the check alone.
        all.insert("graceful-restart".to_owned(), json!({"absent-s": ABSENT_S}));
    }
    let further = service.configuration.as_object().into_iter().flatten();
    all.extend(further.map(|(key, value)| (key.clone(), value.clone())));
    all.insert("listen".to_owned(), json!([address]));
    all
}

/// Checks the keys of the controller, and returns what it cannot do.
///
/// # Errors
/// The first key that it does not take.
pub(super) fn limitations(service: &RoutingService) -> Result<Vec<Limitation>, Invalid> {
    read(keys(service, SocketAddr::from(([127, 0, 0, 1], 179))))?;
    Ok(Vec::new())
}

/// Reads the keys of the controller.
///
/// # Errors
/// The first key that it does not take.
pub(super) fn read(
    keys: Map<String, Value>,
) -> Result<std::sync::Arc<dyn controllers::Configured>, Invalid> {
    let mut all = controllers::CONTROLLERS.iter();
    match all.find(|kind| kind.name() == NAME) {
        Some(kind) => kind.read(keys),
        None => Err(function_key("name", format!("there is no {NAME}"), "use another device")),
    }
}

/// For how long peers that are not back are waited for after a restart, in seconds.
const ABSENT_S: u16 = 5;

/// The name of the controller in configurations.
pub(super) const NAME: &str = "route-reflector";
