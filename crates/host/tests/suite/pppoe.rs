//! The access concentrator over the kernel's packet sockets, with rp-pppoe's `pppoe-discovery` as
//! the host.

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use host::Host;
use netns::Namespace;
use nix::net::if_::if_nametoindex;
use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Takes, Time,
};
use protocol_pppoe::packet::TYPE_DISCOVERY;
use protocol_pppoe::{AccessConcentrator, Config, Line, Origin, Report};
use wire::ethernet::{HEADER_LEN, MacAddr, View};

use crate::frr::until;
use crate::probe::linked;

/// An access concentrator with Ethernet around it, on one interface.
struct OnEthernet {
    ac: AccessConcentrator,
    own: MacAddr,
    interface: Interface,
    is_open: bool,
}

impl Machine for OnEthernet {
    type Command = ();
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        let Input::Arrival(Arrival::Frame { bytes, .. }) = input else { return };
        let Ok(frame) = View::parse(bytes) else { return };
        let (to, from) = (frame.destination(), frame.source());
        if to == self.own || to.is_multicast() {
            let (line, is_to_group) = (Line::default(), to.is_multicast());
            self.ac.receive(now, Origin { line, from, is_to_group }, &bytes[HEADER_LEN..]);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        let socket = Socket(0);
        if !std::mem::replace(&mut self.is_open, true) {
            let takes = vec![Takes { ether_type: TYPE_DISCOVERY, protocol: None }];
            let opening = Opening::Frames { interface: self.interface, takes, groups: vec![] };
            return Some(Output::Departure(Departure::Open { socket, opening }));
        }
        match self.ac.poll(now)? {
            Output::Report(Report::Send { to, packet, .. }) => {
                let header = [&to.0[..], &self.own.0, &TYPE_DISCOVERY.to_be_bytes()].concat();
                let bytes = [header, packet].concat();
                Some(Output::Departure(Departure::Frame { socket, bytes }))
            }
            other => Some(other),
        }
    }

    fn deadline(&self) -> Option<Time> {
        if self.is_open { self.ac.deadline() } else { Some(Time::ZERO) }
    }
}

/// What `pppoe-discovery` says, and whether it has found somebody, while the host turns.
fn discover(host: &mut Host<OnEthernet>, far: &Namespace, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("/usr/sbin/pppoe-discovery");
    // It listens for as long as it is told, also when somebody has answered.
    command.args(["-I", "eth0", "-a", "1", "-t", "2"]).args(arguments);
    let mut child = far.spawn(command).expect("it starts");
    until("the end of pppoe-discovery", || {
        host.turn(Duration::from_millis(20)).expect("it turns");
        child.ended()
    });
    let mut text = String::new();
    let (said, complaint) = child.output();
    said.expect("its output").read_to_string(&mut text).expect("what it says");
    complaint.expect("its output").read_to_string(&mut text).expect("what it says");
    (text.contains("AC-Ethernet-Address"), text)
}

#[test]
fn pppoe_discovery_finds_the_access_concentrator() {
    if !netns::may_make_namespaces() || !netns::is_installed("pppoe-discovery") {
        println!("skipped: needs root and pppoe-discovery");
        return;
    }
    let (own, far) = linked();
    // The link says its own address in the second word behind "link/ether".
    let shown = own.ip("link show dev eth0").expect("it is there");
    let address = shown.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next());
    let address: MacAddr = address.and_then(|text| text.parse().ok()).expect("an address");
    own.run(|| {
        let services = vec![b"internet".to_vec()];
        let config = Config { services, ..Config::new(b"plumbline-ac") };
        let ac = AccessConcentrator::new(config, [7; 32]).expect("it can be used");
        let interface = Interface(if_nametoindex("eth0").expect("it is there"));
        let machine = OnEthernet { ac, own: address, interface, is_open: false };
        let mut host = Host::new(machine).expect("a host");
        host.turn(Duration::from_millis(20)).expect("it turns");
        let (is_found, text) = discover(&mut host, &far, &["-U"]);
        assert!(is_found, "{text}");
        assert!(text.contains("Access-Concentrator: plumbline-ac"), "{text}");
        assert!(text.contains("Service-Name: internet"), "{text}");
        assert!(text.to_lowercase().contains(&address.to_string()), "{text}");
        let (is_found, text) = discover(&mut host, &far, &["-S", "internet", "-W", "c0ffee"]);
        assert!(is_found, "{text}");
        // Nobody answers for what there is not.
        let (is_found, text) = discover(&mut host, &far, &["-S", "other"]);
        assert!(!is_found, "{text}");
        let counters = host.machine().ac.counters();
        assert_eq!((counters.offered, counters.other_service, counters.malformed), (2, 1, 0));
        assert!(host.machine().ac.is_empty(), "nothing is kept of whoever asks");
    })
    .expect("the namespace");
}
