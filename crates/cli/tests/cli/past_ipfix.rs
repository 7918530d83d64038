//! A log in messages of IPFIX answers as the lines of syslog of the same events do: of what a NAT
//! has sent, and of every kind of subscriber.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use functions::cgnat::config::{Config, DeterministicRule, Format, Logging, Prefixed, StaticRule};
use functions::cgnat::log::{Event, Kind};
use functions::cgnat::{Cgnat, Pipeline};
use functions::{NetworkFunction, Shard};
use models::cgnat::log::oracle::Way;
use models::cgnat::log::trial::{Trial, event, over_ipv4};
use packet::PortId;
use serde_json::Value;
use testkit::device::Device;
use testkit::mutate::repair;
use testkit::pair::clock;

use crate::{run, temporary_folder};

const INSIDE: PortId = PortId(0);
const OUTSIDE: PortId = PortId(1);
/// The first tick, at 2026-11-22 08:15:30 UTC.
const BEGIN: u64 = 1 << 40;

/// What a collector has kept of one NAT in both forms.
struct Logs {
    ipfix: Vec<u8>,
    syslog: Vec<u8>,
}

impl Logs {
    /// From what came in the datagrams of each.
    fn of(told: impl Fn(Format) -> Vec<Vec<u8>>) -> Logs {
        let lines = told(Format::Syslog).into_iter();
        let syslog = lines.flat_map(|line| [line, b"\n".to_vec()].concat()).collect();
        Logs { ipfix: told(Format::Ipfix).concat(), syslog }
    }

    fn write(&self, folder: &Path) {
        std::fs::write(folder.join("nat.ipfix"), &self.ipfix).expect("it can be written");
        std::fs::write(folder.join("nat.log"), &self.syslog).expect("it can be written");
    }
}

/// What both forms say, which must be the same; only syslog tells the host.
fn ask(folder: &Path, table: &str, sought: &str, at: &str) -> Vec<Value> {
    let ask = |log: &str| {
        let words = ["show", "table", table, "--for", sought, "--at", at, "--log", log, "--json"];
        let ended = run(folder, &words).expect(0);
        let mut entries = ended.json();
        let all = entries.as_array_mut().into_iter().flatten();
        all.for_each(|entry| entry["host"] = Value::Null);
        (entries, ended.stderr)
    };
    let (ipfix, syslog) = (ask("nat.ipfix"), ask("nat.log"));
    assert_eq!(ipfix, syslog, "{table} for {sought} at {at}");
    ipfix.0.as_array().cloned().unwrap_or_default()
}

fn net(text: &str) -> Prefixed<Ipv4Addr> {
    Prefixed::try_from(text.to_owned()).expect("a prefix")
}

/// A NAT with pools, one-to-one addresses and a deterministic rule, whose ports nobody draws by
/// chance.
fn config(format: Format) -> Config {
    let default = Config::default();
    let mac = default.outside_next_hop_mac.0;
    let logging = Logging {
        sessions: true,
        mappings: true,
        destinations: true,
        begins_at_s: Some(1_795_335_330),
        ..Logging::to(format, [203, 0, 113, 9].into(), [203, 0, 113, 1].into(), mac)
    };
    let deterministic = serde_json::json!({"inside": "10.8.0.0/28", "outside": "203.0.113.128/31"});
    let rule: DeterministicRule = serde_json::from_value(deterministic).expect("a rule");
    Config {
        inside: vec![net("10.0.0.0/8")],
        pools: vec![net("198.18.0.0/30")],
        sessions: 3000,
        subscribers: 1000,
        secret: Some(7),
        static_rules: vec![StaticRule {
            inside: net("10.9.0.0/30"),
            outside: net("203.0.113.64/30"),
        }],
        deterministic: vec![rule],
        logging: Some(logging),
        ..default
    }
}

/// A datagram of a subscriber to a server.
fn datagram(config: &Config, inside: [u8; 4], port: u16) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&config.inside_mac.0.0);
    frame[6..12].copy_from_slice(&config.inside_next_hop_mac.0.0);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[26..30].copy_from_slice(&inside);
    frame[30..34].copy_from_slice(&[11, 0, 0, 1]);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[36..40].copy_from_slice(&[0, 53, 0, 26]);
    repair(&mut frame);
    frame
}

/// Subscribers of a pool, of one-to-one addresses, and of a deterministic rule.
const SUBSCRIBERS: [[u8; 4]; 4] = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 9, 0, 1], [10, 8, 0, 5]];

