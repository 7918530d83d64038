//! A piece of a stream of changes, and what became of it.

use functions::Invalid;
use machine::clock::Ticks;
use serde_json::{Value, json};

/// Whole lines of a stream of changes.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The lines.
    pub text: Vec<u8>,
    /// Number of its first line in the stream, from 1.
    pub first: u64,
}

/// What became of changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// How many took effect.
    pub applied: u64,
    /// How many did not.
    pub refused: u64,
    /// The first that were refused: their lines, and why.
    pub errors: Vec<(u64, String)>,
    /// When the last one took effect.
    pub applied_at: Option<Ticks>,
}

impl Told {
    /// Whether the next that does not take effect is told in words.
    pub fn is_said_in_words(&self) -> bool {
        self.errors.len() < ERRORS_MAX
    }

    /// One more that did not take effect, by its line.
    pub fn refuse(&mut self, line: u64, why: String) {
        self.refused += 1;
        if self.is_said_in_words() {
            self.errors.push((line, why));
        }
    }

    /// Takes over what became of further changes.
    pub fn add(&mut self, further: Told) {
        self.applied += further.applied;
        self.refused += further.refused;
        let room = ERRORS_MAX - self.errors.len();
        self.errors.extend(further.errors.into_iter().take(room));
        self.applied_at = further.applied_at.or(self.applied_at);
    }

    /// The answer to a client, but for the time of day.
    pub fn value(&self) -> Value {
        let error = |(line, what): &(u64, String)| json!({"line": line, "what": what});
        json!({
            "applied": self.applied,
            "refused": self.refused,
            "errors": self.errors.iter().map(error).collect::<Vec<_>>(),
            "applied_at_ticks": self.applied_at,
        })
    }
}

/// Why a line is no change.
pub(crate) fn unreadable(bad: Option<Invalid>) -> String {
    match bad {
        Some(bad) => {
            let remedy =
                if bad.remedy.is_empty() { String::new() } else { format!("; {}", bad.remedy) };
            Invalid { section: "", ..bad }.to_string() + &remedy
        }
        None => "this is not JSON; write a change a line, such as {\"set-route\": {…}}".to_owned(),
    }
}

/// Errors that are told in words.
const ERRORS_MAX: usize = 20;
