//! The server of DHCPv4, message by message (RFC 2131 section 4.3).

use std::net::Ipv4Addr;
use std::time::Duration;

use protocol_dhcp::v4::Server;
use protocol_dhcp::{Access, Command, Report, Source, Why};
use wire::MacAddr;

use crate::client4::{ACK, DECLINE, DISCOVER, INFORM, Message4, NAK, OFFER, RELEASE, REQUEST};
use crate::lines::{ANYBODY, GRANT, Lines, MAC, SERVER, config4, prefix};

fn lines() -> Lines<Server> {
    Lines::new(Server::new(config4(), SERVER.into()).expect("a server"))
}

fn send(lines: &mut Lines<Server>, message: &Message4) {
    lines.hear(1, message.chaddr, ANYBODY, message.bytes());
}

fn discover(xid: u32) -> Message4 {
    Message4::new(DISCOVER, xid, MAC).with(55, &[1, 3, 6, 114]).with(61, &[1, 2, 0, 0, 0, 0, 9])
}

fn request(xid: u32, address: [u8; 4]) -> Message4 {
    let request = Message4::new(REQUEST, xid, MAC).with(50, &address).with(54, &SERVER);
    request.with(55, &[1, 3, 6, 114]).with(61, &[1, 2, 0, 0, 0, 0, 9])
}

/// Leads a client to its address.
fn bound(lines: &mut Lines<Server>) -> [u8; 4] {
    send(lines, &discover(1));
    let address = Message4::read(&lines.only().bytes).yiaddr;
    send(lines, &request(1, address));
    assert_eq!(Message4::read(&lines.only().bytes).kind(), ACK);
    address
}

fn gone(lines: &Lines<Server>) -> Option<(Vec<String>, Why, bool)> {
    match lines.reports.last() {
        Some(Report::Gone { prefixes, why, is_last, .. }) => {
            Some((prefixes.iter().map(ToString::to_string).collect(), *why, *is_last))
        }
        _ => None,
    }
}

#[test]
fn a_client_is_led_from_discover_to_release_by_these_bytes() {
    let mut lines = lines();
    send(&mut lines, &discover(0x1234));
    let said = lines.only();
    assert_eq!((said.mac, said.to, said.port), (MacAddr(MAC), [10, 0, 0, 8].into(), 68));
    // What RFC 2131 table 3 and RFC 2132 ask for, written out.
    let mut wanted = vec![2, 1, 6, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 8];
    wanted.extend([0; 8]);
    wanted.extend(MAC);
    wanted.extend([0; 10 + 64 + 128]);
    wanted.extend([0x63, 0x82, 0x53, 0x63]);
    wanted.extend([53, 1, 2, 54, 4, 10, 0, 0, 1]);
    wanted.extend([51, 4, 0, 0, 2, 88, 58, 4, 0, 0, 1, 44, 59, 4, 0, 0, 2, 13]);
    wanted.extend([61, 7, 1, 2, 0, 0, 0, 0, 9]);
    wanted.extend([1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, 1, 6, 8, 10, 0, 0, 1, 10, 0, 0, 2]);
    wanted.extend([114, 26]);
    wanted.extend(b"https://portal.example/api");
    wanted.push(255);
    wanted.resize(wanted.len().max(300), 0);
    assert_eq!(said.bytes, wanted);
    // Word by word the same acknowledgement, but for its type.
    send(&mut lines, &request(0x1234, [10, 0, 0, 8]));
    wanted[242] = ACK;
    assert_eq!(lines.only().bytes, wanted);
    assert!(matches!(
        &lines.reports[..],
        [Report::Wanted(..), Report::Up { session: 77, .. }, Report::Renewed(_)]
    ));
    let mut release =
        Message4::new(RELEASE, 0x99, MAC).with(54, &SERVER).with(61, &[1, 2, 0, 0, 0, 0, 9]);
    release.ciaddr = [10, 0, 0, 8];
    send(&mut lines, &release);
    assert_eq!(gone(&lines), Some((vec!["10.0.0.8".to_owned()], Why::Released, true)));
    assert_eq!((lines.said.len(), lines.machine.leases()), (0, 0), "no answer to a release");
}

