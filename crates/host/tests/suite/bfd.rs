//! BFD over the kernel's sockets, with FRR's `bfdd` as the far end, over IPv4 and IPv6.

use std::net::IpAddr;
use std::time::Duration;

use host::Host;
use nix::net::if_::if_nametoindex;
use protocol_bfd::{Bfd, Command, Config, Diagnostic, Path, Reach, Report, State};
use protocol_kit::Interface;

use crate::frr::{self, Frr, until};
use crate::probe::{FAR, OWN, linked};

/// A session of 50 ms with a neighbour.
fn config(own: &str, far: &str, interface: Interface) -> Config {
    let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
    Config {
        path: Path { reach: Reach::SingleHop(interface), local: address(own), peer: address(far) },
        discriminator: None,
        desired_min_tx: Duration::from_millis(50),
        required_min_rx: Duration::from_millis(50),
        detect_multiplier: 3,
        required_min_echo_rx: Duration::ZERO,
        echo: None,
        is_passive: false,
        authentication: None,
    }
}

/// Turns a host until its session is in a state; returns the diagnostic of the change.
fn turn_until(host: &mut Host<Bfd>, number: u32, wanted: State) -> Diagnostic {
    until(&format!("state {wanted:?}"), || {
        let reports = host.turn(Duration::from_millis(100)).expect("it turns");
        reports.into_iter().find_map(|report| match report {
            Report::Changed { session, state, diagnostic, .. } => {
                (session == number && state == wanted).then_some(diagnostic)
            }
            Report::Refused { why, .. } => panic!("{why}"),
        })
    })
}

#[test]
fn sessions_with_frr_come_up_and_notice_each_others_end() {
    if !frr::is_there() {
        return;
    }
    let (own, far) = linked();
    let peer = |own: &str, far: &str| {
        format!(
            " peer {own} local-address {far} interface eth0\n  receive-interval 60\n  \
             transmit-interval 60\n  detect-multiplier 4\n  no shutdown\n !\n"
        )
    };
    let peers: String = OWN.iter().zip(FAR).map(|(own, far)| peer(own, far)).collect();
    let frr = Frr::start(&far, &["bfdd"], &format!("bfd\n{peers}!\n"));
    own.run(|| {
        let interface = Interface(if_nametoindex("eth0").expect("it is there"));
        let mut host = Host::new(Bfd::new(2, 1)).expect("a host");
        for (number, (own, far)) in (0..).zip(OWN.into_iter().zip(FAR)) {
            host.command(Command::Add(number, config(own, far, interface)));
        }
        for number in [0, 1] {
            let is_up = |host: &Host<Bfd>| {
                host.machine().view(number).is_some_and(|view| view.state == State::Up)
            };
            if !is_up(&host) {
                turn_until(&mut host, number, State::Up);
            }
        }
        // What FRR says of its end, and the intervals that both have agreed on.
        until("FRR's sessions", || {
            host.turn(Duration::from_millis(50)).expect("it turns");
            let views = [0, 1].map(|number| host.machine().view(number).expect("it exists"));
            let agreed = views.iter().all(|view| {
                view.transmit_interval == Duration::from_millis(60)
                    && view.detection_time == Some(Duration::from_millis(240))
            });
            let shown = frr.show("show bfd peers");
            (agreed && shown.matches("Status: up").count() == 2).then_some(())
        });
        assert_eq!(host.take_failures().len(), 0);
        // Held down here: FRR is told so.
        host.command(Command::Hold(0, Some(Diagnostic::ADMIN_DOWN)));
        until("FRR to notice", || {
            host.turn(Duration::from_millis(50)).expect("it turns");
            frr.show("show bfd peers").contains("Status: down").then_some(())
        });
        host.command(Command::Hold(0, None));
        turn_until(&mut host, 0, State::Up);
        // FRR ends without a word: time alone tells.
        drop(frr);
        assert_eq!(turn_until(&mut host, 1, State::Down), Diagnostic::TIME_EXPIRED);
        assert_eq!((host.machine().counters().malformed, host.machine().counters().ttl), (0, 0));
    })
    .expect("the namespace");
}
