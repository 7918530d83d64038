//! Lines of the log: sessions that come up and end, connections that become none, and what was
//! wrong with UPDATEs. All of them are bounded, however fast peers flap or lie: what is left out is
//! counted, and told with the next line.

use std::collections::VecDeque;
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Level, Line};
use protocol_bgp::ended::Ended;
use protocol_bgp::notification::{
    ADMINISTRATIVE_RESET, ADMINISTRATIVE_SHUTDOWN, CONFIGURATION_CHANGE, Cause, DECONFIGURED,
    Notification,
};
use protocol_bgp::peer::{Counters, Peer};
use protocol_bgp::rules::Reading;
use protocol_bgp::text::Route;
use protocol_bgp::update::{Field, Scan};
use protocol_kit::Time;

use crate::own::Kind;

/// Lines that wait to be written.
#[derive(Debug)]
pub(crate) struct Lines {
    waiting: VecDeque<Action>,
    of_sessions: Bucket,
    of_updates: Bucket,
}

/// What was told of a peer's last connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Why the last session has ended, and when.
    pub over: Option<(Time, String)>,
    /// Why a connection has ended, of which a line was written.
    said: Option<Reason>,
}

/// Why a connection has ended, as far as lines tell it apart.
type Reason = (u8, Option<Cause>);

/// What was known of a peer before something has happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    counters: Counters,
    since: Time,
}

/// How many lines may be written, by time.
#[derive(Debug)]
struct Bucket {
    left: u32,
    most: u32,
    a_second: u32,
    filled_at: Time,
    left_out: u64,
}

impl Bucket {
    fn new(most: u32, a_second: u32) -> Bucket {
        Bucket { left: most, most, a_second, filled_at: Time::ZERO, left_out: 0 }
    }

    /// Whether a line may be written, and how many before it were not.
    fn take(&mut self, now: Time) -> Option<u64> {
        let each = SECOND / self.a_second;
        let passed = now.since(self.filled_at).as_nanos() / each.as_nanos();
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(passed).min(self.most);
        self.filled_at = match self.left == self.most {
            true => now,
            false => self.filled_at.after(each * passed),
        };
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out += 1;
                None
            }
        }
    }
}

impl Before {
    /// What is known of a peer.
    pub fn of(peer: &Peer) -> Before {
        Before { counters: peer.counters(), since: peer.state().1 }
    }
}

impl Lines {
    /// No lines.
    pub fn new() -> Lines {
        Lines {
            waiting: VecDeque::new(),
            of_sessions: Bucket::new(SESSIONS_MAX, SESSIONS_A_SECOND),
            of_updates: Bucket::new(UPDATES_MAX, UPDATES_A_SECOND),
        }
    }

    /// The next line.
    pub fn pop(&mut self) -> Option<Action> {
        self.waiting.pop_front()
    }

    /// Tells what has happened with a peer, each reason in a row once, and notes it.
    pub fn note(
        &mut self,
        now: Time,
        (peer, kind): (&Peer, Kind),
        before: Before,
        told: &mut Told,
    ) {
        let (was, is) = (before.counters, peer.counters());
        if (was.established, was.lost, was.failed) == (is.established, is.lost, is.failed) {
            return;
        }
        let name = format!("{} ({})", peer.config().peer.to_canonical(), kind.name());
        let why = peer.last().map_or_else(|| "for no reason".to_owned(), ToString::to_string);
        if is.lost > was.lost {
            let lasted = age(now.since(before.since));
            let level = peer.last().map_or(Level::Warning, level);
            let text = format!("the session with {name} has ended after {lasted}: {why}");
            self.say(now, level, text);
            *told = Told { over: Some((now, why)), said: peer.last().map(reason) };
        } else if is.failed > was.failed {
            let reason = peer.last().map(reason);
            if reason.is_some() && told.said != reason {
                self.say(now, Level::Warning, format!("no session with {name}: {why}"));
                told.said = reason;
            }
        }
        if is.established > was.established
            && let Some(agreed) = peer.negotiated()
        {
            let families = agreed.writing.families.iter();
            let families: Vec<String> = families.map(|family| family.to_string()).collect();
            let text = format!("the session with {name} stands: {}", families.join(", "));
            self.say(now, Level::Info, text);
            told.said = None;
        }
    }

    /// Tells what an operator has wanted.
    pub fn order(&mut self, now: Time, text: String) {
        self.say(now, Level::Info, text);
    }

    fn say(&mut self, now: Time, level: Level, text: String) {
        let Some(left_out) = self.of_sessions.take(now) else { return };
        self.push_left_out(left_out, "sessions");
        self.waiting.push_back(Action::Line(Line { level, text }));
    }

