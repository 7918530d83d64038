//! Leases that outlive a restart, and what each of many takes.

use std::time::Duration;

use protocol_dhcp::{Access, Config, Kind, LeaseId, NotRestored, Report, v4, v6};
use protocol_kit::{Random, Time};
use tables::meter::Meter;
use tables::tagged::Tagged;
use tables::wheel::Wheel;

use crate::client4::{ACK, DISCOVER, Message4, NAK, REQUEST};
use crate::client6::{Message6, RENEW, REQUEST as REQUEST6, association};
use crate::lines::{
    ANYBODY, ANYBODY6, Lines, MAC, SERVER, SERVER_DUID, config4, config6, identity, pool,
};

fn up(reports: &[Report]) -> Option<LeaseId> {
    reports.iter().find_map(|report| match report {
        Report::Up { lease, .. } => Some(*lease),
        _ => None,
    })
}

fn bind(lines: &mut Lines<v4::Server>, line: u32, mac: [u8; 6]) -> Option<[u8; 4]> {
    lines.said.clear();
    lines.hear(line, mac, ANYBODY, Message4::new(DISCOVER, 1, mac).bytes());
    let address = Message4::read(&lines.said.pop_front()?.bytes).yiaddr;
    let request = Message4::new(REQUEST, 1, mac).with(50, &address).with(54, &SERVER);
    lines.hear(line, mac, ANYBODY, request.bytes());
    let ack = Message4::read(&lines.said.pop_front()?.bytes);
    (ack.kind() == ACK).then_some(address)
}

#[test]
fn a_restart_keeps_what_clients_have_and_gives_it_to_nobody_else() {
    let new = || Lines::new(v4::Server::new(config4(), SERVER.into()).expect("a server"));
    let mut before = new();
    let address = bind(&mut before, 1, MAC).expect("an address");
    let record = before.machine.record(up(&before.reports).expect("up")).expect("a record");
    let mut after = new();
    let id = after.machine.restore(after.now, &record).expect("restored");
    assert_eq!(after.machine.record(id), Some(record.clone()), "the same record");
    let others: Vec<_> =
        (0..8).filter_map(|n| bind(&mut after, 2 + n, [2, 1, 0, 0, 0, n as u8])).collect();
    assert!(others.len() == 7 && !others.contains(&address), "{others:?}");
    // The client renews as if nothing had been.
    let mut renewal = Message4::new(REQUEST, 7, MAC);
    renewal.ciaddr = address;
    after.said.clear();
    after.hear(1, MAC, ANYBODY, renewal.bytes());
    assert_eq!(Message4::read(&after.only().bytes).kind(), ACK);
    // One that does not comes to its end.
    let mut late = new();
    late.machine.restore(late.now, &record).expect("restored");
    late.pass(Duration::from_secs(599));
    assert_eq!(late.machine.leases(), 1);
    late.pass(Duration::from_secs(2));
    assert_eq!(late.machine.leases(), 0);
    late.hear(1, MAC, ANYBODY, renewal.bytes());
    assert_eq!(Message4::read(&late.only().bytes).kind(), NAK);
}

#[test]
fn both_kinds_of_version_6_come_back() {
    let new = || Lines::new(v6::Server::new(config6(), identity()).expect("a server"));
    let duid = [0, 3, 0, 1, 9];
    let mut before = new();
    let message = |kind| {
        let message = Message6::new(kind, 1, &duid).with(2, &SERVER_DUID);
        message.with(3, &association(7, &[])).with(25, &association(8, &[]))
    };
    before.hear(1, MAC, ANYBODY6, message(REQUEST6).bytes());
    let reply = Message6::read(&before.only().bytes);
    let record = before.machine.record(up(&before.reports).expect("up")).expect("a record");
    let mut after = new();
    after.machine.restore(after.now, &record).expect("restored");
    after.hear(1, MAC, ANYBODY6, message(RENEW).bytes());
    let renewed = Message6::read(&after.only().bytes);
    assert_eq!((renewed.address(), renewed.prefix()), (reply.address(), reply.prefix()));
    assert!(!after.reports.iter().any(|report| matches!(report, Report::Up { .. })));
    // What is kept before it is acknowledged, as it has to be, lives as long.
    let mut early = new();
    early.acknowledges = false;
    early.hear(1, MAC, ANYBODY6, message(REQUEST6).bytes());
    let kept = early.machine.record(up(&early.reports).expect("up")).expect("a record");
    assert_eq!(kept, record);
    // A record of the other version is none.
    let mut v4 = v4::Server::new(config4(), SERVER.into()).expect("a server");
    assert_eq!(v4.restore(Time::ZERO, &record), Err(NotRestored::Malformed));
}

