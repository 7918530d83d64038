//! What is looked for in a log, and what was found of it so far, whatever the form of the log.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_kit::Sought;
use jiff::Timestamp;

use crate::refused::Refused;

/// What of a log is asked for.
pub struct Question<'a> {
    /// The table, which says what entries are.
    pub table: &'a str,
    /// An address, or one with a port.
    pub sought: Sought,
    /// The time.
    pub at: Timestamp,
    /// The most entries.
    pub limit: usize,
}

/// A search while logs are read.
pub(crate) struct Search<'a> {
    pub question: &'a Question<'a>,
    /// What events of the things in the table are called.
    pub kind: &'static str,
    /// What may be an answer.
    pub lives: BTreeMap<Subject, Life>,
    /// The times of the first and the last record of a NAT.
    span: Option<(Timestamp, Timestamp)>,
}

/// What was told of something that began by the time asked for.
pub(crate) struct Life {
    /// When it began.
    pub since: Timestamp,
    /// When it ended, where that is told.
    pub until: Option<Timestamp>,
    /// How many there are: sessions of a mapping are told in the same words, where destinations are
    /// not told.
    open: u64,
}

/// Who tells it: a host, of which IPFIX says nothing unless a collector has added it, and its
/// worker, by its number or its observation domain.
pub(crate) type Origin<'a> = (Option<&'a str>, &'a str);

/// Something that begins and ends.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// Who tells it.
    pub host: Option<String>,
    /// Its worker.
    pub worker: String,
    /// By the names that parameters have in syslog.
    pub parameters: BTreeMap<String, String>,
}

/// An address, and a port where one is told.
pub(crate) type End = Option<(IpAddr, Option<u16>)>;

/// The addresses and ports of a record by which it may be what is sought.
pub(crate) struct Ends {
    /// Of whatever is told: outside, inside, of the B4 element, at the other end.
    pub each: [End; 4],
    /// The first and the last port of a block.
    pub block: Option<(u16, u16)>,
}

impl Search<'_> {
    /// A search for things whose events are called by a word.
    pub fn new<'a>(question: &'a Question<'a>, kind: &'static str) -> Search<'a> {
        Search { question, kind, lives: BTreeMap::new(), span: None }
    }

    /// Takes note that the log has a record of a time.
    pub fn note(&mut self, at: Timestamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Whether the log tells of the time asked for.
    pub fn remark(&self) -> Option<String> {
        let at = self.question.at;
        match self.span {
            None => Some("there is no record of a NAT's log".to_owned()),
            Some((first, _)) if at < first => Some(format!("the log begins at {first}")),
            Some((_, last)) if at > last => Some(format!("the log ends at {last}")),
            Some(_) => None,
        }
    }

    /// The log of a worker begins: what had begun before it is over.
    pub fn begin_anew(&mut self, at: Timestamp, (host, worker): Origin<'_>) {
        let is_of = |one: &Subject| one.host.as_deref() == host && one.worker == worker;
        if at <= self.question.at {
            self.lives.retain(|subject, _| !is_of(subject));
        }
        for (_, life) in self.lives.iter_mut().filter(|(subject, _)| is_of(subject)) {
            life.until.get_or_insert(at);
        }
    }

    /// Something of the table begins or ends that is what is sought.
    ///
    /// # Errors
    /// Where there is more of it than may be.
    pub fn take(
        &mut self,
        at: Timestamp,
        begins: bool,
        subject: impl FnOnce() -> Subject,
    ) -> Result<(), Refused> {
        match (begins, at <= self.question.at) {
            (true, true) => {
                let new = Life { since: at, until: None, open: 0 };
                self.lives.entry(subject()).or_insert(new).open += 1;
            }
            (true, false) => {}
            (false, is_before) => {
                let subject = subject();
                let Some(life) = self.lives.get_mut(&subject) else { return Ok(()) };
                life.open = life.open.saturating_sub(1);
                match (life.open, is_before) {
                    (0, true) => drop(self.lives.remove(&subject)),
                    (0, false) => _ = life.until.get_or_insert(at),
                    _ => {}
                }
            }
        }
        if self.lives.len() > self.question.limit {
            let what = format!("more than {} entries had it at that time", self.question.limit);
            return Err(Refused::new(what, "give a port as well, or raise --limit"));
        }
        Ok(())
    }
}

impl Ends {
    /// Whether it is of what is sought: of an outside end, one inside, or whom a session is with.
    pub fn have(&self, sought: Sought) -> bool {
        let is = |(address, port): (IpAddr, Option<u16>)| match port {
            Some(port) => sought.is(address, port),
            None => sought.port.is_none() && address == sought.address,
        };
        let is_in_block = || {
            let ((address, _), (first, last)) = (self.each[0]?, self.block?);
            let is_within = |port: u16| (first..=last).contains(&port);
            Some(address == sought.address && sought.port.is_none_or(is_within))
        };
        self.each.into_iter().flatten().any(is) || is_in_block().unwrap_or(false)
    }
}