#[test]
fn nothing_is_offered_before_the_owner_accepts_and_nothing_acknowledged_before_it_acknowledges() {
    let mut lines = lines();
    (lines.grant, lines.acknowledges) = (None, false);
    send(&mut lines, &discover(1).with(12, b"host").with(60, b"vendor").with(50, &[10, 0, 0, 12]));
    send(&mut lines, &discover(2).with(50, &[10, 0, 0, 12]));
    let [Report::Wanted(lease, client, words)] = &lines.reports[..] else {
        panic!("{:?}", lines.reports)
    };
    assert_eq!((client.line.0, client.mac), (1, MacAddr(MAC)));
    assert_eq!((&words.host_name[..], &words.vendor_class[..]), (&b"host"[..], &b"vendor"[..]));
    assert_eq!((words.wish, lines.said.len()), (Some(prefix("10.0.0.12", 32)), 0));
    let lease = *lease;
    lines.command(Command::Accept(lease, GRANT));
    let offer = Message4::read(&lines.only().bytes);
    assert_eq!((offer.kind(), offer.xid, offer.yiaddr), (OFFER, 2, [10, 0, 0, 12]), "as it wished");
    send(&mut lines, &request(2, offer.yiaddr));
    send(&mut lines, &request(3, offer.yiaddr));
    send(&mut lines, &discover(4));
    assert_eq!(lines.said, [], "the session is not up");
    lines.command(Command::Acknowledged(lease));
    let ack = Message4::read(&lines.only().bytes);
    assert_eq!((ack.kind(), ack.xid), (ACK, 3), "the last request is answered, and that alone");
    // A second answer of the owner, and one about another generation, do nothing.
    lines.command(Command::Acknowledged(lease));
    lines.command(Command::Reject(lease));
    assert_eq!((lines.said.len(), lines.machine.leases()), (0, 1));
}

#[test]
fn an_owner_that_does_not_answer_costs_a_lease_for_a_time() {
    let mut lines = lines();
    lines.grant = None;
    send(&mut lines, &discover(1));
    lines.pass(Duration::from_secs(31));
    assert_eq!(gone(&lines), Some((vec![], Why::Unanswered, true)));
    (lines.grant, lines.acknowledges) = (Some(GRANT), false);
    send(&mut lines, &discover(1));
    let address = Message4::read(&lines.only().bytes).yiaddr;
    send(&mut lines, &request(1, address));
    lines.pass(Duration::from_secs(11));
    assert_eq!(gone(&lines).map(|gone| gone.1), Some(Why::Unacknowledged));
    let counters = lines.machine.counters();
    assert_eq!((counters.unanswered, counters.unacknowledged, lines.said.len()), (1, 1, 0));
    // An offer that nobody takes.
    lines.acknowledges = true;
    send(&mut lines, &discover(1));
    lines.pass(Duration::from_secs(61));
    assert_eq!(gone(&lines), Some((vec![], Why::NotTaken, true)));
    // Rejected, and told so only where it asked for an address.
    lines.grant = None;
    send(&mut lines, &discover(5));
    let Some(Report::Wanted(lease, ..)) = lines.reports.last().cloned() else { panic!("asked") };
    lines.said.clear();
    lines.command(Command::Reject(lease));
    assert_eq!((lines.said.len(), gone(&lines).map(|gone| gone.1)), (0, Some(Why::Rejected)));
    assert_eq!((lines.machine.leases(), lines.machine.pools().held()), (0, 0));
}

