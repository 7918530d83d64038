//! Classes of packets, by their code points.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Name;

/// Most classes.
pub const CLASSES_MAX: usize = 8;

/// A class of packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Class {
    /// Name of the class, which policers and queues of profiles name.
    pub name: Name,
    /// Differentiated services code points of the class, from 0 to 63.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub dscp: Vec<u8>,
}

/// The class of each code point, by its number in the configuration.
pub fn class_of_code_points(classes: &[Class]) -> [u8; 64] {
    let last = classes.len().saturating_sub(1) as u8;
    let mut all = [last; 64];
    for (number, class) in classes.iter().enumerate() {
        for &dscp in &class.dscp {
            if let Some(place) = all.get_mut(usize::from(dscp)) {
                *place = number as u8;
            }
        }
    }
    all
}

/// Expedited forwarding (RFC 3246, 5865), assured forwarding (RFC 2597), best effort.
pub(super) fn usual() -> Vec<Class> {
    let class = |name, dscp: &[u8]| Class { name: Name::new(name), dscp: dscp.to_vec() };
    let assured = [10, 12, 14, 18, 20, 22, 26, 28, 30, 34, 36, 38];
    vec![class("ef", &[44, 46]), class("af", &assured), class("be", &[])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_point_without_a_class_belongs_to_the_last_one() {
        let of = class_of_code_points(&usual());
        assert_eq!([of[46], of[44], of[10], of[38], of[0], of[63]], [0, 0, 1, 1, 2, 2]);
    }
}
