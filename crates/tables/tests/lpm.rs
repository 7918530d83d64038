//! The longest-prefix-match table against a linear search: random routes that nest and meet,
//! asked for at every border, and limits, errors and the chunks given back.

use proptest::prelude::*;
use tables::lpm::{Address, Limits, Lpm, LpmError, MAX_VALUE};
use tables::oracle::Routes;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u128, u8, u32),
    Remove(u128, u8),
}

impl Operation {
    fn route(self) -> (u128, u8) {
        match self {
            Operation::Insert(prefix, len, _) | Operation::Remove(prefix, len) => (prefix, len),
        }
    }
}

/// Prefixes of a few values for each byte, so that they nest, meet and repeat.
fn route<A: Address>() -> impl Strategy<Value = (u128, u8)> {
    let byte = prop::sample::select(vec![0u8, 1, 10, 127, 128, 255]);
    // Fewer bytes vary than an IPv6 address has: else nothing would nest.
    let bytes = prop::collection::vec(byte, 4);
    (bytes, 0..=A::BITS).prop_map(|(bytes, len)| {
        let bits = u32::from(A::BITS);
        let high = u128::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let address = if bits == 32 { high } else { high << 96 | high << 40 | high };
        let host = bits - u32::from(len);
        let prefix = address.checked_shr(host).unwrap_or(0).checked_shl(host).unwrap_or(0);
        (prefix, len)
    })
}

fn operations<A: Address>() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        3 => (route::<A>(), 0..=MAX_VALUE).prop_map(|((p, len), v)| Operation::Insert(p, len, v)),
        2 => (route::<A>(), Just(())).prop_map(|((p, len), ())| Operation::Remove(p, len)),
    ];
    prop::collection::vec(operation, 1..40).prop_flat_map(|operations| {
        // Most routes drawn are not held; so remove some of those inserted, in another order.
        let removals = operations.clone().into_iter().map(|operation| {
            let (prefix, len) = operation.route();
            Operation::Remove(prefix, len)
        });
        let some = prop::sample::subsequence(removals.collect::<Vec<_>>(), 0..operations.len());
        (Just(operations), some.prop_shuffle()).prop_map(|(first, then)| [first, then].concat())
    })
}

fn compare<A: Address>(operations: &[Operation], address: impl Fn(u128) -> A) {
    let limits = Limits::for_any::<A>(operations.len());
    let mut fast = Lpm::<A>::new(limits).expect("memory is to be had");
    let mut slow = Routes::default();
    for (done, &operation) in operations.iter().enumerate() {
        match operation {
            Operation::Insert(prefix, len, value) => {
                let old = slow.insert(A::BITS, prefix, len, value);
                assert_eq!(fast.insert(address(prefix), len, value), Ok(old));
            }
            Operation::Remove(prefix, len) => {
                let old = slow.remove(A::BITS, prefix, len);
                assert_eq!(fast.remove(address(prefix), len), old);
            }
        }
        if done % 8 == 0 || done + 1 == operations.len() {
            compare_answers(&fast, &slow, operations, &address);
        }
    }
    let routes: Vec<_> = fast.iter().collect();
    assert_eq!(routes.len(), fast.len());
    for (prefix, len, value) in routes {
        assert_eq!(slow.remove(A::BITS, prefix.into(), len), Some(value));
        assert_eq!(fast.remove(prefix, len), Some(value));
        compare_answers(&fast, &slow, operations, &address);
    }
    assert_eq!((fast.len(), fast.chunks()), (0, 0), "every chunk is given back");
}

/// Asks both at the borders of all routes that ever were, inside and outside.
fn compare_answers<A: Address>(
    fast: &Lpm<A>,
    slow: &Routes,
    operations: &[Operation],
    address: impl Fn(u128) -> A,
) {
    let mask = u128::MAX >> (128 - A::BITS);
    for operation in operations {
        let (prefix, len) = operation.route();
        let last = prefix | mask.checked_shr(u32::from(len)).unwrap_or(0);
        for at in [prefix, last, prefix.wrapping_sub(1) & mask, last.wrapping_add(1) & mask] {
            fast.prefetch_root(address(at));
            assert_eq!(fast.lookup(address(at)), slow.lookup(A::BITS, at), "{at:#x}");
        }
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
    assert_eq!(lpm.chunks(), 2);
    assert_eq!(lpm.remove(0x0a00_0000, 8), Some(8));
    assert_eq!(lpm.lookup(address), Some(32));
    assert_eq!(lpm.remove(address, 32), Some(32));
    assert_eq!((lpm.lookup(address), lpm.chunks()), (Some(24), 1));
    assert_eq!(lpm.remove(0x0a01_0200, 24), Some(24));
    assert_eq!((lpm.lookup(address), lpm.chunks()), (Some(0), 0));
    assert_eq!(lpm.remove(0, 0), Some(0));
    assert_eq!(lpm.lookup(address), None);
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
    assert_eq!(lpm.lookup(u32::MAX), Some(MAX_VALUE));
}

#[test]
fn a_full_table_refuses_and_stays_as_it_was() {
    let limits = Limits { routes: 3, chunks: 2 };
    let mut lpm = Lpm::<u32>::new(limits).expect("memory is to be had");
    assert_eq!(lpm.insert(0x0a00_0000, 24, 1), Ok(None));
    // Two chunks are needed and one is left.
    assert_eq!(lpm.insert(0x0b00_0001, 32, 2), Err(LpmError::Chunks { limit: 2 }));
    assert_eq!((lpm.lookup(0x0b00_0001), lpm.chunks(), lpm.len()), (None, 1, 1));
    // One of the two is shared with the /24.
    assert_eq!(lpm.insert(0x0a00_0001, 32, 3), Ok(None));
    assert_eq!(lpm.insert(0, 0, 4), Ok(None));
    assert_eq!(lpm.insert(0, 1, 5), Err(LpmError::Routes { limit: 3 }));
    assert_eq!(lpm.insert(0, 0, 6), Ok(Some(4)));
    // What is given back can be used again.
    assert_eq!(lpm.remove(0x0a00_0001, 32), Some(3));
    assert_eq!(lpm.remove(0x0a00_0000, 24), Some(1));
    assert_eq!(lpm.insert(0x0b00_0001, 32, 2), Ok(None));
    assert_eq!((lpm.lookup(0x0b00_0001), lpm.lookup(0x0a00_0001)), (Some(2), Some(6)));
    assert!(Lpm::<u32>::new(Limits { routes: 1, chunks: 1 << 31 }).is_err());
}

#[test]
fn a_table_without_chunks_still_takes_short_routes() {
    let mut lpm = Lpm::<u128>::new(Limits { routes: 2, chunks: 0 }).expect("memory is to be had");
    assert_eq!(lpm.insert(0x2001 << 112, 16, 7), Ok(None));
    assert_eq!(lpm.insert(0x2001 << 112, 17, 7), Err(LpmError::Chunks { limit: 0 }));
    assert_eq!(lpm.lookup(0x2001 << 112 | 5), Some(7));
}
