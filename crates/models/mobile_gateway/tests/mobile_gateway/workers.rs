//! What one worker hands over to another because that one has the user, each beside its oracle.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_kit::Shard;
use function_mobile_gateway::gateway::{ACCESS, towards_worker};
use model_kit::build::{datagram, frame, mend, packet};
use model_kit::check::Expected;
use model_mobile_gateway::catalogue::{self, User};
use model_mobile_gateway::{MobileGateway, Section};
use packet::PortId;
use testkit::pair::Pair;
use units::BytesPerSec;
use wire::bytes::put_u16;
use wire::gtpu::{self, GTPU_PORT};
use wire::{ethernet, protocol};

use crate::frames::kinds;

/// Workers of one gateway, each with the users that are its own.
struct Team {
    config: Section,
    pairs: Vec<Pair<MobileGateway>>,
}

/// What leaves by a port of the gateway.
type Left = Vec<(PortId, Vec<u8>)>;

impl Team {
    fn new() -> Team {
        let config = Section { rate_limit: BytesPerSec(1e9), ..kinds()[0].clone() };
        let pair = |index| Pair::<MobileGateway>::new(&config, Shard { index, count: COUNT });
        let mut pairs: Vec<_> = (0..COUNT).map(pair).collect();
        pairs.iter_mut().for_each(|pair| pair.wait(Duration::from_secs(1)).expect("they agree"));
        Team { config, pairs }
    }

    /// A user of each worker.
    fn users(&mut self) -> Vec<User> {
        let mut users = Vec::new();
        for worker in 0..COUNT as usize {
            let has = |number: &u32| {
                let user = catalogue::user(*number, self.config.bst);
                let to = packet(SERVER, user.ipv4, protocol::UDP, &datagram((9, 9), b"whose?"));
                let whole = frame(self.config.gw_mac, STATION, ethernet::TYPE_IPV4, &to);
                let became = self.pairs[worker].frame(PortId(1), &whole).expect("they agree");
                matches!(became, Expected::Forward { .. })
            };
            let number = (0..self.config.user).find(has).expect("each has some of twenty");
            users.push(catalogue::user(number, self.config.bst));
        }
        users
    }

    /// Gives a frame to a worker and what it hands over to the others; what leaves, and why the
    /// frame was dropped at last, if it was.
    fn frame(&mut self, worker: usize, port: PortId, frame: &[u8]) -> (Left, Option<&'static str>) {
        let (mut left, mut dropped) = (Vec::new(), None);
        let mut under_way = vec![(worker, port, frame.to_vec())];
        while let Some((worker, port, frame)) = under_way.pop() {
            let became = self.pairs[worker].frame(port, &frame).expect("they agree");
            for one in [&became].into_iter().chain(&self.pairs[worker].made.clone()) {
                let Expected::Forward { port, frame } = one else { continue };
                match port.0.checked_sub(towards_worker(0).0) {
                    None => left.push((*port, frame.clone())),
                    Some(other) => {
                        let from = towards_worker(worker as u32);
                        under_way.push((usize::from(other), from, frame.clone()));
                    }
                }
            }
            if let Expected::Drop(reason) = became {
                dropped = Some(reason);
            }
        }
        (left, dropped)
    }

    /// A packet of a user to an address, in a tunnel.
    fn tunnelled(&self, teid: u32, from: Ipv4Addr, to: Ipv4Addr, len: usize) -> Vec<u8> {
        let inner = packet(from, to, protocol::UDP, &datagram((40_000, 9), &vec![1; len]));
        let mut header = [0; gtpu::HEADER_LEN];
        let (message_type, length) = (gtpu::MESSAGE_G_PDU, inner.len() as u16);
        gtpu::Fields { message_type, length, teid }.emit(&mut header);
        let message = datagram((GTPU_PORT, GTPU_PORT), &[&header[..], &inner].concat());
        let station = catalogue::base_station_ipv4(0);
        let outer = packet(station, self.config.gw_ip, protocol::UDP, &message);
        frame(self.config.gw_mac, STATION, ethernet::TYPE_IPV4, &outer)
    }
}

