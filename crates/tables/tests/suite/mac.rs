//! The MAC table against its twin: random frames, changes and pauses; then what only many stations
//! show.

use proptest::prelude::*;
use tables::mac::{
    Flapping, Full, Heard, Limits, MacTable, MoveLimit, RECORDS, SWEEP, bridge_of, mac_of, station,
};
use tables::oracle::Stations;

#[derive(Clone, Debug)]
enum Operation {
    Hear(u64, u16),
    Set(u64, u16),
    Remove(u64),
    Pass(u64),
}

/// Few stations in three bridges, so that operations meet; pauses up to twice the ageing time.
fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let place =
        (1..=12u8, 0..3u16).prop_map(|(last, bridge)| station([0x0a, 0, 0, 0, 0, last], bridge));
    let operation = prop_oneof![
        12 => (place.clone(), 0..4u16).prop_map(|(place, behind)| Operation::Hear(place, behind)),
        1 => (place.clone(), 0..4u16).prop_map(|(place, behind)| Operation::Set(place, behind)),
        1 => place.prop_map(Operation::Remove),
        3 => (0..AGEING / 100).prop_map(Operation::Pass),
        1 => (0..2 * AGEING).prop_map(Operation::Pass),
    ];
    prop::collection::vec(operation, 1..400)
}

fn move_limits() -> impl Strategy<Value = Option<MoveLimit>> {
    let spans = (1..AGEING / 10, 1..AGEING / 2);
    prop::option::of((0..6u32, spans, any::<bool>()).prop_map(|(moves, spans, refuses)| {
        MoveLimit { moves, interval: spans.0, hold: spans.1, refuses }
    }))
}

fn table(limits: Limits, of_bridges: &[usize], limit: Option<MoveLimit>) -> MacTable {
    let of_bridges = of_bridges.iter().copied();
    let mut table = MacTable::new(limits, of_bridges, AGEING, START).expect("memory is to be had");
    if let Some(limit) = limit {
        table.limit_moves(limit);
    }
    table
}

fn hear(table: &mut MacTable, station: u64, behind: u16) -> Heard {
    table.hear(table.bucket(station), station, behind)
}

fn find(table: &MacTable, station: u64) -> Option<u16> {
    let place = table.bucket(station);
    table.prefetch(place);
    table.find(place, station)
}

proptest! {
    #[test]
    fn the_table_is_its_twin(
        fixed in 0..6usize,
        learned in 0..20usize,
        of_bridges in prop::collection::vec(0..12usize, 3),
        limit in move_limits(),
        operations in operations(),
    ) {
        let limits = Limits { fixed, learned };
        let mut fast = table(limits, &of_bridges, limit);
        let mut slow = Stations::new(limits, of_bridges, AGEING, limit, START);
        let mut now = START;
        for operation in operations {
            match operation {
                Operation::Hear(station, behind) => {
                    let expected = slow.hear(station, behind);
                    prop_assert_eq!(hear(&mut fast, station, behind), expected);
                }
                Operation::Set(station, behind) => {
                    let expected = slow.set(station, behind);
                    prop_assert_eq!(fast.set(station, behind).is_ok(), expected);
                }
                Operation::Remove(station) => {
                    let expected = slow.remove(station);
                    prop_assert_eq!(fast.remove(station), expected);
                }
                Operation::Pass(time) => {
                    now += time;
                    // Fewer stations are learned than a sweep looks at each time.
                    fast.advance(now);
                    slow.advance(now);
                }
            }
            for last in 1..=12 {
                for bridge in 0..3 {
                    let station = station([0x0a, 0, 0, 0, 0, last], bridge);
                    prop_assert_eq!(find(&fast, station), slow.find(station));
                }
            }
            let mut learned = fast.learned().to_vec();
            learned.sort_unstable();
            prop_assert_eq!(&learned, &slow.learned());
            let held = |(_, one): (usize, Flapping)| (one.station, one.moves, one.left);
            let mut flapping: Vec<_> = fast.flapping(0, now).map(held).collect();
            flapping.sort_unstable();
            prop_assert_eq!(flapping, slow.flapping());
            prop_assert_eq!((fast.aged(), fast.flapped()), slow.counters());
        }
    }
}

