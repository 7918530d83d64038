//! A route reflector between OpenBGPD and BIRD, each in a namespace of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use netns::{Child as Program, Namespace};
use serde_json::{Value, json};

use crate::bgp_wire::Capture;
use crate::frr_routing::start_bird;
use crate::kit::{Lab, until, until_or};
use crate::neighbours::host;

const REFLECTOR: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\", \"[2001:db8:5::1]:179\"]
    peers:
      - {address: 10.0.4.2, passive: true}
      - {address: 10.0.5.2, families: [ipv4-unicast]}
      - {address: \"2001:db8:5::2\", families: [ipv6-unicast]}
";

const BIRD: &str = "\
router id 10.0.4.2;
protocol device {}
protocol static { ipv4; route 203.0.113.0/24 blackhole; }
protocol static { ipv6; route 2001:db8:113::/48 blackhole; }
protocol bgp reflector {
  local 10.0.4.2 as 64500;
  neighbor 10.0.4.1 as 64500;
  connect delay time 1;
  error wait time 1, 2;
  ipv4 { import all; export all; };
  ipv6 { import all; export all; };
}
";

/// OpenBGPD, with a `/run` of its own for its processes. It has a session for each of IPv4 and
/// IPv6: over one for both it tells no next hop for IPv6.
struct Openbgpd<'a> {
    lab: &'a Lab,
    namespace: Namespace,
    child: Option<Program>,
}

impl Openbgpd<'_> {
    fn start(&mut self) {
        let configuration = format!(
            "AS 64500
router-id 10.0.5.2
fib-update no
socket \"{}\"
network 198.51.100.0/24
network 2001:db8:100::/48
neighbor 10.0.5.1 {{ remote-as 64500 }}
neighbor 2001:db8:5::1 {{ remote-as 64500 }}
allow from any
allow to any
",
            self.socket()
        );
        // What one that was killed has left.
        drop(fs::remove_file(self.socket()));
        let file = self.lab.write("bgpd.conf", &configuration);
        // It reads no file that others can.
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("ours");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", IN_OWN_RUN, "/usr/sbin/bgpd", "-d", "-f"]);
        command.arg(file);
        self.child = Some(self.namespace.spawn(command).expect("it starts"));
    }

    fn kill(&mut self) {
        self.child.take().expect("it runs").kill_all();
    }

    fn socket(&self) -> String {
        self.lab.folder.path().join("bgpd.sock").to_string_lossy().into_owned()
    }

    /// Says something of both sessions.
    fn say_of_both(&self, what: &str) {
        for address in ["10.0.5.1", "2001:db8:5::1"] {
            self.say(&format!("neighbor {address} {what}"));
        }
    }

    fn say(&self, words: &str) -> String {
        // Else asking takes a core, while everybody waits.
        thread::park_timeout(Duration::from_millis(50));
        let socket = self.socket();
        let words = ["-j", "-s", &socket].into_iter().chain(words.split(' ')).collect::<Vec<_>>();
        self.namespace.command("bgpctl", &words, None).unwrap_or_default()
    }

    /// The best path that it has of a route.
    fn route(&self, prefix: &str) -> Option<Value> {
        let shown: Value = serde_json::from_str(&self.say("show rib detail best")).ok()?;
        let all = shown["rib"].as_array()?;
        all.iter().find(|route| route["prefix"] == prefix).cloned()
    }
}

/// Its other processes end with it.
impl Drop for Openbgpd<'_> {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.kill_all();
        }
    }
}

/// Makes an empty `/run` with the folder in which its processes live, and becomes the daemon.
const IN_OWN_RUN: &str =
    "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/openbgpd && exec \"$0\" \"$@\"";

