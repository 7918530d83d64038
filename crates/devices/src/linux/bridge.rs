//! A bridge as the kernel's bridge; two ports that are simply joined, as two rules.

use model_kit::service::Bridge;
use wire::MacAddr;

use super::commands::{Plan, line};
use crate::driver::Limitation;

/// Adds a bridge between these interfaces to the plan.
pub(super) fn plan(plan: &mut Plan, bridge: &Bridge, names: &[&str]) {
    for (port, name) in names.iter().enumerate() {
        // A bridge takes frames for its ports' own addresses in: theirs are nobody's.
        let own = MacAddr([0x0e, 0x70, 0x6c, 0, 0, port as u8]);
        line(&mut plan.links, format_args!("link set {name} address {own}"));
    }
    if let (Some(sources), [one, other]) = (&bridge.patch, names) {
        patch(plan, sources, [one, other]);
        return;
    }
    // In hundredths of a second (man ip-link).
    let ageing = (bridge.ageing_s.unwrap_or_default() * 100.0).round() as u64;
    let (links, stations) = (&mut plan.links, &mut plan.stations);
    line(
        links,
        format_args!(
            "link add {BRIDGE} address 0e:70:6c:00:00:ff type bridge stp_state 0 forward_delay 0 \
             mcast_snooping 0 ageing_time {}",
            ageing.max(1)
        ),
    );
    line(links, format_args!("link set {BRIDGE} addrgenmode none arp off"));
    let learns = on(bridge.ageing_s.is_some());
    let floods = on(bridge.floods);
    for name in names {
        line(links, format_args!("link set {name} master {BRIDGE}"));
        let flags = format_args!(
            "link set dev {name} learning {learns} flood {floods} mcast_flood {floods} bcast_flood on"
        );
        line(stations, flags);
    }
    line(links, format_args!("link set {BRIDGE} up"));
    for (mac, port) in &bridge.stations {
        if let Some(name) = names.get(usize::from(port.0)) {
            line(stations, format_args!("fdb replace {mac} dev {name} master static"));
            plan.expected.stations += 1;
        }
    }
    plan.expected.interfaces.push(BRIDGE.to_owned());
}

/// Adds rules that forward every frame of one port to the other.
fn patch(plan: &mut Plan, sources: &[Option<MacAddr>; 2], names: [&str; 2]) {
    let mut chain = |from: usize, to: usize| {
        let [name, other] = [names[from], names[to]];
        let rewrite = match sources[to] {
            Some(source) => format!("ether saddr set {source} "),
            None => String::new(),
        };
        let rule = format_args!(
            "chain from{from} {{ type filter hook ingress device \"{name}\" priority 0; \
             {rewrite}fwd to \"{other}\"\n}}"
        );
        line(&mut plan.nft, rule);
    };
    chain(0, 1);
    chain(1, 0);
    plan.nft = format!("table netdev patch {{\n{}}}\n", plan.nft);
}

/// Returns what the kernel's bridge does differently.
pub(super) fn limitations(bridge: &Bridge) -> Vec<Limitation> {
    let mut found = Vec::new();
    if bridge.patch.is_some() {
        return found;
    }
    if bridge.ageing_s.is_some() {
        found.push(Limitation {
            what: "the kernel ages stations periodically, up to a tenth of the ageing time late"
                .to_owned(),
            verdicts: Vec::new(),
            ..Limitation::default()
        });
    }
    found
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// Name of the bridge's own interface.
pub(super) const BRIDGE: &str = "bridge0";
