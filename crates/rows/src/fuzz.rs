//! The body of the fuzz target of MRT.

use std::io::{BufRead, BufReader};

use crate::mrt::{Record, Records, begins};

/// Reads bytes as a file of MRT, at once and by pieces, whose length the first byte tells. It
/// panics when both are not the same, or when a prefix cannot be one.
pub fn mrt(bytes: &[u8]) {
    let Some((piece, file)) = bytes.split_first() else { return };
    // What a file begins with is asked of any.
    begins(file);
    let whole = told(file);
    assert_eq!(whole, told(BufReader::with_capacity(usize::from(*piece) + 1, file)));
}

/// What the records say, and how it ends.
fn told(from: impl BufRead) -> Vec<String> {
    let (mut records, mut told) = (Records::new(from), Vec::new());
    loop {
        match records.next() {
            Ok(Some((number, Ok(Record::Route(route))))) => {
                let bits = if route.address.is_ipv4() { 32 } else { 128 };
                assert!(route.len <= bits && route.ways.len() <= 256, "{route:?}");
                told.push(format!("{number} {route:?}"));
            }
            Ok(Some((number, other))) => told.push(format!("{number} {other:?}")),
            Ok(None) => return told,
            Err(error) => {
                told.push(error.to_string());
                return told;
            }
        }
    }
}

/// A table of two peers with three routes, a route with path identifiers, and a record of another
/// kind.
pub fn examples() -> Vec<Vec<u8>> {
    let record = |kind: u16, subtype: u16, body: &[u8]| {
        let words = [kind.to_be_bytes(), subtype.to_be_bytes()];
        let len = (body.len() as u32).to_be_bytes();
        [&[0, 0, 0, 1], words.as_flattened(), &len, body].concat()
    };
    let mut peers = vec![10, 0, 0, 1, 0, 1, b'v', 0, 2];
    peers.extend([2, 10, 0, 0, 9, 192, 0, 2, 9, 0, 0, 0xfd, 0xe8, 1, 10, 0, 0, 8, 0x20, 1]);
    peers.extend([0; 14]);
    peers.extend([0xfd, 0xe8]);
    let origin: &[u8] = &[0x40, 1, 1, 0];
    let via: &[u8] = &[0x40, 1, 1, 0, 0x40, 3, 4, 192, 0, 2, 1];
    let short = [&[0x90, 14, 0, 17, 16, 0x20, 1][..], &[7; 14]].concat();
    let long = [&[0x80, 14, 22, 0, 2, 1, 16, 0x20, 1][..], &[7; 14], &[0, 0]].concat();
    let entry = |peer: u8, path: &[u8], attributes: &[u8]| {
        let head = [0, peer, 0, 0, 0, 0];
        let len = (attributes.len() as u16).to_be_bytes();
        [&head[..], path, &len, attributes].concat()
    };
    let one =
        [&[0, 0, 0, 0, 9, 10, 0xff, 0, 2][..], &entry(0, &[], via), &entry(1, &[], via)].concat();
    let two = [&[0, 0, 0, 1, 24, 198, 51, 100, 0, 1][..], &entry(0, &[], origin)].concat();
    let three = [&[0, 0, 0, 2, 32, 0x20, 1, 0x0d, 0xb8, 0, 1][..], &entry(1, &[], &short)].concat();
    let four = [&[0, 0, 0, 3, 0, 0, 1][..], &entry(0, &[0, 0, 0, 7], &long)].concat();
    let all = [
        record(13, 1, &peers),
        record(13, 2, &one),
        record(13, 2, &two),
        record(13, 4, &three),
        record(13, 10, &four),
        record(16, 4, &[0; 8]),
    ];
    [0, 6, 255].map(|piece| [&[piece][..], &all.concat()].concat()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_what_they_say() {
        for example in examples() {
            mrt(&example);
            let told = told(&example[1..]);
            let routes = told.iter().filter(|one| one.contains("Route {")).count();
            assert_eq!((told.len(), routes), (6, 4), "{told:?}");
        }
    }
}
