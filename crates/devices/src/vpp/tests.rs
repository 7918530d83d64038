//! What is told to VPP, what is refused, and how failures of a program are told: a few lines of
//! shell stand for VPP there. The real one is in the tests of the crate.

use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use model_kit::service::{Interface, NextHop, ReversePath, Route, Router};
use wire::MacAddr;

use super::startup::Startup;
use super::*;

fn interface(number: u8, ipv6: bool) -> Interface {
    Interface {
        mac: MacAddr([2, 0, 0, 0, 1, number]),
        ipv4: Some((Ipv4Addr::new(198, 18, number, 1), 24)),
        ipv6: ipv6.then(|| ("2001:2::1".parse().expect("an address"), 64)),
        reverse_path: ReversePath::None,
        vrf: 0,
    }
}

fn router() -> Router {
    let hop = |number: u8| NextHop {
        port: PortId(number),
        vlan: None,
        mac: MacAddr([2, 0, 0, 0, 2, number]),
        source: None,
        ipv4: (number == 0).then_some(Ipv4Addr::new(198, 18, 0, 2)),
        ipv6: None,
    };
    Router {
        interfaces: vec![interface(0, false), interface(1, false)],
        next_hops: vec![hop(0), hop(1)],
        routes: vec![
            Route { prefix: Ipv4Addr::new(20, 0, 0, 0).into(), len: 8, next_hop: 0, vrf: 0 },
            Route { prefix: Ipv4Addr::new(20, 1, 0, 0).into(), len: 16, next_hop: 1, vrf: 0 },
        ],
        ..Router::default()
    }
}

fn keys(keys: Value) -> Map<String, Value> {
    keys.as_object().cloned().expect("an object")
}

#[test]
fn a_router_is_told_with_its_neighbours() {
    let plan = plan::plan(&Service::Router(router())).expect("a router");
    assert_eq!(
        plan.commands,
        "set interface mac address port0 02:00:00:00:01:00\n\
         set interface ip address port0 198.18.0.1/24\n\
         set interface mac address port1 02:00:00:00:01:01\n\
         set interface ip address port1 198.18.1.1/24\n\
         set ip neighbor port0 198.18.0.2 02:00:00:00:02:00 static\n\
         set ip neighbor port1 169.254.0.2 02:00:00:00:02:01 static no-fib-entry\n\
         ip route add 198.18.0.2/32 via 198.18.0.2 port0\n\
         ip route add 20.0.0.0/8 via 198.18.0.2 port0\n\
         ip route add 20.1.0.0/16 via 169.254.0.2 port1\n\
         ip route add 0.0.0.0/8 via drop\n\
         ip route add 127.0.0.0/8 via drop\n"
    );
    assert_eq!((plan.ipv4_routes, plan.ipv6_routes, plan.stations), (5, 0, 0));
}

#[test]
fn ipv6_is_on_at_each_port_if_the_router_has_it_and_says_nothing_of_itself() {
    let prefix = "3fff::".parse().expect("an address");
    let mut router = router();
    router.interfaces[0] = interface(0, true);
    router.routes.push(Route { prefix, len: 32, next_hop: 1, vrf: 0 });
    let plan = plan::plan(&Service::Router(router)).expect("a router");
    for line in [
        "set interface ip address port0 2001:2::1/64\nip6 nd port0 ra-suppress\n",
        "enable ip6 interface port1\nip6 nd port1 ra-suppress\n",
        "set ip neighbor port1 fe80::1:2 02:00:00:00:02:01 static no-fib-entry\n",
        "ip route add 3fff::/32 via fe80::1:2 port1\n",
    ] {
        assert!(plan.commands.contains(line), "{line} of {}", plan.commands);
    }
    assert_eq!(plan.ipv6_routes, 1);
    let mut wrong = super::tests::router();
    wrong.routes[0].next_hop = 7;
    assert!(plan::plan(&Service::Router(wrong)).is_err(), "there is no such next hop");
}

