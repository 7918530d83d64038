//! What a person sees.

use controller_routing::Routing;
use protocol_fpm::Fpm;
use serde_json::{Map, Value, json};

/// The connection, what was told, what the router has of it, and what was counted.
pub(crate) fn show(fpm: &Fpm, routing: &Routing) -> Value {
    let told = fpm.counters();
    let [routes, next_hops] = fpm.held();
    let mut counters = routing.counters();
    if let Some(swept) = counters.get_mut("swept") {
        *swept = (swept.as_u64().unwrap_or(0) + told.swept).into();
    }
    let mut shown = Map::new();
    shown.insert("is-connected".into(), fpm.is_connected().into());
    shown.insert("told".into(), json!({ "routes": routes, "next-hops": next_hops }));
    shown.extend(routing.show());
    shown.insert("counters".into(), counters.into());
    let fpm = json!({
        "connections": told.connections,
        "rejected": told.rejected,
        "malformed": told.malformed + told.malformed_header + told.malformed_length
            + told.malformed_messages,
        "unsupported": told.unsupported,
        "other": told.other,
        "unknown": told.unknown,
        "refused": told.refused_routes + told.refused_next_hops,
    });
    shown.insert("fpm".into(), fpm);
    Value::Object(shown)
}
