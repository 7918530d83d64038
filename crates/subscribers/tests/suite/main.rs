//! Sessions against a map: random operations, and what a session costs.

use std::collections::HashMap;

use proptest::prelude::*;
use subscribers::{Key, Record, Refused, Subscribers, Volume, Volumes, Way};
use wire::MacAddr;

#[derive(Clone, Debug)]
enum Operation {
    Add(u32, Record),
    Change(u32, Record),
    Remove(u32),
    Count(u32, bool, u32),
}

/// The slow twin: what each number has, in full.
#[derive(Default)]
struct Slow {
    held: HashMap<u32, (Record, Volumes)>,
    volumes: HashMap<(u32, bool), Volume>,
}

/// Records of few values, so that their keys meet.
fn record() -> impl Strategy<Value = Record> {
    let access = (0..4u32, 0..6u8, 0..4u16, 0..2u8);
    let addresses =
        (0..9u32, 0..9u128, 0..5u64, 0..5u64, prop_oneof![Just(48u8), Just(56), Just(64)]);
    (access, addresses).prop_map(|((line, mac, pppoe, vrf), (ipv4, low, slaac, delegated, len))| {
        let upper = |number: u64| (number != 0).then_some(0x2001_0db8_0000_0000 | number << 16);
        Record {
            line,
            mac: [2, 0, 0, 0, 0, mac],
            pppoe,
            vrf,
            ipv4,
            address: if low == 0 { 0 } else { 0x3fff << 112 | low },
            slaac: upper(slaac).unwrap_or(0),
            delegated: upper(delegated).unwrap_or(0),
            delegated_len: if delegated == 0 { 0 } else { len },
            ..Record::default()
        }
    })
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let number = 0..NUMBERS + 2;
    let operation = prop_oneof![
        5 => (number.clone(), record()).prop_map(|(number, one)| Operation::Add(number, one)),
        3 => (number.clone(), record()).prop_map(|(number, one)| Operation::Change(number, one)),
        3 => number.clone().prop_map(Operation::Remove),
        2 => (number, any::<bool>(), 20..1500u32)
            .prop_map(|(number, is_ipv6, len)| Operation::Count(number, is_ipv6, len)),
    ];
    prop::collection::vec(operation, 1..300)
}

/// The keys of a record, written anew.
fn keys(record: &Record) -> Vec<Key> {
    let Record { line, vrf, .. } = *record;
    let mut all = vec![match record.pppoe {
        0 => Key::Station { line, mac: MacAddr(record.mac) },
        id => Key::Pppoe { line, id },
    }];
    if record.ipv4 != 0 {
        all.push(Key::Ipv4 { vrf, address: record.ipv4 });
    }
    if record.address != 0 {
        all.push(Key::Ipv6 { vrf, address: record.address });
    }
    if record.slaac != 0 {
        all.push(Key::Prefix { vrf, upper: record.slaac, len: 64 });
    }
    if record.delegated != 0 {
        let (upper, len) = (record.delegated, record.delegated_len);
        all.push(Key::Prefix { vrf, upper, len });
    }
    all
}

impl Slow {
    fn find(&self, key: &Key) -> Option<u32> {
        let mut having = self.held.iter().filter(|(_, (one, _))| keys(one).contains(key));
        having.next().map(|(number, _)| *number)
    }

    fn fault(&self, number: u32, record: &Record, is_there: bool) -> Option<Refused> {
        if is_there && number >= NUMBERS || !is_there && !self.held.contains_key(&number) {
            return Some(if is_there { Refused::Number } else { Refused::NotFound });
        }
        if is_there && self.held.contains_key(&number) {
            return Some(Refused::Exists);
        }
        let others = keys(record).iter().filter_map(|key| self.find(key)).collect::<Vec<_>>();
        others.into_iter().find(|other| *other != number).map(Refused::Taken)
    }
}

