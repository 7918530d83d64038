//! An active function and its standby in one machine: what they say to each other passes in memory,
//! so that a standby can be rehearsed within a process, and without a network.

use std::collections::VecDeque;
use std::convert::Infallible;

use protocol_kit::{
    Arrival, Bytes, Companion, Departure, Input, Machine, Opening, Output, Socket, Time,
};

/// Two machines, one of which opens a stream to where the other one listens.
pub struct Joined {
    ends: [End; 2],
    is_listening: bool,
}

/// A machine and its end of the stream.
struct End {
    machine: Companion,
    /// Its number of the stream.
    stream: Socket,
    is_open: bool,
    /// Whether it wants bytes.
    is_read: bool,
    /// Bytes on their way to the other end, as many as may not be taken yet.
    sent: VecDeque<Bytes>,
    /// Whether it sends no more, and whether the other end knows.
    finish: Finish,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    No,
    Sent,
    Told,
}

impl Joined {
    /// Joins the machine of an active function to that of its standby.
    pub fn new(active: Companion, standby: Companion) -> Joined {
        let end = |machine| End {
            machine,
            stream: Socket(0),
            is_open: false,
            is_read: true,
            sent: VecDeque::new(),
            finish: Finish::No,
        };
        Joined { ends: [end(active), end(standby)], is_listening: false }
    }

    /// Breaks the stream, if there is one: what is on its way is lost.
    pub fn cut(&mut self, now: Time) {
        for end in &mut self.ends {
            end.sent.clear();
            if std::mem::take(&mut end.is_open) {
                let arrival = Arrival::Failed { socket: end.stream };
                end.machine.input(now, Input::Arrival(arrival));
            }
        }
    }

    /// Puts another standby in the place of the one that is there, whose end breaks the stream.
    pub fn replace_standby(&mut self, now: Time, standby: Companion) {
        self.cut(now);
        self.is_listening = false;
        self.ends[1].machine = standby;
    }

    /// Puts another active function in the place of the one that is there, whose end breaks the
    /// stream.
    pub fn replace_active(&mut self, now: Time, active: Companion) {
        self.cut(now);
        self.ends[0].machine = active;
    }

    fn depart(&mut self, now: Time, from: usize, departure: Departure) {
        let end = &mut self.ends[from];
        match departure {
            Departure::Open { opening: Opening::Listener { streams, .. }, .. } => {
                (self.is_listening, end.stream) = (true, Socket(streams.start));
            }
            Departure::Open { socket, .. } => self.open(now, socket),
            Departure::Bytes { bytes, .. } => end.sent.push_back(bytes),
            Departure::Finish { .. } => end.finish = Finish::Sent,
            Departure::Read { is_wanted, .. } => end.is_read = is_wanted,
            Departure::Close { socket } if socket == end.stream && end.is_open => {
                end.is_open = false;
                end.sent.clear();
                if end.finish == Finish::No {
                    end.finish = Finish::Sent;
                }
            }
            Departure::Close { .. } => self.is_listening = false,
            _ => {}
        }
    }

    /// The stream of the active function.
    fn open(&mut self, now: Time, socket: Socket) {
        self.ends[0].stream = socket;
        if !self.is_listening || self.ends[1].is_open {
            let arrival = Arrival::Failed { socket };
            return self.ends[0].machine.input(now, Input::Arrival(arrival));
        }
        for end in &mut self.ends {
            (end.is_open, end.is_read, end.finish) = (true, true, Finish::No);
            end.sent.clear();
            let socket = end.stream;
            let arrival = Arrival::Connected { socket, local: None, peer: None };
            end.machine.input(now, Input::Arrival(arrival));
        }
    }

    /// Carries from one end to the other; returns whether there was anything.
    fn carry(&mut self, now: Time, from: usize) -> bool {
        let [one, two] = &mut self.ends;
        let (near, far) = if from == 0 { (one, two) } else { (two, one) };
        if far.is_open && !far.is_read {
            return false;
        }
        if let Some(bytes) = near.sent.pop_front() {
            if near.is_open {
                let taken = Arrival::Taken { socket: near.stream, count: bytes.len() };
                near.machine.input(now, Input::Arrival(taken));
            }
            if far.is_open {
                let arrival = Arrival::Bytes { socket: far.stream, bytes: &bytes };
                far.machine.input(now, Input::Arrival(arrival));
            }
            return true;
        }
        let is_news = near.finish == Finish::Sent;
        if is_news {
            near.finish = Finish::Told;
            if far.is_open {
                let arrival = Arrival::Finished { socket: far.stream };
                far.machine.input(now, Input::Arrival(arrival));
            }
        }
        is_news
    }
}

impl Machine for Joined {
    type Command = Infallible;
    type Report = Infallible;

    /// Nothing comes from outside.
    fn input(&mut self, _: Time, _: Input<'_, Infallible>) {}

    /// Wants nothing of any network.
    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        let mut is_moved = true;
        while std::mem::take(&mut is_moved) {
            for from in [0, 1] {
                while let Some(output) = self.ends[from].machine.poll(now) {
                    let Output::Departure(departure) = output;
                    self.depart(now, from, departure);
                }
                while self.carry(now, from) {
                    is_moved = true;
                }
            }
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        self.ends.iter().filter_map(|end| end.machine.deadline()).min()
    }
}