/// - `route-reflector`, RFC 4456 section 8: OpenBGPD and BIRD have each other's routes, lose what
///   is withdrawn and whose session ends, and have it again
#[test]
fn openbgpd_and_bird_have_each_others_routes() {
    for program in ["bgpctl", "bird", "unshare"] {
        if !netns::is_installed(program) {
            return println!("skipped: this needs {program}");
        }
    }
    let Some(lab) = Lab::bare() else { return };
    lab.namespace.ip("link set lo up").expect("an interface");
    // A next hop counts where a route of the kernel leads.
    let addresses = ["10.0.5.2/24", "2001:db8:5::2/64"];
    let routes = ["10.0.0.0/16 via 10.0.5.1", "2001:db8:4::/64 via 2001:db8:5::1"];
    let bird = host(&lab, "bird0", &["10.0.4.2/24", "2001:db8:4::2/64"], &[]);
    let namespace = host(&lab, "bsd0", &addresses, &routes);
    for command in [
        "addr add 10.0.4.1/24 dev bird0",
        "addr add 10.0.5.1/24 dev bsd0",
        "addr add 2001:db8:5::1/64 dev bsd0 nodad",
    ] {
        lab.namespace.ip(command).expect("an address");
    }
    let capture = Capture::start(&lab);
    let file = lab.write("reflector.yaml", REFLECTOR);
    let reflector = lab.start(&file);
    let _bird = start_bird(&lab, &bird, BIRD);
    let mut openbgpd = Openbgpd { lab: &lab, namespace, child: None };
    openbgpd.start();
    let at_bird = |prefix: &str| {
        thread::park_timeout(Duration::from_millis(50));
        let socket = lab.folder.path().join("bird");
        let words = ["-s", &socket.to_string_lossy(), "show", "route", "all", "for", prefix];
        bird.command("birdc", &words, None).unwrap_or_default()
    };
    let bird_has = |prefix: &str| at_bird(prefix).contains("BGP.originator_id: 10.0.5.2");
    let (ipv4, ipv6) = ("198.51.100.0/24", "2001:db8:100::/48");
    let both = |openbgpd: &Openbgpd| {
        if !bird_has(ipv4) || !bird_has(ipv6) {
            return None;
        }
        Some([openbgpd.route("203.0.113.0/24")?, openbgpd.route("2001:db8:113::/48")?])
    };
    let told = |openbgpd: &Openbgpd| {
        openbgpd.say("show rib detail") + &openbgpd.say("show neighbor") + &at_bird(ipv4)
    };
    let routes = until_or("all routes at both", || both(&openbgpd), || told(&openbgpd));
    for route in &routes {
        let attributes = route["attributes"].as_array().expect("a list");
        let has = |name: &str, value: Value| attributes.iter().any(|one| one[name] == value);
        assert!(has("originator", "10.0.4.2".into()), "{route}");
        assert!(has("cluster_list", json!(["10.0.4.1"])), "{route}");
    }
    assert!(at_bird(ipv4).contains("BGP.cluster_list: 10.0.4.1"), "{}", at_bird(ipv4));

    // Withdrawn, and told again.
    openbgpd.say(&format!("network delete {ipv4}"));
    until("the route to go", || (!bird_has(ipv4)).then_some(()));
    assert!(bird_has(ipv6), "the other one stays");
    openbgpd.say(&format!("network add {ipv4}"));
    until("the route again", || bird_has(ipv4).then_some(()));

    // Sessions that are cleared come back after five seconds.
    openbgpd.say_of_both("clear");
    until("routes to go from both", || {
        let is_gone = !bird_has(ipv4) && openbgpd.route("203.0.113.0/24").is_none();
        is_gone.then_some(())
    });
    until_or("all routes again", || both(&openbgpd), || told(&openbgpd));

    openbgpd.kill();
    until("routes of one that was killed to go", || {
        (!bird_has(ipv4) && !bird_has(ipv6)).then_some(())
    });
    openbgpd.start();
    until("all routes of a new one", || both(&openbgpd));

    // The reflector is killed. Else OpenBGPD waits for half a minute.
    drop(reflector);
    until("nothing without a reflector", || {
        (!bird_has(ipv4) && openbgpd.route("203.0.113.0/24").is_none()).then_some(())
    });
    let _reflector = lab.start(&file);
    openbgpd.say_of_both("clear");
    until("all routes of a new reflector", || both(&openbgpd));
    capture.and_then(|capture| capture.end(&[]));
}
