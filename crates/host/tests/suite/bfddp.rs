//! The BFD data plane protocol with FRR's bfdd: the sessions that it wants, the states that it is
//! told, and its death.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use host::Host;
use nix::net::if_::if_nametoindex;
use protocol_bfddp::session::Traffic;
use protocol_bfddp::{
    BfdDataPlane, Change, Command, Config, Report, Session, SessionCounters, State,
};
use protocol_kit::{Endpoint, Interface};

use crate::frr::{self, Frr, until};
use crate::probe::linked;

/// Turns a host until a number of reports has come that `wanted` has an answer to.
fn turn_until<T>(
    host: &mut Host<BfdDataPlane>,
    what: &str,
    count: usize,
    mut wanted: impl FnMut(Report) -> Option<T>,
) -> Vec<T> {
    let mut all = Vec::new();
    until(what, || {
        let reports = host.turn(Duration::from_millis(20)).expect("it turns");
        all.extend(reports.into_iter().filter_map(&mut wanted));
        (all.len() >= count).then_some(())
    });
    assert_eq!(all.len(), count, "{what}");
    all
}

fn added(report: Report) -> Option<Session> {
    match report {
        Report::Added(session) => Some(session),
        Report::Connected => None,
        other => panic!("{other:?}"),
    }
}

/// What bfdd shows of its sessions, whose data plane is heard meanwhile.
fn shown(frr: &Frr, host: &mut Host<BfdDataPlane>, command: &str) -> String {
    frr.show_while(command, || drop(host.turn(Duration::from_millis(5)).expect("it turns")))
}

fn up(peer_discriminator: u32) -> Change {
    Change {
        state: State::Up,
        peer_diagnostic: 0,
        peer_discriminator,
        is_peer_independent: true,
        is_peer_demand: false,
        is_peer_multipoint: false,
        peer_desired_min_tx_us: 90_000,
        peer_required_min_rx_us: 110_000,
        peer_required_echo_rx_us: 0,
        peer_detect_multiplier: 7,
    }
}

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));

const NEIGHBOUR: &str = " peer 10.9.0.2 local-address 10.9.0.1 interface eth0\n  \
                         receive-interval 60\n  transmit-interval 70\n  detect-multiplier 4\n !\n";

const FARTHER: &str = " peer fd00:9::2 multihop local-address fd00:9::1\n  minimum-ttl 250\n  \
                       passive-mode\n !\n";

