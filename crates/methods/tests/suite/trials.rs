//! How many trials MLRsearch takes on devices whose behaviour is the same in every trial, beside
//! the implementation that its authors published (MLRsearch 1.2.1), which was run on the same
//! devices.
//!
//! Both count a warm-up of half a second, and frames that the tester could not send as lost.

use methods::simulated::Simulated;
use methods::{Unobserved, find};
use serde_json::{Value, json};

/// The devices, in the order of the columns.
fn devices() -> [Simulated; 8] {
    let fixed = Simulated::fixed;
    [
        fixed(1e6),
        fixed(14.88e6),
        fixed(123_456.0),
        fixed(100e6),
        fixed(1e6).lossy_below(1e9, 0.001),
        fixed(1e6).bucket(50_000),
        fixed(5e6).stalling(1.0, 2_000_000),
        fixed(10e6).tester_limited(2e6),
    ]
}

/// A search: its goals, the number of its coarser targets, its expansion coefficient, and the
/// trials that the published implementation took on each device.
type Row = (Value, u32, u32, [usize; 8]);

fn rows() -> [Row; 6] {
    let of_rfc2544 = json!({"final-trial-duration": 60, "duration-sum": 60, "exceed-ratio": 0,
        "width": 0.02, "initial-trial-duration": 1});
    let of_tst009 = json!({"final-trial-duration": 60, "duration-sum": 120, "width": 0.02,
        "initial-trial-duration": 1});
    [
        (json!([0]), 2, 2, [28, 28, 28, 12, 21, 28, 38, 28]),
        (json!("ndr-pdr"), 2, 2, [36, 36, 36, 12, 21, 36, 68, 36]),
        (json!([{"initial-trial-duration": 0.1}]), 2, 2, [27, 27, 27, 13, 22, 37, 37, 27]),
        (json!([of_rfc2544]), 2, 2, [8, 8, 8, 4, 9, 10, 14, 8]),
        (json!([of_tst009]), 2, 2, [9, 9, 9, 4, 11, 11, 15, 9]),
        (json!([0]), 4, 4, [35, 35, 35, 12, 17, 35, 41, 35]),
    ]
}

#[test]
fn mlrsearch_takes_as_many_trials_as_the_published_implementation() {
    for (goals, preceding, expansion, published) in rows() {
        let count = |mut device: Simulated| {
            let config = json!({"search": "mlrsearch", "goals": goals,
                "preceding-targets": preceding, "expansion-coefficient": expansion,
                "unsent-is-loss": true, "repeat-stalled": 0, "max-trials": 10_000,
                "max-search-time": 100_000});
            let method = (find("throughput").expect("a method").read)(config).expect("valid");
            method.run(&mut device, &mut Unobserved).expect("simulated").trials.len()
        };
        assert_eq!(devices().map(count), published, "{goals} on the devices in their order");
    }
}
