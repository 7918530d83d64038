//! A box that nobody here sets up, but the reader of its set-up sheet: a Linux router in a
//! namespace of its own, configured line by line from the sheet.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::driver::{Driver, DriverError, Running, Start};
use devices::registry;
use function_kit::{NetworkFunction, PortName};
use machine::clock::Clock;
use model_kit::Model;
use model_kit::service::Service;
use models::l3_router::L3Router;
use netns::Namespace;
use serde_json::{Map, Value, json};

/// A lab: the box's namespace with p0 and p1, the tester's with t0 and t1.
struct Lab {
    the_box: Namespace,
    tester: Namespace,
}

fn lab() -> Option<Lab> {
    let missing = ["ip", "nft"].into_iter().find(|program| !netns::is_installed(program));
    if !netns::may_make_namespaces() || missing.is_some() {
        eprintln!("skipped: needs root and iproute2 and nftables");
        return None;
    }
    let make = || Namespace::new().expect("the right is there");
    let (the_box, tester) = (make(), make());
    for (key, value) in [("forwarding", "1"), ("rp_filter", "0"), ("accept_local", "1")] {
        for scope in ["all", "default"] {
            the_box.sysctl(&format!("net/ipv4/conf/{scope}/{key}"), value).expect("set");
        }
    }
    the_box.sysctl("net/ipv6/conf/default/disable_ipv6", "1").expect("set");
    tester.sysctl("net/ipv6/conf/default/disable_ipv6", "1").expect("set");
    for number in 0..2 {
        the_box.veth(&format!("p{number}"), &tester, &format!("t{number}")).expect("veth");
        the_box.wait_until_up(&format!("p{number}"), PATIENCE).expect("up");
        tester.ip(&format!("link set t{number} arp off")).expect("off");
    }
    Some(Lab { the_box, tester })
}

fn driver() -> &'static dyn Driver {
    registry::find("external").and_then(|device| device.driver).expect("registered")
}

fn service() -> Service {
    let mut config = models::l3_router::Section::default();
    config.generated.upstream_l3_table_size = 20;
    let mut traffic = models::l3_router::Traffic::default();
    L3Router::validate(&mut config, &mut traffic).expect("a valid configuration");
    L3Router::service(&config)
}

fn options(more: Value) -> Map<String, Value> {
    let port = |number| json!({"type": "af-packet", "interface": format!("t{number}")});
    let mut options = json!({"ports": [port(0), port(1)]}).as_object().cloned().expect("an object");
    options.extend(more.as_object().cloned().expect("an object"));
    options
}

