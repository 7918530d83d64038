//! Captures: what is in the file, and that forwarding does not wait for its reader.

use std::sync::atomic::AtomicBool;
use std::thread;

use daemon::client::Client;
use daemon::protocol::{Ask, Capture, Direction, View};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::kit::{BRIDGE, frame, pass, start, until};

/// Length, port, flags and comment of each packet of a file, and the missed packets according to
/// its end.
type Packets = Vec<(usize, u32, u32, String)>;

fn packets(file: &[u8]) -> Packets {
    let mut reader = PcapNgReader::new(file).expect("a pcapng file");
    let mut found = Vec::new();
    let mut has_end = false;
    while let Some(block) = reader.next_block() {
        match block.expect("whole blocks") {
            Block::EnhancedPacket(packet) => {
                let age = jiff::Timestamp::now().as_second() - packet.timestamp.as_secs() as i64;
                assert!((-60..600).contains(&age), "{age} seconds old");
                let (mut flags, mut comment) = (0, String::new());
                for option in &packet.options {
                    match option {
                        EnhancedPacketOption::Flags(value) => flags = *value,
                        EnhancedPacketOption::Comment(text) => comment = text.to_string(),
                        _ => {}
                    }
                }
                found.push((packet.data.len(), packet.interface_id, flags, comment));
            }
            Block::InterfaceStatistics(_) => has_end = true,
            _ => {}
        }
    }
    assert!(has_end, "the file is complete");
    found
}

#[test]
fn a_capture_holds_packets_with_direction_and_reason() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    let captured = thread::scope(|scope| {
        let socket = &run.socket;
        let capture = scope.spawn(move || {
            let mut file = Vec::new();
            let wanted = Capture { count: Some(5), ..Capture::default() };
            let client = Client::connect(socket).expect("it listens");
            client.capture(wanted, &mut file, &AtomicBool::new(false)).expect("a capture");
            file
        });
        until("the tap", || (run.show(View::Counters)["capture"]["runs"] == true).then_some(()));
        let second = run.ask(Ask::Capture(Capture::default()));
        assert!(
            second.expect_err("one at a time").to_string().contains("another capture is running")
        );
        pass(1, &mut sender, &mut receiver);
        assert!(sender.send(&frame(9, 0)));
        sender.publish();
        pass(1, &mut sender, &mut receiver);
        capture.join().expect("no panic")
    });
    let (into, out) = ((60, 0, 1, String::new()), (60, 1, 2, String::new()));
    let dropped = (60, 0, 1, "dropped: invalid-source".to_owned());
    let expected: Packets = vec![into.clone(), out, into.clone(), dropped, into];
    let mut found = packets(&captured);
    // A batch may hold several frames: what came in stands before what became of it.
    found.sort();
    let mut sorted = expected;
    sorted.sort();
    assert_eq!(found, sorted);
    until("the end", || (run.show(View::Counters)["capture"]["runs"] == false).then_some(()));
    pass(100, &mut sender, &mut receiver);
}

#[test]
fn a_reader_that_reads_nothing_holds_nobody_back() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    let mut silent = Client::connect(&run.socket).expect("it listens");
    silent.ask(Ask::Capture(Capture::default())).expect("it begins");
    for _ in 0..400 {
        pass(200, &mut sender, &mut receiver);
    }
    let shown = run.show(View::Counters);
    assert_eq!(shown["counters"]["forwarded"], 80_000);
    let (copied, missed) = (&shown["capture"]["copied"], &shown["capture"]["missed"]);
    assert_eq!(copied.as_u64().zip(missed.as_u64()).map(|(a, b)| a + b), Some(160_000));
    drop(silent);
    until("the end", || (run.show(View::Counters)["capture"]["runs"] == false).then_some(()));
}

#[test]
fn a_filter_chooses_and_a_wish_ends() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    let wanted = Capture {
        direction: Some(Direction::Out),
        port: Some("uplink".into()),
        snaplen: Some(20),
        ..Capture::default()
    };
    let stop = AtomicBool::new(false);
    let file = thread::scope(|scope| {
        let (socket, stop) = (&run.socket, &stop);
        let capture = scope.spawn(move || {
            let mut file = Vec::new();
            let client = Client::connect(socket).expect("it listens");
            client.capture(wanted, &mut file, stop).expect("a capture");
            file
        });
        until("the tap", || (run.show(View::Counters)["capture"]["runs"] == true).then_some(()));
        pass(30, &mut sender, &mut receiver);
        until("the copies", || (run.show(View::Counters)["capture"]["copied"] == 30).then_some(()));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        capture.join().expect("no panic")
    });
    let found = packets(&file);
    assert!(found.len() <= 30 && found.iter().all(|one| *one == (20, 1, 2, String::new())));
    let unknown = Capture { reason: Some("invalid-sorce".into()), ..Capture::default() };
    let refused = run.ask(Ask::Capture(unknown)).expect_err("no such reason");
    assert!(refused.remedy().contains("invalid-source"), "{}", refused.remedy());
    let of = || Capture { protocol: Some("bfd".into()), ..Capture::default() };
    for (wanted, why) in [
        (of(), "nobody here speaks"),
        (Capture { port: Some("uplink".into()), ..of() }, "has no port"),
        (Capture { direction: Some(Direction::In), ..of() }, "has no direction"),
        (Capture { reason: Some("invalid-source".into()), ..of() }, "has no reason"),
    ] {
        let refused = run.ask(Ask::Capture(wanted)).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
