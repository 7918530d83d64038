//! What an operator does to peers of a route reflector while it runs, between BIRD and FRR.

use std::fs;

use crate::frr::Frr;
use crate::kit::{Child, Lab, until};
use crate::route_reflector::{FRR, REFLECTOR, Site, route_of_frr};

/// `plumbline set` with these words: its exit code, and what it says.
fn set(lab: &Lab, daemon: &Child, words: &[&str]) -> (i32, String) {
    let socket = daemon.socket.to_string_lossy().into_owned();
    let (code, out, errors) = lab.run(&[&["set"][..], words, &["--socket", &socket]].concat());
    (code, out + &errors)
}

/// - `route-reflector`, RFC 9003, RFC 2918 and RFC 8326: BIRD and FRR are reset, refreshed, shut,
///   drained, removed and added by commands, and read why
#[test]
fn an_operator_changes_peers_while_it_runs() {
    let Some(site) = Site::new() else { return };
    let reflector = site.lab.start(&site.lab.write("reflector.yaml", REFLECTOR));
    let _bird = site.bird();
    let mut frr = Frr::without_daemons();
    let logged = FRR.replace("router bgp 64500\n", "router bgp 64500\n bgp log-neighbor-changes\n");
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", &logged)]);
    // FRR's log keeps why a session ended; its neighbours tell only of the last, which may be one
    // of two connections that met afterwards.
    let is_told = |why: &str, text: &str| {
        let log = fs::read_to_string(frr.path("bgpd.log")).unwrap_or_default();
        log.lines().any(|line| line.contains(why) && line.contains(text)).then_some(())
    };
    let order = |words: &[&str]| {
        let (code, said) = set(&site.lab, &reflector, words);
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    };
    let at_bird = || site.route_of_bird("198.51.100.0/24");
    let has_bird = || at_bird().contains("BGP.originator_id");
    let at_frr = || route_of_frr(&frr, "ipv4", "203.0.113.0/24")["paths"][0].clone();
    let is_at_both = || (has_bird() && at_frr().is_object()).then_some(());
    until("routes at both", is_at_both);

    order(&["reset-peer", "peer=10.0.5.2", "text=new cables"]);
    until("FRR to be told why", || is_told("Administrative Reset", "new cables"));
    until("routes at both again", is_at_both);
    let socket = reflector.socket.to_string_lossy().into_owned();
    let (_, text, _) = site.lab.run(&["show", "table", "peers", "--socket", &socket]);
    assert!(text.contains("new cables"), "{text}");

    assert!(order(&["refresh-peer", "peer=10.0.4.2"]).contains("families: ipv4-unicast, ipv6"));
    order(&["refresh-peer", "peer=10.0.5.2", "direction=out", "family=ipv6-unicast"]);

    order(&["drain", "peer=10.0.4.2"]);
    until("what BIRD is told to go", || {
        let text = at_bird();
        let is_going = text.contains("(65535,0)") && text.contains("BGP.local_pref: 0\n");
        is_going.then_some(())
    });
    until("BIRD's routes to go", || {
        let path = at_frr();
        let is_going = path["community"]["string"] == "graceful-shutdown" && path["locPrf"] == 0;
        is_going.then_some(())
    });
    order(&["undrain", "peer=10.0.4.2"]);
    until("both as before", || {
        let is_going = at_bird().contains("(65535,0)") || at_frr()["community"].is_object();
        (!is_going && has_bird()).then_some(())
    });
    order(&["drain"]);
    until("what all are told to go", || (at_frr()["locPrf"] == 0).then_some(()));
    order(&["undrain"]);

    order(&["shut-peer", "peer=10.0.5.2", "text=until 4"]);
    until("FRR's routes to go", || (!has_bird()).then_some(()));
    until("FRR to be told", || is_told("Administrative Shutdown", "until 4"));
    order(&["enable-peer", "peer=10.0.5.2"]);
    until("routes at both after that", is_at_both);

    order(&["remove-peer", "peer=10.0.5.2"]);
    until("FRR's routes to go with it", || (!has_bird()).then_some(()));
    order(&["add-peer", "address=10.0.5.2", "prefixes-max=[{\"routes\": 100}]"]);
    until("routes at both in the end", is_at_both);

    for (words, says) in [
        (&["reset-per", "peer=10.0.5.2"][..], "did you mean `reset-peer`?"),
        (&["reset-peer"], "peer"),
        (&["reset-peer", "peer=10.0.5.9"], "did you mean `10.0.5.2`?"),
        (&["add-peer", "address=10.0.5.2"], "remove-peer peer=10.0.5.2"),
        (&["add-peer", "address=10.0.5.3", "md5=x"], "reload"),
        (&["undrain", "peer=10.0.4.2"], "is not drained"),
        (&["{\"reset-peer\": 7}"], "KEY=VALUE"),
    ] {
        let (code, said) = set(&site.lab, &reflector, words);
        assert!(code != 0 && said.contains(says), "{words:?}: {said}");
    }
}
