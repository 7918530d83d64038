//! Subscribers and a server of the Internet, each side in a namespace of its own, and the NAT
//! between them as a daemon.

use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use netns::Namespace;
use serde_json::Value;

use crate::kit::{Child, Lab};

/// The server's address.
pub const SERVER: [u8; 4] = [192, 0, 2, 9];

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Both sides, and where the NAT runs.
pub struct Network {
    pub lab: Lab,
    pub subscribers: Namespace,
    pub internet: Namespace,
    /// Address of a subscriber, which all packets to subscribers are sent to.
    inside_next_hop: String,
}

impl Network {
    /// Makes it with subscribers of these addresses; none, and a note, where that cannot be done or
    /// one of the programs is absent.
    pub fn new(programs: &[&str], clients: &[&str]) -> Option<Network> {
        let all = ["ip", "ethtool"].iter().chain(programs);
        let missing = all.into_iter().find(|program| !netns::is_installed(program));
        if !netns::may_make_namespaces() || missing.is_some() {
            println!("skipped: needs root, {missing:?}");
            return None;
        }
        let make = || Namespace::new().expect("it may be made");
        let (nat, subscribers, internet) = (make(), make(), make());
        for namespace in [&nat, &subscribers, &internet] {
            namespace
                .sysctl("net/ipv6/conf/default/disable_ipv6", "1")
                .expect("a key of the kernel");
        }
        let inside = clients.iter().map(|address| format!("{address}/10")).collect();
        let outside = vec![format!("{}/24", Ipv4Addr::from(SERVER))];
        let sides = [("a0", &subscribers, inside), ("b0", &internet, outside)];
        for (near, far, addresses) in sides {
            nat.veth(near, far, "eth").expect("a link");
            // What leaves to another program must have its checksums.
            for (namespace, interface) in [(&nat, near), (far, "eth")] {
                let off = [
                    "-K", interface, "tx", "off", "rx", "off", "gso", "off", "tso", "off", "gro",
                    "off",
                ];
                namespace.command("ethtool", &off, None).expect("features of veth");
            }
            for address in addresses {
                far.ip(&format!("addr add {address} dev eth")).expect("an address");
            }
            far.wait_until_up("eth", PATIENCE).expect("up");
        }
        subscribers.ip("route add default via 100.127.255.254").expect("a route");
        internet.ip("route add 198.18.0.0/24 via 192.0.2.1").expect("a route");
        let folder = tempfile::tempdir().expect("a folder");
        let inside_next_hop = clients.first().expect("a subscriber").to_string();
        let lab = Lab { namespace: nat, folder };
        Some(Network { lab, subscribers, internet, inside_next_hop })
    }

    /// Starts the NAT with more keys.
    pub fn nat(&self, keys: &str) -> Child {
        self.nat_beside("nat", "192.0.2.1", keys)
    }

    /// Starts one of another name, and with another address outside.
    pub fn nat_beside(&self, name: &str, outside: &str, keys: &str) -> Child {
        self.nat_of_workers((name, outside), keys, "idle: sleep")
    }

    /// Starts one with these keys of its workers.
    pub fn nat_of_workers(
        &self,
        (name, outside): (&str, &str),
        keys: &str,
        workers: &str,
    ) -> Child {
        let (inside, server) = (&self.inside_next_hop, Ipv4Addr::from(SERVER));
        let text = format!(
            "function:\n  name: cgnat\n  sessions: 1000\n  outside-ip: {outside}\n  \
             inside-next-hop: {inside}\n  outside-next-hop: {server}\n  {keys}\n\
             ports:\n  inside: {{type: af-packet, interface: a0}}\n  outside: {{type: af-packet, interface: b0}}\n\
             workers: {{{workers}}}\n"
        );
        self.lab.start(&self.lab.write(&format!("{name}.yaml"), &text))
    }

    /// What the NAT tells.
    pub fn shown(&self) -> Value {
        self.told(&["show", "--json"])
    }

    /// What it answers to a command.
    pub fn told(&self, words: &[&str]) -> Value {
        let (code, shown, told) = self.lab.run(words);
        assert_eq!(code, 0, "{told}");
        serde_json::from_str(&shown).expect("JSON")
    }

    pub fn path(&self, name: &str) -> String {
        self.lab.folder.path().join(name).display().to_string()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("writable");
    }
}

/// What the daemon counted, wherever it shows it.
pub fn tally(shown: &Value, name: &str) -> u64 {
    match shown {
        Value::Object(keys) => match keys.get(name).and_then(Value::as_u64) {
            Some(count) => count,
            None => keys.values().map(|value| tally(value, name)).sum(),
        },
        Value::Array(all) => all.iter().map(|value| tally(value, name)).sum(),
        _ => 0,
    }
}
