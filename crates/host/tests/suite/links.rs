//! Links that come and go, as the kernel tells it.

use std::time::Duration;

use host::Host;
use nix::net::if_::if_nametoindex;
use protocol_kit::Interface;
use simulation::{Probe, Seen};

use crate::frr::until;
use crate::probe::{linked, may_link};

/// The next changes that are told, in the order of the interfaces.
fn told<const COUNT: usize>(host: &mut Host<Probe>) -> [(Interface, bool); COUNT] {
    let mut all = Vec::new();
    until("links", || {
        for seen in host.turn(Duration::from_millis(20)).expect("it turns") {
            let Seen::Link { interface, is_up } = seen else { panic!("{seen:?}") };
            all.push((interface, is_up));
        }
        (all.len() >= COUNT).then_some(())
    });
    all.sort();
    all.try_into().expect("no more are told")
}

/// That nothing is told.
fn assert_quiet(host: &mut Host<Probe>) {
    assert_eq!(host.turn(Duration::ZERO).expect("it turns"), []);
}

#[test]
fn links_are_told_when_they_change_and_those_that_are_down_at_the_start() {
    if !may_link() {
        return;
    }
    let (own, far) = linked();
    own.ip("link add one type veth peer name other").expect("interfaces");
    own.ip("link set other up").expect("set");
    own.run(|| {
        let of = |name: &str| Interface(if_nametoindex(name).expect("it is there"));
        let (eth0, one, other) = (of("eth0"), of("one"), of("other"));
        let mut host = Host::new(Probe::default()).expect("a host");
        // Loopback and the link to the other namespace are up.
        let mut pair = [one, other];
        pair.sort();
        assert_eq!(told(&mut host), pair.map(|interface| (interface, false)));
        assert_quiet(&mut host);
        // What is no change of the link is not told.
        own.ip("link set eth0 mtu 1400").expect("set");
        own.ip("addr add 192.0.2.1/24 dev eth0").expect("set");
        assert_quiet(&mut host);
        // The cable is pulled at the far end.
        far.ip("link set eth0 down").expect("set");
        assert_eq!(told(&mut host), [(eth0, false)]);
        far.ip("link set eth0 up").expect("set");
        assert_eq!(told(&mut host), [(eth0, true)]);
        own.ip("link set eth0 down").expect("set");
        assert_eq!(told(&mut host), [(eth0, false)]);
        own.ip("link set one up").expect("set");
        assert_eq!(told(&mut host), pair.map(|interface| (interface, true)));
        // A bridge that loses a port does not lose the link.
        own.ip("link add br0 type bridge").expect("a bridge");
        assert_eq!(told(&mut host), [(of("br0"), false)]);
        own.ip("link set one master br0").expect("set");
        own.ip("link set one nomaster").expect("set");
        assert_quiet(&mut host);
        own.ip("link del one").expect("deleted");
        assert_eq!(told(&mut host), pair.map(|interface| (interface, false)));
        assert_eq!(host.counters().errors, 0);
    })
    .expect("the namespace");
}

#[test]
fn changes_that_were_lost_are_found() {
    if !may_link() {
        return;
    }
    let (own, _far) = linked();
    own.run(|| {
        let mut host = Host::new(Probe::default()).expect("a host");
        host.turn(Duration::from_secs(1)).expect("it turns");
        // More than the kernel keeps while nobody reads.
        let more = (0..1000).map(|n| format!("link set lo mtu {}\n", 1000 + n));
        let more: String = more.chain(["link set eth0 down\n".into()]).collect();
        own.ip_batch(&more).expect("set");
        let eth0 = Interface(if_nametoindex("eth0").expect("it is there"));
        assert_eq!(told(&mut host), [(eth0, false)]);
        assert_quiet(&mut host);
    })
    .expect("the namespace");
}
