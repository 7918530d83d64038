//! A server and a client in a simulated network that loses, repeats, delays and reorders, and whose
//! nodes die: with the right secret both come up, with a wrong one neither, and neither says much.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Takes, Time,
};
use protocol_ppp::{Answer, Command, Config, Credentials, Keepalive, Method, Ppp, Report, View};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::support::{client, given, requires};

/// A side of a link, which begins anew a second after a session is over.
struct Side {
    ppp: Ppp,
    config: Arc<Config>,
    is_open: bool,
    begins: Option<Time>,
    /// What the owner will have answered, and when.
    answer: Option<(Time, u32, bool)>,
    /// Payloads sent since it was up last or began, and the most of them.
    sent: usize,
    most: usize,
}

impl Machine for Side {
    type Command = ();
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        if let Input::Arrival(Arrival::Frame { bytes, .. }) = input {
            self.ppp.receive(now, 0, &bytes[14..]);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if !std::mem::replace(&mut self.is_open, true) {
            self.begins = Some(now);
            let takes = vec![Takes { ether_type: 0x8864, protocol: None }];
            let opening = Opening::Frames { interface: Interface(0), takes, groups: vec![] };
            return Some(Output::Departure(Departure::Open { socket: Socket(0), opening }));
        }
        if self.begins.take_if(|begins| *begins <= now).is_some() {
            let command = Command::Open { session: 0, config: self.config.clone(), mru: 1492 };
            self.ppp.input(now, Input::Command(command));
        }
        // What was said is heard before something is answered: the question may be void by then.
        let mut output = self.ppp.poll(now);
        if output.is_none()
            && let Some((_, question, is_welcome)) = self.answer.take_if(|(at, ..)| *at <= now)
        {
            let answer = match is_welcome {
                true => Answer::Accept(given()),
                false => Answer::Reject { message: vec![] },
            };
            let answer = Command::Answer { session: 0, question, answer };
            self.ppp.input(now, Input::Command(answer));
            output = self.ppp.poll(now);
        }
        let Some(Output::Report(report)) = output else { return None };
        match report {
            Report::Send { payload, .. } => {
                self.sent += 1;
                self.most = self.most.max(self.sent);
                let bytes = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x64], &payload[..]];
                let (socket, bytes) = (Socket(0), bytes.concat());
                return Some(Output::Departure(Departure::Frame { socket, bytes }));
            }
            Report::Asked { question, ref credentials, .. } => {
                let is_welcome = *credentials == Credentials::None || credentials.prove(b"right");
                let at = now.after(Duration::from_millis(50));
                self.answer = Some((at, question, is_welcome));
            }
            Report::Down { .. } => self.answer = None,
            Report::Ended { .. } => {
                self.begins = Some(now.after(Duration::from_secs(1)));
                self.sent = 0;
            }
            Report::V4Up { .. } | Report::V6Up { .. } => self.sent = 0,
            _ => {}
        }
        // Echoes are no negotiation.
        if self.view().is_some_and(|view| view.is_v4_up && view.is_v6_up) {
            self.sent = 0;
        }
        Some(Output::Report(report))
    }

    fn deadline(&self) -> Option<Time> {
        if !self.is_open {
            return Some(Time::ZERO);
        }
        let answer = self.answer.map(|(at, ..)| at);
        [self.ppp.deadline(), self.begins, answer].into_iter().flatten().min()
    }
}

impl Side {
    fn view(&self) -> Option<View> {
        self.ppp.view(0)
    }
}

struct Two {
    is_right: bool,
}

#[test]
fn both_sides_come_up_or_neither() {
    simulate::<Two>(SEEDS);
}

impl Simulation for Two {
    type Machine = Side;
    const NAME: &'static str = "ppp";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = Duration::from_secs(40);
    const QUIET: Duration = Duration::from_secs(40);

    fn world(seed: u64) -> (World<Side>, Two) {
        let mut world = World::new(seed);
        let is_right = world.random().below(4) > 0;
        let both = [Method::ChapMd5, Method::Pap];
        let mut methods = || match world.random().below(3) {
            0 => both.to_vec(),
            number => vec![both[number as usize - 1]],
        };
        let asked = methods();
        let server = requires(&asked);
        let secret: &[u8] = if is_right { b"right" } else { b"wrong" };
        let host = client(&asked, secret);
        for config in [server, host] {
            let config = Arc::new(Config {
                restart: Duration::from_millis(300),
                setup_time: Duration::from_secs(8),
                keepalive: Some(Keepalive { interval: Duration::from_secs(1), failures: 3 }),
                ..config
            });
            world.add_node(move |random| {
                let mut seed = [0; 32];
                seed.chunks_mut(8)
                    .for_each(|part| part.copy_from_slice(&random.bits().to_be_bytes()));
                let (ppp, config) = (Ppp::new(1, seed), config.clone());
                let side = Side {
                    ppp,
                    config,
                    is_open: false,
                    begins: None,
                    answer: None,
                    sent: 0,
                    most: 0,
                };
                (side, vec![])
            });
        }
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let quality = Quality { jitter: Duration::from_millis(2), ..Quality::GOOD };
        world.add_link([(0, address(1)), (1, address(2))], quality);
        (world, Two { is_right })
    }

    fn judge(
        &mut self,
        world: &mut World<Side>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return Ok(()) };
        if let Report::V4Up { addresses, .. } = report {
            let is_own = addresses.local.octets()[3] == 1 + *node as u8;
            if !self.is_right || !is_own {
                return Err(format!("node {node} at {at}: {report:?}"));
            }
        }
        if matches!(report, Report::Refused { .. }) {
            return Err(format!("node {node} at {at}: {report:?}"));
        }
        let most = world.machine(*node).map_or(0, |side| side.most);
        match most > SENT_MAX {
            true => Err(format!("node {node} at {at}: {most} packets for one negotiation")),
            false => Ok(()),
        }
    }

    fn judge_end(&mut self, world: &mut World<Side>) -> Result<(), String> {
        for node in [0, 1] {
            let side = world.machine(node).ok_or(format!("node {node} is dead at the end"))?;
            let is_up = side.view().is_some_and(|view| view.is_v4_up && view.is_v6_up);
            if is_up != self.is_right {
                return Err(format!("node {node} at the end: {:?}", side.view()));
            }
        }
        Ok(())
    }
}

/// Most packets of a negotiation, whatever the network does to them.
const SENT_MAX: usize = 250;

/// Seeds of a run in CI.
const SEEDS: u64 = 300;
