//! What a rule is made of, and why one is refused.

/// Rules that a classifier can be made for.
pub const RULES_MAX: usize = 1 << 16;

/// What `Classifier::classify_batch` says where no rule matches; no rule may have it as a value.
pub const NO_MATCH: u32 = u32::MAX;

/// A part of the key, in network byte order; the fields of a key lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// So many bytes, from 1 to 16, compared under a mask.
    Masked(u8),
    /// Two bytes, compared with a range or under a mask.
    Ranged,
}

/// What a rule wants of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Any,
    /// The bits of the mask are as in the value; the lowest bits are the field's last byte, and
    /// bits beyond the field are not looked at.
    Masked {
        /// What the bits of the mask must be; its other bits are not looked at.
        value: u128,
        /// The bits that count.
        mask: u128,
    },
    /// A number from `first` to `last`, both included; for [`Field::Ranged`] and fields of one
    /// byte.
    Range {
        /// The lowest.
        first: u16,
        /// The highest.
        last: u16,
    },
}

/// Why a rule is refused; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There are as many rules as the classifier was made for.
    #[error("the classifier is full: it was made for {rules_max} rules")]
    Full {
        /// Rules it was made for.
        rules_max: usize,
    },
    /// The rule has more or fewer conditions than the key has fields.
    #[error("a rule of {conditions} conditions for a key of {fields} fields")]
    Conditions {
        /// Conditions of the rule.
        conditions: usize,
        /// Fields of the key.
        fields: usize,
    },
    /// A condition that its field cannot have.
    #[error("condition {at} does not suit its field: a range that is empty or of a masked field")]
    Unsuitable {
        /// Which condition, from 0.
        at: usize,
    },
    /// A value that means "no match".
    #[error("the value {NO_MATCH} means that no rule matches")]
    Value,
}