#[test]
fn a_record_is_restored_as_a_whole_or_not_at_all() {
    let new = || v4::Server::new(config4(), SERVER.into()).expect("a server");
    let mut lines = Lines::new(new());
    bind(&mut lines, 1, MAC);
    let record = lines.machine.record(up(&lines.reports).expect("up")).expect("a record");
    let known = lines.machine.restore(Time::ZERO, &record);
    assert_eq!(known, Err(NotRestored::Known));
    // Another client has the address meanwhile.
    let mut other = Lines::new(new());
    bind(&mut other, 2, [2, 0, 0, 0, 0, 10]);
    assert_eq!(other.machine.restore(Time::ZERO, &record), Err(NotRestored::Taken));
    assert_eq!((other.machine.leases(), other.machine.poll_all()), (1, 0));
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let mut bytes = record.clone();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.bits() as u8;
        bytes.truncate(random.below(2 * bytes.len() as u64) as usize);
        let mut server = new();
        let is_restored = server.restore(Time::ZERO, &bytes).is_ok();
        assert_eq!((server.leases(), server.pools().held() <= 1), (usize::from(is_restored), true));
    }
}

/// Polls a machine to its end; how much it had to say.
trait PollAll {
    fn poll_all(&mut self) -> usize;
}

impl PollAll for v4::Server {
    fn poll_all(&mut self) -> usize {
        use protocol_kit::Machine;
        std::iter::from_fn(|| self.poll(Time::ZERO)).count()
    }
}

#[test]
fn what_is_allocated_for_the_index_is_counted() {
    for leases_max in [1, 21, 1000] {
        let mut config = config4();
        (config.leases_max, config.rates.places) = (leases_max, 2);
        let server = v4::Server::new(config, SERVER.into()).expect("a server");
        let index = Tagged::with_capacity(leases_max as usize).expect("memory").bytes();
        let wheel = Wheel::new(leases_max as usize, 27).bytes();
        // Two meters of lines, and two of MAC addresses.
        let rest = wheel + server.pools().bytes() + 4 * size_of::<Meter>();
        assert_eq!(server.bytes() - rest, index, "{leases_max} leases");
    }
}

#[test]
fn many_leases_take_what_the_readme_says_each() {
    let mut config = Config::new(1, COUNT);
    config.pools = vec![pool(Kind::Address, "10.0.0.0", 32, COUNT)];
    config.classes = config4().classes;
    config.rates.all.per_second = 1_000_000_000;
    config.rates.all.burst = 1_000_000_000;
    let mut lines = Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"));
    for line in 0..COUNT {
        let [a, b, c, d] = line.to_be_bytes();
        assert!(bind(&mut lines, line, [2, a, b, c, d, 0]).is_some(), "line {line}");
        lines.reports.clear();
        // A second has 20,000 of them, far more than one waits for.
        lines.now = lines.now.after(Duration::from_micros(50));
    }
    assert_eq!(lines.machine.leases(), COUNT as usize);
    let bytes = lines.machine.bytes() / COUNT as usize;
    println!("{bytes} bytes a lease");
    assert!(bytes <= BYTES_MAX, "{bytes} bytes a lease");
}

/// Leases of that test; tables are made for as many, so that a lease takes the same of a million.
const COUNT: u32 = 1 << 17;

/// What the README says.
const BYTES_MAX: usize = 512;
