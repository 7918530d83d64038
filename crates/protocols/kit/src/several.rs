//! Several machines as one, so that one driver runs them all.

use std::convert::Infallible;
use std::ops::Range;

use crate::machine::{Input, Machine, Output};
use crate::network::{Arrival, Departure, Opening, Socket};
use crate::shown::{Neighbour, Trace};
use crate::time::Time;

/// A machine of any kind.
pub type AnyMachine<C, R> = Box<dyn Machine<Command = C, Report = R> + Send>;

/// A machine without commands and reports: one beside a function.
pub type Companion = AnyMachine<Infallible, Infallible>;

/// Machines of one type of command and report. A command is for one of them, by its place, and a
/// report names the place of the one that it is from.
///
/// Each has a range of socket numbers of its own, of the same size, and knows its own from 0 on.
/// The number that is open outside of it is `place * size + own`.
pub struct Several<C, R> {
    members: Vec<Member<C, R>>,
    /// Bits of a machine's own numbers.
    bits: u32,
    /// The machine that is polled next.
    next: usize,
    /// Departures by numbers that a machine does not have.
    misnumbered: u64,
}

struct Member<C, R> {
    machine: AnyMachine<C, R>,
    /// Whether it has wanted nothing since the last input.
    is_at_rest: bool,
}

impl<C, R> Several<C, R> {
    /// Joins machines.
    pub fn new(machines: Vec<AnyMachine<C, R>>) -> Several<C, R> {
        let places = machines.len().next_power_of_two().trailing_zeros();
        let member = |machine| Member { machine, is_at_rest: false };
        let members = machines.into_iter().map(member).collect();
        Several { members, bits: 32 - places, next: 0, misnumbered: 0 }
    }

    /// Returns a machine by its place.
    pub fn machine(&self, place: usize) -> Option<&dyn Machine<Command = C, Report = R>> {
        let member = self.members.get(place)?;
        Some(&*member.machine)
    }

    /// Returns how often a machine wanted something of a socket whose number it does not have.
    pub fn misnumbered(&self) -> u64 {
        self.misnumbered
    }

    /// The place of the machine that has a number outside, and its own number.
    fn inside(&self, outside: Socket) -> (usize, Socket) {
        let number = u64::from(outside.0);
        ((number >> self.bits) as usize, Socket((number & (self.size() - 1)) as u32))
    }

    /// Numbers that a machine has.
    fn size(&self) -> u64 {
        1 << self.bits
    }

    /// Puts the numbers from outside into a departure; false if the machine does not have them.
    fn put_outside(&self, place: usize, departure: &mut Departure) -> bool {
        let begin = place as u64 * self.size();
        let number = socket_of(departure);
        if u64::from(number.0) >= self.size() {
            return false;
        }
        *number = Socket((begin + u64::from(number.0)) as u32);
        let Departure::Open { opening: Opening::Listener { streams, .. }, .. } = departure else {
            return true;
        };
        // One past the last number of all is none; a machine can do without the last one.
        let last = u64::from(u32::MAX);
        let Range { start, end } = *streams;
        let is_its_own = u64::from(end) <= self.size();
        let outside = |number: u32| (begin + u64::from(number)).min(last) as u32;
        *streams = outside(start)..outside(end);
        is_its_own
    }
}

impl<C, R> Machine for Several<C, R> {
    type Command = (usize, C);
    type Report = (usize, R);

    /// # Panics
    /// When a command is for a place at which there is no machine.
    fn input(&mut self, now: Time, input: Input<'_, (usize, C)>) {
        match input {
            Input::Command((place, command)) => {
                self.members[place].input(now, Input::Command(command));
            }
            Input::Arrival(mut arrival) => match socket_at(&mut arrival) {
                None => {
                    for member in &mut self.members {
                        member.input(now, Input::Arrival(arrival));
                    }
                }
                Some(socket) => {
                    let (place, own) = self.inside(*socket);
                    *socket = own;
                    if let Some(member) = self.members.get_mut(place) {
                        member.input(now, Input::Arrival(arrival));
                    }
                }
            },
        }
    }

