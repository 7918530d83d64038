//! The tables of a route reflector between BIRD and FRR, as an operator asks for them: each says
//! what the daemons have told, in JSON and in text.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::frr::Frr;
use crate::kit::{Child, Lab, until};
use crate::route_reflector::{FRR, REFLECTOR, Site};

/// What `plumbline show table` prints.
struct Shown<'a> {
    lab: &'a Lab,
    socket: String,
}

impl Shown<'_> {
    fn new<'a>(lab: &'a Lab, daemon: &Child) -> Shown<'a> {
        Shown { lab, socket: daemon.socket.to_string_lossy().into_owned() }
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let socket = ["--socket", self.socket.as_str()];
        self.lab.run(&[&["show", "table"][..], words, &socket].concat())
    }

    /// The entries of a table; none where it is refused.
    fn entries(&self, words: &[&str]) -> Vec<Value> {
        let (_, text, _) = self.run(&[words, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn text(&self, words: &[&str]) -> String {
        let (code, text, errors) = self.run(words);
        assert_eq!(code, 0, "{words:?}: {errors}");
        text
    }

    fn refused(&self, words: &[&str]) -> String {
        let (code, _, errors) = self.run(words);
        assert_ne!(code, 0, "{words:?}");
        errors
    }
}

/// A page of the metrics, from within the namespace of the daemon.
fn metrics(lab: &Lab) -> String {
    let fetch = || {
        let mut stream = TcpStream::connect("127.0.0.1:9475")?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    lab.namespace.run(fetch).expect("the namespace").expect("it answers")
}

/// - `route-reflector`: each table says what BIRD and FRR have told and are told
#[test]
fn each_table_says_what_bird_and_frr_have_told() {
    let Some(site) = Site::new() else { return };
    let text = format!("{REFLECTOR}metrics: {{listen: \"127.0.0.1:9475\"}}\n");
    let reflector = site.lab.start(&site.lab.write("reflector.yaml", &text));
    let bird = site.bird();
    let mut frr = Frr::without_daemons();
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", FRR)]);
    let shown = Shown::new(&site.lab, &reflector);
    until("both sessions", || {
        (shown.entries(&["peers", "state=established"]).len() == 2).then_some(())
    });
    let of_bird = |prefix: &str| shown.entries(&["routes", "--for", prefix]).into_iter().next();
    let route = until("a route of BIRD's", || of_bird("203.0.113.0/24"));
    assert_eq!((&route["from"], &route["next-hop"]), (&"10.0.4.2".into(), &"10.0.4.2".into()));
    assert_eq!((&route["status"], &route["why"]), (&"best".into(), &"best: the only path".into()));
    assert_eq!(of_bird("203.0.113.77").expect("the longest match"), route);
    until("one of IPv6", || of_bird("2001:db8:113::/48"));
    let told = until("what FRR is told", || {
        let peer = "peer=10.0.5.2";
        let all = shown.entries(&["advertised", peer, "--for", "203.0.113.0/24"]);
        all.into_iter().find(|one| one["status"] == "told")
    });
    assert_eq!(
        (&told["originator"], &told["clusters"][0]),
        (&"10.0.4.2".into(), &"10.0.4.1".into())
    );
    let at_frr = until("the route at FRR", || {
        let text = frr.show("show bgp ipv4 unicast 203.0.113.0/24 json");
        let route: Value = serde_json::from_str(&text).ok()?;
        route["paths"].as_array()?.first().cloned()
    });
    assert_eq!(at_frr["originatorId"], told["originator"], "{at_frr}");
    assert_eq!(at_frr["clusterList"]["list"][0], told["clusters"][0], "{at_frr}");
    assert_eq!(at_frr["locPrf"], told["local-pref"], "{at_frr}");
    let own = shown.text(&["advertised", "peer=10.0.4.2", "--for", "203.0.113.0/24"]);
    assert!(own.contains("not told") && own.contains("the best path is the peer's own"), "{own}");
    // In text, a line each, with what is wanted at a glance.
    let routes = shown.text(&["routes", "--for", "203.0.113.0/24"]);
    let lines: Vec<&str> = routes.lines().collect();
    assert_eq!(lines.len(), 2, "{routes}");
    assert!(lines[0].starts_with("family        route           status  from "), "{routes}");
    assert!(lines[1].starts_with("ipv4-unicast  203.0.113.0/24  best    10.0.4.2 "), "{routes}");
    assert!(lines[1].ends_with("best: the only path"), "{routes}");
    let long = shown.text(&["routes", "--for", "203.0.113.0/24", "--long"]);
    assert!(long.lines().any(|line| line == "next-hop    10.0.4.2"), "{long}");
    let groups = shown.entries(&["groups", "family=ipv4-unicast"]);
    assert_eq!((groups.len(), &groups[0]["peers"]), (1, &2.into()), "{groups:?}");
    until("three paths of BIRD's and two of FRR's", || {
        let attributes = shown.entries(&["attributes"]);
        let paths: u64 = attributes.iter().filter_map(|one| one["paths"].as_u64()).sum();
        (paths == 5).then_some(())
    });
    assert!(shown.entries(&["targets"]).is_empty());
    let (_, tables, _) = site.lab.run(&["show", "tables", "--socket", &shown.socket]);
    for table in ["peers", "routes", "advertised", "groups", "targets", "attributes"] {
        assert!(tables.contains(&format!("route-reflector  {table} ")), "{tables}");
    }
    let refused = shown.refused(&["routs"]);
    assert!(refused.contains("there is no table `routs`") && refused.contains("`routes`"));
    assert!(shown.refused(&["routes", "famly=vpnv4"]).contains("did you mean `family`?"));
    assert!(shown.refused(&["routes", "family"]).contains("is no KEY=VALUE"));
    assert!(shown.refused(&["advertised"]).contains("add `peer=ADDRESS`"));
    let exposed = metrics(&site.lab);
    for line in [
        "plumbline_route_reflector_routes{family=\"ipv4-unicast\"} 3\n",
        "plumbline_route_reflector_peer_up{peer=\"10.0.4.2\"} 1\n",
        "plumbline_route_reflector_peers{kind=\"client\",state=\"established\"} 2\n",
    ] {
        assert!(exposed.contains(line), "{line}: {exposed}");
    }

    // The end of a session is a line of the log, and the reason stands in the table.
    drop(bird);
    let down = until("the end of BIRD's session", || {
        shown.entries(&["peers", "--for", "10.0.4.2", "state=down"]).into_iter().next()
    });
    let last = down["last"].as_str().expect("a reason").to_owned();
    assert!(!last.is_empty(), "{down}");
    until("a line of the log", || {
        let is_it = |line: &String| line.contains("the session with 10.0.4.2 (client) has ended");
        reflector.logged().into_iter().find(is_it)
    });
    let metrics = metrics(&site.lab);
    assert!(metrics.contains("plumbline_route_reflector_peer_up{peer=\"10.0.4.2\"} 0\n"));
}