    /// Tells what was wrong with an UPDATE, with its routes and the whole of it (RFC 7606 section
    /// 6).
    pub fn malformed(
        &mut self,
        now: Time,
        peer: IpAddr,
        (body, reading): (&[u8], &Reading),
        wrong: &[String],
    ) {
        let Some(left_out) = self.of_updates.take(now) else { return };
        self.push_left_out(left_out, "malformed UPDATEs");
        let mut text = format!("UPDATE of {}: {}", peer.to_canonical(), wrong.join("; "));
        let routes = routes_of(body, reading);
        if !routes.is_empty() {
            let _ = write!(text, "; routes: {}", routes.join(", "));
        }
        text += "; body: 0x";
        for byte in body {
            let _ = write!(text, "{byte:02x}");
        }
        self.waiting.push_back(Action::Line(Line { level: Level::Warning, text }));
    }

    fn push_left_out(&mut self, count: u64, what: &str) {
        if count > 0 {
            let text = format!("{count} lines of {what} were left out: there were too many");
            self.waiting.push_back(Action::Line(Line { level: Level::Warning, text }));
        }
    }
}

/// The routes that an UPDATE names, the first ones.
fn routes_of(body: &[u8], reading: &Reading) -> Vec<String> {
    let mut scan = Scan::default();
    let Ok(update) = scan.read(body, reading) else { return Vec::new() };
    let fields = update.withdrawn().chain(update.announced());
    let mut all = fields.flat_map(routes_of_field);
    let mut shown: Vec<String> = all.by_ref().take(ROUTES_MAX).collect();
    let left = all.count();
    if left > 0 {
        shown.push(format!("and {left} more"));
    }
    shown
}

fn routes_of_field(field: Field<'_>) -> impl Iterator<Item = String> {
    let family = field.family;
    let keys = field.nlris().flatten();
    keys.map(move |nlri| format!("{family} {}", Route(family, nlri.key.as_slice())))
}

fn reason(ended: &Ended) -> Reason {
    match ended {
        Ended::Sent(what) => (0, Some(what.cause)),
        Ended::Received(what) => (1, Some(what.cause)),
        Ended::Closed => (2, None),
        Ended::Failed => (3, None),
        Ended::Replaced => (4, None),
        Ended::Unreachable => (5, None),
    }
}

/// What operators have wanted is in the order of things.
fn level(ended: &Ended) -> Level {
    let is_wanted = |what: &Notification| {
        let own = if what.is_hard() { Notification::read(&what.data) } else { None };
        let cause = own.map_or(what.cause, |own| own.cause);
        [ADMINISTRATIVE_SHUTDOWN, ADMINISTRATIVE_RESET, DECONFIGURED, CONFIGURATION_CHANGE]
            .contains(&cause)
    };
    match ended {
        Ended::Sent(what) | Ended::Received(what) if is_wanted(what) => Level::Info,
        _ => Level::Warning,
    }
}

/// How long something has lasted, as routers write it: `00:12:31`, from a day on `3d02h`.
pub(crate) fn age(passed: Duration) -> String {
    let seconds = passed.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match days {
        0 => format!("{hours:02}:{:02}:{:02}", minutes % 60, seconds % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Lines of sessions at once: more than there are peers, so that each one's end is told when all
/// end together.
const SESSIONS_MAX: u32 = 20_000;
const SESSIONS_A_SECOND: u32 = 100;

/// Lines of malformed UPDATEs at once: each may be as long as a message.
const UPDATES_MAX: u32 = 10;
const UPDATES_A_SECOND: u32 = 1;

/// Routes of a malformed UPDATE that are named beside the whole of it.
const ROUTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_those_left_out_are_counted() {
        let mut bucket = Bucket::new(3, 2);
        let at = |ms: u64| Time(ms * 1_000_000);
        let taken: Vec<_> = (0..5).map(|_| bucket.take(at(0))).collect();
        assert_eq!(taken, [Some(0), Some(0), Some(0), None, None]);
        assert_eq!(bucket.take(at(499)), None);
        assert_eq!(bucket.take(at(500)), Some(3));
        assert_eq!(bucket.take(at(999)), None);
        assert_eq!(bucket.take(at(1000)), Some(1));
        let later: Vec<_> = (0..4).map(|_| bucket.take(at(1 << 40))).collect();
        assert_eq!(later, [Some(0), Some(0), Some(0), None]);
    }

    #[test]
    fn ages_are_read_at_a_glance() {
        for (seconds, text) in [
            (0, "00:00:00"),
            (59, "00:00:59"),
            (3661, "01:01:01"),
            (86_399, "23:59:59"),
            (86_400 * 3 + 7200, "3d02h"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
