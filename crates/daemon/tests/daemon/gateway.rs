//! A mobile gateway on two workers: users from the file, by `set` and out of the state file, and
//! the frames of each at the worker that has the user, whatever queue they come in by.

use std::sync::Arc;

use daemon::protocol::{Ask, View};
use serde_json::json;

use crate::kit::{Far, Run, start, try_start, until};

const GATEWAY: &str = "\
function:
  name: mobile-gateway
  core: 2
  secret: 7
  gw-ip: 192.0.2.1
  gw-mac: '02:00:00:00:00:01'
  rate-limit: 1 Gbit/s
  base-stations: [{address: 10.1.0.1, mac: '02:00:00:00:01:01'}]
  next-hops: [{address: 198.51.100.1, mac: '02:00:00:00:02:01'}]
  routes: [{prefix: 0.0.0.0/0, next-hop: 198.51.100.1}]
  users: [@users]
ports:
  access: {type: wired, interface: @down}
  core: {type: wired, interface: @up}
workers: {idle: sleep, cores: [@cores]}
control: {socket: @/control.sock}
state: @/state.json
";

const USERS: u8 = 20;

/// Returns the configuration of a gateway with two workers on one core that this process may use.
fn text() -> String {
    let user =
        |number| format!("{{ipv4: 10.0.0.{number}, teid: {number}, base-station: 10.1.0.1}}");
    let users: Vec<String> = (1..=USERS).map(user).collect();
    let core = machine::cpu::available_cores().first().copied().unwrap_or(0);
    GATEWAY.replace("@users", &users.join(", ")).replace("@cores", &format!("{core}, {core}"))
}

/// Returns the remote ends of both queues of a port.
fn ends(run: &Run, name: &str) -> [Far; 2] {
    [run.far(name), run.far(&format!("{name}#1"))]
}

fn header(source: [u8; 4], destination: [u8; 4], len: u16) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    header.extend(source);
    header.extend(destination);
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Returns a packet between a user and a server, without a checksum.
fn packet(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    [&header(source, destination, 60)[..], &[0x9c, 0x40, 0, 9, 0, 40, 0, 0], &[7; 32]].concat()
}

fn ethernet(content: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 8, 0], content].concat()
}

/// Returns a user's packet to a server in its tunnel.
fn uplink(user: u8) -> Vec<u8> {
    let inner = packet([10, 0, 0, user], SERVER);
    let outer = header([10, 1, 0, 1], [192, 0, 2, 1], 36 + 60);
    let rest = [0x08, 0x68, 0x08, 0x68, 0, 76, 0, 0, 0x30, 0xff, 0, 60, 0, 0, 0, user];
    ethernet(&[&outer[..], &rest, &inner].concat())
}

fn downlink(user: u8) -> Vec<u8> {
    ethernet(&packet(SERVER, [10, 0, 0, user]))
}

/// Sends a frame into the queue of this number, and returns the frame that left by any queue of the
/// other port, with the number of the queue.
fn exchange(
    from: &mut [Far; 2],
    queue: usize,
    to: &mut [Far; 2],
    frame: &[u8],
) -> (usize, Vec<u8>) {
    assert!(from[queue].0.send(frame), "the ring has room");
    from[queue].0.publish();
    until("the frame", || {
        (0..2).find_map(|queue| {
            let got = to[queue].1.next_frame().map(<[u8]>::to_vec)?;
            to[queue].1.release();
            Some((queue, got))
        })
    })
}

/// Checks both directions of a user; returns the worker's number.
fn passes(access: &mut [Far; 2], core: &mut [Far; 2], user: u8) -> usize {
    let mut by = Vec::new();
    for queue in 0..2 {
        let (up, plain) = exchange(access, queue, core, &uplink(user));
        assert_eq!((plain.len(), &plain[26..30]), (74, &[10, 0, 0, user][..]), "user {user}");
        let (down, tunnelled) = exchange(core, queue, access, &downlink(user));
        assert_eq!(tunnelled.len(), 74 + 36, "user {user}");
        assert_eq!(tunnelled[46..50], [0, 0, 0, user], "user {user}");
        by.extend([up, down]);
    }
    assert!(by.iter().all(|&queue| queue == by[0]), "user {user} by workers {by:?}");
    by[0]
}

