//! A bridge as flows: stations in a table, learning by flows that make flows, or a patch.

use model_kit::service::Bridge as Service;

use super::bridges::{Bridge, BridgePort, Plan, number};
use crate::driver::Limitation;

/// Returns the plan of a bridge.
pub(super) fn plan(service: &Service, ports: Vec<BridgePort>) -> Plan {
    let mut bridge = Bridge::new(NAME, ports);
    match &service.patch {
        Some(sources) => {
            for (from, to) in [(0, 1), (1, 0)] {
                let source = sources[to].map_or(String::new(), |mac| format!("mod_dl_src:{mac},"));
                let (from, to) = (number(from), number(to));
                bridge.flow(format_args!("in_port={from},actions={source}output:{to}"));
            }
        }
        None => by_address(service, &mut bridge),
    }
    Plan { bridges: vec![bridge], ..Plan::default() }
}

fn by_address(service: &Service, bridge: &mut Bridge) {
    // IEEE 802.1Q, table 8-1: addresses that no bridge forwards. A group is no source, nor is zero.
    bridge.flow(format_args!(
        "table=0,priority=30,dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0,actions=drop"
    ));
    bridge.flow(format_args!(
        "table=0,priority=30,dl_src=01:00:00:00:00:00/01:00:00:00:00:00,actions=drop"
    ));
    bridge.flow(format_args!("table=0,priority=30,dl_src=00:00:00:00:00:00,actions=drop"));
    let to = FORWARDING;
    let learn = match service.ageing_s {
        Some(seconds) => {
            let ageing = ageing_s(seconds);
            format!(
                "learn(table={to},priority=10,hard_timeout={ageing},\
                 NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),"
            )
        }
        None => String::new(),
    };
    bridge.flow(format_args!("table=0,priority=10,actions={learn}goto_table:{to}"));
    for (mac, port) in &service.stations {
        let port = number(usize::from(port.0));
        if service.ageing_s.is_some() {
            // What is configured is not learned anew elsewhere.
            bridge.flow(format_args!("table=0,priority=20,dl_src={mac},actions=goto_table:{to}"));
        }
        bridge.flow(format_args!("table={to},priority=20,dl_dst={mac},actions=output:{port}"));
    }
    if service.floods {
        let all: Vec<String> = (0..usize::from(service.ports))
            .map(|port| format!("output:{}", number(port)))
            .collect();
        bridge.flow(format_args!("table={to},priority=1,actions={}", all.join(",")));
    }
}

/// Returns what the switch does differently of a bridge.
pub(super) fn limitations(service: &Service) -> Vec<Limitation> {
    let mut found = Vec::new();
    if let Some(seconds) = service.ageing_s {
        let what = format!(
            "stations are flows that the switch creates at their first frame, and that age out \
             after {} whole seconds, up to a second late",
            ageing_s(seconds)
        );
        found.push(Limitation { what, verdicts: Vec::new(), ..Limitation::default() });
        found.push(Limitation {
            what: "a move of a station takes effect when the switch revalidates its cache, up to \
                   half a second later"
                .to_owned(),
            verdicts: vec!["same-port"],
            ..Limitation::default()
        });
    }
    found
}

/// Returns a time in whole seconds, as flows count them; at least one.
fn ageing_s(seconds: f64) -> u16 {
    seconds.round().clamp(1.0, f64::from(u16::MAX)) as u16
}

const NAME: &str = "bridge";
const FORWARDING: u8 = 1;
