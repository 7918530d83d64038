//! VRRP over the kernel's sockets, with keepalived as the other router, over IPv4 and IPv6.

use std::net::IpAddr;
use std::time::Duration;

use host::Host;
use netns::Namespace;
use nix::net::if_::if_nametoindex;
use protocol_kit::Interface;
use protocol_vrrp::{Command, Config, Coverage, Key, Reason, Report, State, Vrrp};

use crate::frr::until;
use crate::keepalived::{self, Keepalived, clear, has, instance};
use crate::probe::{FAR, OWN, linked};

/// The virtual addresses, by family.
const V4: [&str; 1] = ["10.9.0.100"];
const V6: [&str; 2] = ["fe80::9:100", "fd00:9::100"];

/// The router's own link-local address.
const LINK_LOCAL: &str = "fe80::9:1";

/// Configurations for both families, as keepalived has them.
fn configs(priority: u8) -> [Config; 2] {
    let interface = Interface(if_nametoindex("eth0").expect("it is there"));
    let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let config = |is_v6, primary: &str, addresses: &[&str]| {
        let key = Key { interface, vrid: 7, is_v6 };
        let addresses = addresses.iter().copied().map(address).collect();
        let mut config = Config::new(key, address(primary), addresses);
        (config.priority, config.interval) = (priority, Duration::from_millis(100));
        config.coverage = Coverage::PseudoHeader;
        config
    };
    [config(false, OWN[0], &V4), config(true, LINK_LOCAL, &V6)]
}

/// keepalived's virtual routers of both families.
fn instances(priority: u8) -> String {
    [instance("v4", priority, "", &V4), instance("v6", priority, "", &V6)].concat()
}

/// Both namespaces, with a link-local address of our own that is there at once.
fn namespaces() -> (Namespace, Namespace) {
    let (own, far) = linked();
    own.ip(&format!("addr add {LINK_LOCAL}/64 dev eth0 nodad")).expect("an address");
    far.ip("addr add fe80::9:2/64 dev eth0 nodad").expect("an address");
    (own, far)
}

/// Turns a host until virtual routers of these numbers are in a state; returns why the last one
/// has entered it.
fn turn_until(host: &mut Host<Vrrp>, numbers: &[u32], wanted: State) -> Option<Reason> {
    let mut why = None;
    until(&format!("state {wanted:?}"), || {
        for report in host.turn(Duration::from_millis(20)).expect("it turns") {
            match report {
                Report::Changed { state, reason, .. } if state == wanted => why = Some(reason),
                Report::Refused { why, .. } => panic!("{why}"),
                Report::Misconfigured { what, .. } => panic!("{what:?} differ"),
                _ => {}
            }
        }
        let is_there =
            |number: &u32| host.machine().view(*number).is_some_and(|view| view.state == wanted);
        numbers.iter().all(is_there).then_some(())
    });
    why
}

/// Turns a host until keepalived has, or has not, the virtual addresses.
fn turn_until_far(host: &mut Host<Vrrp>, far: &Namespace, addresses: &[&str], has_them: bool) {
    until("keepalived's addresses", || {
        host.turn(Duration::from_millis(20)).expect("it turns");
        addresses.iter().all(|address| has(far, address) == has_them).then_some(())
    });
}

#[test]
fn routers_and_keepalived_take_over_from_each_other() {
    if !keepalived::is_there() {
        return;
    }
    let (own, far) = namespaces();
    let addresses = [&V4[..], &V6].concat();
    own.run(|| {
        let mut host = Host::new(Vrrp::new(2, 0)).expect("a host");
        // Alone, then beside one of higher priority, which is killed and comes back.
        for (number, config) in (0..).zip(configs(100)) {
            host.command(Command::Add(number, config));
        }
        assert_eq!(turn_until(&mut host, &[0, 1], State::Active), Some(Reason::Silence));
        for _ in 0..2 {
            let other = Keepalived::start(&far, &instances(150));
            let why = turn_until(&mut host, &[0, 1], State::Backup);
            assert_eq!(why, Some(Reason::Outranked));
            turn_until_far(&mut host, &far, &addresses, true);
            other.kill();
            clear(&far, &addresses);
            let why = turn_until(&mut host, &[0, 1], State::Active);
            assert_eq!(why, Some(Reason::Silence));
        }
        // Of higher priority than keepalived, which obeys it until it resigns.
        let other = Keepalived::start(&far, &instances(150));
        turn_until(&mut host, &[0, 1], State::Backup);
        turn_until_far(&mut host, &far, &addresses, true);
        for number in [0, 1] {
            host.command(Command::SetPriority(number, 200));
        }
        let why = turn_until(&mut host, &[0, 1], State::Active);
        assert_eq!(why, Some(Reason::Preemption));
        turn_until_far(&mut host, &far, &addresses, false);
        for number in [0, 1] {
            host.command(Command::Shutdown(number));
        }
        turn_until_far(&mut host, &far, &addresses, true);
        drop(other);
        assert_eq!(host.counters().unsent, 0);
        // The other end takes the link away and gives it back; the kernel tells it late, and until
        // then takes no frame.
        for number in [0, 1] {
            host.command(Command::Start(number));
        }
        turn_until(&mut host, &[0, 1], State::Active);
        far.ip("link set eth0 down").expect("it is there");
        let why = turn_until(&mut host, &[0, 1], State::Initialize);
        assert_eq!(why, Some(Reason::LinkDown));
        far.ip("link set eth0 up").expect("it is there");
        let why = turn_until(&mut host, &[0, 1], State::Active);
        assert_eq!(why, Some(Reason::Silence));
        let counters = host.machine().counters();
        let dropped = (counters.malformed, counters.checksum, counters.ttl, counters.version);
        assert_eq!(dropped, (0, 0, 0, 0), "{counters:?}");
        assert_eq!((counters.differing, host.take_failures().len()), (0, 0), "{counters:?}");
    })
    .expect("the namespace");
}

#[test]
fn routers_and_keepalived_reach_each_other_as_peers() {
    if !keepalived::is_there() {
        return;
    }
    let (own, far) = namespaces();
    let peers = format!("unicast_src_ip {}\n  unicast_peer {{\n    {}\n  }}", FAR[0], OWN[0]);
    own.run(|| {
        let mut host = Host::new(Vrrp::new(1, 0)).expect("a host");
        let [mut config, _] = configs(100);
        config.peers = vec![FAR[0].parse().expect("an address")];
        host.command(Command::Add(0, config));
        assert_eq!(turn_until(&mut host, &[0], State::Active), Some(Reason::Silence));
        let other = Keepalived::start(&far, &instance("v4", 150, &peers, &V4));
        assert_eq!(turn_until(&mut host, &[0], State::Backup), Some(Reason::Outranked));
        turn_until_far(&mut host, &far, &V4, true);
        host.command(Command::SetPriority(0, 200));
        assert_eq!(turn_until(&mut host, &[0], State::Active), Some(Reason::Preemption));
        turn_until_far(&mut host, &far, &V4, false);
        other.kill();
        let counters = host.machine().counters();
        assert_eq!((counters.checksum, counters.ttl, counters.stranger), (0, 0, 0));
    })
    .expect("the namespace");
}
