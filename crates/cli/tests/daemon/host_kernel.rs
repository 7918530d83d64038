//! What an operator and programs give the host's interfaces in the kernel is the router's, too:
//! addresses, neighbours and routes, by unmodified programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use netns::Namespace;

use crate::kit::{Lab, until};
use crate::neighbours::host;

const ROUTER: &str = "function:
  name: l3-router
  ipv6: true
  resolve: true
  ecmp-capacity: 16
  ports:
    - {name: wan, mac: 02:00:00:00:00:01, host-interface: r1}
    - {name: lan, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, ipv6: 2001:db8:2::1/64,
       host-interface: r2}
ports:
  wan: {type: af-packet, interface: wan}
  lan: {type: af-packet, interface: lan}
controller: {name: kernel}
workers: {idle: sleep}
";

/// What a client of DHCP does with its lease, but for the host's own files.
const LEASE: &str = "#!/bin/sh
case $reason in
  BOUND|REBOOT)
    ip addr replace $new_ip_address/$new_subnet_mask dev $interface
    ip route replace default via $new_routers dev $interface ;;
  EXPIRE|FAIL|RELEASE|STOP) ip addr flush dev $interface ;;
esac
";

/// A router, the network that it is to join, and a host behind it.
struct Site {
    lab: Lab,
    wan: Namespace,
    lan: Namespace,
}

impl Site {
    fn new(programs: &[&str]) -> Option<Site> {
        for program in ["ip", "ping", "ethtool"].iter().chain(programs) {
            if !netns::is_installed(program) {
                println!("skipped: this needs {program}");
                return None;
            }
        }
        let lab = Lab::bare()?;
        let wan = host(&lab, "wan", &["10.0.1.2/24"], &["10.0.2.0/24 via 10.0.1.10"]);
        let lan = host(&lab, "lan", &["10.0.2.2/24"], &["default via 10.0.2.1"]);
        for one in [&wan, &lan, &lab.namespace] {
            one.ip("link set lo up").expect("an interface");
        }
        for (near, far) in [("wan", &wan), ("lan", &lan)] {
            // The kernel has the port's own interface beside the host's, and would answer at it.
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
            let off = ["-K", "eth", "tx", "off", "tso", "off", "gso", "off"];
            far.command("ethtool", &off, None).expect("features of veth");
        }
        Some(Site { lab, wan, lan })
    }

    /// Whether a table of the function tells of something.
    fn has(&self, table: &str, what: &str) -> bool {
        let (_, shown, _) = self.lab.run(&["show", "table", table, "--json"]);
        shown.contains(&format!("\"{what}\""))
    }

    fn wait_for(&self, table: &str, what: &str, is_there: bool) {
        let expected = format!("{what} in {table}: {is_there}");
        until(&expected, || (self.has(table, what) == is_there).then_some(()));
    }

    fn router(&self) -> &Namespace {
        &self.lab.namespace
    }

    fn ip(&self, words: &str) {
        self.router().ip(words).expect("the kernel takes it");
    }

    fn file(&self, name: &str) -> String {
        self.lab.folder.path().join(name).display().to_string()
    }
}

fn ping(from: &Namespace, to: &str) {
    until(&format!("an answer of {to}"), || {
        from.command("ping", &["-n", "-c", "1", "-W", "1", to], None).ok()
    });
}

#[test]
fn a_client_of_dhcp_gives_a_router_its_address_and_its_default_route() {
    let Some(site) = Site::new(&["dnsmasq", "dhclient", "sshd", "ssh-keygen"]) else { return };
    site.wan.ip("addr add 198.51.100.1/32 dev lo").expect("an address");
    let _daemon = site.lab.start(&site.lab.write("router.yaml", ROUTER));
    let mut server = Command::new("dnsmasq");
    server.args(["-k", "--conf-file=/dev/null", "--port=0", "--interface=eth", "--user=root"]);
    server.args(["--dhcp-range=10.0.1.10,10.0.1.10,255.255.255.0,1h", "--no-ping"]);
    server.args(["--dhcp-option=3,10.0.1.2", "--leasefile-ro", "--pid-file="]);
    let _server = site.wan.spawn(server).expect("it starts");
    let script = site.lab.write("lease", LEASE);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its file");
    let mut client = Command::new("dhclient");
    client.args(["-4", "-d", "-sf", &script.display().to_string(), "-cf", "/dev/null"]);
    client.args(["-lf", &site.file("leases"), "-pf", &site.file("pid"), "r1"]);
    let _client = site.router().spawn(client).expect("it starts");
    site.wait_for("routes", "0.0.0.0/0", true);
    for (from, to) in [
        // Of the router itself, and by it; the kernel there forwards nothing.
        (&site.wan, "10.0.1.10"),
        (site.router(), "10.0.1.2"),
        (&site.lan, "198.51.100.1"),
        (&site.wan, "10.0.2.2"),
    ] {
        ping(from, to);
    }
    for place in ["all", "r1", "r2"] {
        let read = || fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{place}/forwarding"));
        let value = site.router().run(read).expect("the namespace").expect("a setting");
        assert_eq!(value.trim(), "0", "{place}");
    }
    log_in(&site);
    ask_for_the_time(&site);
}

