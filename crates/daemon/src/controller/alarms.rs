//! The alarms of a daemon: what is wrong now, and what was.

use std::collections::{BTreeMap, VecDeque};

use controller_kit::{Alarm, Severity};
use serde_json::{Value, json};

/// Alarms by source and cause.
#[derive(Default)]
pub struct Alarms {
    raised: BTreeMap<(String, &'static str), Raised>,
    /// Those that are over, the last ones.
    cleared: VecDeque<Value>,
    /// Alarms for which there was no room.
    lost: u64,
}

struct Raised {
    severity: Severity,
    text: String,
    since: String,
}

impl Alarms {
    /// Takes an alarm in at a time, as text.
    pub fn take(&mut self, alarm: Alarm, now: String) {
        let Alarm { source, cause, severity, text } = alarm;
        let key = (source, cause);
        let Some(severity) = severity else { return self.clear(&key, now) };
        if self.raised.len() >= RAISED_MAX && !self.raised.contains_key(&key) {
            self.lost += 1;
            return;
        }
        let before = self.raised.get(&key).map(|raised| raised.since.clone());
        if before.is_none() {
            let (source, cause) = &key;
            tracing::warn!(source, cause, severity = word(severity), "alarm: {text}");
        }
        let since = before.unwrap_or(now);
        self.raised.insert(key, Raised { severity, text: text.into_owned(), since });
    }

    /// Clears what a controller has raised that is there no more.
    pub fn forget(&mut self, controller: &str, now: &str) {
        let is_its = |(source, _): &&(String, &'static str)| {
            source.strip_prefix(controller).is_some_and(|rest| rest.starts_with(": "))
        };
        let its: Vec<_> = self.raised.keys().filter(is_its).cloned().collect();
        for key in &its {
            self.clear(key, now.to_owned());
        }
    }

    fn clear(&mut self, key: &(String, &'static str), now: String) {
        let Some(raised) = self.raised.remove(key) else { return };
        let (source, cause) = key;
        tracing::info!(source, cause, "alarm cleared");
        if self.cleared.len() >= CLEARED_MAX {
            self.cleared.pop_front();
        }
        let mut over = shown(key, &raised);
        over["cleared"] = json!(now);
        self.cleared.push_back(over);
    }

    /// Returns how many are raised, by severity.
    pub fn counts(&self) -> Value {
        let count = |severity| self.raised.values().filter(|one| one.severity == severity).count();
        let all = [Severity::Warning, Severity::Minor, Severity::Major, Severity::Critical];
        all.map(|severity| (word(severity).to_owned(), json!(count(severity))))
            .into_iter()
            .collect()
    }

    /// Returns all alarms, the worst first.
    pub fn view(&self) -> Value {
        let mut raised: Vec<_> = self.raised.iter().collect();
        raised.sort_by_key(|(_, raised)| std::cmp::Reverse(raised.severity));
        json!({
            "raised": raised.into_iter().map(|(key, raised)| shown(key, raised)).collect::<Vec<_>>(),
            "cleared": self.cleared,
            "lost": self.lost,
        })
    }
}

fn shown((source, cause): &(String, &'static str), raised: &Raised) -> Value {
    json!({
        "source": source,
        "cause": cause,
        "severity": word(raised.severity),
        "raised": raised.since,
        "text": raised.text,
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Minor => "minor",
        Severity::Major => "major",
        Severity::Critical => "critical",
    }
}

/// Most alarms at a time.
pub const RAISED_MAX: usize = 1024;

/// Most alarms that are over and still shown.
const CLEARED_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(source: &str, cause: &'static str, severity: Option<Severity>) -> Alarm {
        Alarm { source: source.to_owned(), cause, severity, text: "a sentence".into() }
    }

    #[test]
    fn an_alarm_is_one_of_its_source_and_cause_until_it_is_cleared() {
        let mut alarms = Alarms::default();
        alarms.take(alarm("a", "down", Some(Severity::Minor)), "1".to_owned());
        alarms.take(alarm("b", "down", Some(Severity::Critical)), "2".to_owned());
        alarms.take(alarm("a", "down", Some(Severity::Major)), "3".to_owned());
        let view = alarms.view();
        let of = |place: usize, key: &str| view["raised"][place][key].clone();
        assert_eq!((of(0, "source"), of(1, "source")), (json!("b"), json!("a")));
        assert_eq!((of(1, "severity"), of(1, "raised")), (json!("major"), json!("1")));
        alarms.take(alarm("b", "down", None), "4".to_owned());
        alarms.take(alarm("b", "down", None), "5".to_owned());
        let view = alarms.view();
        let count = |list: &str| view[list].as_array().map(Vec::len);
        assert_eq!((count("raised"), count("cleared")), (Some(1), Some(1)));
        assert_eq!(view["cleared"][0]["cleared"], "4");
    }

    #[test]
    fn what_a_controller_has_raised_goes_with_it() {
        let mut alarms = Alarms::default();
        for source in ["frr", "frr: zebra", "frr-bfd: bfdd", "frr: router"] {
            alarms.take(alarm(source, "down", Some(Severity::Minor)), "1".to_owned());
        }
        alarms.forget("frr", "2");
        let view = alarms.view();
        let raised: Vec<_> =
            view["raised"].as_array().expect("a list").iter().map(|one| &one["source"]).collect();
        assert_eq!(raised, ["frr", "frr-bfd: bfdd"]);
        assert_eq!(view["cleared"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_flood_of_alarms_has_an_end() {
        let mut alarms = Alarms::default();
        for number in 0..RAISED_MAX + 10 {
            let source = number.to_string();
            alarms.take(alarm(&source, "down", Some(Severity::Minor)), String::new());
        }
        let view = alarms.view();
        assert_eq!(view["raised"].as_array().map(Vec::len), Some(RAISED_MAX));
        assert_eq!(view["lost"], json!(10));
        for number in 0..RAISED_MAX {
            alarms.take(alarm(&number.to_string(), "down", None), String::new());
        }
        assert_eq!(alarms.view()["cleared"].as_array().map(Vec::len), Some(CLEARED_MAX));
    }
}
