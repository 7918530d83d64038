//! The serialisable form of a histogram, and quotients that JSON can hold.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of values.
    pub samples: u64,
    /// The smallest value, in nanoseconds.
    pub min_ns: u64,
    /// The mean, in nanoseconds.
    pub mean_ns: f64,
    /// The median, in nanoseconds.
    pub p50_ns: u64,
    /// The 90th percentile, in nanoseconds.
    pub p90_ns: u64,
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// The 99.9th percentile, in nanoseconds.
    pub p99_9_ns: u64,
    /// The largest value, in nanoseconds.
    pub max_ns: u64,
    /// The complete histogram in nanoseconds, as HdrHistogram's libraries of all languages read it:
    /// the compressed V2 encoding (zlib) in base64. Older records have the V2 encoding without
    /// compression.
    pub hdr_v2_base64: String,
}

impl Distribution {
    /// The record of a histogram in nanoseconds; none if it is empty.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        // The encoder fails only when the writer does or a count exceeds the format's i64; a Vec
        // does not fail, and a lost encoding must not lose the percentiles.
        if V2DeflateSerializer::new().serialize(histogram, &mut bytes).is_err() {
            bytes.clear();
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Some(Self {
            samples: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            max_ns: histogram.max(),
            hdr_v2_base64: BASE64.encode(bytes),
        })
    }

    /// The decoded histogram; none if the text is invalid, as in a record edited by hand.
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        let bytes = BASE64.decode(&self.hdr_v2_base64).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
    }
}

/// A quotient that is 0 if it is undefined, so that no NaN reaches JSON.
pub(super) fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;
    use hdrhistogram::serialization::V2Serializer;

    use super::*;

    /// Values and how often they occur.
    const VALUES: [(u64, u64); 5] = [(12, 3), (1500, 1), (1501, 1), (99_999, 7), (1_234_567, 2)];

    /// A histogram of [`VALUES`] of 1 to 10,000,000 with 3 digits, encoded by the library for
    /// Python (`hdrhistogram` 0.10.8 on PyPI: `HdrHistogram(1, 10_000_000, 3).encode()`).
    const OF_PYTHON: &str = "HISTFAAAACt4nJNpmSzMwMDAwwABzFCaEUzOmNZg/wEiIM42V5yJ6XsC32YrFgCR0Qdf";

    fn histogram() -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 10_000_000, 3).expect("bounds");
        for (value, count) in VALUES {
            histogram.record_n(value, count).expect("within the bounds");
        }
        histogram
    }

    #[test]
    fn what_another_library_encoded_is_read() {
        let record = Distribution {
            hdr_v2_base64: OF_PYTHON.to_owned(),
            ..Distribution::of(&histogram()).expect("it has values")
        };
        assert_eq!(record.histogram(), Some(histogram()));
    }

    #[test]
    fn records_of_before_are_read() {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram(), &mut bytes).expect("a vector takes it");
        let record = Distribution::of(&histogram()).expect("it has values");
        let before = Distribution { hdr_v2_base64: BASE64.encode(bytes), ..record.clone() };
        assert_eq!(before.histogram(), Some(histogram()));
        assert_eq!(record.histogram(), Some(histogram()));
        let broken = Distribution { hdr_v2_base64: "HISTFAAAACt4nJNp".to_owned(), ..record };
        assert_eq!(broken.histogram(), None);
    }

    /// A decoder of the published format, which shares nothing with the library that encoded.
    #[test]
    fn what_is_written_is_the_interchange_form() {
        let text = Distribution::of(&histogram()).expect("it has values").hdr_v2_base64;
        assert!(text.starts_with("HISTFAA"), "as of every library: {text}");
        let bytes = BASE64.decode(text).expect("base64");
        let word = |bytes: &[u8], at: usize| {
            u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        };
        assert_eq!(word(&bytes, 0), 0x1c84_9314, "the cookie of the compressed form");
        assert_eq!(word(&bytes, 4) as usize, bytes.len() - 8);
        let mut inner = Vec::new();
        ZlibDecoder::new(&bytes[8..]).read_to_end(&mut inner).expect("a zlib stream");
        assert_eq!(word(&inner, 0), 0x1c84_9313, "the cookie of the encoding");
        assert_eq!(word(&inner, 4) as usize, inner.len() - 40);
        assert_eq!((word(&inner, 8), word(&inner, 12)), (0, 3), "no offset, three digits");
        assert_eq!((word(&inner, 16), word(&inner, 20)), (0, 1), "the least value");
        assert_eq!((word(&inner, 24), word(&inner, 28)), (0, 10_000_000), "the largest one");
        assert_eq!(f64::from_be_bytes(inner[32..40].try_into().expect("eight bytes")), 1.0);
        // Counts as variable-length numbers with the sign in the last bit; negative ones skip.
        let (mut found, mut index, mut at) = (Vec::new(), 0_u64, 40);
        while at < inner.len() {
            let (mut number, mut shift) = (0_u64, 0);
            loop {
                let byte = inner[at];
                at += 1;
                number |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            if number & 1 == 1 {
                index += (number >> 1) + 1;
            } else {
                found.push((index, number >> 1));
                index += 1;
            }
        }
        // 2048 values of a bucket alone, then 1024 for each doubling.
        let lowest = |index: u64| match index.checked_sub(2048) {
            None => index,
            Some(rest) => (1024 + rest % 1024) << (rest / 1024 + 1),
        };
        let found: Vec<(u64, u64)> =
            found.into_iter().map(|(at, count)| (lowest(at), count)).collect();
        assert_eq!(found, [(12, 3), (1500, 1), (1501, 1), (99_968, 7), (1_234_944 - 1024, 2)]);
    }
}
