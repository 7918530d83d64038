//! Namespaces as devices use them; without the right to make one there is nothing to test.

use std::process::Command;
use std::time::Duration;

use netns::{Namespace, Programs, may_make_namespaces};

fn pair() -> Option<(Namespace, Namespace)> {
    if !may_make_namespaces() {
        eprintln!("skipped: no right to make network namespaces; run as root");
        return None;
    }
    let make = || Namespace::new().expect("the right is there");
    Some((make(), make()))
}

#[test]
fn two_namespaces_talk_over_a_veth_pair_and_the_host_sees_nothing() {
    let Some((left, right)) = pair() else { return };
    left.veth("left0", &right, "right0").expect("veth");
    left.ip("addr add 192.0.2.1/24 dev left0").expect("address");
    right.ip("addr add 192.0.2.2/24 dev right0").expect("address");
    let received = right
        .run(|| std::net::TcpListener::bind("192.0.2.2:7"))
        .expect("runs")
        .expect("the address is there");
    let address = received.local_addr().expect("bound");
    left.run(|| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5)))
        .expect("runs")
        .expect("the way is there");
    let host = std::fs::read_to_string("/proc/net/dev").expect("the host has interfaces");
    assert!(!host.contains("left0") && !host.contains("right0"), "{host}");
}

#[test]
fn errors_say_what_was_tried_and_what_it_said() {
    let Some((left, _)) = pair() else { return };
    let error = left.ip("link set absent0 up").expect_err("no such interface").to_string();
    assert!(error.contains("ip link set absent0 up") && error.contains("absent0"), "{error}");
    let error = left.command("no-such-program", &[], None).expect_err("absent").to_string();
    assert!(error.contains("not installed"), "{error}");
    let error = left.sysctl("net/no/such/key", "1").expect_err("absent").to_string();
    assert!(error.contains("/proc/sys/net/no/such/key"), "{error}");
    left.sysctl("net/ipv4/ip_forward", "1").expect("the namespace's own");
    left.ip_batch("link add b0 type veth peer name b1\nlink set b0 up\n").expect("both lines");
    assert!(left.ip("link show b1").expect("it is there").contains("b1"));
}

#[test]
fn what_was_started_ends_with_its_handle_and_with_the_namespace() {
    let Some((left, _)) = pair() else { return };
    let mut sleeper = Command::new("sleep");
    sleeper.arg("1000");
    let mut child = left.spawn(sleeper).expect("sleep is everywhere");
    assert!(child.ended().is_none());
    let id = child.id();
    let ended = child.stop(Duration::from_secs(5)).expect("it ended");
    assert!(!ended.success(), "by a signal");
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());

    let mut sleeper = Command::new("sleep");
    sleeper.arg("1000");
    let mut child = left.spawn(sleeper).expect("sleep is everywhere");
    drop(left);
    let start = std::time::Instant::now();
    while child.ended().is_none() && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert!(child.ended().is_some(), "the kernel killed it with the namespace's thread");
}

#[test]
fn a_paused_program_stands_still_until_it_goes_on_and_can_be_killed_meanwhile() {
    let programs = Programs::new().expect("a thread");
    let mut sleeper = Command::new("sleep");
    sleeper.arg("1000");
    let mut child = programs.spawn(sleeper).expect("sleep is everywhere");
    let id = child.id();
    let until = |is_stopped: bool| {
        let start = std::time::Instant::now();
        let state = || std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        while state().contains("State:\tT") != is_stopped {
            assert!(start.elapsed() < Duration::from_secs(10), "{}", state());
            std::thread::yield_now();
        }
    };
    child.pause().expect("it runs");
    until(true);
    assert!(child.ended().is_none(), "it has not ended");
    child.go_on().expect("it is there");
    until(false);
    child.pause().expect("it runs");
    until(true);
    child.stop(Duration::ZERO);
    let error = child.go_on().expect_err("it has ended").to_string();
    assert!(error.contains("go on") && error.contains("it has ended"), "{error}");
}

#[test]
fn attributes_are_those_of_the_namespace() {
    let Some((left, right)) = pair() else { return };
    left.veth("left0", &right, "right0").expect("veth");
    left.wait_until_up("left0", Duration::from_secs(10)).expect("its peer is up");
    left.ip("link set left0 down").expect("down");
    let error = left.wait_until_up("left0", Duration::ZERO).expect_err("no peer").to_string();
    assert!(error.contains("left0") && error.contains("down"), "{error}");
    left.set_attribute("left0", "queues/rx-0/rps_cpus", "1").expect("set");
    assert_eq!(left.attribute("left0", "mtu").expect("read"), "1500");
    let error = left.attribute("right0", "mtu").expect_err("the other's").to_string();
    assert!(error.contains("/sys/class/net/right0/mtu"), "{error}");
    assert!(!std::path::Path::new("/sys/class/net/left0").exists(), "the host's is as it was");
}

#[test]
fn names_that_the_kernel_would_not_take_are_refused_by_name() {
    let Some((left, right)) = pair() else { return };
    for name in ["", "-p0", "sixteen-letters!", "a b", "a/b", ".."] {
        let error = left.veth(name, &right, "right0").expect_err("no name").to_string();
        assert!(error.contains("is not a valid interface name"), "{error}");
        assert!(left.attribute(name, "mtu").is_err());
    }
}

#[test]
fn programs_without_a_namespace_end_with_their_owner_and_all_at_once() {
    // A shell, the first of the two, waits for what it has started.
    let shell = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & wait"]);
        shell
    };
    let programs = Programs::new().expect("a thread");
    let both = |child: &netns::Child| {
        let start = std::time::Instant::now();
        loop {
            let family = child.family();
            if family.len() == 2 {
                return family;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{family:?}");
            std::thread::yield_now();
        }
    };
    let is_alive = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    let until_gone = |ids: &[u32]| {
        let start = std::time::Instant::now();
        while ids.iter().any(is_alive) {
            assert!(start.elapsed() < Duration::from_secs(10), "one of {ids:?} lives");
            std::thread::yield_now();
        }
    };
    let child = programs.spawn(shell()).expect("a shell is everywhere");
    let family = both(&child);
    assert!(family.iter().all(is_alive) && family[0] == child.id(), "{family:?}");
    child.kill_all();
    until_gone(&family);

    let child = programs.spawn(shell()).expect("a shell is everywhere");
    let family = both(&child);
    drop(programs);
    until_gone(&family[..1]);
    // Its own child is not bound to it; with nobody to wait for it, it is ended here.
    drop(child);
    let _ = Command::new("kill").args(["-9", &family[1].to_string()]).status();
    until_gone(&family[1..]);
}