    /// Polls the machines by turns, so that none keeps the others from being polled.
    fn poll(&mut self, now: Time) -> Option<Output<(usize, R)>> {
        let mut at_rest = 0;
        while at_rest < self.members.len() {
            let place = self.next;
            self.next = (place + 1) % self.members.len();
            let output = self.members[place].poll(now);
            match output {
                None => at_rest += 1,
                Some(Output::Report(report)) => return Some(Output::Report((place, report))),
                Some(Output::Departure(mut departure)) => {
                    let socket = *socket_of(&mut departure);
                    if self.put_outside(place, &mut departure) {
                        return Some(Output::Departure(departure));
                    }
                    self.misnumbered += 1;
                    if let Departure::Open { .. } = departure {
                        let arrival = Arrival::Failed { socket };
                        self.members[place].input(now, Input::Arrival(arrival));
                    }
                    at_rest = 0;
                }
            }
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        self.members.iter().filter_map(|member| member.machine.deadline()).min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.members.iter().flat_map(|member| member.machine.neighbours(now)).collect()
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        let (place, own) = self.inside(socket);
        self.members.get(place)?.machine.trace(own)
    }
}

impl<C, R> Member<C, R> {
    fn input(&mut self, now: Time, input: Input<'_, C>) {
        self.is_at_rest = false;
        self.machine.input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<R>> {
        let is_due = || self.machine.deadline().is_some_and(|deadline| deadline <= now);
        if self.is_at_rest && !is_due() {
            return None;
        }
        let output = self.machine.poll(now);
        self.is_at_rest = output.is_none();
        output
    }
}

/// The socket at which something arrives; none of a link.
fn socket_at<'a>(arrival: &'a mut Arrival<'_>) -> Option<&'a mut Socket> {
    match arrival {
        Arrival::Datagram { socket, .. }
        | Arrival::Packet { socket, .. }
        | Arrival::Frame { socket, .. }
        | Arrival::Connected { socket, .. }
        | Arrival::Bytes { socket, .. }
        | Arrival::Taken { socket, .. }
        | Arrival::Finished { socket }
        | Arrival::Netlink { socket, .. }
        | Arrival::Overrun { socket }
        | Arrival::Failed { socket } => Some(socket),
        Arrival::Link { .. } => None,
    }
}

/// The socket of which something is wanted.
fn socket_of(departure: &mut Departure) -> &mut Socket {
    match departure {
        Departure::Open { socket, .. }
        | Departure::Close { socket }
        | Departure::Datagram { socket, .. }
        | Departure::Packet { socket, .. }
        | Departure::Frame { socket, .. }
        | Departure::Netlink { socket, .. }
        | Departure::Bytes { socket, .. }
        | Departure::Finish { socket }
        | Departure::Read { socket, .. } => socket,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::endpoint::{Endpoint, Interface, StreamOptions};

    /// Does what it is told, says what arrives, and has a deadline that it is told.
    #[derive(Default)]
    struct Told {
        outputs: VecDeque<Output<String>>,
        deadline: Option<Time>,
        polls: usize,
    }

    enum Command {
        Want(Departure),
        Wake(Time),
    }

    impl Machine for Told {
        type Command = Command;
        type Report = String;

        fn input(&mut self, _: Time, input: Input<'_, Command>) {
            match input {
                Input::Command(Command::Want(departure)) => {
                    self.outputs.push_back(Output::Departure(departure));
                }
                Input::Command(Command::Wake(deadline)) => self.deadline = Some(deadline),
                Input::Arrival(arrival) => {
                    self.outputs.push_back(Output::Report(format!("{arrival:?}")));
                }
            }
        }

        fn poll(&mut self, now: Time) -> Option<Output<String>> {
            self.polls += 1;
            if self.deadline.take_if(|deadline| *deadline <= now).is_some() {
                return Some(Output::Report(format!("awake, {} polls", self.polls)));
            }
            self.outputs.pop_front()
        }

        fn deadline(&self) -> Option<Time> {
            self.deadline
        }
    }

    fn several(count: usize) -> Several<Command, String> {
        let told = |_| Box::new(Told::default()) as AnyMachine<Command, String>;
        Several::new((0..count).map(told).collect())
    }

    fn all(several: &mut Several<Command, String>, now: Time) -> Vec<Output<(usize, String)>> {
        std::iter::from_fn(|| several.poll(now)).collect()
    }

    fn want(several: &mut Several<Command, String>, place: usize, departure: Departure) {
        several.input(Time::ZERO, Input::Command((place, Command::Want(departure))));
    }

    fn listen(socket: Socket, streams: Range<u32>) -> Departure {
        let (at, options) = (Endpoint::Unix("/at".into()), StreamOptions::default());
        Departure::Open { socket, opening: Opening::Listener { at, options, streams } }
    }

    #[test]
    fn each_has_numbers_of_its_own() {
        // Three places need two bits.
        let mut several = several(3);
        const SIZE: u32 = 1 << 30;
        for place in 0..3 {
            want(&mut several, place, listen(Socket(5), 10..20));
            want(&mut several, place, Departure::Finish { socket: Socket(10) });
        }
        let at = |place: u32, number: u32| place * SIZE + number;
        let outputs = all(&mut several, Time::ZERO);
        let wanted = (0..3).map(|place| listen(Socket(at(place, 5)), at(place, 10)..at(place, 20)));
        let finished = (0..3).map(|place| Departure::Finish { socket: Socket(at(place, 10)) });
        let wanted: Vec<_> = wanted.chain(finished).map(Output::Departure).collect();
        assert_eq!(outputs, wanted, "by turns");
        // What arrives is for one.
        let arrival = Arrival::Finished { socket: Socket(at(2, 10)) };
        several.input(Time::ZERO, Input::Arrival(arrival));
        let said = format!("{:?}", Arrival::Finished { socket: Socket(10) });
        assert_eq!(all(&mut several, Time::ZERO), [Output::Report((2, said))]);
        // Nobody has the last quarter.
        let arrival = Arrival::Finished { socket: Socket(at(3, 10)) };
        several.input(Time::ZERO, Input::Arrival(arrival));
        assert_eq!(all(&mut several, Time::ZERO), []);
        // A link is for all.
        let arrival = Arrival::Link { interface: Interface(1), is_up: false };
        several.input(Time::ZERO, Input::Arrival(arrival));
        let said = |place| Output::Report((place, format!("{arrival:?}")));
        assert_eq!(all(&mut several, Time::ZERO), [said(0), said(1), said(2)]);
    }

    #[test]
    fn numbers_that_one_does_not_have_are_refused() {
        let mut several = several(2);
        let half = 1 << 31;
        want(&mut several, 0, listen(Socket(half), 0..1));
        want(&mut several, 1, listen(Socket(1), 0..half + 1));
        want(&mut several, 0, Departure::Close { socket: Socket(half) });
        want(&mut several, 1, listen(Socket(2), half - 1..half));
        let failed =
            |place, socket| Output::Report((place, format!("{:?}", Arrival::Failed { socket })));
        let last = listen(Socket(half + 2), u32::MAX..u32::MAX);
        let outputs = all(&mut several, Time::ZERO);
        let wanted = [Output::Departure(last), failed(0, Socket(half)), failed(1, Socket(1))];
        assert!(wanted.iter().all(|one| outputs.contains(one)), "{outputs:?}");
        assert_eq!((outputs.len(), several.misnumbered()), (3, 3));
        // One alone has all.
        let mut one = self::several(1);
        want(&mut one, 0, listen(Socket(u32::MAX), 0..u32::MAX));
        let wanted = listen(Socket(u32::MAX), 0..u32::MAX);
        assert_eq!(all(&mut one, Time::ZERO), [Output::Departure(wanted)]);
    }

    #[test]
    fn the_first_deadline_counts_and_who_rests_is_not_polled() {
        let mut several = several(2);
        assert_eq!((all(&mut several, Time::ZERO), several.deadline()), (vec![], None));
        for (place, deadline) in [(0, Time(30)), (1, Time(20))] {
            several.input(Time::ZERO, Input::Command((place, Command::Wake(deadline))));
        }
        assert_eq!(several.deadline(), Some(Time(20)));
        assert_eq!(all(&mut several, Time(10)), []);
        let said = Output::Report((1, "awake, 3 polls".to_owned()));
        assert_eq!(all(&mut several, Time(20)), [said]);
        assert_eq!(several.deadline(), Some(Time(30)));
        // The first has been polled twice before, and not when the second was.
        let said = Output::Report((0, "awake, 3 polls".to_owned()));
        assert_eq!(all(&mut several, Time(40)), [said]);
        assert!(several.machine(1).is_some() && several.machine(2).is_none());
    }

    #[test]
    fn none_at_all_are_at_rest() {
        let mut none = several(0);
        none.input(Time::ZERO, Input::Arrival(Arrival::Finished { socket: Socket(1) }));
        assert_eq!((all(&mut none, Time::ZERO), none.deadline()), (vec![], None));
    }
}