#[test]
fn a_lease_is_renewed_rebound_and_ends_by_time() {
    let mut lines = lines();
    let address = bound(&mut lines);
    lines.pass(Duration::from_secs(300));
    let mut renewal = Message4::new(REQUEST, 7, MAC).with(61, &[1, 2, 0, 0, 0, 0, 9]);
    renewal.ciaddr = address;
    let ends = (address.into(), SERVER.into());
    lines.hear(1, MAC, ends, renewal.bytes());
    let said = lines.only();
    let ack = Message4::read(&said.bytes);
    assert_eq!((said.to, said.mac), (address.into(), MacAddr(MAC)), "unicast");
    assert_eq!((ack.kind(), ack.ciaddr, ack.yiaddr), (ACK, address, address));
    assert!(matches!(lines.reports.last(), Some(Report::Renewed(_))), "it does not come up anew");
    lines.pass(Duration::from_secs(599));
    send(&mut lines, &renewal);
    assert_eq!(Message4::read(&lines.only().bytes).kind(), ACK, "rebinding, by broadcast");
    lines.pass(Duration::from_secs(601));
    assert_eq!(gone(&lines).map(|gone| gone.1), Some(Why::Expired));
    send(&mut lines, &renewal);
    let said = lines.only();
    assert_eq!((Message4::read(&said.bytes).kind(), said.mac), (NAK, MacAddr::BROADCAST));
}

#[test]
fn a_client_that_reboots_is_confirmed_or_refused() {
    let mut lines = lines();
    let address = bound(&mut lines);
    let reboot = |address: &[u8]| {
        Message4::new(REQUEST, 8, MAC).with(50, address).with(61, &[1, 2, 0, 0, 0, 0, 9])
    };
    send(&mut lines, &reboot(&address));
    assert_eq!(Message4::read(&lines.only().bytes).kind(), ACK);
    send(&mut lines, &reboot(&[10, 0, 0, 9]));
    let nak = Message4::read(&lines.only().bytes);
    assert_eq!((nak.kind(), nak.yiaddr, nak.option(54)), (NAK, [0; 4], &SERVER[..]));
    assert_eq!(nak.option(51), &[] as &[u8], "no lease time in a NAK");
    // One that nobody knows: refused by who knows all, not answered by who does not.
    let mut other = reboot(&address);
    other.chaddr = [2, 0, 0, 0, 0, 10];
    other.options.pop();
    send(&mut lines, &other);
    assert_eq!(Message4::read(&lines.only().bytes).kind(), NAK);
    let mut config = config4();
    config.is_authoritative = false;
    let mut silent = Lines::new(Server::new(config, SERVER.into()).expect("a server"));
    send(&mut silent, &other);
    assert_eq!((silent.said.len(), silent.machine.counters().unknown), (0, 1));
}

#[test]
fn a_client_that_takes_another_servers_offer_frees_ours() {
    let mut lines = lines();
    send(&mut lines, &discover(1));
    let address = Message4::read(&lines.only().bytes).yiaddr;
    let other = Message4::new(REQUEST, 1, MAC).with(50, &address).with(54, &[10, 9, 9, 9]);
    send(&mut lines, &other.with(61, &[1, 2, 0, 0, 0, 0, 9]));
    assert_eq!(gone(&lines), Some((vec![], Why::Elsewhere, true)));
    assert_eq!((lines.said.len(), lines.machine.counters().foreign), (0, 1));
    assert_eq!(lines.machine.pools().usage(0).map(|usage| usage.used), Some(0), "at once");
    // Of what is bound a stray request takes nothing.
    let address = bound(&mut lines);
    let other = Message4::new(REQUEST, 1, MAC).with(50, &address).with(54, &[10, 9, 9, 9]);
    send(&mut lines, &other.with(61, &[1, 2, 0, 0, 0, 0, 9]));
    assert_eq!(lines.machine.leases(), 1);
}

