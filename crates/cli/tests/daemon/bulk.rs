//! Many routes from a file, and many changes by `plumbline set --file`: all take effect, and how
//! long that takes.
//!
//! By hand: `cargo xtask bulk` runs it with a million of both in the profile `release` and writes
//! the record.

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value, json};

use crate::kit::{Lab, median, record};

const ROUTER: &str = "\
function:
  name: l3-router
  resolve: true
  downlink-ip: 10.0.0.1/24
  uplink-ip: 10.0.1.1/24
  route-capacity: 2000000
  next-hops: [{port: downlink, ip: 10.0.0.2}, {port: uplink, ip: 10.0.1.2}]
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
";

#[test]
fn routes_and_changes_come_by_files() {
    let Some(lab) = Lab::new() else { return };
    let number = |name: &str, default: u32| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, rounds) =
        (number("PLUMBLINE_BULK_COUNT", 20_000), number("PLUMBLINE_BULK_ROUNDS", 1));
    let mut routes = String::new();
    let mut changes = String::new();
    for place in 0..count {
        let (prefix, other) = (prefix(place), 1 - place % 2);
        let _ = writeln!(routes, "{prefix} {}", place % 2);
        let _ = writeln!(changes, "set-route prefix={prefix} next-hop={other}");
    }
    // A route that is not there yet, and a change that is none.
    changes += "set-route prefix=240.0.0.0/24 next-hop=0\nset-route prefix=240.0.0.0/24\n";
    let [routes, changes] = [("routes.txt", routes), ("changes.txt", changes)]
        .map(|(name, text)| lab.write(name, &text));
    let mut turns = Vec::new();
    for idle in ["sleep", "yield"] {
        let (mut started, mut changed) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let keys = format!("  route-files: {}\nports:", routes.display());
            let text = ROUTER.replace("ports:", &keys) + &format!("workers: {{idle: {idle}}}\n");
            let file = lab.write("router.yaml", &text);
            let begun = Instant::now();
            let _router = lab.start(&file);
            started.push(begun.elapsed().as_secs_f64());
            let listed = held(&lab);
            // Those to the router's own links come to them.
            assert!((count..count + 10).contains(&listed), "{listed}");

            let begun = Instant::now();
            let (code, _, told) = lab.run(&["set", "--file", &changes.display().to_string()]);
            changed.push(begun.elapsed().as_secs_f64());
            assert!(code != 0 && told.contains(&format!("line {}", count + 2)), "{told}");
            assert_eq!(held(&lab), listed + 1);
            for place in [0, 1, count - 1] {
                let address = prefix(place).replace(".0/24", ".9");
                let route = lab.run(&["show", "table", "routes", "--for", &address, "--json"]).1;
                let route: Value = serde_json::from_str(&route).expect("JSON");
                let hop = format!("next hop {}", 1 - place % 2);
                assert_eq!(route[0]["leads-to"], hop, "{route}");
            }
        }
        println!(
            "{idle}: ready after {:.2} s, changed in {:.2} s",
            median(&started),
            median(&changed)
        );
        turns.push(json!({
            "workers_idle": idle, "seconds_until_ready": started, "seconds_of_changes": changed,
            "changes_per_s": f64::from(count) / median(&changed),
        }));
    }
    if let Some(path) = std::env::var_os("PLUMBLINE_BULK_RECORD") {
        record(path.as_ref(), json!({"routes": count, "changes": count, "turns": turns}));
    }
}

/// How many routes the router has.
fn held(lab: &Lab) -> u32 {
    let (code, shown, told) = lab.run(&["show", "tables", "--json"]);
    assert_eq!(code, 0, "{told}");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    shown["tables"]["routes"]["used"].as_u64().expect("a number") as u32
}

/// One of four million networks, in no order.
fn prefix(place: u32) -> String {
    let number = (20 << 16) + place.wrapping_mul(40_503) % (1 << 22);
    let [_, a, b, c] = number.to_be_bytes();
    format!("{a}.{b}.{c}.0/24")
}
