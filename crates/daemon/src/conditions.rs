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

/// For how many looks in a row a condition has to hold before it is an alarm, and not to hold
/// before that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Looks at which it holds.
    pub raised_after: u8,
    /// Looks at which it does not.
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
    /// Looks in a row at which it was otherwise than it is raised.
    count: u8,
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
            known.count = if known.is_raised { known.count.saturating_add(1) } else { 0 };
            let stays = known.is_raised && known.count < known.pace.cleared_after;
            if known.is_raised && !stays {
                let (source, cause) = key.clone();
                let text = "it is over".into();
                alarms.push(Alarm { source, cause, severity: None, text });
            }
            stays
        });
        for (key, one) in holds {
            let Holding { source, cause, severity, text, pace } = one;
            let new = || Known { pace, is_raised: false, count: 0 };
            let known = self.known.entry(key).or_insert_with(new);
            if known.is_raised {
                known.count = 0;
                continue;
            }
            known.count = known.count.saturating_add(1);
            if known.count >= pace.raised_after {
                (known.is_raised, known.count) = (true, 0);
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

    fn holding(source: &str) -> Holding {
        Holding {
            source: source.to_owned(),
            cause: "down",
            severity: Severity::Major,
            text: "a sentence".to_owned(),
            pace: Pace { raised_after: 2, cleared_after: 3 },
        }
    }

    #[test]
    fn an_alarm_is_raised_and_cleared_late() {
        let mut conditions = Conditions::default();
        // What becomes of it look by look: + raised, - cleared, . nothing.
        let mut look = |holds: char| {
            let holding = (holds == 'x').then(|| holding("a"));
            match &conditions.judge(holding.into_iter().collect())[..] {
                [] => '.',
                [alarm] if alarm.severity.is_some() => '+',
                _ => '-',
            }
        };
        // Once is nothing, and what holds in between begins anew.
        let [seen, told] = ["x_xxxx__x___xx", "...+.......-.+"];
        assert_eq!(seen.chars().map(&mut look).collect::<String>(), told);
        assert_eq!("___".chars().map(look).collect::<String>(), "..-");
        assert!(conditions.known.is_empty());
    }

    #[test]
    fn sources_do_not_disturb_one_another() {
        let mut conditions = Conditions::default();
        conditions.judge(vec![holding("a"), holding("b"), holding("b")]);
        let raised = conditions.judge(vec![holding("a")]);
        assert_eq!(raised.len(), 1);
        assert_eq!(raised[0].source, "a");
    }
}