#[test]
fn an_address_that_was_declined_is_not_given_for_long() {
    let mut lines = lines();
    let address = bound(&mut lines);
    let decline = Message4::new(DECLINE, 3, MAC).with(50, &address).with(54, &SERVER);
    // Another client cannot decline it.
    let mut forged = decline.clone();
    forged.chaddr = [2, 0, 0, 0, 0, 10];
    send(&mut lines, &forged);
    assert_eq!(lines.machine.leases(), 1);
    send(&mut lines, &decline.with(61, &[1, 2, 0, 0, 0, 0, 9]));
    assert_eq!(gone(&lines).map(|gone| gone.1), Some(Why::Declined));
    lines.pass(Duration::from_secs(3500));
    assert_eq!(lines.machine.pools().usage(0).map(|usage| usage.used), Some(1));
    lines.pass(Duration::from_secs(101));
    assert_eq!(lines.machine.pools().usage(0).map(|usage| usage.used), Some(0));
    assert_eq!(lines.machine.counters().declined, 1);
}

#[test]
fn what_access_nodes_say_is_told_and_echoed_or_dropped() {
    let agent = [1, 4, b'e', b't', b'h', b'1', 2, 3, b'a', b'b', b'c', 9, 2, 7, 7];
    let mut lines = lines();
    send(&mut lines, &discover(1).with(82, &agent));
    assert_eq!((lines.said.len(), lines.machine.counters().untrusted), (0, 1));
    let mut config = config4();
    config.trusts_access_nodes = true;
    let mut lines = Lines::new(Server::new(config, SERVER.into()).expect("a server"));
    send(&mut lines, &discover(1).with(82, &agent));
    let offer = Message4::read(&lines.only().bytes);
    assert_eq!(offer.options.last(), Some(&(82, agent.to_vec())), "as it came, and last");
    let Report::Wanted(_, _, words) = &lines.reports[0] else { panic!("{:?}", lines.reports) };
    assert_eq!((&words.circuit_id[..], &words.remote_id[..]), (&b"eth1"[..], &b"abc"[..]));
}

#[test]
fn options_are_given_as_they_are_asked_for_and_as_there_is_room() {
    let mut config = config4();
    let long = vec![7; 600];
    config.classes[0] =
        config.classes[0].clone().with(43, &long).with(53, &[9]).with(12, &[8; 255]);
    config.stateless_class = Some(0);
    let mut lines = Lines::new(Server::new(config, SERVER.into()).expect("a server"));
    let ask = |list: &[u8], size: Option<u16>| {
        let mut message = Message4::new(INFORM, 1, MAC).with(55, list);
        message.ciaddr = [10, 0, 0, 77];
        size.map_or(message.clone(), |size| message.with(57, &size.to_be_bytes()))
    };
    // In the client's order, each once, and none that the server writes itself.
    send(&mut lines, &ask(&[114, 1, 1, 53, 108, 99], None));
    let said = lines.only();
    let ack = Message4::read(&said.bytes);
    let codes: Vec<u8> = ack.options.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [53, 54, 114, 1, 108]);
    assert_eq!((ack.kind(), ack.ciaddr, ack.yiaddr), (ACK, [10, 0, 0, 77], [0; 4]));
    assert_eq!(said.to, Ipv4Addr::new(10, 0, 0, 77));
    // One of 600 bytes needs a message that the client takes, and three parts.
    send(&mut lines, &ask(&[43, 12], None));
    let bytes = lines.only().bytes;
    let codes: Vec<u8> = Message4::read(&bytes).options.iter().map(|(code, _)| *code).collect();
    assert_eq!((codes, bytes.len() <= 548), (vec![53, 54, 12], true));
    send(&mut lines, &ask(&[43, 12], Some(1500)));
    let ack = Message4::read(&lines.only().bytes);
    let parts = ack.options.iter().filter(|(code, _)| *code == 43);
    assert_eq!(parts.map(|(_, value)| value.len()).collect::<Vec<_>>(), [255, 255, 90]);
    // A client that has no address cannot take an answer.
    let mut none = ask(&[1], None);
    none.ciaddr = [0; 4];
    send(&mut lines, &none);
    assert_eq!((lines.said.len(), lines.machine.counters().malformed), (0, 1));
    assert_eq!(lines.machine.leases(), 0);
}

