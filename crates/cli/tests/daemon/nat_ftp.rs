//! A real FTP server and a real client on both sides of a NAT with its gateway for FTP: files pass both ways, by
//! connections that the client opens and by those that the server opens, and arrive as they were sent.
//!
//! The server (vsftpd) opens data connections to nobody but the host of the control connection, by address; so
//! `PORT` and `EPRT` succeed only if the NAT replaced the address.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use netns::Namespace;
use serde_json::Value;

use crate::kit::{Lab, until};

/// The ways in which data connections are asked for: by curl's options.
const WAYS: [(&str, &[&str]); 4] = [
    ("PASV", &["--disable-epsv"]),
    ("EPSV", &[]),
    ("PORT", &["--ftp-port", "-", "--disable-eprt"]),
    ("EPRT", &["--ftp-port", "-"]),
];

/// A subscriber, the NAT and the Internet, each in a namespace of its own.
struct Network {
    lab: Lab,
    subscriber: Namespace,
    internet: Namespace,
}

#[test]
fn files_pass_by_connections_of_both_ends() {
    let Some(network) = Network::new() else { return };
    let nat = network.nat("alg: {ftp: true}");
    let _server = network.server();
    let sent: Vec<u8> =
        (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    network.write("down", &sent);
    network.write("server/down", &sent);
    for (way, options) in WAYS {
        let name = format!("{way}.down");
        network
            .curl(&["--output", &network.path(&name), "ftp://192.0.2.9/down"], options)
            .unwrap_or_else(|said| panic!("{way}: {said}"));
        assert!(
            fs::read(network.path(&name)).expect("it came") == sent,
            "{way}: another file came"
        );
        let url = format!("ftp://192.0.2.9/upload/{way}");
        network
            .curl(&["--upload-file", &network.path("down"), &url], options)
            .unwrap_or_else(|said| panic!("{way}: {said}"));
        let arrived = fs::read(network.path(&format!("server/upload/{way}"))).expect("it arrived");
        assert!(arrived == sent, "{way}: another file arrived");
    }
    let (code, shown, told) = network.lab.run(&["show", "--json"]);
    assert_eq!(code, 0, "{told}");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    // A list, a download and an upload by PORT and EPRT each are told by the client.
    let rewritten = tally(&shown, "alg-rewritten");
    assert!(rewritten >= 4, "{shown}");
    assert_eq!(tally(&shown, "alg-damaged"), 0, "{shown}");
    drop(nat);
}

#[test]
fn without_the_gateway_the_server_refuses_to_open_connections() {
    let Some(network) = Network::new() else { return };
    let _nat = network.nat("alg: {ftp: false}");
    let _server = network.server();
    network.write("server/down", b"text");
    let to = network.path("got");
    for (way, options) in WAYS {
        let ended = network.curl(&["--output", &to, "ftp://192.0.2.9/down"], options);
        assert_eq!(ended.is_ok(), way.ends_with('V'), "{way}: {ended:?}");
    }
}

impl Network {
    /// Makes it; none, and a note, where that cannot be done.
    fn new() -> Option<Network> {
        let programs = ["ip", "ethtool", "curl", "vsftpd"];
        let missing = programs.into_iter().find(|program| !netns::is_installed(program));
        if !netns::may_make_namespaces() || missing.is_some() {
            println!("skipped: needs root, {missing:?}");
            return None;
        }
        let make = || Namespace::new().expect("it may be made");
        let (nat, subscriber, internet) = (make(), make(), make());
        for namespace in [&nat, &subscriber, &internet] {
            namespace
                .sysctl("net/ipv6/conf/default/disable_ipv6", "1")
                .expect("a key of the kernel");
        }
        let sides = [("a0", &subscriber, "100.64.0.2/10"), ("b0", &internet, "192.0.2.9/24")];
        for (near, far, address) in sides {
            nat.veth(near, far, "eth").expect("a link");
            // What leaves to another program must have its checksums.
            for (namespace, interface) in [(&nat, near), (far, "eth")] {
                let off = [
                    "-K", interface, "tx", "off", "rx", "off", "gso", "off", "tso", "off", "gro",
                    "off",
                ];
                namespace.command("ethtool", &off, None).expect("features of veth");
            }
            far.ip(&format!("addr add {address} dev eth")).expect("an address");
            far.wait_until_up("eth", PATIENCE).expect("up");
        }
        subscriber.ip("route add default via 100.127.255.254").expect("a route");
        internet.ip("route add 198.18.0.0/24 via 192.0.2.1").expect("a route");
        let folder = tempfile::tempdir().expect("a folder");
        // The server gives its rights away, and still has to come here.
        open(folder.path(), 0o755);
        Some(Network { lab: Lab { namespace: nat, folder }, subscriber, internet })
    }

    /// Starts the NAT.
    fn nat(&self, keys: &str) -> crate::kit::Child {
        let mac =
            |namespace: &Namespace| namespace.attribute("eth", "address").expect("it has one");
        let text = format!(
            "function:\n  name: cgnat\n  sessions: 1000\n  outside-ip: 192.0.2.1\n  \
             inside-next-hop-mac: \"{}\"\n  outside-next-hop-mac: \"{}\"\n  {keys}\n\
             ports:\n  inside: {{type: af-packet, interface: a0}}\n  outside: {{type: af-packet, interface: b0}}\n\
             workers: {{idle: sleep}}\n",
            mac(&self.subscriber),
            mac(&self.internet)
        );
        self.lab.start(&self.lab.write("nat.yaml", &text))
    }

    /// Starts the server, and waits until it takes connections.
    fn server(&self) -> netns::Child {
        for (name, mode) in [("server", 0o555), ("server/upload", 0o777), ("empty", 0o555)] {
            fs::create_dir(self.path(name)).expect("a folder");
            open(self.path(name).as_ref(), mode);
        }
        let configuration = format!(
            "listen=YES\nbackground=NO\nanonymous_enable=YES\nno_anon_password=YES\nlocal_enable=NO\n\
             write_enable=YES\nanon_upload_enable=YES\nanon_umask=022\nanon_root={}\n\
             secure_chroot_dir={}\nseccomp_sandbox=NO\nisolate=NO\nisolate_network=NO\n\
             connect_from_port_20=YES\nxferlog_enable=NO\n",
            self.path("server"),
            self.path("empty")
        );
        let file = self.lab.write("vsftpd.conf", &configuration);
        let mut command = Command::new("/usr/sbin/vsftpd");
        command.arg(file);
        let mut server = self.internet.spawn(command).expect("it starts");
        let own: SocketAddr = ([192, 0, 2, 9], 21).into();
        until("the server", || {
            assert!(server.ended().is_none(), "the server ended");
            self.internet.run(|| TcpStream::connect(own).ok()).expect("the namespace")
        });
        server
    }

    /// Runs curl as the subscriber.
    fn curl(&self, arguments: &[&str], options: &[&str]) -> Result<String, String> {
        let common = ["--silent", "--show-error", "--max-time", "60"];
        let all = [&common, options, arguments].concat();
        self.subscriber.command("curl", &all, None).map_err(|error| error.to_string())
    }

    fn path(&self, name: &str) -> String {
        self.lab.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("writable");
    }
}

fn open(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
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

const PATIENCE: Duration = Duration::from_secs(60);
