//! The bytes of messages, as files: `UPDATE_GOLDEN=1` rewrites them, and the difference is to be
//! read.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use export::{Format, Logging};
use function_cgnat::log::Kind;
use model_cgnat::log::trial::{Trial, event, over_ipv4, over_ipv6};
use testkit::layers::layers;
use testkit::pair::hex;

#[test]
fn messages_are_these_bytes() {
    let ipfix = Logging { sessions: true, ..over_ipv4(Format::Ipfix) };
    hold("ipfix.txt", &ipfix, |frame| {
        layers(frame).iter().map(|layer| format!("    {}\n", hex(layer))).collect()
    });
    let destinations = Logging {
        sessions: true,
        mappings: true,
        destinations: true,
        domain: 100,
        ..over_ipv6(Format::Ipfix)
    };
    hold("ipfix-destinations.txt", &destinations, |frame| {
        layers(frame).iter().map(|layer| format!("    {}\n", hex(layer))).collect()
    });
    let syslog = Logging {
        sessions: true,
        mappings: true,
        destinations: true,
        hostname: "nat1.example.net".to_owned(),
        ..over_ipv6(Format::Syslog)
    };
    hold("syslog.txt", &syslog, |frame| {
        let (headers, text) = frame.split_at(62);
        format!("    {}\n    {}\n", hex(headers), String::from_utf8_lossy(text))
    });
}

/// Holds what comes of every kind, a moment apart, to a file.
fn hold(name: &str, config: &Logging, text_of: impl Fn(&[u8]) -> String) {
    let mut trial = Trial::new(config, 1514);
    for (number, kind) in (0..).zip(Kind::ALL) {
        trial.note(&event(kind, number)).expect("there is a place");
        trial.wait(1_500_000);
    }
    trial.wait(1_000_000_000);
    trial.flush(false).expect("they agree");
    trial.flush(false).expect("they agree");
    let mut text = String::new();
    for (number, frame) in trial.frames().iter().enumerate() {
        let _ = write!(text, "frame {number}\n{}", text_of(frame));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden-log");
    let path = folder.join(name);
    if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::create_dir_all(&folder).expect("a folder can be made");
        fs::write(&path, &text).expect("a golden file can be written");
    }
    let expected = fs::read_to_string(&path).expect("it is there");
    let place = path.display();
    assert!(expected == text, "{place} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}");
}
