//! What is fetched of frames that are in no cache.

/// What a function touches of most frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Their headers.
    Headers,
    /// Their headers, and bytes in front of them, where headers are added.
    HeadersAndFront,
}
