//! The port against the kernel's own stack: what it leaves to network cards is done, and it reads
//! what the port sends.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use engine::{Link, Opened, PortKind};
use netns::{Namespace, is_installed, may_make_namespaces};
use packet::{Batch, LONG_BYTES_MAX, Long, PortId, Room};
use port_af_packet::{AfPacket, AfPacketConfig, Ring};
use port_conformance::request;

/// The port on `near0`, and the kernel's stack with an address on `far0`.
struct Pair {
    near: Namespace,
    far: Namespace,
    opened: Opened,
    batch: Batch,
}

fn pair(ring: Ring) -> Option<Pair> {
    if !may_make_namespaces() {
        eprintln!("skipped: no right to make network namespaces; run as root");
        return None;
    }
    let make = || Namespace::new().expect("the right is there");
    let (near, far) = (make(), make());
    for space in [&near, &far] {
        space.sysctl("net/ipv6/conf/default/disable_ipv6", "1").expect("its own");
    }
    near.veth("near0", &far, "far0").expect("the kernel has veth");
    far.ip("addr add 192.0.2.2/24 dev far0").expect("an address");
    far.ip("neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev far0").expect("a neighbour");
    let config = AfPacketConfig { ring, ..AfPacketConfig::new("near0") };
    let opened = near.run(|| AfPacket::open(&config, &request(1, 2000)));
    let opened = opened.expect("runs").expect("it opens");
    wait_for_link(&opened);
    let batch = Batch::new(256, Room { headroom: 0, frame: 2000, long: 0 }).expect("memory");
    Some(Pair { near, far, opened, batch })
}

fn wait_for_link(opened: &Opened) {
    let start = Instant::now();
    while opened.monitor.link() != Link::Up {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", opened.monitor.link());
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

impl Pair {
    /// Returns the next frame for which the condition holds, within ten seconds.
    fn receive(&mut self, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            self.batch.clear();
            self.opened.queues[0].receive(&mut self.batch, 1, 0);
            if let Some(slot) = self.batch.slots().next()
                && wanted(self.batch.frame(slot))
            {
                return self.batch.frame(slot).to_vec();
            }
        }
        panic!("it did not come: {:?}", self.opened.monitor.counts());
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.batch.clear();
        self.batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        assert_eq!(self.opened.queues[0].transmit(&mut self.batch, &[0], 0), 1);
    }
}

/// Returns the folded ones' complement sum of a UDP datagram and its pseudo header: all ones if the
/// checksum is correct.
fn udp_sum(frame: &[u8]) -> u16 {
    let datagram = &frame[34..14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]))];
    let mut bytes = frame[26..34].to_vec();
    bytes.extend([0, 17]);
    bytes.extend((datagram.len() as u16).to_be_bytes());
    bytes.extend(datagram);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let words = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn is_udp(frame: &[u8]) -> bool {
    frame.len() > 42 && frame[12..14] == [0x08, 0x00] && frame[23] == 17
}

#[test]
fn checksums_that_the_kernel_puts_off_are_completed() {
    for ring in [Ring::Blocks, Ring::Frames] {
        let Some(mut pair) = pair(ring) else { return };
        let socket = pair.far.run(|| UdpSocket::bind("192.0.2.2:7")).expect("runs").expect("bound");
        for len in 1..64 {
            let data: Vec<u8> = (0..len).map(|byte: u8| byte.wrapping_mul(37)).collect();
            socket.send_to(&data, "192.0.2.1:9").expect("there is a neighbour");
            let frame = pair.receive(is_udp);
            assert_eq!(frame[42..42 + data.len()], data);
            assert_eq!(udp_sum(&frame), 0xffff, "{len} bytes over {ring:?}");
        }
    }
}

#[test]
fn long_segments_come_in_whole_or_in_pieces_and_leave_as_they_came() {
    for ring in [Ring::Blocks, Ring::Frames] {
        let Some(pair) = pair(ring) else { return };
        carry_long_segments(pair);
    }
}

