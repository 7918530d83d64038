//! The client by hand: whom it takes, what it asks again, and what it does not hear.

use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Time};
use protocol_pppoe::client::{Client, Command, Reason, Report, Wanted};
use protocol_pppoe::packet::{Packet, code};
use protocol_pppoe::tags::kind;
use wire::ethernet::MacAddr;

use crate::support::{any, packet, tag, with};

pub fn wanted() -> Wanted {
    Wanted {
        service: vec![],
        concentrator: vec![],
        host_uniq: vec![1, 2],
        max_payload: 1492,
        line: None,
        retry: Duration::from_secs(1),
        tries: 4,
    }
}

const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xac]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xad]);

fn all(client: &mut Client, now: Time) -> Vec<Report> {
    let outputs = std::iter::from_fn(|| client.poll(now));
    let reports = outputs.map(|output| match output {
        Output::Report(report) => report,
        Output::Departure(departure) => panic!("{departure:?}"),
    });
    reports.collect()
}

fn sent(reports: &[Report]) -> Vec<(MacAddr, u8)> {
    let sent = reports.iter().filter_map(|report| match report {
        Report::Send { to, packet } => Some((*to, packet[1])),
        _ => None,
    });
    sent.collect()
}

#[test]
fn requests_are_repeated_ever_more_slowly_until_there_is_no_hope() {
    let mut client = Client::new(wanted());
    client.input(Time::ZERO, Input::Command(Command::Begin));
    let mut times = Vec::new();
    let mut now = Time::ZERO;
    let last = loop {
        let reports = all(&mut client, now);
        times.extend(sent(&reports).iter().map(|_| now.since(Time::ZERO).as_secs()));
        match client.deadline() {
            Some(deadline) => now = deadline,
            None => break reports,
        }
    };
    assert_eq!(times, [0, 1, 3, 7]);
    assert_eq!(last, [Report::Closed(Reason::Unanswered)]);
    assert_eq!(now.since(Time::ZERO), Duration::from_secs(15));
}

#[test]
fn only_what_is_meant_for_it_counts() {
    let wanted = Wanted { max_payload: 1500, concentrator: b"ac".to_vec(), ..wanted() };
    let mut client = Client::new(wanted);
    let now = Time::ZERO;
    client.input(now, Input::Command(Command::Begin));
    assert_eq!(sent(&all(&mut client, now)), [(MacAddr::BROADCAST, code::PADI)]);
    let offer = |name: &[u8], uniq: &[u8]| {
        let list = with(&with(&any(), kind::AC_NAME, name), kind::HOST_UNIQ, uniq);
        packet(code::PADO, &with(&list, kind::AC_COOKIE, &[7; 20]))
    };
    client.receive(now, OTHER, &offer(b"other", &[1, 2]));
    client.receive(now, OTHER, &offer(b"ac", &[9]));
    assert_eq!(all(&mut client, now), []);
    client.receive(now, AC, &offer(b"ac", &[1, 2]));
    let reports = all(&mut client, now);
    let [Report::Send { to: AC, packet: request }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(tag(request, kind::AC_COOKIE), Some(vec![7; 20]));
    assert_eq!(tag(request, kind::PPP_MAX_PAYLOAD), Some(vec![0x05, 0xdc]));
    let confirmed = |session_id| {
        let list = with(&any(), kind::HOST_UNIQ, &[1, 2]);
        let list = with(&list, kind::PPP_MAX_PAYLOAD, &[0x05, 0xdc]);
        Packet { code: code::PADS, session_id, payload: &list }.emit()
    };
    client.receive(now, OTHER, &confirmed(3));
    assert_eq!(all(&mut client, now), []);
    client.receive(now, AC, &confirmed(3));
    let opened = Report::Opened { concentrator: AC, session_id: 3, max_payload: 1500 };
    assert_eq!(all(&mut client, now), [opened]);
    assert_eq!(client.deadline(), None);
    for (from, session_id) in [(OTHER, 3), (AC, 4)] {
        let padt = Packet { code: code::PADT, session_id, payload: &[] }.emit();
        client.receive(now, from, &padt);
        assert_eq!(all(&mut client, now), []);
    }
    let padt = Packet { code: code::PADT, session_id: 3, payload: &[] }.emit();
    client.receive(now, AC, &padt);
    assert_eq!(all(&mut client, now), [Report::Closed(Reason::Terminated)]);
    // An error is none, and a session that it ends itself is told to the other side.
    client.input(now, Input::Command(Command::Begin));
    client.receive(now, AC, &offer(b"ac", &[1, 2]));
    client.receive(now, AC, &confirmed(0));
    assert_eq!(all(&mut client, now).last(), Some(&Report::Closed(Reason::Refused)));
    client.input(now, Input::Command(Command::Begin));
    client.receive(now, AC, &offer(b"ac", &[1, 2]));
    client.receive(now, AC, &confirmed(5));
    client.input(now, Input::Command(Command::End));
    let reports = all(&mut client, now);
    assert_eq!(sent(&reports).last(), Some(&(AC, code::PADT)));
    assert_eq!(reports.last(), Some(&Report::Closed(Reason::Ended)));
}
