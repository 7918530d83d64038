//! What raises alarms.

use function_kit::{Condition, Severity, When};

/// What an operator has to know of the switch.
pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        cause: "stations-full",
        severity: Severity::Major,
        when: When::Counting(&["not-learned"]),
        text: "stations are not learned because their table has no room, and frames to them flood",
    },
    Condition {
        cause: "flapping",
        severity: Severity::Warning,
        when: When::Dropping(&["flapping-station"]),
        text: "a station is heard at changing ports: there may be a loop",
    },
];
