//! A real PPTP server and two real clients on both sides of a NAT with its gateway: both have a call at a time from
//! one outside address, and what they say by enhanced GRE comes to the right one.
//!
//! In the place of `pppd`, which needs a kernel that has PPP, stand programs that say the same frame again and again
//! and keep what they hear: client (pptp) and server (pptpd) pass on any frame of HDLC (RFC 1662).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use netns::Namespace;

use crate::kit::{Lab, until};

/// The clients' addresses, in one namespace.
const CLIENTS: [&str; 2] = ["100.64.0.2", "100.64.0.3"];

/// Subscribers, the NAT and the Internet, each in a namespace of its own.
struct Network {
    lab: Lab,
    subscribers: Namespace,
    internet: Namespace,
}

#[test]
fn two_subscribers_have_calls_to_one_server() {
    let Some(network) = Network::new() else { return };
    let _nat = network.nat();
    let _server = network.server();
    let mut clients = [1, 2].map(|number| network.client(number));
    let heard = |name: &str, said: &str| {
        let bytes = fs::read(network.path(name)).unwrap_or_default();
        bytes.windows(said.len()).any(|part| part == said.as_bytes())
    };
    for client in [1, 2] {
        let (own, others) = (format!("subscriber {client}"), format!("subscriber {}", 3 - client));
        let name = format!("client-{client}");
        let has_call = |call: &u32| heard(&name, &format!("server {call}"));
        until("a call", || [1, 2].iter().find(|call| has_call(call)).copied());
        let calls: Vec<u32> = [1, 2].into_iter().filter(has_call).collect();
        assert_eq!(calls.len(), 1, "one call of the server's is a client's");
        let call = format!("call-{}", calls[0]);
        until("what the client says", || heard(&call, &own).then_some(()));
        assert!(!heard(&call, &others), "another one's call");
    }
    let (code, shown, told) = network.lab.run(&["show", "--json"]);
    assert_eq!(code, 0, "{told}");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    // A request and an answer of each.
    assert!(crate::nat_ftp::tally(&shown, "alg-rewritten") >= 4, "{shown}");
    assert_eq!(crate::nat_ftp::tally(&shown, "alg-damaged"), 0, "{shown}");
    for client in &mut clients {
        client.stop(PATIENCE);
    }
    for call in [1, 2] {
        let over = network.path(&format!("over-{call}"));
        until("the end of a call", || fs::metadata(&over).ok());
    }
}

impl Network {
    /// Makes it; none, and a note, where that cannot be done.
    fn new() -> Option<Network> {
        let programs = ["ip", "ethtool", "pptp", "pptpd", "script"];
        let missing = programs.into_iter().find(|program| !netns::is_installed(program));
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
        for (near, far) in [("a0", &subscribers), ("b0", &internet)] {
            nat.veth(near, far, "eth").expect("a link");
            // What leaves to another program must have its checksums.
            for (namespace, interface) in [(&nat, near), (far, "eth")] {
                let off = [
                    "-K", interface, "tx", "off", "rx", "off", "gso", "off", "tso", "off", "gro",
                    "off",
                ];
                namespace.command("ethtool", &off, None).expect("features of veth");
            }
        }
        for address in CLIENTS {
            subscribers.ip(&format!("addr add {address}/10 dev eth")).expect("an address");
        }
        internet.ip("addr add 192.0.2.9/24 dev eth").expect("an address");
        for namespace in [&subscribers, &internet] {
            namespace.wait_until_up("eth", PATIENCE).expect("up");
        }
        subscribers.ip("route add default via 100.127.255.254").expect("a route");
        internet.ip("route add 198.18.0.0/32 via 192.0.2.1").expect("a route");
        let folder = tempfile::tempdir().expect("a folder");
        let network = Network { lab: Lab { namespace: nat, folder }, subscribers, internet };
        for number in [1, 2] {
            for (name, who) in [("client", "subscriber"), ("server", "server")] {
                let file = network.path(&format!("{name}-{number}-says"));
                fs::write(file, frame(&format!("{who} {number}"))).expect("writable");
            }
        }
        Some(network)
    }

