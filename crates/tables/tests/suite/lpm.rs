//! The longest-prefix-match table against a linear search: random routes that nest and meet,
//! asked for at every border, and limits, errors and the nodes given back.

use proptest::prelude::*;
use tables::lpm::{Address, Limits, Lpm, LpmError, MAX_VALUE, NONE, Pool, Table};
use tables::oracle::Routes;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u16, u128, u8, u32),
    Remove(u16, u128, u8),
}

impl Operation {
    fn route(self) -> (u16, u128, u8) {
        match self {
            Operation::Insert(table, prefix, len, _) | Operation::Remove(table, prefix, len) => {
                (table, prefix, len)
            }
        }
    }
}

/// Prefixes of a few values for each byte, so that they nest, meet and repeat.
fn route<A: Address>() -> impl Strategy<Value = (u16, u128, u8)> {
    let byte = prop::sample::select(vec![0u8, 1, 10, 127, 128, 255]);
    // Fewer bytes vary than an IPv6 address has: else nothing would nest.
    let bytes = prop::collection::vec(byte, 4);
    (0..TABLES, bytes, 0..=A::BITS).prop_map(|(table, bytes, len)| {
        let bits = u32::from(A::BITS);
        let high = u128::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let address = if bits == 32 { high } else { high << 96 | high << 40 | high };
        let host = bits - u32::from(len);
        let prefix = address.checked_shr(host).unwrap_or(0).checked_shl(host).unwrap_or(0);
        (table, prefix, len)
    })
}

fn operations<A: Address>() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        3 => (route::<A>(), 0..=MAX_VALUE)
            .prop_map(|((t, p, len), v)| Operation::Insert(t, p, len, v)),
        2 => (route::<A>(), Just(())).prop_map(|((t, p, len), ())| Operation::Remove(t, p, len)),
    ];
    prop::collection::vec(operation, 1..60).prop_flat_map(|operations| {
        // Most routes drawn are not held; so remove some of those inserted, in another order.
        let removals = operations.clone().into_iter().map(|operation| {
            let (table, prefix, len) = operation.route();
            Operation::Remove(table, prefix, len)
        });
        let some = prop::sample::subsequence(removals.collect::<Vec<_>>(), 0..operations.len());
        (Just(operations), some.prop_shuffle()).prop_map(|(first, then)| [first, then].concat())
    })
}

fn compare<A: Address>(operations: &[Operation], address: impl Fn(u128) -> A) {
    let any = Limits::for_any::<A>(operations.len());
    let limits = Limits { tables: TABLES, nodes: any.nodes * usize::from(TABLES), ..any };
    let mut fast = Pool::<A>::new(limits).expect("memory is to be had");
    let mut slow = [Routes::default(), Routes::default()];
    let table = |number: u16| fast.table(number).expect("it was made for as many");
    let tables = [table(0), table(1)];
    assert_eq!(fast.table(TABLES), None);
    for (done, &operation) in operations.iter().enumerate() {
        match operation {
            Operation::Insert(table, prefix, len, value) => {
                let table = usize::from(table);
                let old = slow[table].insert(A::BITS, prefix, len, value);
                assert_eq!(fast.insert(tables[table], address(prefix), len, value), Ok(old));
                assert_eq!(fast.get(tables[table], address(prefix), len), Some(value));
            }
            Operation::Remove(table, prefix, len) => {
                let table = usize::from(table);
                let old = slow[table].remove(A::BITS, prefix, len);
                assert_eq!(fast.remove(tables[table], address(prefix), len), old);
                assert_eq!(fast.get(tables[table], address(prefix), len), None);
            }
        }
        if done % 8 == 0 || done + 1 == operations.len() {
            compare_answers(&fast, &slow, operations, &address);
        }
    }
    for (&table, slow) in tables.iter().zip(&slow) {
        let routes: Vec<_> = fast.iter(table).map(|(p, len, v)| (p.into(), len, v)).collect();
        assert_eq!(routes.len(), fast.len_of(table));
        assert_eq!(routes, slow.sorted(A::BITS), "in the order of prefix and length");
    }
    fast.clear(tables[1]);
    slow[1] = Routes::default();
    compare_answers(&fast, &slow, operations, &address);
    for (prefix, len, value) in fast.iter(tables[0]).collect::<Vec<_>>() {
        assert_eq!(slow[0].remove(A::BITS, prefix.into(), len), Some(value));
        assert_eq!(fast.remove(tables[0], prefix, len), Some(value));
        compare_answers(&fast, &slow, operations, &address);
    }
    assert_eq!((fast.len(), fast.nodes()), (0, 0), "every node is given back");
}