#[test]
fn each_user_is_on_one_of_two_workers_whatever_queue_its_frames_come_in_by() {
    let run = start(&text());
    let (mut access, mut core) = (ends(&run, "down"), ends(&run, "up"));
    let by: Vec<usize> = (1..=USERS).map(|user| passes(&mut access, &mut core, user)).collect();
    assert!(by.contains(&0) && by.contains(&1), "all users are on one worker: {by:?}");

    let guest = json!({"add-user": {
        "ipv4": "10.0.0.99", "teid": 99, "base-station": "10.1.0.1",
    }});
    run.ask(Ask::Set(guest.clone())).expect("a new user");
    run.ask(Ask::Set(guest)).expect_err("it is there");
    passes(&mut access, &mut core, 99);
    run.ask(Ask::Set(json!({"remove-user": {"ipv4": "10.0.0.1"}}))).expect("it was there");
    let used = run.show(View::Tables)["tables"]["users"]["used"].clone();
    assert_eq!(used, json!(USERS), "one came, one went");
    run.ask(Ask::Set(json!({"add-base-station": {
        "address": "10.1.0.2", "mac": "02:00:00:00:01:02",
    }})))
    .expect("a new base station");
    let moves = json!({"handover": {"ipv4": "10.0.0.99", "base-station": "10.1.0.2"}});
    run.ask(Ask::Set(moves)).expect("both are there");
    let (_, tunnelled) = exchange(&mut core, 0, &mut access, &downlink(99));
    assert_eq!(tunnelled[30..34], [10, 1, 0, 2], "at the new base station");

    let folder = Arc::clone(&run.folder);
    run.stop().expect("it ends well");
    let run = try_start(&text(), true, folder).expect("it starts again");
    let (mut access, mut core) = (ends(&run, "down"), ends(&run, "up"));
    passes(&mut access, &mut core, 99);
    assert_eq!(run.show(View::Tables)["tables"]["users"]["used"], json!(USERS));
    run.stop().expect("it ends well");
}

#[test]
fn each_worker_finds_a_next_hop_whichever_queue_its_answer_comes_in_by() {
    let run = start(&text().replace(", mac: '02:00:00:00:02:01'", ""));
    let (mut access, mut core) = (ends(&run, "down"), ends(&run, "up"));
    for user in 1..=ASKING {
        assert!(access[0].0.send(&uplink(user)), "the ring has room");
    }
    access[0].0.publish();
    // Each worker asks by its own queue.
    for end in &mut core {
        let question = until("a question", || next(end));
        assert_eq!(question[..6], [0xff; 6]);
        assert_eq!(question[38..42], [198, 51, 100, 1]);
    }
    let hop = [&[2, 0, 0, 0, 2, 1][..], &[198, 51, 100, 1]].concat();
    let own = [&[2, 0, 0, 0, 0, 1][..], &[192, 0, 2, 1]].concat();
    let head = [8, 6, 0, 1, 8, 0, 6, 4, 0, 2];
    let answer = [&own[..6], &hop[..6], &head, &hop, &own].concat();
    assert!(core[0].0.send(&answer), "the ring has room");
    core[0].0.publish();
    let mut by = [0; 2];
    for _ in 1..=ASKING {
        let (queue, frame) = until("a packet that waited", || {
            (0..2).find_map(|queue| Some((queue, next(&mut core[queue])?)))
        });
        assert_eq!((&frame[..6], frame.len()), (&hop[..6], 74), "{frame:02x?}");
        by[queue] += 1;
    }
    assert!(by.iter().all(|&count| count > 0), "all users are on one worker: {by:?}");
    run.stop().expect("it ends well");
}

/// Returns the next frame that left by a queue.
fn next((_, receiver): &mut Far) -> Option<Vec<u8>> {
    let frame = receiver.next_frame().map(<[u8]>::to_vec);
    receiver.release();
    frame
}

/// Users whose packets have room to wait, whichever worker has them.
const ASKING: u8 = 8;
const SERVER: [u8; 4] = [203, 0, 113, 5];