/// A host in the network behind asks the router for the time. The package `chrony` takes the place
/// of what keeps a machine's clock, so the set-up does not install it.
fn ask_for_the_time(site: &Site) {
    if !netns::is_installed("chronyd") {
        println!("left out: this needs chronyd");
        return;
    }
    let config = |name: &str, more: &str| {
        let pid = site.file(&format!("{name}.pid"));
        let text = format!("pidfile {pid}\nbindcmdaddress /\ncmdport 0\n{more}\n");
        site.lab.write(name, &text).display().to_string()
    };
    let served = config("time-server", "local stratum 3\nallow");
    let asked = config("time-client", "server 10.0.2.1 iburst maxsamples 1");
    // Neither sets the clock of this machine.
    let mut server = Command::new("/usr/sbin/chronyd");
    server.args(["-d", "-x", "-u", "root", "-f", &served]);
    let _server = site.router().spawn(server).expect("it starts");
    until("the time", || {
        let words = ["-Q", "-t", "5", "-u", "root", "-f", &asked];
        site.lan.command("/usr/sbin/chronyd", &words, None).ok()
    });
}

/// Somebody logs in at the address that the router got.
fn log_in(site: &Site) {
    let (own, key) = (site.file("host-key"), site.file("key"));
    for key in [&own, &key] {
        let words = ["-q", "-t", "ed25519", "-N", "", "-f", key];
        site.router().command("ssh-keygen", &words, None).expect("a key");
    }
    // Where it separates its rights; of a running system it is there.
    fs::create_dir_all("/run/sshd").expect("a folder");
    let config = format!(
        "HostKey {own}\nAuthorizedKeysFile {key}.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
    );
    let config = site.lab.write("sshd.conf", &config).display().to_string();
    let mut server = Command::new("/usr/sbin/sshd");
    server.args(["-D", "-e", "-f", &config, "-o", "ListenAddress=10.0.1.10"]);
    let _server = site.router().spawn(server).expect("it starts");
    let said = until("somebody to be logged in", || {
        let words = ["-i", &key, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"];
        let of_none = ["-o", "UserKnownHostsFile=/dev/null", "-F", "none", "root@10.0.1.10"];
        let words = [&words[..], &of_none, &["echo", "$SSH_CONNECTION"]].concat();
        site.lan.command("ssh", &words, None).ok()
    });
    assert!(said.starts_with("10.0.2.2 ") && said.trim().ends_with(" 10.0.1.10 22"), "{said}");
}

#[test]
fn what_an_operator_says_to_the_kernel_holds_for_the_router() {
    let Some(site) = Site::new(&[]) else { return };
    let _daemon = site.lab.start(&site.lab.write("router.yaml", ROUTER));
    // Addresses, and the links with them.
    site.ip("addr add 10.0.1.10/24 dev r1");
    site.ip("addr add 10.0.3.1/24 dev r2");
    site.ip("-6 addr add 2001:db8:3::1/64 dev r2 nodad");
    site.lan.ip("addr add 10.0.3.2/24 dev eth").expect("an address");
    site.lan.ip("-6 addr add 2001:db8:3::2/64 dev eth nodad").expect("an address");
    for (from, to) in [
        (&site.lan, "10.0.3.1"),
        (&site.lan, "2001:db8:3::1"),
        (site.router(), "10.0.3.2"),
        (site.router(), "2001:db8:3::2"),
        (&site.wan, "10.0.2.2"),
    ] {
        ping(from, to);
    }
    // A neighbour that does not answer for itself.
    site.lan.ip("addr add 10.0.2.77/32 dev lo").expect("an address");
    site.lan.sysctl("net/ipv4/conf/all/arp_ignore", "1").expect("a setting");
    let mac = site.lan.attribute("eth", "address").expect("it has one");
    site.ip(&format!("neigh replace 10.0.2.77 lladdr {mac} dev r2 nud permanent"));
    ping(&site.wan, "10.0.2.77");
    // Routes: to a neighbour, and the one with the lower metric of two.
    site.lan.ip("addr add 203.0.113.1/32 dev lo").expect("an address");
    site.wan.ip("route add 203.0.113.0/24 via 10.0.1.10").expect("a route");
    site.ip("route add 203.0.113.0/24 via 10.0.2.2 metric 20");
    ping(&site.wan, "203.0.113.1");
    site.ip("route add blackhole 203.0.113.0/24 metric 10");
    until("the better route to hold", || {
        let words = ["-n", "-c", "1", "-W", "0.2", "203.0.113.1"];
        site.wan.command("ping", &words, None).is_err().then_some(())
    });
    site.ip("route del blackhole 203.0.113.0/24 metric 10");
    ping(&site.wan, "203.0.113.1");
    // All of it ends as it began; routes that prefer an address go with it.
    site.ip("neigh del 10.0.2.77 dev r2");
    site.wait_for("neighbours", "10.0.2.77", false);
    site.ip("route add 192.0.2.0/24 via 10.0.2.2 src 10.0.3.1");
    site.wait_for("routes", "192.0.2.0/24", true);
    site.ip("addr del 10.0.3.1/24 dev r2");
    site.wait_for("routes", "10.0.3.0/24", false);
    site.wait_for("routes", "192.0.2.0/24", false);
    assert!(site.has("routes", "203.0.113.0/24"), "it has nothing to do with it");
}
