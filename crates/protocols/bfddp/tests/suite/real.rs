//! What bfdd really writes, and the bytes that it expects.

use protocol_bfddp::message::{Malformed, Message};
use protocol_bfddp::session::Traffic;
use protocol_bfddp::{Session, SessionCounters, State};

use crate::support::{change, session};

fn parsed() -> Vec<Message> {
    let examples = protocol_bfddp::fuzz::examples();
    examples.iter().filter_map(|example| Some(Message::parse(&example[1..]).ok()?.1)).collect()
}

#[test]
fn messages_of_bfdd_say_what_it_was_configured_with() {
    let shut_down = Session {
        local: None,
        is_shut_down: true,
        interface: None,
        interface_name: String::new(),
        ..session(0xdcbb_6ee4, 3)
    };
    let multihop = Session {
        local: Some("fd00:9::1".parse().expect("an address")),
        peer: "fd00:9::2".parse().expect("an address"),
        is_multihop: true,
        is_passive: true,
        ttl_min: 250,
        interface: None,
        interface_name: String::new(),
        ..session(0x67df_425c, 0)
    };
    let with_echo = Session {
        has_echo: true,
        desired_min_tx_us: 70_000,
        required_min_rx_us: 60_000,
        echo_tx_us: 90_000,
        required_echo_rx_us: 80_000,
        detect_multiplier: 4,
        ..session(0xdf6c_ee24, 2)
    };
    let slower = Session { required_min_rx_us: 300_000, ..with_echo.clone() };
    let wanted = [
        Message::AddSession(shut_down.clone()),
        Message::AddSession(multihop),
        Message::AddSession(with_echo),
        Message::AddSession(slower),
        Message::DeleteSession(shut_down),
    ];
    assert_eq!(parsed()[..5], wanted);
}

#[test]
fn messages_to_bfdd_have_the_bytes_of_its_structures() {
    let head = [1, 0, 0, 4, 0, 0, 0, 36];
    let numbers: [u32; 6] = [7, 77, 1, 50_000, 60_000, 0];
    let body = [numbers.map(u32::to_be_bytes).as_flattened(), &[3, 3, 5, 0]].concat();
    let written = Message::StateChange(7, change(State::Up)).emit(0);
    assert_eq!(written, [&head[..], &body].concat());
    let traffic = |bytes, packets| Traffic { bytes, packets };
    let counters = SessionCounters {
        received: traffic(1, 2),
        sent: traffic(3, 4),
        echo_received: traffic(5, 6),
        echo_sent: traffic(7, 8),
    };
    let head = [1, 0, 0, 6, 0x12, 0x34, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0];
    let numbers: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    let written = Message::Counters(7, counters).emit(0x1234);
    assert_eq!(written, [&head[..], numbers.map(u64::to_be_bytes).as_flattened()].concat());
}

#[test]
fn what_is_no_message_is_refused_for_its_reason() {
    for message in parsed() {
        let good = message.emit(9);
        let mut bad = good.clone();
        bad[0] = 2;
        assert_eq!(Message::parse(&bad), Err(Malformed::Header));
        let mut bad = good.clone();
        bad[7] = 7;
        assert_eq!(Message::parse(&bad), Err(Malformed::Header));
        let mut bad = good.clone();
        bad[3] = 7;
        assert_eq!(Message::parse(&bad), Err(Malformed::Type));
        // A byte is missing, padding apart.
        let mut bad = good[..good.len() - 1].to_vec();
        bad[7] -= 1;
        if !matches!(message, Message::StateChange(..)) {
            assert_eq!(Message::parse(&bad), Err(Malformed::Body), "{message:?}");
        }
        // One more is what a later version may have.
        let mut longer = [&good[..], &[0]].concat();
        longer[7] += 1;
        assert_eq!(Message::parse(&longer), Ok((9, message)));
    }
    let mut bad = Message::StateChange(7, change(State::Up)).emit(0);
    bad[32] = 4;
    assert_eq!(Message::parse(&bad), Err(Malformed::Body));
    let mut bad = Message::AddSession(session(7, 2)).emit(0);
    bad[80] = 0xff;
    assert_eq!(Message::parse(&bad), Err(Malformed::Body), "a name that is no text");
}
