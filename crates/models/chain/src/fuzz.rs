//! A bridge and a router, one behind the other, against their oracles.

use std::time::Duration;

use model_kit::Model;
use model_kit::fuzz::{Fuzzed, Target, beside};
use serde_json::json;

use crate::{Chain, Models, Section, Traffic};

impl<L: Models> Fuzzed for Chain<L> {
    const TARGETS: &'static [Target] = &[Target {
        name: "chain",
        body: || beside::<Chain<L>>(sections::<L>(), Duration::from_millis(7)),
        examples: Vec::new,
    }];
}

fn sections<L: Models>() -> impl Iterator<Item = Section> {
    let router = json!({"name": "l3-router", "downlink-mac": "02:00:00:00:00:01"});
    let bridge = json!({"name": "l2-switch", "preload": false});
    [json!([bridge, router]), json!([router, bridge])].into_iter().map(|sections| {
        let mut section = serde_json::from_value(json!({"chain": sections})).expect("a section");
        Chain::<L>::validate(&mut section, &mut Traffic::default()).expect("a sound one");
        section
    })
}
