//! Files: what is wrong with one is told by line, key and remedy; the schema knows every key.

use daemon::{Configuration, file_schema, update_schema};

use crate::kit::{BRIDGE, parts, try_start};

#[test]
fn what_is_wrong_is_told_with_line_and_remedy() {
    for (from, to, line, what, remedy) in [
        ("ports:", "prots:", 2, "unknown key `prots`", "did you mean `ports`?"),
        ("l2-switch", "l2-swithc", 1, "no function", "did you mean `l2-switch`?"),
        ("stations", "statoins", 1, "unknown key", "did you mean `stations`?"),
        ("  downlink:", "  dwnlink:", 3, "has no port `dwnlink`", "did you mean `downlink`?"),
        ("type: wired, interface: @down", "type: wird", 3, "no port type", "`wired`"),
        ("type: wired, interface: @down", "interface: a", 3, "`type` is missing", "wired"),
        ("interface: @down", "interfase: @down", 3, "unknown key", "did you mean `interface`?"),
        ("interface: @down", "interface: 7", 3, "got `7`", "schema --run"),
        ("idle: sleep", "idle: snooze", 5, "unknown value `snooze`", ""),
        ("idle: sleep", "cores: []", 5, "1 to 64 cores", "available cores"),
        ("idle: sleep", "cores: [4000]", 5, "core 4000", "available cores"),
        ("idle: sleep", "batch: 0", 5, "1 to 256", ""),
        ("control:", "metrics: {listen: 0.0.0.0:1}\ncontrol:", 6, "other machines", "allow-remote"),
        ("control:", "punt: {arp: {per-s: 1}}\ncontrol:", 6, "no punt reason `arp`", ""),
        ("control:", "log: {format: xml}\ncontrol:", 6, "xml", ""),
        ("control:", "name: a/b\ncontrol:", 6, "not a valid name", "letters"),
        ("control.sock}", "control.sock, mode: \"999\"}", 6, "not a file mode", "octal"),
    ] {
        let text = BRIDGE.replacen(from, to, 1);
        let error = Configuration::parse("a.yaml", &text.replace('@', ""), parts()).expect_err(to);
        assert_eq!(error.line, Some(line), "{to}: {error}");
        assert!(error.what.contains(what), "{to}: {error}");
        assert!(error.remedy.contains(remedy), "{to}: {error}");
    }
}

#[test]
fn interfaces_of_the_host_are_checked_before_anything_is_opened() {
    let router = |interface: &str, more: &str| {
        let (_, below) = BRIDGE.split_once('\n').expect("it has lines");
        let text = format!(
            "function: {{name: l3-router, vrfs: 1, interfaces: [{{port: uplink, {interface}}}]}}\n\
             {below}{more}"
        );
        Configuration::parse("a.yaml", &text.replace('@', ""), parts())
    };
    let limits = "punt: {arp: {per-s: 5}, local: {per-s-and-source: 0, ring-kib: 2048}}\n";
    let read = router("host-interface: {name: up0, namespace: hosts}", limits).expect("good");
    let punt = &read.effective()["punt"];
    assert_eq!(punt["arp"]["per-s"], 5, "{punt}");
    assert_eq!(punt["arp"]["ring-kib"], 512, "{punt}");
    assert_eq!(punt["local"]["per-s"], 20_000, "{punt}");
    assert_eq!(punt["local"]["ring-kib"], 2048, "{punt}");
    router("vlan: 7, vrf: 1, host-interface: up0", "").expect("one of a VRF");
    for (interface, more, what) in [
        ("host-interface: default", "", "default is no name of an interface"),
        ("host-interface: a/b", "", "interfaces"),
        ("host-interface: up0", "punt: {arp: {per-second: 5}}\n", "per-second"),
        ("host-interface: up0", "punt: {arp: {ring-kib: 8}}\n", "from 16 to 65536, not 8"),
        ("host-interface: up0", "punt: {rap: {per-s: 5}}\n", "no punt reason `rap`"),
    ] {
        let error = router(interface, more).expect_err(interface).to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_state_that_no_frame_can_be_brought_to_needs_one_worker() {
    let with = |keys: &str| {
        let (_, below) = BRIDGE.split_once('\n').expect("it has lines");
        let text = format!("function: {{name: mobile-gateway, core: 2{keys}}}\n{below}");
        let text = text.replace("downlink", "access").replace("uplink", "core").replace('@', "");
        Configuration::parse("a.yaml", &text.replace("sleep", "sleep, cores: [0, 1]"), parts())
    };
    let error = with(", ipv6: true").expect_err("two workers");
    assert!(error.to_string().contains("ipv6"), "{error}");
    assert!(error.what.contains("IPv4 address alone"), "{error}");
    let error = with("").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.is_empty() || error.contains("may not use core 1"), "{error}");
}

#[test]
fn a_start_that_fails_leaves_nothing() {
    let folder = std::sync::Arc::new(tempfile::tempdir().expect("a folder"));
    let text = BRIDGE.replace("@up", "@broken");
    let error = try_start(&text, true, std::sync::Arc::clone(&folder)).err().expect("it fails");
    assert_eq!(error.remedy(), "name another");
    assert!(error.to_string().contains("port `uplink`: there is no link"), "{error}");
    let left: Vec<_> = folder.path().read_dir().expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "the file itself: {left:?}");
}

#[test]
fn the_schema_holds_every_key_of_an_effective_file() {
    let configuration =
        Configuration::parse("a.yaml", &BRIDGE.replace('@', ""), parts()).expect("a good file");
    let schema = file_schema(parts());
    let keys = schema["properties"].as_object().expect("properties");
    let effective = configuration.effective();
    for key in effective.as_object().expect("a mapping").keys() {
        assert!(keys.contains_key(key), "{key}");
    }
    let text = schema.to_string();
    for reference in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(schema["$defs"].get(reference).is_some(), "{reference}");
    }
    assert!(update_schema(parts(), "mgw").expect("an alias").to_string().contains("handover"));
    assert!(update_schema(parts(), "nothing").is_none());
}
