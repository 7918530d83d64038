//! The request for a mapping in hand, and what the device made of it.

mod way;

/// What is known of the request in hand.
#[derive(Clone, Default)]
pub(super) struct Told {
    /// The message with which the device answered, if it did.
    answer: Option<Vec<u8>>,
    /// For want of what it denied a mapping.
    pub want: Option<&'static str>,
}
