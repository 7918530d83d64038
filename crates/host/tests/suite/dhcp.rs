//! DHCP with clients and servers of others, each in a namespace: `udhcpc`, `dhclient`, `dhcpcd` and
//! `dhcp6c` before our servers, and `dnsmasq` behind our relay.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

use host::Host;
use netns::{Child, Namespace};
use nix::net::if_::if_nametoindex;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol_dhcp::v4::Mode;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::v6::server::Identity;
use protocol_dhcp::{
    Access, Class, Command, Config, Framed, Grant, Kind, Line, Place, PoolConfig, Prefix, Report,
    Source, Why, v4, v6,
};
use protocol_kit::{Input, Interface, Machine, Output, Time};
use wire::MacAddr;

use crate::frr::until;

/// A server or relay with an owner that says yes.
struct Owned<M>(Framed<M>);

impl<M: Access> Machine for Owned<M> {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        self.0.input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        let output = self.0.poll(now)?;
        let answer = match &output {
            Output::Report(Report::Wanted(lease, ..)) => Command::Accept(*lease, GRANT),
            Output::Report(Report::Up { lease, .. }) => Command::Acknowledged(*lease),
            _ => return Some(output),
        };
        self.0.input(now, Input::Command(answer));
        Some(output)
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

/// A client's namespace and ours, joined by `eth0`, and a folder.
struct Access4 {
    own: Namespace,
    far: Namespace,
    folder: tempfile::TempDir,
}

fn access() -> Access4 {
    let [own, far] = [(), ()].map(|()| Namespace::new().expect("a namespace"));
    for namespace in [&own, &far] {
        for key in ["default", "all"] {
            let key = format!("net/ipv6/conf/{key}/accept_dad");
            namespace.sysctl(&key, "0").expect("it is there");
        }
    }
    own.veth("eth0", &far, "eth0").expect("a pair of interfaces");
    // A packet socket gets sums that are only begun, where a port of a daemon completes them.
    let off = ["-K", "eth0", "tx", "off"];
    far.command("ethtool", &off, None).expect("features of veth");
    own.ip("addr add 10.9.0.1/24 dev eth0").expect("an address");
    own.ip("addr add fe80::9:1/64 dev eth0 nodad").expect("an address");
    // The kernel gives it some time after the link is there, and dhclient does not wait.
    until("a client's own address", || shows(&far, "fe80:").then_some(()));
    Access4 { own, far, folder: tempfile::tempdir().expect("a folder") }
}

impl Access4 {
    /// The only line: `eth0`.
    fn places(&self) -> Vec<Place> {
        let address = self.own.attribute("eth0", "address").expect("it has one");
        let octets = address.split(':').map(|part| u8::from_str_radix(part, 16));
        let octets: Vec<u8> = octets.collect::<Result<_, _>>().expect("numbers");
        let mac = MacAddr(octets.try_into().expect("six"));
        let interface = Interface(if_nametoindex("eth0").expect("it is there"));
        vec![Place { interface, line: Line(1), mac }]
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A script that a client runs at each of its events; it writes a line for each.
    fn script(&self, body: &str) -> PathBuf {
        let path = self.path("script");
        let file = self.path("events");
        let text = format!("#!/bin/sh\n{body} >> {}\nexit 0\n", file.display());
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its own");
        path
    }

    fn events(&self) -> String {
        fs::read_to_string(self.path("events")).unwrap_or_default()
    }

    /// Starts a client; what it says goes to a file.
    fn client(&self, program: &str, arguments: &[&str]) -> Child {
        self.far.spawn(logged(program, arguments, &self.path("log"))).expect("it starts")
    }
}

/// A program that says everything to a file.
fn logged(program: &str, arguments: &[&str], log: &Path) -> Program {
    let mut command = Program::new("sh");
    command.args(["-c", "log=$1; shift; exec \"$@\" > \"$log\" 2>&1", "sh"]);
    command.arg(log).arg(program).args(arguments);
    command
}

/// Turns a host until it has said something.
fn turn_until<M: Access>(
    host: &mut Host<Owned<M>>,
    what: &str,
    mut is_it: impl FnMut(&Report) -> bool,
) -> Report {
    until(what, || {
        let all = host.turn(Duration::from_millis(20)).expect("it turns");
        assert_eq!(host.take_failures().len(), 0, "sockets");
        all.into_iter().find(&mut is_it)
    })
}

/// Turns a host until a file says something.
fn turn_until_said<M: Access>(host: &mut Host<Owned<M>>, access: &Access4, words: &str) {
    until(words, || {
        host.turn(Duration::from_millis(20)).expect("it turns");
        access.events().lines().any(|line| line.starts_with(words)).then_some(())
    });
}

fn is_up(report: &Report) -> bool {
    matches!(report, Report::Up { .. })
}

fn is_gone(report: &Report) -> bool {
    matches!(report, Report::Gone { why: Why::Released, is_last: true, .. })
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("it lives");
}

fn is_there(programs: &[&str]) -> bool {
    let is_there =
        netns::may_make_namespaces() && programs.iter().all(|one| netns::is_installed(one));
    if !is_there {
        println!("skipped: needs root and {programs:?}");
    }
    is_there
}

fn pool(kind: Kind, first: &str, len: u8) -> PoolConfig {
    let first = Prefix::new(first.parse().expect("an address"), len).expect("a prefix");
    PoolConfig { kind, first, count: 16, reserved: vec![], shares: 1, alarm_percent: 0 }
}

fn server4() -> v4::Server {
    let mut config = Config::new(1, 64);
    config.pools = vec![pool(Kind::Address, "10.9.0.16", 32)];
    let class = Class::new(Duration::from_secs(600));
    config.classes =
        vec![class.with(1, &[255, 255, 255, 0]).with(3, &[10, 9, 0, 1]).with(6, &[10, 9, 0, 2])];
    v4::Server::new(config, OWN).expect("a server")
}

fn server6() -> v6::Server {
    let mut config = Config::new(1, 64);
    config.pools = vec![
        pool(Kind::Address, "2001:db8:1::10", 128),
        pool(Kind::Delegated, "2001:db8:100::", 56),
    ];
    let dns: Ipv6Addr = "2001:db8::53".parse().expect("an address");
    config.classes = vec![Class::new(Duration::from_secs(600)).with(23, &dns.octets())];
    let duid = vec![0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
    let address = "fe80::9:1".parse().expect("an address");
    let identity = Identity { duid, address, preference: 0, allows_rapid_commit: true };
    v6::Server::new(config, identity).expect("a server")
}

/// Has a relay, which has the port itself, work until all are done.
fn relay<M: Access + Send>(
    access: &Access4,
    machine: M,
    work: impl FnOnce(&mut Host<Owned<M>>) + Send,
) {
    access.own.run(|| drive(access, machine, work)).expect("it runs");
}

/// The same of a server. Without a socket the kernel would tell clients that nobody has its port.
fn serve<M: Access + Send>(
    access: &Access4,
    machine: M,
    work: impl FnOnce(&mut Host<Owned<M>>) + Send,
) {
    let any: IpAddr = match M::PORT {
        547 => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    let held = || {
        let _held = UdpSocket::bind((any, M::PORT)).expect("the port is free");
        drive(access, machine, work);
    };
    access.own.run(held).expect("it runs");
}

fn drive<M: Access>(access: &Access4, machine: M, work: impl FnOnce(&mut Host<Owned<M>>)) {
    let framed = Framed::new(machine, access.places());
    let mut host = Host::new(Owned(framed)).expect("a host");
    host.turn(Duration::ZERO).expect("it turns");
    work(&mut host);
}

#[test]
fn udhcpc_is_served_renews_and_releases() {
    if !is_there(&["busybox"]) {
        return;
    }
    let access = access();
    let script = access.script(
        "[ \"$1\" = bound ] && ip addr add $ip/24 dev $interface\n\
         echo \"$1 $ip $router $dns $lease\"",
    );
    serve(&access, server4(), |host| {
        let script = script.to_string_lossy();
        let client = access.client("busybox", &["udhcpc", "-i", "eth0", "-f", "-s", &script]);
        turn_until(host, "a session", is_up);
        turn_until_said(host, &access, "bound 10.9.0.16 10.9.0.1 10.9.0.2 600");
        signal(&client, Signal::SIGUSR1);
        turn_until(host, "a renewal", |report| matches!(report, Report::Renewed(_)));
        turn_until_said(host, &access, "renew 10.9.0.16");
        signal(&client, Signal::SIGUSR2);
        turn_until(host, "a release", is_gone);
    });
}

#[test]
fn dhclient_is_served_by_both_versions() {
    if !is_there(&["dhclient"]) {
        return;
    }
    for (is_v6, words) in [(false, "BOUND 10.9.0.16"), (true, "BOUND6 2001:db8:1::10")] {
        let access = access();
        let script = access.script(
            "[ \"$reason\" = PREINIT6 ] && ip link set $interface up\n\
             [ \"$reason\" = BOUND ] && ip addr add $new_ip_address/24 dev $interface\n\
             echo \"$reason $new_ip_address$new_ip6_address$new_ip6_prefix\"",
        );
        let [leases, pid, config] = ["leases", "pid", "config"].map(|name| access.path(name));
        fs::write(&config, "").expect("writable");
        let texts =
            [&script, &leases, &pid, &config].map(|path| path.to_string_lossy().into_owned());
        let [script, leases, pid, config] = &texts;
        let common = ["-d", "-v", "-cf", config, "-lf", leases, "-pf", pid, "-sf", script];
        match is_v6 {
            false => serve(&access, server4(), |host| {
                let client = access.client("dhclient", &[&["-4"], &common[..], &["eth0"]].concat());
                turn_until(host, "a session", is_up);
                turn_until_said(host, &access, words);
                drop(client);
                // Its record is what it releases by.
                let release = [&["-4", "-r"][..], &common, &["eth0"]].concat();
                let _client = access.client("dhclient", &release);
                turn_until(host, "a release", is_gone);
            }),
            true => serve(&access, server6(), |host| {
                let kinds = ["-6", "-N", "-P"];
                let client = access.client("dhclient", &[&kinds[..], &common, &["eth0"]].concat());
                let up = turn_until(host, "a session", is_up);
                let Report::Up { prefixes, .. } = up else { panic!("it is one") };
                assert_eq!(prefixes.len(), 2, "{prefixes:?}");
                turn_until_said(host, &access, words);
                turn_until_said(host, &access, "BOUND6 2001:db8:100::/56");
                drop(client);
                let release = [&["-6", "-N", "-P", "-r"][..], &common, &["eth0"]].concat();
                let _client = access.client("dhclient", &release);
                turn_until(host, "a release", is_gone);
            }),
        }
    }
}

#[test]
fn dhcpcd_is_served_by_both_versions() {
    if !is_there(&["dhcpcd"]) {
        return;
    }
    let config = "duid ll\nnoipv6rs\nnoipv4ll\nnoarp\nscript /bin/true\ninterface eth0\nipv6only\n\
                  ia_na 1\nia_pd 2\n";
    for (is_v6, config) in [
        (true, config.to_owned()),
        (false, config.replace("ipv6only\nia_na 1\nia_pd 2\n", "ipv4only\n")),
    ] {
        let access = access();
        let path = access.path("config");
        fs::write(&path, config).expect("writable");
        let path = path.to_string_lossy().into_owned();
        let arguments = ["-B", "-d", "-f", &path, "eth0"];
        match is_v6 {
            false => serve(&access, server4(), |host| {
                let client = access.client("dhcpcd", &arguments);
                turn_until(host, "a session", is_up);
                until("its address", || {
                    host.turn(Duration::from_millis(20)).expect("it turns");
                    shows(&access.far, "10.9.0.16/24").then_some(())
                });
                // By this signal it goes and releases what it has.
                signal(&client, Signal::SIGALRM);
                turn_until(host, "a release", is_gone);
            }),
            true => serve(&access, server6(), |host| {
                let client = access.client("dhcpcd", &arguments);
                let up = turn_until(host, "a session", is_up);
                let Report::Up { prefixes, .. } = up else { panic!("it is one") };
                assert_eq!(prefixes.len(), 2, "{prefixes:?}");
                until("its address", || {
                    host.turn(Duration::from_millis(20)).expect("it turns");
                    shows(&access.far, "2001:db8:1::10/128").then_some(())
                });
                signal(&client, Signal::SIGALRM);
                turn_until(host, "a release", is_gone);
            }),
        }
    }
}

#[test]
fn dhcp6c_is_served_with_address_and_prefix() {
    if !is_there(&["dhcp6c"]) {
        return;
    }
    let access = access();
    let config = "interface eth0 { send ia-na 1; send ia-pd 2; request domain-name-servers; };\n\
                  id-assoc na 1 { };\n\
                  id-assoc pd 2 { prefix-interface lo { sla-id 1; sla-len 8; }; };\n";
    let path = access.path("config");
    fs::write(&path, config).expect("writable");
    let [path, pid] = [path, access.path("pid")].map(|path| path.to_string_lossy().into_owned());
    serve(&access, server6(), |host| {
        let client = access.client("dhcp6c", &["-f", "-D", "-c", &path, "-p", &pid, "eth0"]);
        let up = turn_until(host, "a session", is_up);
        let Report::Up { prefixes, .. } = up else { panic!("it is one") };
        assert_eq!(prefixes.len(), 2, "{prefixes:?}");
        until("its address", || {
            host.turn(Duration::from_millis(20)).expect("it turns");
            shows(&access.far, "2001:db8:1::10/128").then_some(())
        });
        signal(&client, Signal::SIGTERM);
        turn_until(host, "a release", is_gone);
    });
}

/// Whether an address is on the client's interface.
fn shows(namespace: &Namespace, address: &str) -> bool {
    let shown = namespace.ip("addr show dev eth0").expect("it is there");
    shown.contains(&format!(" {address}"))
}

/// dnsmasq in a namespace behind ours, with pools for the clients' link.
fn dnsmasq(access: &Access4) -> (Namespace, Child) {
    let servers = Namespace::new().expect("a namespace");
    access.own.veth("eth1", &servers, "eth0").expect("a pair of interfaces");
    for (namespace, words) in [
        (&access.own, "addr add 10.8.0.1/24 dev eth1"),
        (&access.own, "addr add 2001:db8:8::1/64 dev eth1 nodad"),
        (&access.own, "addr add 2001:db8:9::1/64 dev eth0 nodad"),
        (&servers, "addr add 10.8.0.2/24 dev eth0"),
        (&servers, "addr add 2001:db8:8::2/64 dev eth0 nodad"),
        (&servers, "route add 10.9.0.0/24 via 10.8.0.1"),
        (&servers, "-6 route add 2001:db8:9::/64 via 2001:db8:8::1"),
    ] {
        namespace.ip(words).expect("it is taken");
    }
    let [leases, pid] = ["dnsmasq", "dnsmasq.pid"].map(|name| access.path(name));
    let leases = format!("--dhcp-leasefile={}", leases.display());
    let pid = format!("--pid-file={}", pid.display());
    let common = ["-d", "-p", "0", "-C", "/dev/null", "--log-dhcp", "--no-ping", "--user=root"];
    let ranges = [
        "--dhcp-range=10.9.0.50,10.9.0.60,255.255.255.0,600",
        "--dhcp-range=2001:db8:9::50,2001:db8:9::60,64,600",
    ];
    let arguments = [&common[..], &ranges, &[&leases, &pid]].concat();
    let command = logged("dnsmasq", &arguments, &access.path("dnsmasq.log"));
    let child = servers.spawn(command).expect("it starts");
    let ready = || {
        let log = fs::read_to_string(access.path("dnsmasq.log")).unwrap_or_default();
        log.contains("IP range").then_some(())
    };
    until("dnsmasq", ready);
    (servers, child)
}

#[test]
fn dnsmasq_serves_behind_the_relay_in_every_mode() {
    if !is_there(&["dnsmasq", "busybox"]) {
        return;
    }
    for mode in [Mode::Relay, Mode::Override, Mode::Proxy] {
        let access = access();
        let (_servers, _dnsmasq) = dnsmasq(&access);
        let script = access.script(
            "[ \"$1\" = bound ] && ip addr add $ip/24 dev $interface\n\
             echo \"$1 $ip $serverid\"",
        );
        let made = v4::Relay::new(Config::new(1, 64), OWN, &[Ipv4Addr::new(10, 8, 0, 2)], mode);
        relay(&access, made.expect("a relay"), |host| {
            let script = script.to_string_lossy();
            let client = access.client("busybox", &["udhcpc", "-i", "eth0", "-f", "-s", &script]);
            let up = turn_until(host, "a session", is_up);
            let Report::Up { prefixes, .. } = up else { panic!("it is one") };
            let server = if mode == Mode::Relay { "10.8.0.2" } else { "10.9.0.1" };
            turn_until_said(host, &access, &format!("bound {} {server}", prefixes[0]));
            if mode != Mode::Relay {
                signal(&client, Signal::SIGUSR1);
                turn_until(host, "a renewal", |report| matches!(report, Report::Renewed(_)));
                turn_until_said(host, &access, "renew");
                signal(&client, Signal::SIGUSR2);
                turn_until(host, "a release", is_gone);
                turn_until_released(host, &access);
            }
        });
    }
}

/// Turns a host until dnsmasq says that a client has released its address.
fn turn_until_released<M: Access>(host: &mut Host<Owned<M>>, access: &Access4) {
    until("a release at dnsmasq", || {
        host.turn(Duration::from_millis(20)).expect("it turns");
        let log = fs::read_to_string(access.path("dnsmasq.log")).unwrap_or_default();
        log.contains("DHCPRELEASE").then_some(())
    });
}

#[test]
fn dnsmasq_serves_behind_the_relay_of_version_6() {
    if !is_there(&["dnsmasq", "dhclient"]) {
        return;
    }
    let access = access();
    let (_servers, _dnsmasq) = dnsmasq(&access);
    let script = access.script("echo \"$reason $new_ip6_address\"");
    let [leases, pid, config] = ["leases", "pid", "config"].map(|name| access.path(name));
    fs::write(&config, "").expect("writable");
    let texts = [&script, &leases, &pid, &config].map(|path| path.to_string_lossy().into_owned());
    let [script, leases, pid, config] = &texts;
    let common = ["-6", "-N", "-d", "-v", "-cf", config, "-lf", leases, "-pf", pid, "-sf", script];
    let addresses = Addresses {
        own: "2001:db8:8::1".parse().expect("an address"),
        link: "2001:db8:9::1".parse().expect("an address"),
        on_lines: "fe80::9:1".parse().expect("an address"),
        servers: vec!["2001:db8:8::2".parse().expect("an address")],
        enterprise: 9,
    };
    let made = v6::Relay::new(Config::new(1, 64), addresses).expect("a relay");
    relay(&access, made, |host| {
        let client = access.client("dhclient", &[&common[..], &["eth0"]].concat());
        turn_until(host, "a session", is_up);
        turn_until_said(host, &access, "BOUND6 2001:db8:9::");
        drop(client);
        // Its record is what it releases by.
        let _client = access.client("dhclient", &[&common[..], &["-r", "eth0"]].concat());
        turn_until(host, "a release", is_gone);
        turn_until_released(host, &access);
    });
}

const GRANT: Grant = Grant {
    session: 1,
    class: 0,
    address: Some(Source::Pool(0, None)),
    delegated: Some(Source::Pool(1, None)),
};

const OWN: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
