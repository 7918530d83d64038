//! A route reflector between two ExaBGPs: the first one says what no daemon of a network does,
//! malformed too, the other one prints what of that it is told.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use netns::{Child as Program, Namespace};
use serde_json::Value;

use crate::bgp_wire::{Capture, is_of_reflector};
use crate::kit::{Child, Lab, until, until_or};
use crate::neighbours::host;
use crate::route_reflector::shown;

const REFLECTOR: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    families: [ipv4-unicast, ipv4-flowspec]
    peers: [{address: 10.0.4.2, passive: true}, {address: 10.0.5.2, passive: true}]
";

/// Hands on what stands in a file to ExaBGP as commands, and writes what that tells into another
/// one. ExaBGP gives its programs pipes that do not block.
const GO_BETWEEN: &str = "\
import os, select, sys
said, heard = open(sys.argv[1]), open(sys.argv[2], 'ab', 0)
while True:
    if select.select([0], [], [], 0.02)[0]:
        told = os.read(0, 65536)
        if not told:
            break
        heard.write(told)
    sys.stdout.write(said.read())
    sys.stdout.flush()
";

/// An ExaBGP.
struct Exabgp<'a> {
    lab: &'a Lab,
    number: u8,
    namespace: Namespace,
    child: Option<Program>,
}

impl<'a> Exabgp<'a> {
    fn new(lab: &'a Lab, number: u8) -> Exabgp<'a> {
        let near = format!("exa{number}");
        let namespace = host(lab, &near, &[&format!("10.0.{number}.2/24")], &[]);
        let address = format!("addr add 10.0.{number}.1/24 dev {near}");
        lab.namespace.ip(&address).expect("an address");
        let mut exabgp = Exabgp { lab, number, namespace, child: None };
        exabgp.start();
        exabgp
    }

    fn file(&self, name: &str) -> PathBuf {
        self.lab.folder.path().join(format!("exabgp-{}.{name}", self.number))
    }

    /// Starts it with nothing said and nothing heard.
    fn start(&mut self) {
        let go_between = self.lab.write("go_between.py", GO_BETWEEN);
        let (said, heard) = (self.file("said"), self.file("heard"));
        for file in [&said, &heard] {
            fs::write(file, "").expect("writable");
        }
        let [near, own] = [1, 2].map(|end| format!("10.0.{}.{end}", self.number));
        let configuration = format!(
            "process between {{
    run /usr/bin/python3 {} {} {};
    encoder json;
}}
neighbor {near} {{
    router-id {own};
    local-address {own};
    local-as 64500;
    peer-as 64500;
    family {{ ipv4 unicast; ipv4 flow; }}
    api {{ processes [ between ]; receive {{ parsed; update; }} }}
}}
",
            go_between.display(),
            said.display(),
            heard.display()
        );
        let name = format!("exabgp-{}.conf", self.number);
        let mut command = Command::new("/usr/sbin/exabgp");
        command.arg(self.lab.write(&name, &configuration));
        // It would be another user, who cannot read the folder, and fill a pipe that nobody reads.
        command.env("exabgp_daemon_user", "root").env("exabgp_log_destination", self.file("log"));
        command.env("exabgp_api_cli", "false").env("exabgp_api_ack", "false");
        self.child = Some(self.namespace.spawn(command).expect("it starts"));
    }

    fn kill(&mut self) {
        self.child.take().expect("it runs").kill_all();
    }

    fn say(&self, command: &str) {
        let mut file = File::options().append(true).open(self.file("said")).expect("ours");
        file.write_all(format!("{command}\n").as_bytes()).expect("writable");
    }

    /// The last it was told of a route: its attributes, `null` where it is withdrawn; none where
    /// it was told nothing. What is withdrawn in a message comes before what is announced.
    fn heard(&self, route: &str) -> Option<Value> {
        let text = fs::read_to_string(self.file("heard")).expect("ours");
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut last = None;
        for message in messages {
            let update = &message["neighbor"]["message"]["update"];
            for kind in ["withdraw", "announce"] {
                if names(&update[kind], route) {
                    let attributes = || update["attribute"].clone();
                    last = Some(if kind == "announce" { attributes() } else { Value::Null });
                }
            }
        }
        last
    }

    /// Waits until it has a route; returns its attributes.
    fn has(&self, route: &str) -> Value {
        let told = || fs::read_to_string(self.file("heard")).unwrap_or_default();
        let has = || self.heard(route).filter(|attributes| !attributes.is_null());
        until_or(&format!("{route} at ExaBGP"), has, told)
    }

    /// Waits until a route is withdrawn.
    fn loses(&self, route: &str) {
        let told = || fs::read_to_string(self.file("heard")).unwrap_or_default();
        let loses = || self.heard(route).filter(Value::is_null);
        until_or(&format!("{route} to go from ExaBGP"), loses, told);
    }
}

/// What it has started ends with it.
impl Drop for Exabgp<'_> {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.kill_all();
        }
    }
}

/// Whether a route is among what is announced or withdrawn: by its prefix, or its rule.
fn names(of: &Value, route: &str) -> bool {
    match of {
        Value::Array(all) => all.iter().any(|one| names(one, route)),
        Value::Object(all) => all.iter().any(|(name, one)| match name.as_str() {
            "nlri" | "string" => one == route,
            _ => names(one, route),
        }),
        _ => false,
    }
}

/// A counter of the reflector.
fn count(lab: &Lab, reflector: &Child, name: &str) -> u64 {
    shown(lab, reflector)["counters"][name].as_u64().unwrap_or_default()
}

/// The two addresses and the rule of which ExaBGP tells, in its words.
const PREFIX: &str = "203.0.113.0/24";
const OTHER: &str = "203.0.114.0/24";
const RULE: &str = "flow destination-ipv4 203.0.113.0/24 destination-port =80";

