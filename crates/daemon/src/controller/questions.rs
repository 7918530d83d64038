//! What operators ask a controller, and tell it to do: the keeper hands it on with the channel for
//! the answer, and the controller's thread answers one question a turn, so that neither waits for
//! the other and a page holds up nothing else. There are at most as many as clients, which wait for
//! an answer.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use controller_kit::erased::Running;
use controller_kit::{Asked, Metric, Unanswered};
use protocol_kit::Time;
use serde_json::{Map, Value, json};

use crate::unit::Refused;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// A page of a table.
    Table {
        /// The name of the table.
        table: &'static str,
        /// Where it begins.
        from: u64,
        /// Most entries.
        limit: usize,
        /// By what entries are chosen.
        filters: BTreeMap<String, String>,
    },
    /// The metrics.
    Metrics,
    /// It is to do something, and answers when that is done or has begun.
    Command {
        /// The name of the command.
        name: &'static str,
        /// Its keys.
        keys: Map<String, Value>,
    },
}

/// The channel for an answer.
pub type Answer = SyncSender<Result<Value, Refused>>;

/// Questions that wait.
#[derive(Default)]
pub struct Questions(Mutex<VecDeque<(Question, Answer)>>);

impl Questions {
    /// Adds a question.
    pub fn push(&self, question: Question, answer: Answer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((question, answer));
    }

    /// Answers the first question. Returns whether another one waits.
    pub fn answer(&self, controller: &mut dyn Running, now: Time) -> bool {
        let next = || {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (all.pop_front(), !all.is_empty())
        };
        let (Some((question, answer)), has_more) = next() else { return false };
        let answered = answer_to(controller, &question, now);
        // A client that is gone needs no answer.
        let _ = answer.try_send(answered);
        has_more
    }
}

fn answer_to(
    controller: &mut dyn Running,
    question: &Question,
    now: Time,
) -> Result<Value, Refused> {
    match question {
        Question::Table { table, from, limit, filters } => look(question, || {
            let asked = Asked { table, from: *from, limit: *limit, filters };
            let page = controller.table_page(&asked, now)?;
            Ok(json!({"entries": page.entries, "next": page.next, "columns": page.columns}))
        }),
        Question::Metrics => look(question, || {
            let metrics: Vec<Value> = controller.metrics().iter().map(metric).collect();
            Ok(json!({"metrics": metrics}))
        }),
        Question::Command { name, keys } => {
            Ok(controller.command(name, keys, now).map(Value::Object)?)
        }
    }
}

/// Answers by a look at a controller, which leaves nothing half done: the controller goes on after
/// a panic.
fn look(
    question: &Question,
    answer: impl FnOnce() -> Result<Value, Refused>,
) -> Result<Value, Refused> {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        tracing::error!(?question, "a controller panicked as it was asked; it goes on");
        Err(Refused::new("the controller cannot answer this", "see the daemon's log"))
    })
}

fn metric(metric: &Metric) -> Value {
    let Metric { name, is_counter, help, samples } = metric;
    let samples = samples.iter().map(|(labels, value)| {
        let labels = labels.iter().map(|(label, text)| ((*label).to_owned(), text.as_str().into()));
        json!({"labels": labels.collect::<Map<_, _>>(), "value": value})
    });
    let kind = if *is_counter { "counter" } else { "gauge" };
    json!({"name": name, "kind": kind, "help": help, "samples": samples.collect::<Vec<_>>()})
}

impl From<Unanswered> for Refused {
    fn from(unanswered: Unanswered) -> Refused {
        Refused { what: unanswered.what, remedy: unanswered.remedy }
    }
}
