//! What an operator sees of each failure: the alarm that is shown while it lasts, and the lines of
//! the log when it begins and ends. The texts stand in `failures/`, and in docs/real-hosts.md.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Hosts;
use super::nat::{SERVER, SMALL, SUBSCRIBER};
use super::router::routed;
use crate::kit::{Child, until, until_or};

/// Holds what is shown and logged of a failure against its file, or writes that. The log's part is
/// what it says of alarms.
fn hold(name: &str, shown: &[&str], router: &Child) {
    let log: Vec<String> = router.logged().iter().filter(|one| is_told(one)).cloned().collect();
    let mut text = String::new();
    for shown in shown {
        text += &format!("{}\n", timeless(shown.trim_end()));
    }
    text += &format!("log:\n{}\n", timeless(&log.join("\n")));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/real_hosts/failures");
    let path = path.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("it can be written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}",
        path.display()
    );
}

/// Whether a line of the log is about alarms.
fn is_told(line: &str) -> bool {
    line.contains("alarm") && !line.contains("blocks-low")
}

/// A text with moments in place of those of its run, as long as they were.
fn timeless(text: &str) -> String {
    let is_moment = |word: &str| {
        word.len() > 19
            && word.ends_with('Z')
            && word.as_bytes()[10] == b'T'
            && word.starts_with("20")
    };
    let word =
        |word: &str| if is_moment(word) { "2026-01-01T00:00:00.000000Z" } else { word }.to_owned();
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What a command shows once it says this, while something goes on.
fn shown_while(hosts: &Hosts, what: &[&str], said: &str, goes_on: impl Fn()) -> String {
    let show = || hosts.lab.run(&[&["show"], what].concat()).1;
    let last = || format!("; it says {}", show());
    let is_shown = || {
        goes_on();
        Some(show()).filter(|shown| shown.contains(said))
    };
    let shown = until_or(said, is_shown, last);
    format!("$ plumbline show {}\n{shown}", what.join(" "))
}

/// The same of what holds by itself.
fn shown_with(hosts: &Hosts, what: &[&str], said: &str) -> String {
    shown_while(hosts, what, said, || {})
}

/// Tells a thread beside a test to end, however the test does.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Between two rounds of packets: few enough that each sender is told, and none is dropped.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until the log tells of the end of an alarm.
fn wait_for_end(router: &Child) {
    let is_over = |line: &String| line.contains("alarm cleared") && is_told(line);
    until("the end of the alarm in the log", || router.logged().iter().any(is_over).then_some(()));
}

/// - `l3-router`, RFC 4861 section 7.2.2: the sender hears of a neighbour that does not answer,
///   and so does the operator
#[test]
fn a_neighbour_that_is_silent_is_an_alarm() {
    let Some((hosts, router)) = routed(&["ping"], "  icmp-errors-per-s: 100\n") else { return };
    // Nobody has this address, and the sender is told so.
    let silent = "ping -c 1 -W 9 10.0.2.77 || true";
    let said = hosts.left.command("sh", &["-c", silent], None).expect("a shell");
    assert!(said.contains("Destination Host Unreachable"), "{said}");
    // It lasts while packets are for nobody.
    let send = || {
        let socket = UdpSocket::bind("10.0.1.2:0").expect("a free port");
        // More than may wait for the answer.
        for _ in 0..20 {
            socket.send_to(b"who", ("10.0.2.77", 9)).expect("it leaves");
        }
    };
    let goes_on = || hosts.left.run(send).expect("the namespace");
    let alarm = shown_while(&hosts, &["alarms"], "next-hop-silent", goes_on);
    wait_for_end(&router);
    hold("neighbour-silent", &[&alarm], &router);
}

/// - `l3-router`, RFC 5227 section 2.4: another station with the router's address is told
#[test]
fn another_station_with_the_routers_address_is_an_alarm() {
    let Some((hosts, router)) = routed(&["ping"], "") else { return };
    hosts.left.ip("link set eth address 02:00:00:00:00:09").expect("an address");
    hosts.left.ip("addr add 10.0.1.1/24 dev eth").expect("an address");
    // Its questions are from the address of the router.
    let claim = "ping -c 1 -W 1 -I 10.0.1.1 10.0.1.77 || true";
    hosts.left.command("sh", &["-c", claim], None).expect("a shell");
    let alarm = shown_with(&hosts, &["alarms"], "address-conflict");
    let neighbours = shown_with(&hosts, &["neighbours"], "duplicate");
    let of_conflict = |line: &&str| {
        line.contains("duplicate") || line.contains('$') || line.starts_with("protocol")
    };
    let neighbours: Vec<&str> = neighbours.lines().filter(of_conflict).collect();
    hold("address-conflict", &[&alarm, &neighbours.join("\n")], &router);
}

/// - `l3-router`: a link that goes down and up is an alarm, and a line of the log
#[test]
fn a_link_that_goes_down_and_up_is_told() {
    let Some((hosts, router)) = routed(&[], "") else { return };
    hosts.right.ip("link set eth down").expect("it is there");
    let alarm = shown_with(&hosts, &["alarms"], "link-down");
    hosts.right.ip("link set eth up").expect("it is there");
    wait_for_end(&router);
    hold("link-down", &[&alarm], &router);
}

/// - `cgnat`, RFC 6888 REQ-11: connections that get no port are an alarm
#[test]
fn a_pool_that_is_full_is_an_alarm() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    // Few blocks of ports, and more subscribers.
    let keys = "pools: [203.0.113.8/32]\n  first-port: 32768\n  \
                port-block: {size: 16384, per-subscriber: 1}";
    let nat = hosts.start(&SMALL.replace("pools: [203.0.113.8/29]", keys));
    hosts.ping("203.0.113.1");
    let last = 3..12;
    for last in last.clone() {
        hosts.left.ip(&format!("addr add 192.168.1.{last}/24 dev eth")).expect("an address");
    }
    let send = || {
        for last in last.clone() {
            let socket = UdpSocket::bind(format!("192.168.1.{last}:0")).expect("a free port");
            socket.send_to(b"question", ("203.0.113.1", 53)).expect("it leaves");
        }
    };
    // All the while, as an alarm is over when it has not happened for a second.
    let is_over = AtomicBool::new(false);
    let alarm = thread::scope(|scope| {
        let _ending = Ending(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                hosts.left.run(send).expect("the namespace");
                // What ends in the namespace wakes this thread, too.
                let next = Instant::now() + PAUSE;
                while let Some(left) = next.checked_duration_since(Instant::now()) {
                    thread::park_timeout(left);
                }
            }
        });
        shown_with(&hosts, &["alarms"], "pool-exhausted")
    });
    let of_it = |line: &&str| !line.contains("blocks-low");
    let alarm = alarm.lines().filter(of_it).collect::<Vec<_>>().join("\n");
    wait_for_end(&nat);
    hold("pool-exhausted", &[&alarm], &nat);
}
