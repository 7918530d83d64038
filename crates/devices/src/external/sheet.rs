//! The set-up sheet: what a box must be configured with to do what a function does, in human words,
//! a line each, so that a person or a script can follow it.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use model_kit::service::{
    Beyond, Bridge, BroadbandGateway, Gateway, GatewayTunnel, Interface, Nat, ReversePath, Router,
    Service, Vlan,
};

mod access;

/// Returns the set-up sheet of a service, with at most `lines_max` lines of each kind.
pub(super) fn sheet(service: &Service, lines_max: usize) -> String {
    let mut sheet = Sheet { text: String::new(), lines_max };
    match service {
        Service::Bridge(bridge) => sheet.bridge(bridge),
        Service::Router(router) => {
            sheet.say("The device is a router.");
            sheet.router(router);
            sheet.say("Other packets are dropped, if possible without ICMP errors.");
        }
        Service::MobileGateway(gateway) => sheet.gateway(gateway),
        Service::Nat(nat) => {
            sheet.say(
                "The device is a NAT that translates addresses and ports of subscribers \
                       behind port 0.",
            );
            sheet.nat(nat);
        }
        Service::BroadbandGateway(gateway) => {
            sheet.say("The device is a gateway of subscribers' lines behind port 0.");
            sheet.broadband(gateway);
        }
        Service::Chain(services) => {
            sheet.say(
                "The device passes packets from port 0 to port 1 through these functions in \
                       order:",
            );
            let parts = services.iter().map(|service| self::sheet(service, lines_max));
            parts.for_each(|part| sheet.text.push_str(&part));
        }
    }
    sheet.text
}

struct Sheet {
    text: String,
    lines_max: usize,
}

impl Sheet {
    fn nat(&mut self, nat: &Nat) {
        self.router(&nat.router);
        for (address, len) in &nat.inside {
            self.say(format_args!("Subscribers have addresses of {address}/{len}."));
        }
        for (address, len) in &nat.pools {
            self.say(format_args!("They share {address}/{len}, ports from {}.", nat.first_port));
        }
        for (inside, outside, len) in &nat.one_to_one {
            self.say(format_args!("{inside}/{len} is translated to {outside}/{len}, one to one."));
        }
        let [udp, established, syn, transitory, icmp] = nat.timeouts_s;
        self.say(format_args!(
            "Sessions time out after {udp} s (UDP), {established} s (TCP, established), {syn} s \
             (TCP, opening), {transitory} s (TCP, closing) and {icmp} s (ICMP) without packets; \
             capacity {}.",
            nat.sessions
        ));
    }

