//! The same machine over the kernel's sockets and in the simulated network: the same arrives.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use host::Host;
use netns::Namespace;
use nix::net::if_::if_nametoindex;
use protocol_kit::{Interface, Time};
use simulation::{Quality, World};

use crate::chat::{Chat, Command, Kept, Place};
use crate::frr::until;
use crate::probe::{FAR, OWN, linked, may_link};

type Traces = [BTreeMap<u32, Kept>; 2];

/// The places of both.
fn places(ends: [&str; 2], interface: Interface, path: &Path) -> [Place; 2] {
    let [own, far]: [IpAddr; 2] = ends.map(|end| end.parse().expect("an address"));
    let path = path.to_string_lossy().into_owned();
    [(true, own, far), (false, far, own)].map(|(is_first, own, far)| {
        let path = path.clone();
        Place { is_first, own, far, interface, path }
    })
}

/// What arrives in a simulated network.
fn simulated(seed: u64, ends: [&str; 2]) -> Traces {
    let mut world = World::new(seed);
    let places = places(ends, World::<Chat>::interface(0), Path::new("/run/chat"));
    for place in places.clone() {
        world.add_node(move |_| (Chat::new(place.clone()), vec![Command::Open]));
    }
    world.add_link([(0, places[0].own), (1, places[1].own)], Quality::GOOD);
    (0..2).for_each(|node| world.revive(node));
    world.command(0, Command::Speak);
    while world.pass(Time::ZERO.after(Duration::from_secs(60))) {}
    [0, 1].map(|node| {
        let chat = world.machine(node).expect("it lives");
        assert!(chat.is_done(), "node {node}: {:?}", chat.kept().keys());
        chat.kept().clone()
    })
}

/// What arrives over the kernel's sockets.
fn real(namespaces: [&Namespace; 2], ends: [&str; 2], path: &Path) -> Traces {
    let (opened, done) = (Barrier::new(2), AtomicUsize::new(0));
    let run = |namespace: &Namespace, first: bool| {
        namespace.run(|| {
            let interface = Interface(if_nametoindex("eth0").expect("it is there"));
            let place = places(ends, interface, path)[usize::from(!first)].clone();
            let mut host = Host::new(Chat::new(place)).expect("a host");
            host.command(Command::Open);
            host.turn(Duration::ZERO).expect("it turns");
            assert!(host.take_failures().is_empty());
            opened.wait();
            if first {
                host.command(Command::Speak);
            }
            let mut was_done = false;
            until("the end of the chat", || {
                host.turn(Duration::from_millis(5)).expect("it turns");
                if host.machine().is_done() && !was_done {
                    was_done = true;
                    done.fetch_add(1, Ordering::SeqCst);
                }
                (done.load(Ordering::SeqCst) == 2).then_some(())
            });
            let counters = host.counters();
            assert_eq!((counters.misdirected, counters.opened_twice, counters.unsent), (0, 0, 0));
            host.machine().kept().clone()
        })
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| run(namespaces[1], false).expect("the namespace"));
        let first = run(namespaces[0], true).expect("the namespace");
        [first, second.join().expect("it ends")]
    })
}

#[test]
fn the_same_arrives_in_both() {
    let mut traces = [OWN[0], OWN[1]].map(|_| Vec::new());
    for (family, traces) in traces.iter_mut().enumerate() {
        let ends = [OWN[family], FAR[family]];
        *traces = (0..20).map(|seed| simulated(seed, ends)).collect();
        assert!(traces.iter().all(|trace| *trace == traces[0]), "whatever the seed");
    }
    if !may_link() {
        return;
    }
    let (own, far) = linked();
    let folder = tempfile::tempdir().expect("a folder");
    for (family, traces) in traces.into_iter().enumerate() {
        let path = folder.path().join(family.to_string());
        let real = real([&own, &far], [OWN[family], FAR[family]], &path);
        for (real, simulated) in real.iter().zip(&traces[0]) {
            assert_eq!(real.keys().collect::<Vec<_>>(), simulated.keys().collect::<Vec<_>>());
            for (socket, real) in real {
                let simulated = &simulated[socket];
                assert_eq!(real.events, simulated.events, "socket {socket}");
                assert!(real.bytes == simulated.bytes, "the bytes of socket {socket}");
                assert_eq!(real.taken, simulated.taken, "socket {socket}");
            }
        }
    }
}