    /// Starts the NAT.
    fn nat(&self) -> crate::kit::Child {
        let mac =
            |namespace: &Namespace| namespace.attribute("eth", "address").expect("it has one");
        let text = format!(
            "function:\n  name: cgnat\n  sessions: 1000\n  outside-ip: 192.0.2.1\n  \
             pools: [198.18.0.0/32]\n  \
             inside-next-hop-mac: \"{}\"\n  outside-next-hop-mac: \"{}\"\n  alg: {{pptp: true}}\n\
             ports:\n  inside: {{type: af-packet, interface: a0}}\n  outside: {{type: af-packet, interface: b0}}\n\
             workers: {{idle: sleep}}\n",
            mac(&self.subscribers),
            mac(&self.internet)
        );
        self.lab.start(&self.lab.write("nat.yaml", &text))
    }

    /// Starts the server, which gives each call a frame of its own to say, and waits until it takes connections.
    fn server(&self) -> netns::Child {
        let script = format!(
            "#!/bin/sh\ntrap '' HUP TERM\nstty raw -echo\ncd {}\n\
             call=1\nmkdir claimed 2>/dev/null || call=2\n\
             (while cat server-$call-says; do sleep 0.1; done) 2>/dev/null &\n\
             cat > call-$call 2>/dev/null\ntouch over-$call\n",
            self.lab.folder.path().display()
        );
        let ppp = self.lab.write("ppp", &script);
        fs::set_permissions(&ppp, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let configuration = format!("ppp {}\ndelegate\nnoipparam\n", self.path("ppp"));
        let file = self.lab.write("pptpd.conf", &configuration);
        let options = self.lab.write("options", "");
        let mut command = Command::new("/usr/sbin/pptpd");
        command.arg("--fg").arg("--conf").arg(file).arg("--option").arg(options);
        command.args(["--pidfile", &self.path("pptpd.pid")]);
        let mut server = self.internet.spawn(command).expect("it starts");
        until("the server", || {
            assert!(server.ended().is_none(), "the server ended");
            let listens = self.internet.command("ss", &["-ltn"], None).expect("ss");
            listens.contains(":1723").then_some(())
        });
        server
    }

    /// Starts a client on a terminal of its own, which it takes for that of a modem.
    fn client(&self, number: usize) -> netns::Child {
        let pptp = format!(
            "stty raw -echo; exec /usr/sbin/pptp 192.0.2.9 --nolaunchpppd --nohostroute --localbind {}",
            CLIENTS[number - 1]
        );
        // Each ends with what it is a part of.
        let line = format!(
            "(while cat client-{number}-says; do sleep 0.1; done) | setpriv --pdeathsig TERM -- \
             script --quiet --flush --command '{pptp}' client-{number} >/dev/null 2>&1"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(self.lab.folder.path());
        self.subscribers.spawn(command).expect("it starts")
    }

    fn path(&self, name: &str) -> String {
        self.lab.folder.path().join(name).display().to_string()
    }
}

/// A frame of HDLC with a packet of LCP that says something (RFC 1662 sections 3 and 4).
fn frame(said: &str) -> Vec<u8> {
    let mut bytes = [&[0xff, 0x03, 0xc0, 0x21], said.as_bytes()].concat();
    let sum =
        !bytes.iter().fold(0xffff_u16, |sum, &byte| {
            (0..8).fold(sum ^ u16::from(byte), |sum, _| {
                if sum & 1 == 1 { sum >> 1 ^ 0x8408 } else { sum >> 1 }
            })
        });
    bytes.extend(sum.to_le_bytes());
    let escaped = bytes.into_iter().flat_map(|byte| match byte {
        0..0x20 | 0x7d | 0x7e => vec![0x7d, byte ^ 0x20],
        _ => vec![byte],
    });
    [0x7e].into_iter().chain(escaped).chain([0x7e]).collect()
}

const PATIENCE: Duration = Duration::from_secs(60);
