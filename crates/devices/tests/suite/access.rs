//! Access lists, policers, VLANs and VRFs of the kernel and of Open vSwitch against the oracle,
//! over real ports. Without the right to make namespaces or the programs nothing is tested.

use model_kit::Configured;
use models::l3_router::{L3Router, Traffic};
use serde_json::{Value, json};

use super::linux::host;
use devices::registry;
use devices::remote::Remote;

/// Sets a device up with a router's keys, compares it with the oracle, and returns how many frames
/// met each verdict, and how many frames the device's own counters say it dropped.
fn checked(device: &str, keys: Value, extra: &Value) -> Option<(Value, Vec<(String, u64)>)> {
    let driver = registry::find(device).and_then(|device| device.driver).expect("registered");
    if let Err(error) = driver.available() {
        eprintln!("skipped: {error}; {}", error.remedy);
        return None;
    }
    let mut section = router();
    for keys in [&keys, extra] {
        for (key, value) in keys.as_object().into_iter().flatten() {
            section[key] = value.clone();
        }
    }
    let section = serde_json::from_value(section).expect("keys of a router");
    let model = Configured::<L3Router>::new(section, Traffic::default()).expect("valid");
    let options = json!({"ports": {"type": "af-packet", "ring": "frames"}});
    let options = options.as_object().cloned().expect("an object");
    let opened = Remote::open(driver, model, options, host());
    let mut opened = opened.unwrap_or_else(|error| panic!("{error}; {}", error.remedy));
    let check = opened.check().expect("a check");
    let drops = opened.usage().drops;
    assert!(check.passed, "{device}: {:#?}\n{drops:?}\n{:#?}", check.mismatches, check.limitations);
    let coverage = check.coverage.iter().map(|one| (one.name.clone(), json!(one.frames)));
    let coverage = Value::Object(coverage.collect());
    eprintln!("{device}: {} frames {coverage} {:#?} {drops:?}", check.frames, check.limitations);
    Some((coverage, drops))
}

/// A router with routes to the networks to which the sample sends.
fn router() -> Value {
    json!({
        "ipv6": true,
        "upstream-l3-table-size": 20,
        "next-hops": [
            {"port": "uplink", "mac": "02:00:00:00:00:03"},
            {"port": "downlink", "mac": "02:00:00:00:00:01"},
        ],
        "routes": [
            {"prefix": "198.19.0.0/16", "next-hop": 0},
            {"prefix": "3fff:ffe::/32", "next-hop": 0},
            {"prefix": "192.88.0.0/16", "next-hop": 1},
        ],
    })
}

/// Rules of every kind, each of which decides of frames of the sample.
fn rules(way: &str) -> Value {
    json!([
        {"action": "deny", "source": "198.18.0.0/15", "dscp": 46, "protocol": 17,
            "destination-ports": [9, 300]},
        {"action": "permit", "protocol": 1, "icmp-type": 156, "icmp-code": 64},
        {"action": "deny", "protocol": 6, "tcp-flags": "rst,!syn"},
        {"action": "deny", "protocol": 6, "tcp-flags": "syn,!ack", "destination": "198.19.0.0/16"},
        {"action": "deny", "fragment": "first", "protocol": 17},
        {"action": "permit", "source-ports": [39_999, 40_000], "destination-ports": [1, 255]},
        {"action": "deny", "fragment": "later", "source": "198.18.1.1/32"},
        {"action": "deny", "port": way, "destination-ports": [0, 65_535]},
        {"action": "permit", "destination": "3fff:ffe:1::9/128", "protocol": 17},
        {"action": "deny", "protocol": 58},
        {"action": "deny", "destination": "2001:db8::/32", "destination-ports": 80},
        {"action": "deny", "fragment": "any", "protocol": 6},
        {"action": "permit", "vlan": 7},
        {"action": "deny", "source": "10.0.0.0/8"},
        {"action": "permit", "vlan": 0, "fragment": "none"},
        {"action": "permit", "protocol": 17},
    ])
}

fn reached(coverage: &Value, verdict: &str) -> u64 {
    coverage[verdict].as_u64().unwrap_or(0)
}

/// As many frames as the oracle expected were dropped for a reason, by the device's own counter.
fn counted(drops: &[(String, u64)], name: &str) -> u64 {
    drops.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count)
}

#[test]
fn lists_of_what_comes_in_do_what_the_oracle_says() {
    for device in ["linux", "ovs"] {
        let keys = json!({"ingress-acl": rules("uplink"), "acl-generated": 20});
        let Some((coverage, drops)) = checked(device, keys, &Value::Null) else { continue };
        assert!(reached(&coverage, "acl-ingress") > 100, "{device}: {coverage}");
        assert!(reached(&coverage, "forward-uplink") > 200, "{device}: {coverage}");
        if device == "linux" {
            assert!(reached(&coverage, "acl-unreadable") > 0, "{coverage}");
            for (verdict, counter) in
                [("acl-ingress", "acl_ingress"), ("acl-unreadable", "acl_unreadable")]
            {
                let own = counted(&drops, &format!("nftables {counter}"));
                assert_eq!(own, reached(&coverage, verdict), "{verdict}: {drops:?}");
            }
        }
    }
}

