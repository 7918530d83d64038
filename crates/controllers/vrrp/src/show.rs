//! What a person sees.

use protocol_kit::{Neighbour, Time};
use protocol_vrrp::{State, Vrrp};
use serde_json::{Value, json};

use crate::places::{Place, Places};
use crate::router::Router;
use crate::tracked::Object;

/// Each virtual router, what is tracked and whether it works, whether the function has all that
/// another instance has, and what became of advertisements; addresses that the router did not take,
/// and what workers told in vain.
pub(crate) fn show<'a>(
    vrrp: &Vrrp,
    places: &Places,
    (routers, now): (&[Router], Time),
    (tracked, is_synchronised, (refused, missed)): (
        impl Iterator<Item = (&'a Object, bool)>,
        Option<bool>,
        (u64, u64),
    ),
) -> Value {
    let counters = vrrp.counters();
    let routers = (0..).zip(places.all.iter().zip(routers));
    let routers = routers.filter(|(_, (place, _))| !place.is_retired);
    let object = |(object, works): (&Object, bool)| match object {
        Object::Interface(name) => json!({"interface": name, "works": works}),
        Object::NextHop(number) => json!({"next-hop": number, "works": works}),
        Object::Route(route, vrf) => {
            json!({"route": String::from(*route), "vrf": vrf, "works": works})
        }
    };
    json!({
        "synchronised": is_synchronised,
        "tracked": tracked.map(object).collect::<Vec<_>>(),
        "routers": routers.map(|(number, of)| router(vrrp, number, of, now)).collect::<Vec<_>>(),
        "counters": {
            "received": counters.received,
            "differing": counters.differing,
            "sent": counters.sent,
            "announced": counters.announced,
            "malformed": counters.malformed,
            "checksum": counters.checksum,
            "ttl": counters.ttl,
            "version": counters.version,
            "destination": counters.destination,
            "unknown": counters.unknown,
            "stranger": counters.stranger,
            "looped": counters.looped,
            "idle": counters.idle,
            "refused": refused,
            "missed": missed,
        },
    })
}

/// The routers that were heard, each of the virtual router that it takes part in.
pub(crate) fn neighbours(
    vrrp: &Vrrp,
    places: &Places,
    (routers, now): (&[Router], Time),
) -> Vec<Neighbour> {
    let heard = |(number, (place, router)): (u32, (&Place, &Router))| {
        let heard = vrrp.view(number)?.heard?;
        // Who was heard last while this router is the active one has ceased to be.
        let state = if router.state == State::Backup { "active" } else { "silent" };
        let vrid = place.key().vrid;
        Some(Neighbour {
            protocol: "vrrp",
            interface: place.name.clone(),
            address: heard.to_string(),
            state: state.to_owned(),
            since: Some(now.since(router.since)),
            detail: format!("virtual router {vrid}: this router is {}", word(router.state)),
        })
    };
    (0..).zip(places.all.iter().zip(routers)).filter_map(heard).collect()
}

fn word(state: State) -> &'static str {
    match state {
        State::Initialize => "initialize",
        State::Backup => "backup",
        State::Active => "active",
    }
}

fn router(vrrp: &Vrrp, number: u32, (place, router): (&Place, &Router), now: Time) -> Value {
    let view = vrrp.view(number);
    json!({
        "interface": place.name,
        "vrid": place.key().vrid,
        "mac": place.key().mac().to_string(),
        "addresses": place.addresses(),
        "group": place.group(),
        "state": word(router.state),
        "reason": router.reason.map(|reason| format!("{reason:?}")),
        "for-s": now.since(router.since).as_secs(),
        "activations": router.activations,
        "priority": view.map(|view| view.priority),
        "heard": view.and_then(|view| view.heard),
        "down-interval-ms": view.map(|view| view.down_interval.as_millis() as u64),
        "is-split": view.is_some_and(|view| view.is_split),
    })
}
