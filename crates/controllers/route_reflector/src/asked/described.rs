//! Attributes as people read and write them, as keys of an entry.

use protocol_bgp::attribute_text::Path;
use protocol_bgp::attributes::{
    AGGREGATOR, AS_PATH, ATOMIC_AGGREGATE, Attribute, Attributes, CLUSTER_LIST, COMMUNITIES,
    EXTENDED_COMMUNITIES, LARGE_COMMUNITIES, LOCAL_PREF, MED, ORIGIN, ORIGINATOR_ID,
};
use protocol_bgp::text::NextHop;
use serde_json::{Map, Value, json};

/// Adds a next hop and the attributes of a block. Returns about how many bytes were written.
pub(super) fn describe(next_hop: &[u8], block: &[u8], entry: &mut Map<String, Value>) -> usize {
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    put("next-hop", NextHop(next_hop).to_string().into());
    let mut others = Vec::new();
    for attribute in Attributes::new(block) {
        let number = || attribute.value.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        match attribute.code {
            ORIGIN => put("origin", words(&attribute).into()),
            AS_PATH => put("as-path", cut(Path(attribute.value).to_string()).into()),
            MED => put("med", number().into()),
            LOCAL_PREF => put("local-pref", number().into()),
            ORIGINATOR_ID => put("originator", words(&attribute).into()),
            CLUSTER_LIST => put("clusters", list(&attribute)),
            COMMUNITIES => put("communities", list(&attribute)),
            EXTENDED_COMMUNITIES => put("extended-communities", list(&attribute)),
            LARGE_COMMUNITIES => put("large-communities", list(&attribute)),
            AGGREGATOR => put("aggregator", words(&attribute).into()),
            ATOMIC_AGGREGATE => put("atomic-aggregate", true.into()),
            _ => others.push(Value::from(cut(attribute.to_string()))),
        }
    }
    if !others.is_empty() {
        put("others", others.into());
    }
    // Digits of numbers and of bytes.
    64 + 3 * block.len()
}

/// The value of an attribute in words.
fn words(attribute: &Attribute<'_>) -> String {
    let text = attribute.to_string();
    text.split_once(' ').map_or_else(String::new, |(_, value)| value.to_owned())
}

/// The values of a list, the first ones.
fn list(attribute: &Attribute<'_>) -> Value {
    let text = words(attribute);
    let mut all = text.split(' ').filter(|word| !word.is_empty());
    let mut shown: Vec<String> = all.by_ref().take(VALUES_MAX).map(str::to_owned).collect();
    let left = all.count();
    if left > 0 {
        shown.push(format!("… {left} more"));
    }
    json!(shown)
}

/// A text that is not longer than a person reads.
fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(TEXT_MAX) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// Values of a list that are told.
const VALUES_MAX: usize = 256;

/// Characters of a value that are told.
const TEXT_MAX: usize = 4096;