fn carry_long_segments(mut pair: Pair) {
    let socket = pair.far.run(|| UdpSocket::bind("192.0.2.2:7")).expect("runs").expect("bound");
    set_option(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, 1000);
    let data: Vec<u8> = (0..5100_u32).map(|at| (at * at) as u8).collect();
    let send = || socket.send_to(&data, "192.0.2.1:9").expect("there is a neighbour");
    send();
    for piece in data.chunks(1000) {
        let frame = pair.receive(is_udp);
        assert_eq!((&frame[42..], udp_sum(&frame)), (piece, 0xffff));
    }
    // Routers must not fragment them, or they come in pieces all the same.
    set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
    pair.batch = Batch::new(4, Room { long: LONG_BYTES_MAX, ..Room::default() }).expect("memory");
    send();
    assert_eq!(pair.receive(is_udp).len(), 42 + data.len(), "all at once");
    assert_eq!(pair.batch.long(0), Long::new(5100, 1000));
    // Back to its sender, whose checksum nobody has computed.
    let frame = pair.batch.frame_mut(0);
    let macs: Vec<u8> = [&frame[6..12], &frame[..6]].concat();
    frame[..12].copy_from_slice(&macs);
    let (source, destination): ([u8; 6], [u8; 6]) =
        (array(&frame[26..30], &frame[34..36]), array(&frame[30..34], &frame[36..38]));
    frame[26..30].copy_from_slice(&destination[..4]);
    frame[34..36].copy_from_slice(&destination[4..]);
    frame[30..34].copy_from_slice(&source[..4]);
    frame[36..38].copy_from_slice(&source[4..]);
    assert_eq!(pair.opened.queues[0].transmit(&mut pair.batch, &[0], 0), 1);
    let mut back = [0; 2000];
    for piece in data.chunks(1000) {
        let len = socket.recv(&mut back).expect("it has come");
        assert_eq!(&back[..len], piece);
    }
    assert_eq!(pair.opened.monitor.counts().drops.iter().map(|(_, count)| count).sum::<u64>(), 0);
}

fn set_option(socket: &UdpSocket, level: libc::c_int, option: libc::c_int, value: libc::c_int) {
    let (start, len) = (std::ptr::from_ref(&value).cast(), size_of_val(&value) as u32);
    // SAFETY: the option takes a whole number of this length.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, start, len) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// An address and a port.
fn array(address: &[u8], port: &[u8]) -> [u8; 6] {
    [address, port].concat().try_into().expect("six bytes")
}

#[test]
fn tags_arrive_as_they_were_sent() {
    for ring in [Ring::Blocks, Ring::Frames] {
        let Some(mut pair) = pair(ring) else { return };
        let config = AfPacketConfig::new("far0");
        let far = pair.far.run(|| AfPacket::open(&config, &request(1, 2000)));
        let mut far = far.expect("runs").expect("opens");
        wait_for_link(&far);
        let tags: [&[u8]; 3] = [
            &[0x81, 0, 0x20, 5],
            &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7],
            &[0x81, 0, 0, 1, 0x81, 0, 0, 2],
        ];
        for tags in tags {
            let frame = [&[0x02; 12], tags, &[0x08, 0x00], &[0x45; 1400]].concat();
            pair.batch.clear();
            let room = pair.batch.append(PortId(0), frame.len());
            room.expect("room").copy_from_slice(&frame);
            assert_eq!(far.queues[0].transmit(&mut pair.batch, &[0], 0), 1);
            assert_eq!(pair.receive(|_| true), frame);
            // And the other way: what the kernel shows there is the same frame.
            pair.transmit(&frame);
            let start = Instant::now();
            pair.batch.clear();
            while far.queues[0].receive(&mut pair.batch, 1, 0) == 0 {
                assert!(start.elapsed() < Duration::from_secs(10), "it did not come");
            }
            assert_eq!(pair.batch.frame(0), frame);
        }
    }
}

#[test]
fn the_kernel_pings_through_the_port() {
    let Some(mut pair) = pair(Ring::Frames) else { return };
    if !is_installed("busybox") {
        eprintln!("skipped: busybox is not installed");
        return;
    }
    let mut ping = Command::new("busybox");
    ping.args(["ping", "-c", "3", "-W", "10", "192.0.2.1"]);
    let mut child = pair.far.spawn(ping).expect("it starts");
    for _ in 0..3 {
        let mut frame = pair.receive(|frame| frame[12..14] == [8, 0] && frame[23] == 1);
        // RFC 792: an echo reply is the request with other type, and the checksum follows (RFC
        // 1624).
        let (left, right) = frame.split_at_mut(6);
        left.swap_with_slice(&mut right[..6]);
        let (left, right) = frame[26..34].split_at_mut(4);
        left.swap_with_slice(right);
        assert_eq!(frame[34], 8, "an echo request");
        frame[34] = 0;
        let sum = u32::from(u16::from_be_bytes([frame[36], frame[37]])) + 0x0800;
        let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
        frame[36..38].copy_from_slice(&sum.to_be_bytes());
        pair.transmit(&frame);
    }
    let start = Instant::now();
    let ended = loop {
        assert!(start.elapsed() < Duration::from_secs(20), "ping does not end");
        if let Some(ended) = child.ended() {
            break ended;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    };
    assert!(ended.success(), "all three came back");
}

#[test]
fn tcpdump_reads_what_the_port_sends() {
    let Some(mut pair) = pair(Ring::Blocks) else { return };
    if !is_installed("tcpdump") {
        eprintln!("skipped: tcpdump is not installed");
        return;
    }
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-i", "far0", "-n", "-e", "-l", "-c", "2", "udp"]);
    let mut child = pair.far.spawn(tcpdump).expect("it starts");
    let (stdout, stderr) = child.output();
    let mut said = BufReader::new(stderr.expect("once")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("listening on far0")), "it listens");
    for number in [1, 2] {
        let found = port_conformance::Found { flow: 0, number };
        pair.transmit(&port_conformance::build(found, 60 + number as usize));
    }
    let lines: Vec<String> =
        BufReader::new(stdout.expect("once")).lines().map_while(Result::ok).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, len) in lines.iter().zip([61, 62]) {
        let expected =
            format!("ethertype IPv4 (0x0800), length {len}: 198.18.0.1.1024 > 198.19.0.1.9");
        assert!(line.contains(&expected) && line.contains("UDP"), "{line}");
    }
}