/// What a NAT tells that some use at first and after a minute: datagrams, and the outside ends that
/// their packets had.
fn run_nat(format: Format) -> (Vec<Vec<u8>>, Vec<String>) {
    let config = config(format);
    let way = Way::new(&config, config.logging.as_ref().expect("logs are on"));
    let function = Cgnat::function(&config, Shard::WHOLE, clock(), BEGIN).expect("a small NAT");
    let mut device: Device<Pipeline> = Device::new(function, 2);
    let (mut told, mut ends) = (Vec::new(), Vec::new());
    for second in 0..400 {
        let ports = match second {
            2 => 1000..1003,
            60 => 1001..1004,
            _ => 0..0,
        };
        let all =
            SUBSCRIBERS.iter().flat_map(|inside| ports.clone().map(move |port| (inside, port)));
        let frames: Vec<Vec<u8>> =
            all.map(|(inside, port)| datagram(&config, *inside, port)).collect();
        let now = BEGIN + clock().ticks(Duration::from_secs(second));
        let left = device.pass_all(INSIDE, frames.iter().map(Vec::as_slice), now);
        for (port, frame) in left.frames() {
            if way.is_message(port, &frame) {
                let len = usize::from(u16::from_be_bytes([frame[38], frame[39]])) - 8;
                told.push(frame[42..42 + len].to_vec());
            } else {
                assert_eq!(port, OUTSIDE);
                let number = u16::from_be_bytes([frame[34], frame[35]]);
                let address = &frame[26..30];
                let [a, b, c, d] = [address[0], address[1], address[2], address[3]];
                ends.push(format!("{a}.{b}.{c}.{d}:{number}"));
            }
        }
    }
    (told, ends)
}

#[test]
fn what_a_nat_has_sent_answers_as_its_lines_of_syslog_do() {
    let folder = temporary_folder();
    Logs::of(|format| run_nat(format).0).write(folder.path());
    let (_, ends) = run_nat(Format::Ipfix);
    assert_eq!(ends, run_nat(Format::Syslog).1, "nothing is drawn by chance");
    assert_eq!(ends.len(), 2 * 3 * SUBSCRIBERS.len());
    let who = |table: &str, end: &str, at: &str| -> Vec<String> {
        let entries = ask(folder.path(), table, end, &format!("2026-11-22T{at}Z"));
        let inside = |entry: &Value| entry["inside"].as_str().unwrap_or_default().to_owned();
        entries.iter().map(inside).collect()
    };
    for (number, end) in ends.iter().enumerate().take(3 * SUBSCRIBERS.len()) {
        let [a, b, c, d] = SUBSCRIBERS[number / 3];
        let subscriber = vec![format!("{a}.{b}.{c}.{d}")];
        for table in ["sessions", "mappings"] {
            assert_eq!(who(table, end, "08:15:35"), subscriber, "{table} {end}");
            assert!(who(table, end, "08:15:31").is_empty());
        }
        // Blocks are those of pools alone.
        let has_block = SUBSCRIBERS[number / 3][1] == 0;
        let block = if has_block { subscriber.clone() } else { Vec::new() };
        assert_eq!(who("blocks", end, "08:15:35"), block, "{end}");
        assert!(who("sessions", end, "08:22:05").is_empty());
        if number % 3 == 0 {
            // Everything that an address has had.
            let (address, _) = end.split_once(':').expect("a port");
            for table in ["sessions", "mappings", "blocks", "subscribers"] {
                who(table, address, "08:15:35");
                who(table, address, "08:16:35");
            }
            let inside = format!("{}:1000", subscriber[0]);
            assert_eq!(who("sessions", &inside, "08:15:35"), subscriber);
        }
    }
}

/// Something of a kind, by its number of some family, and what ends it.
fn events() -> Vec<(Event, Kind)> {
    let kinds = [
        (Kind::SessionCreate, Kind::SessionDelete),
        (Kind::MappingCreate, Kind::MappingDelete),
        (Kind::BlockAllocate, Kind::BlockRelease),
        (Kind::AddressBind, Kind::AddressUnbind),
    ];
    let of = |(create, delete)| (0..12).map(move |number| (event(create, number), delete));
    kinds.into_iter().flat_map(of).collect()
}

/// What is told of things that begin, and of which two thirds end after ten seconds.
fn told(format: Format) -> Vec<Vec<u8>> {
    let config =
        Logging { sessions: true, mappings: true, destinations: true, ..over_ipv4(format) };
    let mut trial = Trial::new(&config, 1514);
    let flush = |trial: &mut Trial| {
        trial.wait(1_000_000_000);
        (0..8).for_each(|_| trial.flush(false).expect("they agree"));
    };
    flush(&mut trial);
    for (event, _) in events() {
        trial.note(&event).expect("there is a place");
    }
    flush(&mut trial);
    trial.wait(10_000_000_000);
    for (number, (event, delete)) in events().into_iter().enumerate() {
        if number % 4 != 3 {
            trial.note(&Event { kind: delete, ..event }).expect("there is a place");
        }
    }
    flush(&mut trial);
    trial.frames().iter().map(|frame| frame[42..].to_vec()).collect()
}

#[test]
fn each_kind_of_subscriber_is_told_as_by_syslog() {
    let folder = temporary_folder();
    Logs::of(told).write(folder.path());
    for (number, (event, _)) in events().into_iter().enumerate() {
        let table = ["sessions", "mappings", "blocks", "subscribers"][number / 12];
        let sought = event.outside.to_string();
        let found = ask(folder.path(), table, &sought, "2026-11-22T08:15:35Z");
        assert_eq!(found.len(), 1, "{table} {sought}");
        let inside: IpAddr = match number % 3 {
            1 => event.source_ipv6().into(),
            _ => event.source_ipv4().into(),
        };
        assert_eq!(found[0]["inside"], inside.to_string());
        assert_eq!(found[0]["b4"].is_string(), number % 3 == 2, "{}", found[0]);
        let later = ask(folder.path(), table, &sought, "2026-11-22T08:15:43Z");
        assert_eq!(later.len(), usize::from(number % 4 == 3), "{table} {sought}");
    }
}