#[test]
fn users_of_all_workers_reach_each_other() {
    let mut team = Team::new();
    let users = team.users();
    for (worker, from) in users.iter().enumerate() {
        for to in &users {
            let frame = team.tunnelled(from.teid, from.ipv4, to.ipv4, 40);
            let (left, dropped) = team.frame(worker, ACCESS, &frame);
            assert_eq!((left.len(), dropped), (1, None), "from {worker}");
            let (port, frame) = &left[0];
            assert_eq!((*port, &frame[46..50]), (ACCESS, &to.teid.to_be_bytes()[..]));
            assert_eq!(frame[58], 63, "one hop, whoever has the user");
        }
        // Nobody has this address, and the sender is told, whichever worker looks for it.
        for last in 1..20 {
            let nobody = Ipv4Addr::new(3, 200, 200, last);
            let frame = team.tunnelled(from.teid, from.ipv4, nobody, 40);
            let (left, dropped) = team.frame(worker, ACCESS, &frame);
            assert_eq!((left.len(), dropped), (1, Some("unknown-user")));
            let (port, frame) = &left[0];
            assert_eq!((*port, &frame[46..50]), (ACCESS, &from.teid.to_be_bytes()[..]));
            assert_eq!(frame[70..72], [3, 1], "host unreachable");
        }
    }
}

#[test]
fn only_an_identifier_that_no_worker_knows_is_reported() {
    let mut team = Team::new();
    let users = team.users();
    for worker in 0..COUNT as usize {
        let unknown = team.tunnelled(0x7777, users[worker].ipv4, SERVER, 40);
        let (left, dropped) = team.frame(worker, ACCESS, &unknown);
        assert_eq!((left.len(), dropped), (1, Some("unknown-teid")));
        let (port, report) = &left[0];
        assert_eq!((*port, &report[..6]), (ACCESS, &STATION.0[..]));
        assert_eq!(report[42..44], [0x32, gtpu::MESSAGE_ERROR_INDICATION]);
        assert_eq!(report[55..59], 0x7777u32.to_be_bytes());
        // A bearer of another worker, whose user sends under the address of a user here.
        let other = &users[(worker + 1) % COUNT as usize];
        let spoofed = team.tunnelled(other.teid, users[worker].ipv4, SERVER, 40);
        assert_eq!(team.frame(worker, ACCESS, &spoofed), (vec![], Some("spoofed-source")));
    }
}

#[test]
fn a_packet_that_one_worker_puts_together_leaves_by_that_of_its_user() {
    let mut team = Team::new();
    let users = team.users();
    for worker in 0..COUNT as usize {
        for (id, user) in users.iter().enumerate() {
            let whole = team.tunnelled(user.teid, user.ipv4, SERVER, 400);
            let mut pieces = [(0, 200), (200, whole.len() - HEAD)].map(|(from, to)| {
                let mut piece = [&whole[..HEAD], &whole[HEAD + from..HEAD + to]].concat();
                let more = if to == 200 { 0x2000 } else { 0 };
                let len = (piece.len() - ethernet::HEADER_LEN) as u16;
                put_u16(&mut piece, 16, len);
                put_u16(&mut piece, 18, id as u16);
                put_u16(&mut piece, 20, more | (from / 8) as u16);
                mend(&mut piece[ethernet::HEADER_LEN..]);
                piece
            });
            pieces.reverse();
            assert_eq!(team.frame(worker, ACCESS, &pieces[0]).1, Some("awaiting-fragments"));
            let (left, dropped) = team.frame(worker, ACCESS, &pieces[1]);
            assert_eq!((left.len(), dropped), (1, None));
            assert_eq!(left[0].0, PortId(1));
        }
    }
}

const COUNT: u32 = 3;
const STATION: wire::MacAddr = wire::MacAddr([2, 0, 0, 0, 5, 5]);
const SERVER: Ipv4Addr = Ipv4Addr::new(2, 0, 1, 2);
const HEAD: usize = 34;