#[test]
fn a_large_table_is_swept_in_parts_and_what_is_heard_of_stays() {
    let count = 10_000u32;
    let mut table = table(Limits { fixed: 0, learned: 10_000 }, &[10_000], None);
    let number = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        station([0x0a, 0, a, b, c, d], 0)
    };
    for at in 0..count {
        assert_eq!(hear(&mut table, number(at), 7), Heard::New);
    }
    assert_eq!(hear(&mut table, number(count), 7), Heard::NoRoom);
    let later = START + 3 * AGEING;
    for turn in 1..=10_000 / SWEEP {
        table.advance(later);
        assert_eq!(table.learned().len(), 10_000 - turn * SWEEP);
        assert_eq!(find(&table, number(9_999)), None, "forgotten at once");
    }
    for _ in 0..2 {
        table.advance(later);
    }
    assert_eq!((table.learned().len(), table.aged()), (0, 10_000));
    assert_eq!(hear(&mut table, number(count), 7), Heard::New);
    // Years later times have lost their meaning.
    table.advance(later + 10_000 * AGEING);
    assert_eq!((table.learned().len(), table.aged()), (0, 10_001));
}

/// Where all records of a set are in use, a move goes uncounted; but never is a station held that
/// moved no more than it may.
#[test]
fn more_stations_than_can_be_counted_are_let_pass_and_told() {
    let limit = MoveLimit { moves: 3, interval: AGEING / 4, hold: AGEING / 2, refuses: true };
    let count = 4 * RECORDS as u32;
    let mut table =
        table(Limits { fixed: 0, learned: count as usize }, &[count as usize], Some(limit));
    let number = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        station([0x0a, 0, a, b, c, d], 0)
    };
    for at in 0..count {
        assert_eq!(hear(&mut table, number(at), 0), Heard::New);
    }
    for (turn, behind) in [(1, 1), (2, 0), (3, 1)] {
        for at in 0..count {
            assert_eq!(hear(&mut table, number(at), behind), Heard::Moved, "turn {turn}");
        }
    }
    assert_eq!(table.flapped(), 0);
    let uncounted = table.uncounted_moves();
    assert!(uncounted >= 3 * u64::from(count) - 3 * RECORDS as u64, "{uncounted}");
    let refused = (0..count).filter(|at| hear(&mut table, number(*at), 0) == Heard::Refused);
    let refused = refused.count();
    assert!((RECORDS / 2..=RECORDS).contains(&refused), "{refused}");
    assert_eq!(table.flapping(0, START).count(), refused);
    let half = table.flapping(RECORDS / 2, START).count();
    assert!(half > 0 && half < refused, "a page begins where it is asked to");
    // When intervals have ended, their records serve others.
    table.advance(START + AGEING / 2);
    assert_eq!(hear(&mut table, number(count - 1), 0), Heard::Again);
    assert_eq!(table.flapping(0, START + AGEING / 2).count(), 0);
}

#[test]
fn a_fixed_station_stays_and_limits_name_themselves() {
    let mut table = table(Limits { fixed: 1, learned: 1 }, &[1], None);
    let [one, two] = [1, 2].map(|last| station([2, 0, 0, 0, 0, last], 0));
    assert_eq!(hear(&mut table, one, 3), Heard::New);
    assert_eq!(table.set(one, 9), Ok(()));
    assert_eq!(table.learned(), []);
    assert_eq!(hear(&mut table, one, 3), Heard::Again);
    assert_eq!((find(&table, one), table.behind(one)), (Some(9), Some(9)));
    assert_eq!(table.set(two, 9), Err(Full { capacity: 1 }));
    assert_eq!((mac_of(two), bridge_of(two)), ([2, 0, 0, 0, 0, 2], 0));
    assert_eq!(bridge_of(station([0xff; 6], 77)), 77);
    assert!(table.remove(one) && !table.remove(one) && !table.remove(two));
}

#[test]
fn sizes_are_what_the_documentation_says() {
    let limits = Limits { fixed: 0, learned: 1_000_000 };
    let mut table = table(limits, &[1_000_000], None);
    assert_eq!(table.bytes(), 25_600_000 + 8_000_000);
    let limit = MoveLimit { moves: 1, interval: 1, hold: 1, refuses: false };
    table.limit_moves(limit);
    assert_eq!(table.bytes(), 33_600_000 + (192 << 10));
}

const AGEING: u64 = 256_000;
const START: u64 = 1 << 40;