/// - `route-reflector`, RFC 4271 section 9, RFC 7606, RFC 8092 and RFC 8955: what it does not
///   understand passes with the partial bit, rules of flows pass as they are, and a route with a
///   malformed attribute counts as withdrawn while its session goes on
#[test]
fn exabgp_says_what_no_other_daemon_does() {
    if !netns::is_installed("exabgp") || !netns::is_installed("python3") {
        return println!("skipped: this needs exabgp and python3");
    }
    let Some(lab) = Lab::bare() else { return };
    lab.namespace.ip("link set lo up").expect("an interface");
    let capture = Capture::start(&lab);
    let reflector = lab.start(&lab.write("reflector.yaml", REFLECTOR));
    let [mut one, other] = [4, 5].map(|number| Exabgp::new(&lab, number));
    // Unknown to all: one that is transitive, and one that is not.
    let strange = "attribute [ 0xe6 0xc0 0x0a0b0c ] attribute [ 0xe7 0x80 0x01 ]";
    let tell = |one: &Exabgp| {
        one.say(&format!(
            "announce route {PREFIX} next-hop self large-community [ 64500:1:2 ] {strange}"
        ));
        one.say(
            "announce flow route { match { destination 203.0.113.0/24; destination-port =80; } \
             then { discard; } }",
        );
    };
    tell(&one);
    let attributes = other.has(PREFIX);
    assert_eq!(attributes["large-community"], serde_json::json!([[64500, 1, 2]]), "{attributes}");
    assert_eq!(attributes["originator-id"], "10.0.4.2", "{attributes}");
    assert_eq!(attributes["cluster-list"], serde_json::json!(["10.0.4.1"]), "{attributes}");
    let strange = |attributes: &Value, code: &str| {
        let all = attributes.as_object().expect("attributes");
        let begin = format!("attribute-0x{code}-");
        all.iter().find(|(name, _)| name.starts_with(&begin)).map(|(_, value)| value.clone())
    };
    assert_eq!(strange(&attributes, "E6"), Some("0x0a0b0c".into()), "{attributes}");
    assert_eq!(strange(&attributes, "E7"), None, "what is not transitive stays: {attributes}");
    let attributes = other.has(RULE);
    assert!(attributes["extended-community"].to_string().contains("rate-limit:0"), "{attributes}");

    // MULTI_EXIT_DISC, LOCAL_PREF and COMMUNITIES of wrong lengths, an ORIGIN that there is not.
    let malformed =
        ["0x04 0x80 0x000001", "0x05 0x40 0x01", "0x08 0xc0 0x010203", "0x01 0x40 0x05"];
    for (number, attribute) in (1..).zip(malformed) {
        one.say(&format!("announce route {OTHER} next-hop self"));
        other.has(OTHER);
        one.say(&format!("announce route {OTHER} next-hop self attribute [ {attribute} ]"));
        other.loses(OTHER);
        until("it to be counted", || {
            (count(&lab, &reflector, "treated-as-withdrawn") == number).then_some(())
        });
    }
    // ATOMIC_AGGREGATE with a value, and an AGGREGATOR of a wrong length: they alone are left out.
    for (number, attribute) in (1..).zip(["0x06 0x40 0x01", "0x07 0xc0 0x010203"]) {
        one.say(&format!(
            "announce route {OTHER} next-hop self med {number} attribute [ {attribute} ]"
        ));
        let has = || other.heard(OTHER).filter(|route| route["med"] == number);
        let route = until("the route without it", has);
        assert!(route["aggregator"].is_null() && route["atomic-aggregate"].is_null(), "{route}");
    }
    until("both to be counted", || {
        (count(&lab, &reflector, "attributes-discarded") == 2).then_some(())
    });
    let all = shown(&lab, &reflector);
    for peer in all["peers"].as_array().expect("a list") {
        assert_eq!((&peer["sessions"], &peer["lost"]), (&1.into(), &0.into()), "{all}");
    }

    one.say(&format!("withdraw route {PREFIX}"));
    one.say("withdraw flow route { match { destination 203.0.113.0/24; destination-port =80; } }");
    other.loses(PREFIX);
    other.loses(RULE);

    // The session ends and comes back; then ExaBGP is killed, and starts with nothing to tell.
    tell(&one);
    other.has(RULE);
    one.say("neighbor 10.0.4.1 teardown 4");
    until("another session", || {
        let all = shown(&lab, &reflector);
        (all["peers"][0]["sessions"] == 2).then_some(())
    });
    for route in [PREFIX, OTHER, RULE] {
        other.has(route);
    }
    one.kill();
    for route in [PREFIX, OTHER, RULE] {
        other.loses(route);
    }
    one.start();
    tell(&one);
    other.has(PREFIX);
    other.has(RULE);

    let fields = ["bgp.update.path_attribute.type_code", "bgp.update.path_attribute.flags"];
    let Some(packets) = capture.and_then(|capture| capture.end(&fields)) else { return };
    let flags_of = |is_ours: bool| -> Vec<&str> {
        let packets = packets.iter().filter(|packet| is_of_reflector(packet) == is_ours);
        let all = packets.flat_map(|packet| {
            let [codes, flags] = fields.map(|field| packet.field(field));
            codes.iter().zip(flags).filter(|(code, _)| *code == "230")
        });
        all.map(|(_, flags)| flags.as_str()).collect()
    };
    let (theirs, ours) = (flags_of(false), flags_of(true));
    assert!(!theirs.is_empty() && theirs.iter().all(|flags| *flags == "0xc0"), "{theirs:?}");
    assert!(!ours.is_empty() && ours.iter().all(|flags| *flags == "0xe0"), "{ours:?}");
}
