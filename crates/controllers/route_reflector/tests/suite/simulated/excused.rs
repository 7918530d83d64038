//! Which losses of a session faults explain.

use std::time::Duration;

use protocol_kit::Time;
use simulation::Fault;

use super::router::Wanted;

/// What has gone wrong so far: of whom, from when until when, and how bad it is.
#[derive(Debug, Default)]
pub struct Excused {
    all: Vec<(Of, Time, Time, Weight)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Node(usize),
    Link(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It counts for as long as it lasts.
    Span,
    /// It counts for so much, once.
    AtOnce(Duration),
    /// It explains everything while it lasts, and a while after that.
    All,
}

impl Excused {
    /// A fault begins.
    pub fn note(&mut self, now: Time, fault: Fault) {
        let (of, span, weight) = match fault {
            Fault::Cut(link, span) | Fault::Unplug(link, span) => {
                (Of::Link(link), span, Weight::Span)
            }
            Fault::Bad(link, _, span) => (Of::Link(link), span, Weight::All),
            Fault::Hang(node, span) => (Of::Node(node), span, Weight::Span),
            Fault::Leap(node, span) => (Of::Node(node), Duration::ZERO, Weight::AtOnce(span)),
            Fault::Death(node, span) | Fault::PowerLoss(node, span) => {
                (Of::Node(node), span, Weight::All)
            }
            Fault::Own(_) => return,
        };
        self.all.push((of, now, now.after(span), weight));
    }

    /// A router is to do something.
    pub fn note_wanted(&mut self, now: Time, node: usize, wanted: &Wanted) {
        let span = match wanted {
            Wanted::Reset | Wanted::Stammer => Duration::from_secs(1),
            // RFC 9687: a peer that takes nothing for 8 minutes is given up.
            Wanted::Stop(span) if *span > Duration::from_secs(400) => *span,
            _ => return,
        };
        self.all.push((Of::Node(node), now, now.after(span), Weight::All));
    }

    /// Whether the loss of the session of a router is explained. With a hold time of 9 seconds one
    /// is lost by what lasts from some 3 seconds on: a KEEPALIVE comes every 3 seconds, and after a
    /// cut TCP waits as long again.
    pub fn explain(&self, now: Time, node: usize) -> bool {
        let touches = |of: &Of| [Of::Node(0), Of::Node(node), Of::Link(node - 1)].contains(of);
        let mut span = Duration::ZERO;
        for (_, from, until, weight) in self.all.iter().filter(|(of, ..)| touches(of)) {
            match weight {
                Weight::All if now <= until.after(AFTER_ALL) => return true,
                Weight::All => {}
                Weight::AtOnce(much) if now <= until.after(WINDOW) => span += *much,
                Weight::AtOnce(_) => {}
                Weight::Span => {
                    let window = Time(now.0.saturating_sub(WINDOW.as_nanos() as u64));
                    span += (*until).min(now).since((*from).max(window));
                }
            }
        }
        span >= SPAN
    }
}

/// How long what is bad has consequences.
const AFTER_ALL: Duration = Duration::from_secs(30);

/// In what time before a loss faults add up.
const WINDOW: Duration = Duration::from_secs(25);

/// How much of that they have to last.
const SPAN: Duration = Duration::from_millis(2500);
