//! Records on a real disk, where no server answers.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test is a driver, of a real disk"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use controller_bng::Bng;
use controller_kit::{Controller, Event, Setup};
use function_bng::BroadbandGateway;
use function_kit::erased::configured;
use host::Host;
use serde_json::json;

use crate::world::{gateway, keys};

/// The controller as a daemon begins it, and its records that wait.
fn life(path: &Path) -> (Host<Bng>, u64) {
    let keys = keys(json!({
        "radius": {
            "servers": [{
                "address": "127.0.0.1",
                "local": "127.0.0.1",
                "secret": "nobody knows",
                "accounting-port": 9,
            }],
            "records-file": path,
        },
    }));
    let function = configured::<BroadbandGateway>(gateway());
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
    let mut bng = Bng::new(&keys, setup).expect("a controller");
    assert_eq!(Bng::file(&keys), Some(path));
    bng.restore(&fs::read(path).unwrap_or_default()).expect("its own file");
    let waiting = bng.show()["records"]["waiting"].as_u64().expect("a number");
    (Host::new(bng).expect("a host"), waiting)
}

#[test]
fn each_life_finds_what_those_before_it_have_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state/records");
    for number in 0..3 {
        let (mut host, waiting) = life(&path);
        assert_eq!(waiting, number, "Accounting-On of each life");
        let len = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let before = len(&path);
        host.command(Event::TimeOfDay(Duration::from_secs(1_700_000_000)));
        let deadline = Instant::now() + Duration::from_secs(20);
        while len(&path) <= before.max(20) {
            assert!(Instant::now() < deadline, "the disk has not taken it");
            host.turn(Duration::from_millis(10)).expect("a turn");
        }
    }
}
