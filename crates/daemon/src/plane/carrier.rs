//! What the thread does in a turn: frames up from the rings of all reasons, frames down from all
//! interfaces, a bounded number of each.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::{Duration, Instant};

use engine::Plane;
use offload::{Coalescer, HEADER_LEN, Header, segments};
use packet::Reason;

use super::counts::{ThreadCounts, add};
use super::interface::Interface;
use crate::board::{Board, Told};
use crate::exchange::Exchange;

/// The interfaces and the workers' planes.
pub(super) struct Carrier {
    pub planes: Vec<Plane>,
    pub interfaces: Vec<Interface>,
    /// The first worker's thread, which may rest while the host sends it something.
    pub worker: Option<Thread>,
    pub counts: Arc<ThreadCounts>,
    /// The place of an interface by the function's number.
    by_number: Vec<Option<u16>>,
    room: Box<[u8]>,
    /// What goes up and may be joined with what follows.
    coalescer: Coalescer,
    /// The reason that is first in the next turn.
    first: u8,
    /// Where what workers tell goes.
    board: Arc<Board>,
    /// What each worker could not tell so far.
    untold: Vec<u64>,
    /// Where frames of controllers come and go.
    exchange: Arc<Exchange>,
    /// How many injected frames had no room in it so far.
    refused: u64,
}

impl Carrier {
    pub fn new(
        planes: Vec<Plane>,
        interfaces: Vec<Interface>,
        board: Arc<Board>,
        exchange: Arc<Exchange>,
    ) -> Carrier {
        let last = interfaces.iter().map(|one| usize::from(one.number)).max().unwrap_or(0);
        let mut by_number = vec![None; last + 1];
        for (place, one) in (0..).zip(&interfaces) {
            by_number[usize::from(one.number)] = Some(place);
        }
        Carrier {
            untold: vec![0; planes.len()],
            board,
            planes,
            interfaces,
            worker: None,
            counts: Arc::default(),
            by_number,
            room: vec![0; HEADER_LEN + FRAME_BYTES_MAX].into(),
            coalescer: Coalescer::new(CONNECTIONS),
            first: 0,
            exchange,
            refused: 0,
        }
    }

    /// Carries what waits, up to a bound; returns whether there was anything.
    pub fn turn(&mut self) -> bool {
        let began = Instant::now();
        let up = self.carry_up() + self.carry_events();
        let down = self.carry_down() + self.carry_injected();
        if began.elapsed() > LATE {
            add(&self.counts.late, 1);
        }
        up + down > 0
    }

    /// Each reason of each worker has the same share, and another is first each time.
    fn carry_up(&mut self) -> usize {
        let Carrier { planes, interfaces, counts, by_number, coalescer, first, exchange, .. } =
            self;
        let reasons = planes.first().map_or(0, Plane::reasons);
        let mut carried = 0;
        let mut up = |place: u16, header: &Header, frame: &[u8]| {
            interfaces[usize::from(place)].write(header, frame);
        };
        for number in (0..reasons).map(|number| (number + *first) % reasons) {
            let taker = exchange.box_of(Reason(number));
            for (worker, plane) in (0..).zip(planes.iter_mut()) {
                for _ in 0..SHARE {
                    let Some(punted) = plane.next(Reason(number)) else { break };
                    carried += 1;
                    if let Some(taker) = &taker {
                        let is_taken = taker.put(worker, &punted);
                        add(if is_taken { &counts.taken } else { &counts.taken_full }, 1);
                        continue;
                    }
                    let place = by_number.get(usize::from(punted.context.interface));
                    match place.copied().flatten() {
                        Some(place) => coalescer.push(place, punted.frame, &mut up),
                        None => add(&counts.unclaimed, 1),
                    }
                }
            }
        }
        coalescer.flush(&mut up);
        *first = (*first + 1) % reasons.max(1);
        carried
    }

    /// What workers tell goes to the board and the log.
    fn carry_events(&mut self) -> usize {
        let mut carried = 0;
        for (worker, (plane, untold)) in (0..).zip(self.planes.iter_mut().zip(&mut self.untold)) {
            for event in (0..SHARE).map_while(|_| plane.event()) {
                // A next hop by its number, for instance, whose session has gone down.
                tracing::info!(kind = ?event.kind, subject = event.subject, "the function says");
                self.board.tell(Told { worker, event });
                carried += 1;
            }
            let lost = plane.events_lost();
            if lost > *untold {
                self.board.miss(lost - *untold);
                *untold = lost;
            }
        }
        carried
    }

    fn carry_down(&mut self) -> usize {
        let Carrier { planes, interfaces, worker, room, .. } = self;
        let Some(plane) = planes.first_mut() else { return 0 };
        let mut carried = 0;
        for interface in interfaces {
            let (mut down, mut full, mut unfit) = (0, 0, 0);
            while down + full + unfit < SHARE as u64 {
                let Some(len) = interface.read(room) else { break };
                let cut = match room[..len].split_first_chunk_mut() {
                    Some((header, frame)) => {
                        segments(frame, &Header::parse(header)).ok().map(|frames| (frames, frame))
                    }
                    None => None,
                };
                let Some((mut frames, frame)) = cut else {
                    unfit += 1;
                    continue;
                };
                while let Some(parts) = frames.next_frame(frame) {
                    match plane.inject_parts(interface.number, parts) {
                        true => down += 1,
                        false => full += 1,
                    }
                }
            }
            if down + full + unfit > 0 {
                add(&interface.counts.down, down);
                add(&interface.counts.down_full, full);
                add(&interface.counts.down_unfit, unfit);
                carried += (down + full + unfit) as usize;
            }
        }
        if let (Some(worker), true) = (worker, carried > 0) {
            worker.unpark();
        }
        carried
    }

    /// What controllers inject goes to the first worker.
    fn carry_injected(&mut self) -> usize {
        let Carrier { planes, worker, counts, exchange, refused, .. } = self;
        let Some(plane) = planes.first_mut() else { return 0 };
        let mut carried = 0;
        for injection in (0..INJECTED_PER_TURN).map_while(|_| exchange.injected()) {
            carried += 1;
            let has_room = plane.inject(injection.interface, &injection.frame);
            add(if has_room { &counts.injected } else { &counts.injected_full }, 1);
        }
        let full = exchange.down_full.load(Ordering::Relaxed);
        add(&counts.injected_full, full - *refused);
        *refused = full;
        if let (Some(worker), true) = (worker, carried > 0) {
            worker.unpark();
        }
        carried
    }

    /// Says that the thread is about to sleep; false if something waits.
    pub fn goes_to_rest(&self) -> bool {
        let may = self.planes.iter().all(Plane::goes_to_rest) && !self.exchange.has_injected();
        if !may {
            self.is_awake();
        }
        may
    }

    /// Says that the thread is awake.
    pub fn is_awake(&self) {
        self.planes.iter().for_each(Plane::is_awake);
    }
}

/// A turn that takes longer is late.
const LATE: Duration = Duration::from_millis(10);

/// Most frames of a reason of a worker, or of an interface, in a turn.
const SHARE: usize = 32;

/// Most frames of controllers in a turn.
const INJECTED_PER_TURN: usize = 256;

/// The longest frame of a tap interface, in bytes.
const FRAME_BYTES_MAX: usize = 65_536;

/// Connections whose frames are joined at a time.
const CONNECTIONS: usize = 8;