#[test]
fn answers_go_where_the_client_takes_them() {
    let mut lines = lines();
    let mut message = discover(1);
    message.flags = 0x8000;
    send(&mut lines, &message);
    let said = lines.only();
    assert_eq!((said.mac, said.to), (MacAddr::BROADCAST, [255u8; 4].into()));
    assert_eq!(Message4::read(&said.bytes).flags, 0x8000);
}

#[test]
fn the_same_client_on_another_line_is_another_one() {
    let mut lines = lines();
    let first = bound(&mut lines);
    lines.hear(2, MAC, ANYBODY, discover(1).bytes());
    let second = Message4::read(&lines.only().bytes).yiaddr;
    assert_ne!(first, second);
    // The owner knows whether that is one host that has moved.
    let Some(Report::Up { lease, .. }) =
        lines.reports.iter().find(|report| matches!(report, Report::Up { .. })).cloned()
    else {
        panic!("it was up")
    };
    lines.command(Command::End(lease));
    assert_eq!(gone(&lines).map(|gone| (gone.1, gone.2)), Some((Why::Ended, true)));
    assert_eq!(lines.machine.leases(), 1);
}

#[test]
fn two_hosts_of_a_line_that_call_themselves_the_same_are_two_clients() {
    let mut lines = lines();
    let first = bound(&mut lines);
    let mac = [2, 0, 0, 0, 0, 10];
    let other = |message: Message4| Message4 { chaddr: mac, ..message };
    send(&mut lines, &other(discover(2)));
    let second = Message4::read(&lines.only().bytes).yiaddr;
    assert_ne!(first, second);
    send(&mut lines, &other(request(2, first)));
    assert_eq!(Message4::read(&lines.only().bytes).kind(), NAK, "it is another's");
    let mut release = Message4::new(RELEASE, 3, mac).with(61, &[1, 2, 0, 0, 0, 0, 9]);
    release.ciaddr = first;
    send(&mut lines, &release);
    assert_eq!((lines.machine.counters().unknown, lines.machine.leases()), (1, 2));
}

#[test]
fn a_fixed_address_that_another_has_is_told_and_given_when_it_is_free() {
    let mut lines = lines();
    let fixed = prefix("10.0.0.99", 32);
    lines.grant = Some(protocol_dhcp::Grant { address: Some(Source::Fixed(fixed)), ..GRANT });
    let first = bound(&mut lines);
    assert_eq!(first, [10, 0, 0, 99]);
    let mac = [2, 0, 0, 0, 0, 10];
    let other = Message4::new(DISCOVER, 2, mac);
    lines.hear(2, mac, ANYBODY, other.bytes());
    let Some(Report::Taken { by: Some(holder), .. }) = lines.reports.last().cloned() else {
        panic!("{:?}", lines.reports.last())
    };
    assert_eq!((lines.said.len(), lines.machine.counters().taken), (0, 1));
    lines.command(Command::End(holder));
    lines.hear(2, mac, ANYBODY, other.bytes());
    assert_eq!(Message4::read(&lines.only().bytes).yiaddr, first, "it need not wait");
}

#[test]
fn a_pool_that_is_empty_offers_nothing_and_is_told() {
    let mut config = config4();
    config.pools[0].alarm_percent = 100;
    let mut lines = Lines::new(Server::new(config, SERVER.into()).expect("a server"));
    for host in 0..9 {
        let mac = [2, 0, 0, 0, 1, host];
        lines.hear(u32::from(host), mac, ANYBODY, Message4::new(DISCOVER, 1, mac).bytes());
    }
    assert_eq!((lines.said.len(), lines.machine.counters().exhausted), (8, 1));
    let short = |report: &&Report| matches!(report, Report::Pool(turn) if turn.is_short);
    assert_eq!(lines.reports.iter().filter(short).count(), 1);
    lines.pass(Duration::from_secs(61));
    let Some(Report::Pool(turn)) =
        lines.reports.iter().rfind(|report| matches!(report, Report::Pool(_)))
    else {
        panic!("it was told")
    };
    assert!(!turn.is_short && lines.machine.leases() == 0, "{turn:?}");
}
