//! Frames for laws: noise, and frames of a corpus, damaged or not.

use proptest::prelude::*;

use crate::mutate::mutate;
use crate::random::Random;

/// A frame of 1 to [`LEN_MAX`] bytes.
pub fn hostile(corpus: &'static [Vec<u8>]) -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 1..200);
    let whole = (0..corpus.len()).prop_map(|index| corpus[index].clone());
    let damaged = (0..corpus.len(), any::<u64>()).prop_map(|(index, seed)| {
        let mut frame = corpus[index].clone();
        mutate(&mut frame, corpus, LEN_MAX, &mut Random::new(seed));
        // The ports of these tests take no frame without bytes.
        if frame.is_empty() { vec![0] } else { frame }
    });
    prop_oneof![1 => noise, 2 => whole, 3 => damaged]
}

/// The longest frame that a worker has room for.
pub const LEN_MAX: usize = 2014;
