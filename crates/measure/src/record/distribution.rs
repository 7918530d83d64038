//! The serialisable form of a histogram, and quotients that JSON can hold.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
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
    /// The complete histogram in nanoseconds: HdrHistogram V2 encoding, uncompressed, in base64.
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
        if V2Serializer::new().serialize(histogram, &mut bytes).is_err() {
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