#[test]
fn a_bridge_is_a_domain_and_a_patch_a_cross_connect() {
    let bridge = Bridge {
        ports: 2,
        stations: vec![(MacAddr([2, 0, 0, 0, 0, 9]), PortId(1))],
        ageing_s: Some(61.0),
        floods: true,
        ..Bridge::default()
    };
    let plan = plan::plan(&Service::Bridge(bridge.clone())).expect("a bridge");
    assert_eq!(
        plan.commands,
        "create bridge-domain 1 learn 1 forward 1 uu-flood 1 flood 1 arp-term 0 mac-age 2\n\
         set interface l2 bridge port0 1\n\
         set interface l2 bridge port1 1\n\
         l2fib add 02:00:00:00:00:09 1 port1 static\n"
    );
    assert_eq!(plan.stations, 1);
    let dull = Bridge { ageing_s: None, floods: false, ..bridge.clone() };
    let plan = plan::plan(&Service::Bridge(dull)).expect("a bridge");
    assert!(plan.commands.starts_with(
        "create bridge-domain 1 learn 0 forward 1 uu-flood 0 flood 1 arp-term 0 mac-age 0\n"
    ));
    let patch = Bridge { patch: Some([None, None]), ..bridge };
    let plan = plan::plan(&Service::Bridge(patch)).expect("a patch");
    assert_eq!(
        plan.commands,
        "set interface l2 xconnect port0 port1\nset interface l2 xconnect port1 port0\n"
    );
}

#[test]
fn what_vpp_cannot_do_is_refused_by_its_key() {
    let refused = |router: Router| {
        let error = Vpp.limitations(&Service::Router(router), &Map::new()).expect_err("refused");
        error.what
    };
    let mut strict = router();
    strict.interfaces[1].reverse_path = ReversePath::Strict;
    assert!(refused(strict).contains("`interfaces[].urpf`"));
    let mut sourced = router();
    sourced.next_hops[0].source = Some(MacAddr([2, 0, 0, 0, 9, 9]));
    assert!(refused(sourced.clone()).contains("`next-hops[].source`"));
    // The port's own address is no other.
    sourced.next_hops[0].source = Some(MacAddr([2, 0, 0, 0, 1, 0]));
    Vpp.limitations(&Service::Router(sourced), &Map::new()).expect("its own address");
    let patch = Bridge {
        ports: 2,
        patch: Some([Some(MacAddr([2, 0, 0, 0, 0, 1])), None]),
        ..Bridge::default()
    };
    let error = Vpp.limitations(&Service::Bridge(patch), &Map::new()).expect_err("refused");
    assert!(error.remedy.contains("source addresses"), "{error:?}");
}

#[test]
fn keys_are_held_to_their_limits() {
    let service = Service::Router(router());
    for (key, wrong) in [
        ("ring-size", json!({"ring-size": 1000})),
        ("buffers", json!({"buffers": 10})),
        ("program", json!({"program": "/opt/my vpp/vpp"})),
        ("plugin-folder", json!({"plugin-folder": ""})),
        ("ports", json!({"ports": "memif"})),
    ] {
        let error = Vpp.limitations(&service, &keys(wrong)).expect_err(key);
        assert_eq!(error.path(), format!("device.{key}"), "{error:?}");
    }
}

#[test]
fn a_start_is_configured_as_an_operator_would_write_it() {
    let options = Options {
        plugin_folder: Some("/opt/vpp/plugins".into()),
        huge_pages: false,
        ..Options::default()
    };
    let startup = Startup {
        options: &options,
        folder: Path::new("/tmp/folder"),
        prefix: "plumbline-vpp-1-0",
        main_core: startup::main_core(&[0, 1, 2], &[0, 2]),
        worker_cores: &[0, 2],
        routes: 512_000,
    };
    assert_eq!(
        startup.text(),
        "unix {\n  nodaemon\n  nosyslog\n  nocolor\n  cli-no-banner\n  cli-no-pager\n  \
         runtime-dir /tmp/folder\n  cli-listen /tmp/folder/cli.sock\n}\n\
         api-segment { prefix plumbline-vpp-1-0 }\n\
         statseg { socket-name /tmp/folder/stats.sock }\n\
         logging { default-syslog-log-level disabled }\n\
         memory { main-heap-size 2024M main-heap-page-size 4K }\n\
         buffers { buffers-per-numa 16384 page-size 4K }\n\
         cpu { main-core 1 corelist-workers 0,2 }\n\
         plugins {\n  path /opt/vpp/plugins\n  plugin default { disable }\n  \
         plugin memif_plugin.so { enable }\n}\n"
    );
    let huge = Options { huge_pages: true, ..Options::default() };
    let text = Startup { options: &huge, main_core: None, worker_cores: &[], ..startup }.text();
    assert!(text.contains("main-heap-page-size default-hugepage"), "{text}");
    assert!(text.contains("cpu { }\n") && !text.contains("path "), "{text}");
    assert_eq!(startup::main_core(&[3], &[3]), None);
}

/// A program in a folder for tests, which a few lines of shell are.
fn program(folder: &Path, name: &str, lines: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("its own file");
    path
}

