//! The least of a BGP speaker (RFC 4271, RFC 4760): it lets one router connect, and announces and
//! withdraws routes at a pace of its own. What the router says is not read but for its end.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::thread;

use netns::Namespace;

/// A connection with a router.
pub struct Speaker {
    stream: TcpStream,
}

/// A prefix of either version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    pub address: IpAddr,
    pub len: u8,
}

impl Speaker {
    /// Waits for a router to connect to a port in a namespace, as this autonomous system.
    pub fn accept(namespace: &Namespace, address: Ipv4Addr, number: u16) -> Speaker {
        let listener = namespace.run(|| TcpListener::bind((address, PORT)));
        let listener = listener.expect("the namespace").expect("its address is there");
        let (stream, _) = listener.accept().expect("a router connects");
        stream.set_nodelay(true).expect("a socket");
        let mut speaker = Speaker { stream };
        let [high, low] = number.to_be_bytes();
        let capability = |family: u8| [2, 6, 1, 4, 0, family, 0, 1];
        let capabilities = [capability(1), capability(2)].concat();
        let head = [4, high, low, 0, 0];
        let count = [capabilities.len() as u8];
        let open = [&head[..], &address.octets(), &count, &capabilities].concat();
        speaker.send(OPEN, &open);
        speaker.send(KEEPALIVE, &[]);
        let mut reading = speaker.stream.try_clone().expect("a socket");
        thread::spawn(move || io::copy(&mut reading, &mut io::sink()));
        speaker
    }

    /// Announces routes by one next hop of their version.
    pub fn announce(&mut self, prefixes: &[Prefix], next_hops: (Ipv4Addr, Ipv6Addr), number: u16) {
        let [high, low] = number.to_be_bytes();
        let path = [&[0x40, 1, 1, 0][..], &[0x40, 2, 4, 2, 1, high, low]].concat();
        for chunk in prefixes.chunks(AT_ONCE) {
            let (ipv4, ipv6): (Vec<Prefix>, Vec<Prefix>) =
                chunk.iter().partition(|prefix| prefix.address.is_ipv4());
            if !ipv4.is_empty() {
                let attributes = [&path[..], &[0x40, 3, 4], &next_hops.0.octets()].concat();
                self.update(&[], &attributes, &written(&ipv4));
            }
            if !ipv6.is_empty() {
                let head = [&[0, 2, 1, 16][..], &next_hops.1.octets(), &[0]].concat();
                let reach = attribute(14, &[head, written(&ipv6)].concat());
                self.update(&[], &[path.clone(), reach].concat(), &[]);
            }
        }
    }

    /// Withdraws routes.
    pub fn withdraw(&mut self, prefixes: &[Prefix]) {
        for chunk in prefixes.chunks(AT_ONCE) {
            let (ipv4, ipv6): (Vec<Prefix>, Vec<Prefix>) =
                chunk.iter().partition(|prefix| prefix.address.is_ipv4());
            if !ipv4.is_empty() {
                self.update(&written(&ipv4), &[], &[]);
            }
            if !ipv6.is_empty() {
                let gone = [&[0, 2, 1][..], &written(&ipv6)].concat();
                self.update(&[], &attribute(15, &gone), &[]);
            }
        }
    }

    fn update(&mut self, withdrawn: &[u8], attributes: &[u8], announced: &[u8]) {
        let len = |part: &[u8]| (part.len() as u16).to_be_bytes();
        let parts = [&len(withdrawn)[..], withdrawn, &len(attributes), attributes, announced];
        self.send(UPDATE, &parts.concat());
    }

    fn send(&mut self, kind: u8, body: &[u8]) {
        let len = (19 + body.len() as u16).to_be_bytes();
        let message = [&[0xff; 16][..], &len, &[kind], body].concat();
        self.stream.write_all(&message).expect("the router reads");
    }
}

/// Prefixes as they stand in a message.
fn written(prefixes: &[Prefix]) -> Vec<u8> {
    let write = |prefix: &Prefix| {
        let bytes = usize::from(prefix.len).div_ceil(8);
        let octets = match prefix.address {
            IpAddr::V4(address) => address.octets()[..bytes].to_vec(),
            IpAddr::V6(address) => address.octets()[..bytes].to_vec(),
        };
        [vec![prefix.len], octets].concat()
    };
    prefixes.iter().flat_map(write).collect()
}

/// An optional attribute of up to 64 KiB.
fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[0x90, kind][..], &(value.len() as u16).to_be_bytes(), value].concat()
}

const PORT: u16 = 179;

const OPEN: u8 = 1;
const UPDATE: u8 = 2;
const KEEPALIVE: u8 = 4;

/// Prefixes in a message of at most 4096 bytes.
const AT_ONCE: usize = 200;