#[test]
fn errors_name_the_interface_and_the_nearest() {
    let Some(pair) = pair(Ring::Blocks) else { return };
    let open = |name: &str, queues| {
        let config = AfPacketConfig::new(name);
        let opened = pair.near.run(|| AfPacket::open(&config, &request(queues, 2000)));
        opened.expect("runs").map(drop).expect_err("it cannot be opened")
    };
    let error = open("naer0", 1);
    assert_eq!(error.what, "interface naer0 does not exist");
    assert!(error.remedy.starts_with("did you mean near0?"), "{}", error.remedy);
    pair.near.ip("tuntap add dev tun0 mode tun").expect("the kernel has tun");
    let error = open("tun0", 1);
    assert_eq!(error.what, "interface tun0 is not an Ethernet interface");
}

#[test]
fn fanout_spreads_flows_and_keeps_each_on_its_queue() {
    let Some(mut pair) = pair(Ring::Frames) else { return };
    let config = AfPacketConfig::new("near0");
    let many = pair.near.run(|| AfPacket::open(&config, &request(3, 2000)));
    let mut many = many.expect("runs").expect("opens");
    let socket = pair.far.run(|| UdpSocket::bind("192.0.2.2:7")).expect("runs").expect("bound");
    for port in 1000..1064 {
        for _ in 0..2 {
            socket.send_to(&[1; 32], ("192.0.2.1", port)).expect("there is a neighbour");
        }
    }
    let mut queue_of = std::collections::HashMap::new();
    let (mut count, start) = (0, Instant::now());
    while count < 128 {
        assert!(start.elapsed() < Duration::from_secs(10), "{count} came");
        for (index, queue) in many.queues.iter_mut().enumerate() {
            pair.batch.clear();
            queue.receive(&mut pair.batch, 256, 0);
            for slot in pair.batch.slots().filter(|slot| is_udp(pair.batch.frame(*slot))) {
                let frame = pair.batch.frame(slot);
                let port = [frame[36], frame[37]];
                assert_eq!(*queue_of.entry(port).or_insert(index), index, "a flow has one queue");
                count += 1;
            }
        }
    }
    let used: std::collections::HashSet<_> = queue_of.values().collect();
    assert!(used.len() > 1 && queue_of.len() == 64, "{queue_of:?}");
}

#[test]
fn what_waits_when_the_port_is_closed_is_counted() {
    for (ring, queues) in [(Ring::Blocks, 1), (Ring::Frames, 1), (Ring::Frames, 2)] {
        let Some(pair) = pair(ring) else { return };
        let config = AfPacketConfig { ring, ..AfPacketConfig::new("near0") };
        let second = pair.near.run(|| AfPacket::open(&config, &request(queues, 2000)));
        let second = second.expect("runs").expect("opens");
        let socket = pair.far.run(|| UdpSocket::bind("192.0.2.2:7")).expect("runs").expect("bound");
        for port in 0..100 {
            socket.send_to(&[1; 32], ("192.0.2.1", 9 + port)).expect("there is a neighbour");
        }
        // Sent over veth is received: the kernel has handed them over by now, or to its backlog.
        let mut first = pair;
        for _ in 0..100 {
            first.receive(is_udp);
        }
        drop(second.queues);
        let counts = second.monitor.counts();
        let closed = counts.drops.iter().find(|(kind, _)| kind.why == "port-closed");
        assert_eq!(closed.map(|(_, count)| *count), Some(100), "{ring:?}: {counts:?}");
        assert_eq!(counts.received, 0);
    }
}
