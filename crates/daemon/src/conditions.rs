//! From what holds at a moment to alarms: a condition raises one when it has held for long enough,
//! and clears it when it has not held for long enough.

use std::collections::BTreeMap;

use controller_kit::{Alarm, Severity};

/// A condition that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Where.
    pub source: String,
    /// Why.
    pub cause: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What that means.
    pub text: String,
    /// When it becomes an alarm, and when that is over.
    pub pace: Pace,
}

/// At how many looks a condition has to hold before it is an alarm, and not to hold before that is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Looks at which it holds.
    pub raised_after: u8,
    /// Most looks between two of those at which it does not.
    pub gap_max: u8,
    /// Looks in a row at which it does not.
    pub cleared_after: u8,
}

/// What is kept from one look to the next.
#[derive(Default)]
pub struct Watching {
    /// The conditions that were judged.
    pub conditions: Conditions,
    /// Neighbours in a state that raises alarms, as they were when workers were asked.
    pub troubled: Vec<Holding>,
    /// Causes of tables that were full when workers were asked.
    pub filled: Vec<&'static str>,
    /// Looks so far.
    pub looks: u64,
}

/// Conditions that hold, or have held just now.
#[derive(Debug, Default)]
pub struct Conditions {
    known: BTreeMap<(String, &'static str), Known>,
}

#[derive(Debug)]
struct Known {
    pace: Pace,
    is_raised: bool,
    /// Looks at which it held, until it is raised.
    held: u8,
    /// Looks in a row at which it has not held.
    missed: u8,
}

impl Conditions {
    /// Takes in what holds now, and returns the alarms to be raised and cleared.
    pub fn judge(&mut self, holding: Vec<Holding>) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let mut holds = BTreeMap::new();
        for one in holding {
            holds.entry((one.source.clone(), one.cause)).or_insert(one);
        }
        self.known.retain(|key, known| {
            if holds.contains_key(key) {
                return true;
            }
            known.missed = known.missed.saturating_add(1);
            let stays = match known.is_raised {
                true => known.missed < known.pace.cleared_after,
                false => known.missed <= known.pace.gap_max,
            };
            if known.is_raised && !stays {
                let (source, cause) = key.clone();
                let text = "it is over".into();
                alarms.push(Alarm { source, cause, severity: None, text });
            }
            stays
        });
        for (key, one) in holds {
            let Holding { source, cause, severity, text, pace } = one;
            let new = || Known { pace, is_raised: false, held: 0, missed: 0 };
            let known = self.known.entry(key).or_insert_with(new);
            known.missed = 0;
            if known.is_raised {
                continue;
            }
            known.held = known.held.saturating_add(1);
            if known.held >= pace.raised_after {
                known.is_raised = true;
                let severity = Some(severity);
                alarms.push(Alarm { source, cause, severity, text: text.into() });
            }
        }
        alarms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(source: &str, gap_max: u8) -> Holding {
        Holding {
            source: source.to_owned(),
            cause: "down",
            severity: Severity::Major,
            text: "a sentence".to_owned(),
            pace: Pace { raised_after: 2, gap_max, cleared_after: 3 },
        }
    }

    /// What becomes of a condition look by look, where an `x` says that it holds: + raised, -
    /// cleared, . nothing.
    fn told(conditions: &mut Conditions, gap_max: u8, seen: &str) -> String {
        let mut look = |holds: char| {
            let holding = (holds == 'x').then(|| holding("a", gap_max));
            match &conditions.judge(holding.into_iter().collect())[..] {
                [] => '.',
                [alarm] if alarm.severity.is_some() => '+',
                _ => '-',
            }
        };
        seen.chars().map(&mut look).collect()
    }

    #[test]
    fn an_alarm_is_raised_and_cleared_late() {
        let mut conditions = Conditions::default();
        // Once is nothing, and what holds in between begins anew.
        assert_eq!(told(&mut conditions, 0, "x_xxxx__x___xx"), "...+.......-.+");
        assert_eq!(told(&mut conditions, 0, "___"), "..-");
        assert!(conditions.known.is_empty());
    }

    #[test]
    fn what_holds_now_and_then_is_an_alarm_where_gaps_are_short() {
        let mut conditions = Conditions::default();
        assert_eq!(told(&mut conditions, 2, "x___x__x___x__x"), ".......+..-...+");
        let mut conditions = Conditions::default();
        assert_eq!(told(&mut conditions, 2, "x___x___x___"), "............");
        assert!(conditions.known.is_empty());
    }

    #[test]
    fn sources_do_not_disturb_one_another() {
        let mut conditions = Conditions::default();
        conditions.judge(vec![holding("a", 0), holding("b", 0), holding("b", 0)]);
        let raised = conditions.judge(vec![holding("a", 0)]);
        assert_eq!(raised.len(), 1);
        assert_eq!(raised[0].source, "a");
    }
}
