//! What tests of servers and relays share: an owner that one can hold up, and configurations.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use protocol_dhcp::v6::server::Identity;
use protocol_dhcp::{
    Access, Class, Command, Config, Grant, Heard, Kind, Line, PoolConfig, Prefix, Report, Said,
    Source,
};
use protocol_kit::{Arrival, Departure, Input, Interface, Output, Socket, Time};
use wire::MacAddr;

/// A machine with its owner.
pub struct Lines<M> {
    pub machine: M,
    pub now: Time,
    /// What was said to lines.
    pub said: VecDeque<Said>,
    /// What was sent to servers: the destination and the bytes.
    pub asked: VecDeque<(IpAddr, Vec<u8>)>,
    /// What the owner has heard.
    pub reports: Vec<Report>,
    /// What the owner accepts clients with; `None` while it does not answer.
    pub grant: Option<Grant>,
    /// Whether the owner acknowledges.
    pub acknowledges: bool,
}

impl<M: Access> Lines<M> {
    pub fn new(machine: M) -> Lines<M> {
        let mut lines = Lines {
            machine,
            now: Time::ZERO,
            said: VecDeque::new(),
            asked: VecDeque::new(),
            reports: Vec::new(),
            grant: Some(GRANT),
            acknowledges: true,
        };
        lines.settle();
        lines
    }

    /// A message comes from a line.
    pub fn hear(&mut self, line: u32, mac: [u8; 6], (from, to): (IpAddr, IpAddr), bytes: Vec<u8>) {
        let heard = Heard { line: Line(line), mac: MacAddr(mac), from, to, bytes };
        self.command(Command::Heard(heard));
    }

    /// A datagram comes from a server.
    pub fn answer(&mut self, from: IpAddr, bytes: &[u8]) {
        self.answer_from((from, M::PORT).into(), bytes);
    }

    /// The same from any port.
    pub fn answer_from(&mut self, from: SocketAddr, bytes: &[u8]) {
        let arrival = Arrival::Datagram {
            socket: Socket(0),
            interface: Interface(1),
            from,
            to: Ipv4Addr::UNSPECIFIED.into(),
            ttl: 64,
            bytes,
        };
        self.machine.input(self.now, Input::Arrival(arrival));
        self.settle();
    }

    /// The socket to servers is gone.
    pub fn fail(&mut self) {
        self.machine.input(self.now, Input::Arrival(Arrival::Failed { socket: Socket(0) }));
        self.settle();
    }

    /// The servers that were told to be silent, and to be back.
    pub fn turns(&self) -> Vec<(u16, bool)> {
        let all = self.reports.iter().filter_map(|report| match report {
            Report::Server(place, answers) => Some((*place, *answers)),
            _ => None,
        });
        all.collect()
    }

    pub fn command(&mut self, command: Command) {
        self.machine.input(self.now, Input::Command(command));
        self.settle();
    }

    /// Time passes, with everything that is due meanwhile.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.machine.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    pub fn settle(&mut self) {
        while let Some(output) = self.machine.poll(self.now) {
            let report = match output {
                Output::Departure(Departure::Datagram { to, bytes, .. }) => {
                    self.asked.push_back((to.ip(), bytes));
                    continue;
                }
                Output::Departure(_) => continue,
                Output::Report(Report::Said(said)) => {
                    self.said.push_back(said);
                    continue;
                }
                Output::Report(report) => report,
            };
            let answer = match (&report, self.grant) {
                (Report::Wanted(lease, ..), Some(grant)) => Some(Command::Accept(*lease, grant)),
                (Report::Up { lease, .. }, _) if self.acknowledges => {
                    Some(Command::Acknowledged(*lease))
                }
                _ => None,
            };
            self.reports.push(report);
            if let Some(answer) = answer {
                self.machine.input(self.now, Input::Command(answer));
            }
        }
    }

    /// The only thing that was said.
    #[track_caller]
    pub fn only(&mut self) -> Said {
        let said = self.said.pop_front().expect("something was said");
        assert_eq!(self.said, [], "and nothing more");
        said
    }
}

/// Of the first pool for addresses and the second one for prefixes.
pub const GRANT: Grant = Grant {
    session: 77,
    class: 0,
    address: Some(Source::Pool(0, None)),
    delegated: Some(Source::Pool(1, None)),
};

pub fn pool(kind: Kind, first: &str, len: u8, count: u32) -> PoolConfig {
    let first = Prefix::new(first.parse().expect("an address"), len).expect("a prefix");
    PoolConfig { kind, first, count, reserved: vec![], shares: 1, alarm_percent: 0 }
}

pub fn prefix(text: &str, len: u8) -> Prefix {
    Prefix::new(text.parse().expect("an address"), len).expect("a prefix")
}

/// Eight addresses from 10.0.0.8 on, leases of 600 s.
pub fn config4() -> Config {
    let mut config = Config::new(1, 64);
    config.pools = vec![pool(Kind::Address, "10.0.0.8", 32, 8)];
    let class = Class::new(Duration::from_secs(600));
    config.classes = vec![
        class
            .with(1, &[255, 255, 255, 0])
            .with(3, &[10, 0, 0, 1])
            .with(6, &[10, 0, 0, 1, 10, 0, 0, 2])
            .with(108, &[0, 0, 7, 8])
            .with(114, b"https://portal.example/api"),
    ];
    config
}

/// Eight addresses and eight prefixes of 56 bits, valid for 1000 s and preferred for 600 s.
pub fn config6() -> Config {
    let mut config = Config::new(1, 64);
    config.pools = vec![
        pool(Kind::Address, "2001:db8:1::8", 128, 8),
        pool(Kind::Delegated, "2001:db8:100::", 56, 8),
    ];
    let mut class = Class::new(Duration::from_secs(1000));
    class.preferred = Duration::from_secs(600);
    let dns = "2001:db8::53".parse::<Ipv6Addr>().expect("an address");
    config.classes = vec![class.with(23, &dns.octets()).with(103, b"https://portal.example/api")];
    config
}

pub fn identity() -> Identity {
    Identity {
        duid: SERVER_DUID.to_vec(),
        address: "fe80::1".parse().expect("an address"),
        preference: 0,
        allows_rapid_commit: true,
    }
}

pub const SERVER: [u8; 4] = [10, 0, 0, 1];

pub const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];

/// From where to where a client without an address sends.
pub const ANYBODY: (IpAddr, IpAddr) =
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::BROADCAST));

/// The same in IPv6.
pub const ANYBODY6: (IpAddr, IpAddr) = (
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9)),
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2)),
);

pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
