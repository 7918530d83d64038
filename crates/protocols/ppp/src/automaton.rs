//! The option negotiation automaton (RFC 1661 section 4.1): which event leads to which state by
//! which actions. It is a table, and nothing else.

/// A state (section 4.2), in the order of the RFC's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The layer below is down, and it is not wanted.
    Initial,
    /// The layer below is down, and it is wanted.
    Starting,
    /// The layer below is up, and it is not wanted.
    Closed,
    /// It is wanted, and has ended.
    Stopped,
    /// It is not wanted, and the peer was told to end it.
    Closing,
    /// It is wanted, and ends.
    Stopping,
    /// A request was sent.
    ReqSent,
    /// A request was sent and accepted.
    AckRcvd,
    /// A request was sent, and that of the peer was accepted.
    AckSent,
    /// Both requests were accepted.
    Opened,
}

/// What happens (section 4.3), in the order of the RFC's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The layer below is up.
    Up,
    /// The layer below is down.
    Down,
    /// It is wanted.
    Open,
    /// It is not wanted any more.
    Close,
    /// The timer has run out, and the counter has not (TO+).
    Timeout,
    /// The timer and the counter have run out (TO-).
    LastTimeout,
    /// A Configure-Request that is accepted (RCR+).
    GoodRequest,
    /// A Configure-Request that is not (RCR-).
    BadRequest,
    /// A Configure-Ack (RCA).
    Ack,
    /// A Configure-Nak or Configure-Reject (RCN).
    Nak,
    /// A Terminate-Request (RTR).
    TerminateRequest,
    /// A Terminate-Ack (RTA).
    TerminateAck,
    /// An unknown code (RUC).
    UnknownCode,
    /// A Code-Reject or Protocol-Reject that one can live with (RXJ+).
    Rejected,
    /// One that one cannot live with (RXJ-).
    FatallyRejected,
    /// An Echo-Request (RXR).
    Echo,
}

/// What is to be done (section 4.4): a bit for each action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actions(u16);

impl Actions {
    /// This-Layer-Up.
    pub const TLU: Actions = Actions(1);
    /// This-Layer-Down.
    pub const TLD: Actions = Actions(1 << 1);
    /// This-Layer-Started.
    pub const TLS: Actions = Actions(1 << 2);
    /// This-Layer-Finished.
    pub const TLF: Actions = Actions(1 << 3);
    /// Initialize-Restart-Count.
    pub const IRC: Actions = Actions(1 << 4);
    /// Zero-Restart-Count.
    pub const ZRC: Actions = Actions(1 << 5);
    /// Send-Configure-Request.
    pub const SCR: Actions = Actions(1 << 6);
    /// Send-Configure-Ack.
    pub const SCA: Actions = Actions(1 << 7);
    /// Send-Configure-Nak or -Reject.
    pub const SCN: Actions = Actions(1 << 8);
    /// Send-Terminate-Request.
    pub const STR: Actions = Actions(1 << 9);
    /// Send-Terminate-Ack.
    pub const STA: Actions = Actions(1 << 10);
    /// Send-Code-Reject.
    pub const SCJ: Actions = Actions(1 << 11);
    /// Send-Echo-Reply.
    pub const SER: Actions = Actions(1 << 12);

    /// Whether one of these is to be done.
    pub fn have(self, some: Actions) -> bool {
        self.0 & some.0 != 0
    }

    const fn and(self, other: Actions) -> Actions {
        Actions(self.0 | other.0)
    }
}

/// Returns what an event in a state leads to; `None` where the RFC has a dash.
pub fn next(state: State, event: Event) -> Option<(Actions, State)> {
    TABLE[event as usize][state as usize]
}

impl State {
    /// Whether the restart timer runs in it (section 4.2).
    pub fn is_timed(self) -> bool {
        (State::Closing..=State::AckSent).contains(&self)
    }
}

type Cell = Option<(Actions, State)>;

/// An event that leads to a state and to nothing else.
const fn to(state: State) -> Cell {
    Some((Actions(0), state))
}

const fn by(actions: Actions, state: State) -> Cell {
    Some((actions, state))
}

const NO: Cell = None;

use State::{
    AckRcvd, AckSent, Closed, Closing, Initial, Opened, ReqSent, Starting, Stopped, Stopping,
};

