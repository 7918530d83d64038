//! Master and slave in one process.

use engine::{PortKind, PortRequest};
use packet::PortId;
use port_memif::{Config, Memif, Role};

use crate::kit::{End, abstract_name, config, frame, frame_of, wait_for};

fn pair(queues: usize) -> (End, End) {
    let socket = abstract_name();
    let mut master = End::open(&config(Role::Master, &socket), queues);
    let mut slave = End::open(&config(Role::Slave, &socket), queues);
    master.wait_for_link(true);
    slave.wait_for_link(true);
    (master, slave)
}

#[test]
fn frames_cross_whole_once_and_in_order() {
    let (mut master, mut slave) = pair(1);
    for round in 0..50 {
        let frames: Vec<_> = (round * 64..round * 64 + 64).map(frame).collect();
        assert_eq!(master.send(0, &frames), 64);
        assert_eq!(slave.receive(0), frames);
        assert_eq!(slave.send(0, &frames), 64);
        assert_eq!(master.receive(0), frames);
    }
    let counts = master.monitor.counts();
    assert_eq!(counts, slave.monitor.counts());
    assert_eq!((counts.sent, counts.received), (3200, 3200));
    assert_eq!(counts.sent_bytes, counts.received_bytes);
    assert_eq!(counts.drops.iter().map(|(_, count)| count).sum::<u64>(), 0);
}

#[test]
fn a_full_ring_refuses_and_counts() {
    let (mut master, mut slave) = pair(1);
    for (from, to) in [(true, false), (false, true)] {
        let (from, to) = match (from, to) {
            (true, _) => (&mut master, &mut slave),
            _ => (&mut slave, &mut master),
        };
        let frames: Vec<_> = (0..100).map(frame).collect();
        assert_eq!(from.send(0, &frames), 64, "the ring has 64 places");
        assert_eq!(from.send(0, &frames[..1]), 0);
        assert_eq!(from.drops("ring-full"), 37);
        assert_eq!(to.receive(0), frames[..64]);
        assert_eq!(from.send(0, &frames[..1]), 1);
        assert_eq!(to.receive(0), frames[..1]);
    }
}

#[test]
fn long_frames_take_several_buffers() {
    let socket = abstract_name();
    let small = |role| Config { buffer_bytes: 64, ..config(role, &socket) };
    let mut master = End::open(&small(Role::Master), 1);
    let mut slave = End::with_room(&small(Role::Slave), 1, 4000);
    master.wait_for_link(true);
    slave.wait_for_link(true);
    let lengths = [14, 64, 65, 128, 129, 1000, 3999, 4000, 60];
    for round in 0..40 {
        for len in lengths {
            let frames = [frame_of(round, len)];
            assert_eq!(master.send(0, &frames), 1);
            assert_eq!(slave.receive(0), frames);
            assert_eq!(slave.send(0, &frames), 1);
            assert_eq!(master.receive(0), frames);
        }
    }
    // 64 places of 64 bytes carry no more than 4096 bytes, and the slave's batch takes 4000.
    assert_eq!(master.send(0, &[frame_of(0, 4097), frame_of(0, 4096), frame_of(0, 60)]), 1);
    assert_eq!((master.drops("too-long"), master.drops("ring-full")), (1, 1));
    assert_eq!(slave.receive(0), Vec::<Vec<u8>>::new());
    assert_eq!(slave.drops("too-long"), 1);
    assert_eq!(master.send(0, &[frame_of(0, 13), frame_of(0, 60)]), 2);
    assert_eq!(slave.receive(0), [frame_of(0, 60)]);
    assert_eq!(slave.drops("too-short"), 1);
}

#[test]
fn each_queue_has_its_own_rings() {
    let (mut master, mut slave) = pair(3);
    for queue in 0..3 {
        assert_eq!(master.send(queue, &[frame(queue)]), 1);
        assert_eq!(slave.send(queue, &[frame(10 + queue)]), 1);
    }
    for queue in 0..3 {
        assert_eq!(slave.receive(queue), [frame(queue)]);
        assert_eq!(master.receive(queue), [frame(10 + queue)]);
    }
}

#[test]
fn queues_that_the_peer_has_not_have_no_peer() {
    let socket = abstract_name();
    let mut master = End::open(&config(Role::Master, &socket), 1);
    let mut slave = End::open(&config(Role::Slave, &socket), 2);
    master.wait_for_link(true);
    slave.wait_for_link(true);
    assert_eq!(slave.send(0, &[frame(0)]), 1);
    assert_eq!(slave.send(1, &[frame(1)]), 0);
    assert_eq!(slave.drops("no-peer"), 1);
    assert_eq!(master.receive_all(0, 1), [frame(0)]);
}

