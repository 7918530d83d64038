//! What is known of an event.

use std::collections::BTreeMap;

/// What is known of an event: names and texts.
pub type Facts = BTreeMap<String, String>;
