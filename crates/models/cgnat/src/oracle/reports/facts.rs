//! What is to be told of a subscriber and of what it has.
use std::net::Ipv4Addr;

use super::super::tables::{End, Own, Who};
use crate::log::oracle::Facts;

/// Who is behind a softwire is known by its B4 element, and its hosts by their addresses, too.
pub(super) fn of_subscriber(subscriber: Who) -> Facts {
    let inside = ("inside", subscriber.address.to_string());
    match subscriber.b4.map(|b4| b4.to_string()) {
        None => facts([inside, ("vrf", subscriber.realm.to_string())]),
        Some(b4) if subscriber == subscriber.subscriber() => {
            facts([("inside", b4), ("vrf", "0".to_owned())])
        }
        Some(b4) => facts([("b4", b4), inside, ("vrf", "0".to_owned())]),
    }
}

pub(super) fn of_pairing(subscriber: Who, outside: Ipv4Addr) -> Facts {
    let mut all = of_subscriber(subscriber);
    all.insert("outside".to_owned(), outside.to_string());
    all
}

pub(super) fn of_block(subscriber: Who, (outside, first): End, size: u16) -> Facts {
    let mut all = of_pairing(subscriber, outside);
    all.append(&mut facts([
        ("first", first.to_string()),
        ("last", (first + (size - 1)).to_string()),
    ]));
    all
}

pub(super) fn of_mapping((protocol, inside): Own, outside: End) -> Facts {
    let mut all = of_pairing(inside.0, outside.0);
    all.append(&mut facts([
        ("proto", protocol.to_string()),
        ("inport", inside.1.to_string()),
        ("outport", outside.1.to_string()),
    ]));
    all
}

fn facts<const N: usize>(all: [(&str, String); N]) -> Facts {
    all.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}