#[test]
fn lists_of_what_leaves_do_what_the_oracle_says() {
    for device in ["linux", "ovs"] {
        let keys = json!({"egress-acl": rules("uplink"),
            "ingress-acl": [{"action": "permit"}]});
        let Some((coverage, _)) = checked(device, keys, &Value::Null) else { continue };
        assert!(reached(&coverage, "acl-egress") > 100, "{device}: {coverage}");
        assert_eq!(reached(&coverage, "acl-ingress"), 0, "{device}: {coverage}");
    }
}

/// A bucket that some frames empty, and that no time fills: what is decided is no clock's matter.
fn policer(burst: u64) -> Value {
    json!({"algorithm": "rfc4115", "committed-rate": 8, "committed-burst": burst})
}

#[test]
fn policers_of_the_kernel_do_what_the_oracle_says() {
    let second = json!({"algorithm": "rfc2698", "committed-rate": 8, "committed-burst": 10,
        "excess-rate": 8, "excess-burst": 9000});
    let keys = json!({"police-by": "port", "policers": [policer(12_000), second]});
    let Some((coverage, drops)) = checked("linux", keys, &Value::Null) else { return };
    assert!(reached(&coverage, "policed") > 50, "{coverage}");
    assert!(counted(&drops, "nftables policed") > 50, "{drops:?}");
}

#[test]
fn policers_of_the_switch_let_pass_what_the_oracle_lets_pass() {
    let policer =
        |burst| json!({"algorithm": "rfc4115", "committed-rate": 1000, "committed-burst": burst});
    let keys = json!({"police-by": "dscp", "policers": [policer(30_000)]});
    let Some((coverage, _)) = checked("ovs", keys, &Value::Null) else { return };
    assert!(reached(&coverage, "forward-uplink") > 50, "{coverage}");
}

#[test]
fn vlans_and_vrfs_of_the_switch_do_what_the_oracle_says() {
    let keys = json!({
        "vrfs": 2,
        "downlink-ip": "10.0.0.1/24",
        "uplink-ip": "10.1.0.1/24",
        "interfaces": [
            {"port": "downlink", "vlan": 100, "vrf": 1, "ip": "10.2.0.1/24"},
            {"port": "uplink", "vlan": 200, "vrf": 1, "ip": "10.3.0.1/24"},
            {"port": "uplink", "vlan": 201, "vrf": 2, "ip": "10.3.0.1/24"},
        ],
        "next-hops": [
            {"port": "uplink", "mac": "02:00:00:00:00:03", "ip": "10.1.0.9"},
            {"port": "downlink", "mac": "02:00:00:00:00:01", "ip": "10.0.0.9"},
            {"port": "uplink", "vlan": 200, "mac": "02:00:00:00:00:05", "ip": "10.3.0.9"},
            {"port": "uplink", "vlan": 201, "mac": "02:00:00:00:00:06"},
        ],
        "routes": [
            {"prefix": "0.0.0.0/0", "next-hop": 1},
            {"prefix": "198.19.0.0/16", "next-hop": 0},
            {"prefix": "198.19.0.0/16", "next-hop": 2, "vrf": 1},
            {"prefix": "3fff:ffe::/32", "next-hop": 2, "vrf": 1},
            {"prefix": "198.18.0.0/15", "next-hop": 3, "vrf": 2},
        ],
    });
    let list = json!({
        "ingress-acl": [
            {"action": "deny", "vlan": 100, "dscp": 46}, {"action": "permit"}],
        "egress-acl": [
            {"action": "deny", "vlan": 201, "protocol": "tcp"}, {"action": "permit"}],
    });
    for extra in [&Value::Null, &list] {
        let Some((coverage, _)) = checked("ovs", keys.clone(), extra) else { return };
        for verdict in ["forward-uplink", "forward-downlink", "unknown-vlan", "local-address"] {
            assert!(reached(&coverage, verdict) > 0, "{verdict} of {coverage}");
        }
    }
}

/// Nobody is on a link but neighbours, also where a default route would take the packet.
#[test]
fn a_default_route_takes_nothing_that_is_for_a_link() {
    let keys = json!({
        "downlink-ip": "198.19.1.1/24",
        "uplink-ip": "10.1.0.1/24",
        "uplink-ipv6": "3fff:ffe:1::1/64",
        "routes": [{"prefix": "0.0.0.0/0", "next-hop": 1}, {"prefix": "::/0", "next-hop": 0}],
    });
    for device in ["linux", "ovs"] {
        let _ = checked(device, keys.clone(), &Value::Null);
    }
}
