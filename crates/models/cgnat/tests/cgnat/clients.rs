//! The sessions and streams of a workload through a NAT beside its model, as a tester sends them.

use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::pair::Pair;
use traffic::{Delivery, SessionAction, Stamp, Workload};

/// Opens sessions and uses them: each step leaves, and the workload knows it again. `sent` sees
/// each frame with the port at which it comes in.
pub fn open_and_use<W: Workload>(
    pair: &mut Pair<Cgnat>,
    clients: &mut W,
    sessions: u64,
    sent: impl Fn(PortId, &[u8]),
) {
    let ports = clients.session_ports();
    for action in [SessionAction::Open, SessionAction::Use] {
        for number in 0..sessions {
            let packet = clients.session(number).expect("a session");
            for step in 0..clients.session_steps(&packet, action) {
                let mut frame = vec![0xee; clients.session_frame_len(&packet, action, step)];
                clients.write_session(&packet, (action, step), 7, &mut frame);
                let from = ports[usize::from(step % 2)];
                sent(from, &frame);
                let (port, frame) = passed(pair, from, &frame);
                let (seen, _) = clients.session_seen(port, &frame).expect("a step");
                assert_eq!((seen.session, seen.step, seen.is_right), (number, step, true));
            }
        }
    }
}

/// Sends packets of both directions. `left` gets each frame that left, its port, and what the
/// workload says to it or to another one in its place.
pub fn stream<W: Workload>(
    pair: &mut Pair<Cgnat>,
    clients: &mut W,
    packets: u64,
    left: impl Fn(PortId, Vec<u8>, &mut dyn FnMut(&[u8]) -> Delivery),
) {
    for number in 0..packets {
        for direction in 0..2 {
            let packet = clients.draw(direction, number);
            let stamp = Stamp { stream: direction as u16, sequence: number, time: 5 };
            let mut frame = vec![0; clients.frame_len(&packet)];
            clients.write(&packet, stamp, &mut frame);
            let from = clients.directions()[direction].from;
            let (port, frame) = passed(pair, from, &frame);
            left(port, frame, &mut |frame| {
                clients.delivery(direction, &packet, &stamp, port, frame)
            });
        }
    }
}

fn passed(pair: &mut Pair<Cgnat>, from: PortId, frame: &[u8]) -> (PortId, Vec<u8>) {
    match pair.frame(from, frame).unwrap_or_else(|what| panic!("{what}")) {
        Expected::Forward { port, frame } => (port, frame),
        other => panic!("{other:?}"),
    }
}