    fn say(&mut self, line: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// Adds a line for each item up to the maximum, and the number of the remaining ones.
    fn each<T>(&mut self, items: &[T], line: impl Fn(usize, &T) -> String) {
        for (index, item) in items.iter().take(self.lines_max).enumerate() {
            self.say(line(index, item));
        }
        if items.len() > self.lines_max {
            let more = items.len() - self.lines_max;
            self.say(format_args!("… and {more} more (`sheet: FILE` writes all of them)"));
        }
    }

    fn bridge(&mut self, bridge: &Bridge) {
        self.say(format_args!("The device is a bridge with {} ports.", bridge.ports));
        if let Some(sources) = &bridge.patch {
            self.say("Every frame that arrives at one of the two ports leaves by the other.");
            for (port, source) in sources.iter().enumerate() {
                if let Some(source) = source {
                    self.say(format_args!(
                        "Frames that leave by port {port} have the source \
                                           address {source}"
                    ));
                }
            }
            self.beyond(&bridge.beyond);
            return;
        }
        match bridge.ageing_s {
            Some(ageing) => self.say(format_args!(
                "It learns stations, with an ageing time of \
                                                   {ageing} s."
            )),
            None => self.say("It does not learn stations."),
        }
        let unknown = if bridge.floods { "sent out of all other ports" } else { "dropped" };
        self.say(format_args!("Frames for unknown stations are {unknown}."));
        self.each(&bridge.stations, |_, (mac, port)| format!("Station {mac} port {}", port.0));
        self.beyond(&bridge.beyond);
    }

    /// Adds the keys that the sheet cannot express, as they are in the scenario.
    fn beyond(&mut self, all: &[Beyond]) {
        for Beyond { key, what } in all {
            self.say(format_args!("According to the scenario's key `{key}`: {what}"));
        }
    }

    fn router(&mut self, router: &Router) {
        for (port, interface) in router.interfaces.iter().enumerate() {
            let mut line = format!("Interface port {port} mac {}", interface.mac);
            if let Some((address, len)) = interface.ipv4 {
                line += &format!(" address {address}/{len}");
            }
            if let Some((address, len)) = interface.ipv6 {
                line += &format!(" address {address}/{len}");
            }
            line += &in_vrf(interface.vrf);
            line += asks(interface);
            self.say(line);
        }
        self.each(&router.vlans, |_, Vlan { port, vlan, interface }| {
            let mut line = format!("Interface port {} VLAN {vlan} mac {}", port.0, interface.mac);
            if let Some((address, len)) = interface.ipv4 {
                line += &format!(" address {address}/{len}");
            }
            if let Some((address, len)) = interface.ipv6 {
                line += &format!(" address {address}/{len}");
            }
            line + &in_vrf(interface.vrf) + asks(interface)
        });
        self.each(&router.next_hops, |index, hop| {
            let addresses = [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
            let vlan = hop.vlan.map_or(String::new(), |vlan| format!(" VLAN {vlan}"));
            let mut line = format!("Neighbour {index} port {}{vlan} mac {}", hop.port.0, hop.mac);
            for address in addresses.into_iter().flatten() {
                line += &format!(" address {address}");
            }
            if let Some(source) = hop.source {
                line += &format!("~ frames to it have the source address {source}");
            }
            line
        });
        self.each(&router.routes, |_, route| {
            let vrf = in_vrf(route.vrf);
            format!("Route {}/{}{vrf} to neighbour {}", route.prefix, route.len, route.next_hop)
        });
        self.access(&router.access);
        self.beyond(&router.beyond);
    }

    fn broadband(&mut self, gateway: &BroadbandGateway) {
        self.router(&gateway.router);
        self.each(&gateway.sessions, |_, session| {
            let mut line = format!("Session mac {}", session.mac);
            let vlans = [("VLAN", session.vlans.0), ("inner VLAN", session.vlans.1)];
            for (word, vlan) in vlans {
                line += &vlan.map_or(String::new(), |vlan| format!(" {word} {vlan}"));
            }
            line += &session.pppoe.map_or(String::new(), |id| format!(" PPPoE session {id}"));
            line += &session.ipv4.map_or(String::new(), |address| format!(" address {address}"));
            line += &session.ipv6.map_or(String::new(), |address| format!(" address {address}"));
            if let Some((prefix, len)) = session.prefix {
                line += &format!(" prefix {prefix}/{len}");
            }
            line
        });
        self.say("Packets of a session whose source is none of its addresses are dropped.");
    }

    fn gateway(&mut self, gateway: &Gateway) {
        let tunnel = match gateway.tunnel {
            GatewayTunnel::GtpU => "GTP-U (UDP port 2152), identified by TEID".to_owned(),
            GatewayTunnel::Vxlan { down: [source, destination] } => format!(
                "VXLAN (UDP port 4789), identified by VNI; inner frames to users from {source} to \
                 {destination}"
            ),
        };
        self.say("The device is the user plane of a mobile gateway.");
        self.say(format_args!("Tunnels are {tunnel}"));
        self.say(format_args!("Tunnels end at address {}", gateway.address));
        self.say(format_args!(
            "Each user is limited to {} byte/s per direction, with a burst of {} bytes",
            gateway.rate_bytes_per_s, gateway.burst_bytes
        ));
        self.router(&gateway.router);
        self.each(&gateway.users, |_, user| {
            let mut line = format!("User {} tunnel {}", user.ipv4, user.teid);
            line += &format!(" base station {}", user.base_station);
            if let Some(prefix) = user.ipv6_prefix {
                let network = Ipv6Addr::from_bits(u128::from(prefix) << 64);
                line += &format!(" prefix {network}/64");
            }
            line
        });
        self.say("Packets in a tunnel whose source address is not that of its user are dropped.");
    }
}

/// Names a VRF that is not the main one.
fn in_vrf(vrf: u16) -> String {
    if vrf > 0 { format!(" VRF {vrf}") } else { String::new() }
}

/// Describes the source address check of an interface.
fn asks(interface: &Interface) -> &'static str {
    match interface.reverse_path {
        ReversePath::None => "",
        ReversePath::Loose => "~ accepts only packets whose source has a route (loose uRPF)",
        ReversePath::Strict => {
            "~ accepts only packets whose source has a route by this interface (strict uRPF)"
        }
    }
}

#[cfg(test)]
mod tests {
    use model_kit::service::BroadbandSession;
    use packet::PortId;
    use wire::MacAddr;

    use super::*;

    #[test]
    fn what_a_person_must_tell_the_box_is_on_the_sheet() {
        let own = Interface {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ipv4: Some(("10.0.0.1".parse().expect("an address"), 24)),
            ipv6: None,
            reverse_path: ReversePath::Loose,
            vrf: 0,
        };
        let behind = Interface { reverse_path: ReversePath::Strict, ..own.clone() };
        let router = Router {
            interfaces: vec![own],
            vlans: vec![Vlan { port: PortId(0), vlan: 7, interface: behind }],
            beyond: vec![Beyond { key: "ingress-acl", what: "an access list" }],
            ..Router::default()
        };
        let text = sheet(&Service::Router(router), 10);
        for words in ["(loose uRPF)", "port 0 VLAN 7 mac", "(strict uRPF)", "key `ingress-acl`"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let bridge = Bridge {
            ports: 2,
            patch: Some([None, None]),
            beyond: vec![Beyond { key: "acl", what: "access lists" }],
            ..Bridge::default()
        };
        assert!(sheet(&Service::Bridge(bridge), 10).contains("key `acl`"));
    }

    #[test]
    fn a_session_is_on_the_sheet_with_its_line_and_addresses() {
        let session = BroadbandSession {
            vlans: (Some(100), Some(7)),
            mac: MacAddr([2, 0, 0, 0, 0, 9]),
            pppoe: Some(77),
            ipv4: Some("10.0.0.9".parse().expect("an address")),
            ipv6: Some("3fff::9".parse().expect("an address")),
            prefix: Some(("3fff:0:9::".parse().expect("a prefix"), 56)),
        };
        let sessions = vec![session, BroadbandSession { vlans: (None, None), ..session }];
        let gateway = BroadbandGateway { sessions, ..BroadbandGateway::default() };
        let text = sheet(&Service::BroadbandGateway(gateway), 1);
        let line = "Session mac 02:00:00:00:00:09 VLAN 100 inner VLAN 7 PPPoE session 77 address \
                    10.0.0.9 address 3fff::9 prefix 3fff:0:9::/56";
        assert!(text.contains(line) && text.contains("1 more"), "{text}");
    }
}
