//! How many bytes logs are: measured from the frames, and held to the table in the documentation.

use std::fmt::Write;
use std::path::Path;

use export::{Format, Logging};
use function_cgnat::log::{Event, Kind};
use model_cgnat::log::trial::{Trial, event, over_ipv4};

#[test]
fn the_documentation_says_how_many_bytes_logs_are() {
    let mut table = String::from(
        "//! | format | record | bytes | records a packet | bytes on the wire | at 5 million/s |\n\
         //! |---|---|---:|---:|---:|---:|\n",
    );
    for format in [Format::Ipfix, Format::Syslog] {
        for (name, kind, destinations) in [
            ("block", Kind::BlockAllocate, false),
            ("session", Kind::SessionCreate, false),
            ("session with destination", Kind::SessionCreate, true),
        ] {
            let config = Logging { sessions: true, destinations, ..over_ipv4(format) };
            let [few, many] = [RECORDS, 2 * RECORDS].map(|records| bytes(&config, kind, records));
            let per_packet = (many.records as f64 / many.frames as f64).round();
            let wire = (many.bytes - few.bytes) as f64 / (many.records - few.records) as f64
                + WIRE * (many.frames - few.frames) as f64 / (many.records - few.records) as f64;
            let gbit_per_s = wire * 8.0 * 5e6 / 1e9;
            let format = format!("{format:?}").to_lowercase();
            let _ = writeln!(
                table,
                "//! | {format} | {name} | {} | {per_packet} | {wire:.1} | {gbit_per_s:.2} Gbit/s |",
                many.record_len,
            );
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../functions/cgnat/src/log/mod.rs");
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert!(text.contains(&table), "{} should say:\n{table}", path.display());
}

/// What some records came to.
struct Volume {
    records: u64,
    frames: u64,
    bytes: u64,
    /// Length of a record without its share of headers; of one that is a message, the message.
    record_len: u64,
}

/// Lets so many records of a subscriber under NAT44 go out.
fn bytes(config: &Logging, kind: Kind, records: u64) -> Volume {
    let mut trial = Trial::new(config, 1514);
    for number in 0..records {
        // Addresses and ports as long in decimal as most are.
        let event = Event {
            outside: [198, 51, 100, 17].into(),
            remote: [203, 0, 113, 128].into(),
            inside: std::net::Ipv4Addr::new(100, 64, 17, 128).to_ipv6_mapped().to_bits(),
            inside_port: 40_000,
            first_port: 20_480,
            last_port: 20_991,
            remote_port: 443,
            realm: 7,
            protocol: 6,
            ..event(kind, 3 * number)
        };
        trial.note(&event).expect("there is a place");
    }
    trial.drain().expect("they agree");
    let frames = trial.logger().counts()[1];
    let headers = frames * 42;
    let payload = trial.bytes - headers;
    let record_len = match config.format {
        // Twenty bytes of headers of message and set.
        Format::Ipfix => (payload - 20 * frames) / records,
        Format::Syslog => payload / records,
    };
    Volume { records, frames, bytes: trial.bytes, record_len }
}

/// As many as fill whole packets of every kind, nearly.
const RECORDS: u64 = 20_000;
/// Preamble, check sequence and gap of a frame in bytes.
const WIRE: f64 = 24.0;