#[test]
fn bfdd_has_its_sessions_run_here() {
    if !frr::is_there() {
        return;
    }
    let (own, _far) = linked();
    let mut frr = Frr::without_daemons();
    let (to, control) = (frr.path("bfdd.dplane"), frr.path("bfdd.sock"));
    let at = format!("unix:{to}");
    let arguments = ["--dplaneaddr", &at, "--bfdctl", &control];
    own.run(|| {
        let config = Config { settle: SETTLE, ..Config::new(Endpoint::Unix(to.clone())) };
        let mut host = Host::new(BfdDataPlane::new(config)).expect("a host");
        frr.run(&own, "zebra", &[], "");
        frr.run(&own, "bfdd", &arguments, &format!("bfd\n{NEIGHBOUR}{FARTHER}!\n"));
        let mut sessions = turn_until(&mut host, "both sessions", 2, added);
        sessions.sort_by_key(|session| session.is_multihop);
        let [neighbour, farther] = &sessions[..] else { panic!("{sessions:?}") };
        let eth0 = if_nametoindex("eth0").expect("it is there");
        let wanted = Session {
            discriminator: neighbour.discriminator,
            local: Some([10, 9, 0, 1].into()),
            peer: PEER,
            is_multihop: false,
            is_demand: false,
            is_independent: false,
            has_echo: false,
            is_passive: false,
            is_shut_down: false,
            desired_min_tx_us: 70_000,
            required_min_rx_us: 60_000,
            echo_tx_us: 50_000,
            required_echo_rx_us: 50_000,
            hold_time_ms: 0,
            ttl_min: 255,
            detect_multiplier: 4,
            ..neighbour.clone()
        };
        assert_eq!(*neighbour, wanted);
        // Bfdd does not tell an interface that zebra has not told it yet.
        let is_at = |session: &Session| match session.interface {
            Some(interface) => interface == Interface(eth0) && session.interface_name == "eth0",
            None => session.interface_name.is_empty(),
        };
        assert!(is_at(neighbour), "{neighbour:?}");
        let told = (farther.is_passive, farther.ttl_min, farther.peer.to_string());
        assert_eq!(told, (true, 250, "fd00:9::2".into()));

        // What is told of a session is what bfdd shows.
        host.command(Command::Change(neighbour.discriminator, up(77)));
        until("a session that is up", || {
            let text = shown(&frr, &mut host, "show bfd peer 10.9.0.2 local-address 10.9.0.1 json");
            let is_shown = |key: &str, value: &str| text.contains(&format!("\"{key}\":{value}"));
            let is_up = is_shown("status", "\"up\"") && is_shown("remote-id", "77");
            (is_up
                && is_shown("remote-receive-interval", "110")
                && is_shown("remote-transmit-interval", "90")
                && is_shown("remote-detect-multiplier", "7"))
            .then_some(())
        });
        let traffic = |packets| Traffic { bytes: 66 * packets, packets };
        let counters = SessionCounters {
            received: traffic(41),
            sent: traffic(42),
            ..SessionCounters::default()
        };
        host.command(Command::Counters(neighbour.discriminator, counters));
        let text = shown(&frr, &mut host, "show bfd peers counters json");
        assert!(text.contains("\"control-packet-input\":41"), "{text}");
        assert!(text.contains("\"control-packet-output\":42"), "{text}");
        let change = Change { state: State::Down, peer_diagnostic: 3, ..up(77) };
        host.command(Command::Change(neighbour.discriminator, change));
        until("a session that is down", || {
            let text = shown(&frr, &mut host, "show bfd peers");
            (!text.contains("Status: up")).then_some(())
        });
        host.command(Command::Change(neighbour.discriminator, up(78)));

        // Another configuration of a session.
        let lines = ["bfd", "peer 10.9.0.2 local-address 10.9.0.1 interface eth0"];
        frr.configure(&[&lines[..], &["receive-interval 200"]].concat());
        let changed = turn_until(&mut host, "the change", 1, |report| match report {
            Report::Changed { before, session } => Some((before, session)),
            other => panic!("{other:?}"),
        });
        let slower = Session { required_min_rx_us: 200_000, ..wanted.clone() };
        assert_eq!(changed, [(wanted.discriminator, slower)]);

        // Bfdd is born again with other discriminators, and without one of the sessions.
        frr.kill("bfdd");
        turn_until(&mut host, "the loss", 1, |report| match report {
            Report::Lost { .. } => Some(()),
            other => panic!("{other:?}"),
        });
        frr.run(&own, "bfdd", &arguments, &format!("bfd\n{NEIGHBOUR}!\n"));
        let (mut again, mut gone) = (Vec::new(), Vec::new());
        let swept = turn_until(&mut host, "the resync", 1, |report| match report {
            Report::Connected => None,
            Report::Changed { before, session } => {
                again.push((before, session));
                None
            }
            Report::Removed { discriminator } => {
                gone.push(discriminator);
                None
            }
            Report::Settled { swept } => Some(swept),
            other => panic!("{other:?}"),
        });
        let discriminator = again.first().map_or(0, |(_, session)| session.discriminator);
        let [(before, repeated)] = &again[..] else { panic!("{again:?}") };
        assert_eq!((*before, repeated.peer, is_at(repeated)), (wanted.discriminator, PEER, true));
        assert_eq!((&gone[..], &swept[..]), (&[farther.discriminator][..], &[1][..]));
        until("a session that is up still", || {
            let text = shown(&frr, &mut host, "show bfd peers");
            (text.contains("Status: up") && text.contains("Remote ID: 78")).then_some(())
        });

        // And wants none any more.
        let no_peer = "no peer 10.9.0.2 local-address 10.9.0.1 interface eth0";
        frr.configure(&["bfd", no_peer]);
        let removed = turn_until(&mut host, "the end", 1, |report| match report {
            Report::Removed { discriminator } => Some(discriminator),
            other => panic!("{other:?}"),
        });
        assert_eq!(removed, [discriminator]);
        let counters = host.machine().counters();
        assert_eq!((counters.malformed_header, counters.malformed, counters.other), (0, 0, 0));
    })
    .expect("the namespace");
}

/// Longer than bfdd takes to come back with its sessions.
const SETTLE: Duration = Duration::from_secs(10);