/// Asks all at the borders of all routes that ever were, inside and outside, one by one and in
/// batches.
fn compare_answers<A: Address>(
    fast: &Pool<A>,
    slow: &[Routes; 2],
    operations: &[Operation],
    address: impl Fn(u128) -> A,
) {
    let mask = u128::MAX >> (128 - A::BITS);
    let (mut tables, mut addresses, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for operation in operations {
        let (_, prefix, len) = operation.route();
        let last = prefix | mask.checked_shr(u32::from(len)).unwrap_or(0);
        for at in [prefix, last, prefix.wrapping_sub(1) & mask, last.wrapping_add(1) & mask] {
            for (number, slow) in slow.iter().enumerate() {
                let table = fast.table(number as u16).expect("it was made for as many");
                fast.prefetch_root(table, address(at));
                let found = slow.lookup(A::BITS, at);
                assert_eq!(fast.lookup(table, address(at)), found, "{at:#x}");
                tables.push(table);
                addresses.push(address(at));
                expected.push(found.unwrap_or(NONE));
            }
        }
    }
    let mut found = vec![0; expected.len()];
    fast.lookup_batch_in(&tables, &addresses, &mut found);
    assert_eq!(found, expected);
    fast.lookup_batch(tables[0], &addresses, &mut found);
    let of_the_first = |at: &usize| tables[*at] == tables[0];
    for at in (0..expected.len()).filter(of_the_first) {
        assert_eq!(found[at], expected[at]);
    }
}

proptest! {
    #[test]
    fn ipv4_answers_are_those_of_a_linear_search(operations in operations::<u32>()) {
        compare::<u32>(&operations, |address| address as u32);
    }

    #[test]
    fn ipv6_answers_are_those_of_a_linear_search(operations in operations::<u128>()) {
        compare::<u128>(&operations, |address| address);
    }
}

#[test]
fn a_removed_route_uncovers_the_one_behind_it() {
    let mut lpm = Lpm::<u32>::new(Limits::for_any::<u32>(8)).expect("memory is to be had");
    let address = 0x0a01_0203;
    for (prefix, len) in [(0, 0), (0x0a00_0000, 8), (0x0a01_0200, 24), (address, 32)] {
        assert_eq!(lpm.insert(prefix, len, len.into()), Ok(None));
        assert_eq!(lpm.lookup(address), Some(len.into()));
    }
    assert_eq!(lpm.nodes(), 3);
    assert_eq!(lpm.remove(0x0a00_0000, 8), Some(8));
    assert_eq!(lpm.lookup(address), Some(32));
    assert_eq!(lpm.remove(address, 32), Some(32));
    assert_eq!((lpm.lookup(address), lpm.nodes()), (Some(24), 2));
    assert_eq!(lpm.remove(0x0a01_0200, 24), Some(24));
    assert_eq!((lpm.lookup(address), lpm.nodes()), (Some(0), 0));
    assert_eq!(lpm.remove(0, 0), Some(0));
    assert_eq!(lpm.lookup(address), None);
}

#[test]
fn a_covering_route_is_told_to_every_node_below_it() {
    let mut lpm = Lpm::<u128>::new(Limits::for_any::<u128>(8)).expect("memory is to be had");
    let host = 0x2001_0db8_0001_0002 << 64 | 5;
    lpm.insert(host, 128, 1).expect("room");
    // Beside the host, at every depth, only the shorter routes answer.
    let beside: Vec<u128> = (0..120).map(|bit| host ^ 1 << bit).collect();
    for (len, value) in [(0, 2), (12, 3), (40, 4), (99, 5), (12, 6)] {
        lpm.insert(host >> (128 - len).min(127) << (128 - len).min(127), len as u8, value)
            .expect("room");
        let mut found = vec![0; beside.len()];
        lpm.lookup_batch(&beside, &mut found);
        let one_by_one: Vec<u32> =
            beside.iter().map(|&address| lpm.lookup(address).unwrap_or(NONE)).collect();
        assert_eq!(found, one_by_one);
        assert!(found.contains(&value), "/{len}");
    }
    assert_eq!(lpm.lookup(host ^ 1), Some(5));
    assert_eq!(lpm.lookup(host ^ 1 << 100), Some(6));
    assert_eq!(lpm.lookup(1), Some(2));
}

#[test]
fn routes_that_cannot_be_are_refused() {
    let mut lpm = Lpm::<u32>::new(Limits::for_any::<u32>(8)).expect("memory is to be had");
    assert_eq!(lpm.insert(0, 33, 1), Err(LpmError::Length { len: 33, bits: 32 }));
    assert_eq!(lpm.insert(0x0a00_0001, 24, 1), Err(LpmError::HostBits { len: 24 }));
    assert_eq!(lpm.insert(1, 0, 1), Err(LpmError::HostBits { len: 0 }));
    let value = MAX_VALUE + 1;
    assert_eq!(lpm.insert(0, 0, value), Err(LpmError::Value { value }));
    assert_eq!(lpm.insert(0, 0, MAX_VALUE), Ok(None));
    assert_eq!((lpm.remove(1, 0), lpm.remove(0, 200)), (None, None));
    assert_eq!((lpm.get(1, 0), lpm.get(0, 200)), (None, None));
    assert_eq!(lpm.lookup(u32::MAX), Some(MAX_VALUE));
}

#[test]
fn a_full_table_refuses_and_stays_as_it_was() {
    let limits = Limits { tables: 1, routes: 3, nodes: 3 };
    let mut lpm = Lpm::<u32>::new(limits).expect("memory is to be had");
    assert_eq!(lpm.insert(0x0a00_0000, 24, 1), Ok(None));
    // Three nodes are needed and one is left.
    assert_eq!(lpm.insert(0x0b00_0001, 32, 2), Err(LpmError::Nodes { limit: 3 }));
    assert_eq!((lpm.lookup(0x0b00_0001), lpm.nodes(), lpm.len()), (None, 2, 1));
    // Two of the three are shared with the /24.
    assert_eq!(lpm.insert(0x0a00_0001, 32, 3), Ok(None));
    assert_eq!(lpm.insert(0, 0, 4), Ok(None));
    assert_eq!(lpm.insert(0, 1, 5), Err(LpmError::Routes { limit: 3 }));
    assert_eq!(lpm.insert(0, 0, 6), Ok(Some(4)));
    // What is given back can be used again.
    assert_eq!(lpm.remove(0x0a00_0001, 32), Some(3));
    assert_eq!(lpm.remove(0x0a00_0000, 24), Some(1));
    assert_eq!(lpm.insert(0x0b00_0001, 32, 2), Ok(None));
    assert_eq!((lpm.lookup(0x0b00_0001), lpm.lookup(0x0a00_0001)), (Some(2), Some(6)));
    assert!(Lpm::<u32>::new(Limits { nodes: 1 << 31, ..limits }).is_err());
    assert!(Lpm::<u32>::new(Limits { tables: 0, ..limits }).is_err());
}

#[test]
fn a_table_without_nodes_still_takes_short_routes() {
    let limits = Limits { tables: 1, routes: 2, nodes: 0 };
    let mut lpm = Lpm::<u128>::new(limits).expect("memory is to be had");
    assert_eq!(lpm.insert(0x20 << 120, 8, 7), Ok(None));
    assert_eq!(lpm.insert(0x2001 << 112, 16, 7), Err(LpmError::Nodes { limit: 0 }));
    assert_eq!(lpm.lookup(0x2001 << 112 | 5), Some(7));
}

#[test]
fn a_batch_shorter_than_its_place_leaves_the_rest() {
    let mut lpm = Lpm::<u32>::new(Limits::for_any::<u32>(1)).expect("memory is to be had");
    lpm.insert(0, 0, 9).expect("room");
    let mut found = [5; 1000];
    lpm.lookup_batch(&[1; 600], &mut found);
    assert!(found[..600].iter().all(|&value| value == 9));
    assert!(found[600..].iter().all(|&value| value == 5));
    let mut pool = Pool::<u32>::new(Limits::for_any::<u32>(1)).expect("memory is to be had");
    pool.insert(Table::MAIN, 0, 0, 9).expect("room");
    let mut found = [5; 4];
    pool.lookup_batch_in(&[Table::MAIN; 2], &[1; 3], &mut found);
    assert_eq!(found, [9, 9, 5, 5]);
}

const TABLES: u16 = 2;