const TLU: Actions = Actions::TLU;
const TLD: Actions = Actions::TLD;
const TLS: Actions = Actions::TLS;
const TLF: Actions = Actions::TLF;
const SCR: Actions = Actions::SCR;
const SCA: Actions = Actions::SCA;
const SCN: Actions = Actions::SCN;
const STR: Actions = Actions::STR;
const STA: Actions = Actions::STA;
const SCJ: Actions = Actions::SCJ;
const IRC: Actions = Actions::IRC;
const BEGIN: Actions = IRC.and(SCR);
const END: Actions = IRC.and(STR);

#[rustfmt::skip] // An event each: six states without a link or at its end, four of a negotiation.
const TABLE: [[Cell; 10]; 16] = [
    /* Up  */ [to(Closed), by(BEGIN, ReqSent), NO, NO, NO, NO,
               NO, NO, NO, NO],
    /* Down */ [NO, NO, to(Initial), by(TLS, Starting), to(Initial), to(Starting),
               to(Starting), to(Starting), to(Starting), by(TLD, Starting)],
    /* Open */ [by(TLS, Starting), to(Starting), by(BEGIN, ReqSent), to(Stopped), to(Stopping), to(Stopping),
               to(ReqSent), to(AckRcvd), to(AckSent), to(Opened)],
    /* Close */ [to(Initial), by(TLF, Initial), to(Closed), to(Closed), to(Closing), to(Closing),
               by(END, Closing), by(END, Closing), by(END, Closing), by(TLD.and(END), Closing)],
    /* TO+ */ [NO, NO, NO, NO, by(STR, Closing), by(STR, Stopping),
               by(SCR, ReqSent), by(SCR, ReqSent), by(SCR, AckSent), NO],
    /* TO- */ [NO, NO, NO, NO, by(TLF, Closed), by(TLF, Stopped),
               by(TLF, Stopped), by(TLF, Stopped), by(TLF, Stopped), NO],
    /* RCR+ */ [NO, NO, by(STA, Closed), by(BEGIN.and(SCA), AckSent), to(Closing), to(Stopping),
               by(SCA, AckSent), by(SCA.and(TLU), Opened), by(SCA, AckSent), by(TLD.and(SCR).and(SCA), AckSent)],
    /* RCR- */ [NO, NO, by(STA, Closed), by(BEGIN.and(SCN), ReqSent), to(Closing), to(Stopping),
               by(SCN, ReqSent), by(SCN, AckRcvd), by(SCN, ReqSent), by(TLD.and(SCR).and(SCN), ReqSent)],
    /* RCA */ [NO, NO, by(STA, Closed), by(STA, Stopped), to(Closing), to(Stopping),
               by(IRC, AckRcvd), by(SCR, ReqSent), by(IRC.and(TLU), Opened), by(TLD.and(SCR), ReqSent)],
    /* RCN */ [NO, NO, by(STA, Closed), by(STA, Stopped), to(Closing), to(Stopping),
               by(BEGIN, ReqSent), by(SCR, ReqSent), by(BEGIN, AckSent), by(TLD.and(SCR), ReqSent)],
    /* RTR */ [NO, NO, by(STA, Closed), by(STA, Stopped), by(STA, Closing), by(STA, Stopping),
               by(STA, ReqSent), by(STA, ReqSent), by(STA, ReqSent), by(TLD.and(Actions::ZRC).and(STA), Stopping)],
    /* RTA */ [NO, NO, to(Closed), to(Stopped), by(TLF, Closed), by(TLF, Stopped),
               to(ReqSent), to(ReqSent), to(AckSent), by(TLD.and(SCR), ReqSent)],
    /* RUC */ [NO, NO, by(SCJ, Closed), by(SCJ, Stopped), by(SCJ, Closing), by(SCJ, Stopping),
               by(SCJ, ReqSent), by(SCJ, AckRcvd), by(SCJ, AckSent), by(SCJ, Opened)],
    /* RXJ+ */ [NO, NO, to(Closed), to(Stopped), to(Closing), to(Stopping),
               to(ReqSent), to(ReqSent), to(AckSent), to(Opened)],
    /* RXJ- */ [NO, NO, by(TLF, Closed), by(TLF, Stopped), by(TLF, Closed), by(TLF, Stopped),
               by(TLF, Stopped), by(TLF, Stopped), by(TLF, Stopped), by(TLD.and(END), Stopping)],
    /* RXR */ [NO, NO, to(Closed), to(Stopped), to(Closing), to(Stopping),
               to(ReqSent), to(AckRcvd), to(AckSent), by(Actions::SER, Opened)],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as section 4.1 has it, with actions as bits; letters are footnotes.
    const RFC: &str = "
 Up   |    2     irc,scr/6     -         -         -         -    | -  - - -
 Down |    -         -         0       tls/1       0         1    | 1 1 1 tld/1
 Open |  tls/1       1     irc,scr/6     3r        5r        5r   | 6 7 8 9r
 Close|    0       tlf/0       2         2         4         4    | irc,str/4 irc,str/4 irc,str/4 tld,irc,str/4
  TO+ |    -         -         -         -       str/4     str/5  | scr/6 scr/6 scr/8 -
  TO- |    -         -         -         -       tlf/2     tlf/3  | tlf/3p tlf/3p tlf/3p -
 RCR+ |    -         -       sta/2 irc,scr,sca/8   4         5    | sca/8 sca,tlu/9 sca/8 tld,scr,sca/8
 RCR- |    -         -       sta/2 irc,scr,scn/6   4         5    | scn/6 scn/7 scn/6 tld,scr,scn/6
 RCA  |    -         -       sta/2     sta/3       4         5    | irc/7 scr/6x irc,tlu/9 tld,scr/6x
 RCN  |    -         -       sta/2     sta/3       4         5    | irc,scr/6 scr/6x irc,scr/8 tld,scr/6x
 RTR  |    -         -       sta/2     sta/3     sta/4     sta/5  | sta/6 sta/6 sta/6 tld,zrc,sta/5
 RTA  |    -         -         2         3       tlf/2     tlf/3  | 6 6 8 tld,scr/6
 RUC  |    -         -       scj/2     scj/3     scj/4     scj/5  | scj/6 scj/7 scj/8 scj/9
 RXJ+ |    -         -         2         3         4         5    | 6 6 8 9
 RXJ- |    -         -       tlf/2     tlf/3     tlf/2     tlf/3  | tlf/3 tlf/3 tlf/3 tld,irc,str/5
 RXR  |    -         -         2         3         4         5    | 6 7 8 ser/9
";

    const STATES: [State; 10] =
        [Initial, Starting, Closed, Stopped, Closing, Stopping, ReqSent, AckRcvd, AckSent, Opened];

    const EVENTS: [Event; 16] = [
        Event::Up,
        Event::Down,
        Event::Open,
        Event::Close,
        Event::Timeout,
        Event::LastTimeout,
        Event::GoodRequest,
        Event::BadRequest,
        Event::Ack,
        Event::Nak,
        Event::TerminateRequest,
        Event::TerminateAck,
        Event::UnknownCode,
        Event::Rejected,
        Event::FatallyRejected,
        Event::Echo,
    ];

    fn action(name: &str) -> Actions {
        match name {
            "tlu" => Actions::TLU,
            "tld" => Actions::TLD,
            "tls" => Actions::TLS,
            "tlf" => Actions::TLF,
            "irc" => Actions::IRC,
            "zrc" => Actions::ZRC,
            "scr" => Actions::SCR,
            "sca" => Actions::SCA,
            "scn" => Actions::SCN,
            "str" => Actions::STR,
            "sta" => Actions::STA,
            "scj" => Actions::SCJ,
            "ser" => Actions::SER,
            other => panic!("{other} is no action"),
        }
    }

    fn cell(text: &str) -> Cell {
        let (actions, state) = text.rsplit_once('/').unwrap_or(("", text));
        let state = state.trim_end_matches(['r', 'p', 'x']);
        let names = actions.split(',').filter(|name| !name.is_empty());
        let actions = names.map(action).fold(Actions(0), Actions::and);
        (state != "-").then(|| (actions, STATES[state.parse::<usize>().expect("a number")]))
    }

    #[test]
    fn every_cell_is_that_of_the_rfc() {
        let rows: Vec<&str> = RFC.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(rows.len(), EVENTS.len());
        let mut cells = 0;
        for (row, event) in rows.into_iter().zip(EVENTS) {
            let (_, row) = row.split_once('|').expect("a name");
            let row: Vec<&str> = row.split([' ', '|']).filter(|cell| !cell.is_empty()).collect();
            assert_eq!(row.len(), STATES.len(), "{event:?}");
            for (text, state) in row.into_iter().zip(STATES) {
                assert_eq!(next(state, event), cell(text), "{event:?} in {state:?}");
                cells += 1;
            }
        }
        assert_eq!(cells, 160);
    }

    #[test]
    fn the_timer_runs_where_something_is_waited_for() {
        let timed = STATES.into_iter().filter(|state| state.is_timed());
        let wanted = [Closing, Stopping, ReqSent, AckRcvd, AckSent];
        assert_eq!(timed.collect::<Vec<_>>(), wanted);
    }
}