#[test]
fn peers_die_and_return_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("memif.sock");
    let socket = socket.to_str().expect("UTF-8");
    let [as_master, as_slave] = [Role::Master, Role::Slave].map(|role| config(role, socket));
    let mut slave = End::open(&as_slave, 1);
    assert_eq!(slave.send(0, &[frame(0)]), 0);
    assert_eq!(slave.drops("no-peer"), 1);
    for _ in 0..5 {
        let mut master = End::open(&as_master, 1);
        exchange(&mut master, &mut slave);
        drop(master);
        slave.wait_for_link(false);
    }
    drop(slave);
    let mut master = End::open(&as_master, 1);
    for _ in 0..5 {
        let mut slave = End::open(&as_slave, 1);
        exchange(&mut slave, &mut master);
        drop(slave);
        master.wait_for_link(false);
    }
    assert_eq!(master.fact("connections"), "5");
    assert_eq!(master.fact("disconnects"), "peer-disconnected 5");
    drop(master);
    assert!(!std::path::Path::new(socket).exists(), "the file goes with the port");
}

fn exchange(one: &mut End, two: &mut End) {
    one.wait_for_link(true);
    two.wait_for_link(true);
    let frames: Vec<_> = (0..64).map(frame).collect();
    for _ in 0..3 {
        assert_eq!(one.send(0, &frames), 64);
        assert_eq!(two.receive_all(0, 64), frames);
        assert_eq!(two.send(0, &frames), 64);
        assert_eq!(one.receive_all(0, 64), frames);
    }
}

#[test]
fn frames_that_a_dead_peer_left_are_counted() {
    let (mut master, mut slave) = pair(1);
    assert_eq!(master.send(0, &[frame(0), frame(1)]), 2);
    drop(master);
    wait_for("the end", || slave.monitor.link() != engine::Link::Up);
    wait_for("a count", || slave.receive(0).is_empty() && slave.drops("peer-gone") == 2);
}

#[test]
fn memory_is_unmapped_when_both_sides_let_go() {
    // Tests run side by side in this process, so the count alone says nothing: ours must come down.
    let (mut master, mut slave) = pair(1);
    let socket = slave.fact("socket");
    drop(slave);
    master.wait_for_link(false);
    slave = End::open(&config(Role::Slave, &socket), 1);
    exchange(&mut slave, &mut master);
    drop((slave, master));
    let alone = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "itself::mappings_come_and_go", "--test-threads", "1"])
        .env("MEMIF_COUNT_MAPPINGS", "1")
        .output()
        .expect("it starts");
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stdout));
}

/// Test that runs in a process of its own, started by the test above, in which every mapping is
/// this test's.
#[test]
fn mappings_come_and_go() {
    if std::env::var_os("MEMIF_COUNT_MAPPINGS").is_none() {
        return;
    }
    let mappings = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        maps.lines().filter(|line| line.contains("memfd:memif")).count()
    };
    let (mut master, slave) = pair(2);
    assert_eq!(mappings(), 2, "one of each side");
    drop(slave);
    master.wait_for_link(false);
    // A queue lets go of a lost connection when it is used next.
    wait_for("both sides to let go", || {
        (0..2).for_each(|queue| drop(master.receive(queue)));
        mappings() == 0
    });
}

#[test]
fn a_socket_in_use_is_told_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("taken.sock");
    let taken = config(Role::Master, path.to_str().expect("UTF-8"));
    let _first = End::open(&taken, 1);
    let request = PortRequest {
        name: "west".to_owned(),
        id: PortId(0),
        queues: 1,
        frame_bytes_max: 1514,
        ticks_per_second: 1e9,
    };
    let error = Memif::open(&taken, &request).err().expect("it is taken");
    assert!(error.what.contains("west") && error.what.contains("taken.sock"), "{error}");
    assert!(error.remedy.contains("separate socket"), "{}", error.remedy);
    let lost = config(Role::Master, folder.path().join("no/such").to_str().expect("UTF-8"));
    let error = Memif::open(&lost, &request).err().expect("there is no such folder");
    assert!(error.remedy.contains("folder"), "{}", error.remedy);
}

#[test]
fn secrets_and_ids_must_agree() {
    let socket = abstract_name();
    let secret = |role, text: &str| Config { secret: Some(text.into()), ..config(role, &socket) };
    let mut master = End::open(&secret(Role::Master, "right"), 1);
    let wrong = End::open(&secret(Role::Slave, "wrong"), 1);
    wait_for("a refusal", || master.fact("disconnects").contains("secret"));
    wait_for("its reason", || wrong.fact("disconnects").contains("peer-disconnected"));
    drop(wrong);
    let other = End::open(&Config { id: 8, ..secret(Role::Slave, "right") }, 1);
    wait_for("a refusal", || master.fact("disconnects").contains("id "));
    drop(other);
    let mut right = End::open(&secret(Role::Slave, "right"), 1);
    exchange(&mut right, &mut master);
    let late = End::open(&secret(Role::Slave, "right"), 1);
    wait_for("a refusal", || master.fact("disconnects").contains("busy"));
    drop(late);
    exchange(&mut right, &mut master);
}
