//! What is set below `/proc/sys` in the device's namespace, in the order in which it is set. A key
//! that this kernel does not have is left out, and the record lists those that were set.

use model_kit::service::Service;

/// Returns keys and values; those of `default` apply to interfaces that are created later.
pub(super) fn sysctls(service: &Service, icmp: bool) -> Vec<(String, &'static str)> {
    let is_bridge = matches!(service, Service::Bridge(_));
    let is_router = matches!(service, Service::Router(_));
    let mut keys: Vec<(String, &'static str)> = Vec::new();
    let mut set = |key: &str, value| keys.push((format!("net/{key}"), value));
    if is_bridge {
        // Nobody at home: the bridge's own interface has no addresses and says nothing.
        set("ipv6/conf/all/disable_ipv6", "1");
        set("ipv6/conf/default/disable_ipv6", "1");
        // IP in frames is not the bridge's business.
        set("bridge/bridge-nf-call-iptables", "0");
        set("bridge/bridge-nf-call-ip6tables", "0");
        set("bridge/bridge-nf-call-arptables", "0");
        return keys;
    }
    for scope in ["all", "default"] {
        let mut for_all = |key: &str, value| set(&key.replace('*', scope), value);
        // Sources are whatever the tester makes up.
        for_all("ipv4/conf/*/rp_filter", "0");
        for_all("ipv4/conf/*/accept_local", "1");
        for_all("ipv4/conf/*/log_martians", "0");
        if is_router {
            // An interface answers for its own addresses, not for those of others.
            for_all("ipv4/conf/*/arp_ignore", "1");
        }
        // A router that says nothing of itself.
        for_all("ipv4/conf/*/send_redirects", "0");
        for_all("ipv6/conf/*/accept_ra", "0");
        for_all("ipv6/conf/*/autoconf", "0");
        for_all("ipv6/conf/*/dad_transmits", "0");
        for_all("ipv6/conf/*/router_solicitations", "0");
        for_all("ipv6/conf/*/addr_gen_mode", "1");
        for_all("ipv6/conf/*/forwarding", "1");
        for_all("ipv4/conf/*/forwarding", "1");
    }
    if !icmp {
        set("ipv4/icmp_echo_ignore_all", "1");
        set("ipv6/icmp/echo_ignore_all", "1");
        set("ipv4/icmp_msgs_per_sec", "0");
        set("ipv4/icmp_msgs_burst", "0");
        // Not limited by the former, whatever its mask says: fragmentation needed.
        set("ipv4/icmp_ratelimit", ICMP_INTERVAL_MS);
        set("ipv6/icmp/ratelimit", ICMP_INTERVAL_MS);
        set("ipv6/icmp/ratemask", "0-255");
    }
    keys
}

/// Interval between two ICMP errors to the same host, in milliseconds: days.
const ICMP_INTERVAL_MS: &str = "1000000000";