/// Starts a process of programs that stand for VPP; none without the right to make a namespace.
fn start(folder: &Path, vpp: &str, control: &str) -> Option<Result<Process, DriverError>> {
    if !netns::may_make_namespaces() {
        println!("skipped: no right to make network namespaces");
        return None;
    }
    let options = Options {
        program: Some(program(folder, "vpp", vpp)),
        vppctl: Some(program(folder, "vppctl", control)),
        ..Options::default()
    };
    let size = Size { worker_cores: &[], routes: 0, patience: Duration::from_secs(2) };
    Some(Process::start(&options, &size, &AtomicBool::new(false)))
}

/// A VPP whose CLI listens, as far as one can see.
const LISTENS: &str = ": > \"$(dirname \"$2\")/cli.sock\"; exec sleep 600";

#[test]
fn a_program_that_is_missing_is_told_with_what_to_do() {
    let service = Service::Router(router());
    let options = keys(json!({"program": "/nowhere/vpp"}));
    let missing = Vpp.available_with(&service, &options).expect_err("it is nowhere");
    assert_eq!(missing.why, "/nowhere/vpp is not installed");
    assert!(missing.remedy.contains("https://fd.io") && missing.remedy.contains("`program`"));
    let folder = tempfile::tempdir().expect("a folder");
    let vpp = program(folder.path(), "vpp", "exit 0");
    let options = keys(json!({"program": vpp, "vppctl": "/nowhere/vppctl"}));
    let missing = Vpp.available_with(&service, &options).expect_err("it is nowhere");
    assert!(missing.why.contains("/nowhere/vppctl") && missing.remedy.contains("`vppctl`"));
    // That beside the program is found.
    program(folder.path(), "vppctl", "exit 0");
    let options = Options { program: Some(vpp), ..Options::default() };
    assert_eq!(options.control(), folder.path().join("vppctl"));
    assert_ne!(version(&options), "", "another program is another version");
}

#[test]
fn a_program_that_dies_at_its_start_is_told_with_its_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let vpp = "echo 'vpp: no huge pages for you' >&2; exit 3";
    let Some(started) = start(folder.path(), vpp, "exit 1") else { return };
    let error = started.err().expect("it died");
    assert!(error.what.starts_with("VPP ended (exit status: 3)"), "{error:?}");
    assert!(error.what.contains("no huge pages for you"), "{error:?}");
    let vpp = "echo 'barrier: worker thread deadlock' >&2; exit 134";
    let Some(started) = start(folder.path(), vpp, "exit 1") else { return };
    let error = started.err().expect("it died");
    assert!(error.remedy.contains("does not run for a second"), "{error:?}");
}

#[test]
fn a_cli_that_does_not_answer_is_told_and_the_program_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let vpp = format!("echo $$ > {}/pid; {LISTENS}", folder.path().display());
    let Some(started) = start(folder.path(), &vpp, "exec sleep 600") else { return };
    let error = started.err().expect("it says nothing");
    assert!(error.what.starts_with("VPP is not ready after 2s"), "{error:?}");
    assert!(error.what.contains("does not answer `show version` in 2 s"), "{error:?}");
    let id = std::fs::read_to_string(folder.path().join("pid")).expect("it ran");
    assert!(!Path::new("/proc").join(id.trim()).exists(), "it is gone");
}

#[test]
fn a_cli_that_never_listens_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(started) = start(folder.path(), "exec sleep 600", "exit 1") else { return };
    let error = started.err().expect("it never listens");
    assert!(error.what.contains("its CLI does not listen"), "{error:?}");
}

#[test]
fn what_vpp_prints_about_an_order_is_an_error_and_an_end_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let control = "shift 2\ncase \"$*\" in\n\
                   'show version') echo 'vpp v24.06-release built by root on here';;\n\
                   'set good') ;;\n\
                   exec*) echo 'exec: CLI line error: unknown input';;\n\
                   *) echo 'unknown input';;\nesac";
    let Some(started) = start(folder.path(), LISTENS, control) else { return };
    let mut process = started.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process.version(), "VPP v24.06-release");
    process.order("set good").expect("it prints nothing");
    let refused = process.order("set bad").expect_err("it prints something");
    assert_eq!(refused.what, "VPP refuses `set bad`: unknown input");
    let refused = process.orders("set bad\n").expect_err("it prints something");
    assert!(refused.what.starts_with("VPP refuses its configuration: exec: CLI line"), "{refused}");
    process.pause().expect("it runs");
    process.go_on().expect("it runs");
    let (folder, resident) = (process.file(""), process.resident_bytes());
    assert!(resident > Some(0) && Path::new(&folder).exists());
    drop(process);
    assert!(!Path::new(&folder).exists(), "nothing is left");
}