proptest! {
    #[test]
    fn sessions_are_found_by_all_keys_and_by_no_other(operations in operations()) {
        let mut fast = Subscribers::new(NUMBERS as usize, [1, 2]).expect("memory");
        let mut slow = Slow::default();
        let mut seen = Vec::new();
        for operation in operations {
            match operation {
                Operation::Add(number, record) => {
                    seen.extend(keys(&record));
                    let fault = slow.fault(number, &record, true);
                    prop_assert_eq!(fast.add(number, &record).err(), fault);
                    if fault.is_none() {
                        slow.held.insert(number, (record, Volumes::default()));
                        slow.volumes.retain(|(of, _), _| *of != number);
                    }
                }
                Operation::Change(number, record) => {
                    seen.extend(keys(&record));
                    let fault = slow.fault(number, &record, false);
                    let before = fast.change(number, &record);
                    prop_assert_eq!(before.err(), fault);
                    if fault.is_none() {
                        slow.held.insert(number, (record, Volumes::default()));
                    }
                }
                Operation::Remove(number) => {
                    let removed = slow.held.remove(&number);
                    prop_assert_eq!(fast.remove(number).is_some(), removed.is_some());
                }
                Operation::Count(number, is_ipv6, len) if slow.held.contains_key(&number) => {
                    fast.count(number, Way::Down, is_ipv6, len);
                    let volume = slow.volumes.entry((number, is_ipv6)).or_default();
                    volume.packets += 1;
                    volume.bytes += u64::from(len);
                }
                Operation::Count(..) => {}
            }
            prop_assert_eq!(fast.len(), slow.held.len());
        }
        for key in &seen {
            prop_assert_eq!(fast.find(key), slow.find(key), "{:?}", key);
            let hash = fast.hash(key);
            prop_assert_eq!(fast.confirm(hash, fast.candidate(hash), key), slow.find(key));
        }
        for (number, (record, _)) in &slow.held {
            for is_ipv6 in [false, true] {
                let volume = slow.volumes.get(&(*number, is_ipv6)).copied().unwrap_or_default();
                prop_assert_eq!(fast.volumes(*number).of(Way::Down, is_ipv6), volume);
            }
            let on_line = slow.held.values().filter(|(one, _)| one.line == record.line).count();
            prop_assert_eq!(fast.on_line(record.line) as usize, on_line);
            if record.slaac != 0 {
                let address = u128::from(record.slaac) << 64 | 0xabcd;
                prop_assert_eq!(fast.find_ipv6(record.vrf, address), Some(*number));
            }
        }
        let mut lens: Vec<u8> = slow.held.values().flat_map(|(one, _)| {
            let slaac = (one.slaac != 0).then_some(64);
            slaac.into_iter().chain((one.delegated != 0).then_some(one.delegated_len))
        }).collect();
        lens.sort_unstable_by(|one, other| other.cmp(one));
        lens.dedup();
        prop_assert_eq!(fast.prefix_lens(), &lens[..]);
    }
}

#[test]
fn a_full_table_of_dual_stack_sessions_takes_less_than_a_quarter_of_a_kibibyte_each() {
    let capacity = 200_000;
    let mut all = Subscribers::new(capacity, [7, 9]).expect("memory");
    for number in 0..capacity as u32 {
        let record = Record {
            line: number,
            mac: [2, 0, 0, (number >> 16) as u8, (number >> 8) as u8, number as u8],
            ipv4: 0x0a00_0000 + number,
            address: (0x3fff << 112) | (u128::from(number) + 1),
            slaac: 0x2001_0db8_0000_0000 | (u64::from(number) + 1),
            delegated: 0x2001_0db9_0000_0000 | ((u64::from(number) + 1) << 8),
            delegated_len: 56,
            ..Record::default()
        };
        all.add(number, &record).unwrap_or_else(|refused| panic!("session {number}: {refused}"));
    }
    assert_eq!(all.len(), capacity);
    assert!(all.bytes() / capacity <= 256, "{} bytes each", all.bytes() / capacity);
    assert_eq!(all.find(&Key::Ipv4 { vrf: 0, address: 0x0a00_0000 + 4711 }), Some(4711));
}

const NUMBERS: u32 = 12;