impl Lab {
    fn start(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Box<dyn Running>, DriverError> {
        let start = || {
            driver().start(&Start {
                service,
                function: functions::l3_router::L3Router::NAME,
                port_names: &["downlink", "uplink"].map(PortName::new),
                configuration: &Value::Null,
                initial: &|| Ok(Vec::new()),
                beside: &[],
                standby: None,
                options,
                workers: 1,
                cores: &[0],
                frame_bytes_max: 1514,
                clock: Clock::calibrate(Duration::from_millis(10)),
                stop: Arc::new(AtomicBool::new(false)),
            })
        };
        self.tester.run(start).expect("the namespace is there")
    }

    /// Does what the sheet says, word by word.
    fn configure(&self, sheet: &str) {
        let mut neighbours = Vec::new();
        for line in sheet.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |word: &str| {
                words.iter().position(|one| *one == word).map(|place| words[place + 1])
            };
            match words[..] {
                ["Interface", ..] => {
                    let (port, mac) =
                        (after("port").expect("a port"), after("mac").expect("a mac"));
                    let address = after("address").expect("an address");
                    self.the_box.ip(&format!("link set p{port} address {mac}")).expect("told");
                    let add = format!("addr add {address} dev p{port}");
                    self.the_box.ip(&add).expect("told");
                }
                ["Neighbour", ..] => {
                    let [port, mac, address] =
                        ["port", "mac", "address"].map(|word| after(word).expect("told"));
                    let add =
                        format!("neigh replace {address} lladdr {mac} dev p{port} nud permanent");
                    self.the_box.ip(&add).expect("told");
                    neighbours.push(format!("via {address} dev p{port} onlink"));
                }
                ["Route", prefix, "to", "neighbour", number] => {
                    let number: usize = number.parse().expect("a number");
                    let route = format!("route add {prefix} {}", neighbours[number]);
                    self.the_box.ip(&route).expect("told");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_box_that_was_set_up_by_its_sheet_is_ready() {
    let Some(lab) = lab() else { return };
    let service = service();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sheet.txt");
    let options = options(json!({"sheet": file, "ready-within-s": 0.3, "version": "a router"}));
    let refused = lab.start(&service, &options).err().expect("nobody has set it up");
    assert!(refused.what.contains("no host at port 0 has 10.0.0.1"), "{refused}");
    assert!(refused.remedy.contains("Interface port 0 mac de:dd:dd:dd:00:00"), "{refused:?}");

    let sheet = std::fs::read_to_string(&file).expect("the sheet is written");
    assert_eq!(sheet.lines().filter(|line| line.starts_with("Route ")).count(), 22, "{sheet}");
    lab.configure(&sheet);
    let mut options = options;
    options.insert("ready-within-s".to_owned(), json!(20));
    let mut running = lab.start(&service, &options).expect("it forwards");
    let facts = running.facts();
    assert_eq!(facts.version, "a router");
    let mac = facts.details.iter().find(|(key, _)| key == "port-1-mac").expect("asked for");
    assert_eq!(mac.1, json!("de:dd:dd:dd:00:01, as resolved"));
    let ports = running.ports();
    assert_eq!(ports.len(), 2);
    running.health().expect("the links are up");
    lab.the_box.ip("link set p1 down").expect("down");
    let start = std::time::Instant::now();
    while running.health().is_ok() && start.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    let broken = running.health().expect_err("a cable is out");
    assert!(broken.what.contains("port 1 is down"), "{broken}");
}

#[test]
fn a_box_with_other_addresses_or_without_routes_is_told_apart() {
    let Some(lab) = lab() else { return };
    let service = service();
    for (port, mac) in [("p0", "02:00:00:00:00:07"), ("p1", "de:dd:dd:dd:00:01")] {
        lab.the_box.ip(&format!("link set {port} address {mac}")).expect("told");
    }
    lab.the_box.ip("addr add 10.0.0.1/16 dev p0").expect("told");
    lab.the_box.ip("addr add 10.1.0.1/16 dev p1").expect("told");
    let other = lab.start(&service, &options(json!({}))).err().expect("another address");
    assert!(other.what.contains("02:00:00:00:00:07 (as resolved)"), "{other}");
    assert!(other.remedy.contains("de:dd:dd:dd:00:00"), "{other:?}");

    lab.the_box.ip("link set p0 address de:dd:dd:dd:00:00").expect("told");
    let silent = options(json!({"ready-within-s": 0.5}));
    let silent = lab.start(&service, &silent).err().expect("no routes");
    assert!(silent.what.contains("the device does not forward: a packet for "), "{silent}");
    assert!(silent.what.contains("into port 0") && silent.remedy.contains("Route "), "{silent:?}");
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let service = service();
    let refused = |options: Value| {
        let options = options.as_object().cloned().expect("an object");
        driver().limitations(&service, &options).expect_err("refused").to_string()
    };
    let port = json!({"type": "af-packet", "interface": "t0"});
    assert!(refused(json!({"ports": [port]})).contains("1 ports, but the function has 2"));
    assert!(refused(json!({"ports": [port, port], "macs": ["x"]})).contains("`x`"));
    assert!(
        refused(json!({"ports": [port, port], "ready-within-s": 0})).contains("ready-within-s")
    );
    assert!(refused(json!({"prots": []})).contains("prots"));
    let unknown = json!({"type": "token-ring"});
    assert!(refused(json!({"ports": [port, unknown]})).starts_with("device.ports[1].type: "));
    let blocks = json!({"type": "af-packet", "interface": "t0", "ring-bytes": 7});
    assert!(refused(json!({"ports": [blocks, port]})).starts_with("device.ports[0].ring-bytes: "));
    let given = json!({"ports": [port, port], "exceptions": ["ip-options"]});
    let told = driver().limitations(&service, given.as_object().expect("an object"));
    let told = told.expect("usable");
    assert!(told.iter().any(|one| one.verdicts == ["ip-options"]), "{told:?}");
}

const PATIENCE: Duration = Duration::from_secs(10);
