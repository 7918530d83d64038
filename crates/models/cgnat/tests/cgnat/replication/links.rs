//! Connections that break, standbys that are slow, absent or of another configuration.
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use function_cgnat::reasons::Tally;
use function_kit::NetworkFunction;
use testkit::device::{Device, Outcome};

use super::*;
use crate::frames::{INSIDE, net};

/// A NAT with room for many sessions.
fn large() -> Config {
    Config {
        pools: vec![net("198.18.0.0/26")],
        sessions: 80_000,
        sessions_per_subscriber: 0,
        port_block: function_cgnat::config::PortBlocks { size: 512, per_subscriber: 4 },
        ..lasting()[0].clone()
    }
}

/// Opens sessions of UDP, from one number on.
fn open(device: &mut Device<Pipeline>, config: &Config, numbers: std::ops::Range<u32>, now: Ticks) {
    for number in numbers {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&config.inside_mac.0.0);
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[26..30].copy_from_slice(&(0x0a00_0001 + number % 250).to_be_bytes());
        frame[30..34].copy_from_slice(&(0x0b00_0001 + number / 250).to_be_bytes());
        frame[34..36].copy_from_slice(&(1000 + (number % 1000) as u16).to_be_bytes());
        frame[36..40].copy_from_slice(&[0, 53, 0, 26]);
        testkit::mutate::repair(&mut frame);
        let outcome = device.pass(INSIDE, &frame, now);
        assert!(matches!(outcome, Outcome::Left(..)), "{number}: {outcome:?}");
    }
}

fn tables(device: &mut Device<Pipeline>, now: Ticks) -> Tables {
    Tables::of(device.function_mut().state(), now)
}

/// Bytes between two ends that can be cut.
struct Cable {
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    /// From a port of its own to another one; both ends of a connection are cut after so many
    /// bytes.
    fn new(to: SocketAddr, cut_after: &'static [usize]) -> (Cable, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a TCP port");
        let port = listener.local_addr().expect("an address").port();
        let streams: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let known = streams.clone();
        thread::spawn(move || {
            let mut cuts = cut_after.iter();
            while let Ok((near, _)) = listener.accept() {
                let Ok(far) = TcpStream::connect(to) else { continue };
                let left = cuts.next().copied().unwrap_or(usize::MAX);
                for (from, to, left) in [(&near, &far, left), (&far, &near, usize::MAX)] {
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = (from, to) else { return };
                    thread::spawn(move || carry(&from, &to, left));
                }
                let mut known = known.lock().expect("no panic");
                known.extend([near, far]);
            }
        });
        (Cable { streams }, port)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for stream in self.streams.lock().expect("no panic").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, mut left: usize) {
    let mut bytes = [0; 5000];
    while left > 0 {
        let most = left.min(bytes.len());
        let Ok(count @ 1..) = from.read(&mut bytes[..most]) else { break };
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
        left -= count;
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

#[test]
fn a_connection_that_breaks_goes_on_where_it_was() {
    let [mut active, standby] = two(&large());
    let to = SocketAddr::new(standby.replication.address, standby.replication.port);
    let (_cable, port) = Cable::new(to, &[30, 5000, 123_457, 300_001]);
    active.replication.port = port;
    let config = active.clone();
    let (mut active, mut standby) = (device(&active, BEGIN), device(&standby, BEGIN));
    for round in 0..8 {
        open(&mut active, &config, round * 3000..(round + 1) * 3000, BEGIN);
        until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
        assert_eq!(tables(&mut active, BEGIN), tables(&mut standby, BEGIN), "round {round}");
    }
    let status = active.function_mut().replication();
    assert!(status.connections >= 4, "{status:?}");
    // The first one was cut before it had said who it is, or behind that.
    assert!((1..=2).contains(&status.resynchronisations), "{status:?}");
    assert_eq!(status.refused, 0);
    let adopted = standby.function_mut().state().tallies[Tally::SessionsAdopted as usize];
    assert_eq!(adopted, 24_000, "each once, whatever was sent twice");
}

#[test]
fn more_changes_than_all_queues_hold_are_not_lost() {
    let [active, standby] = two(&large());
    let config = active.clone();
    let (mut active, mut standby) = (device(&active, BEGIN), device(&standby, BEGIN));
    until("connected", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    // The standby's worker does not go round meanwhile.
    open(&mut active, &config, 0..70_000, BEGIN);
    let status = active.function_mut().replication();
    assert!(status.waiting > 0 && !status.is_synchronised, "queues hold less: {status:?}");
    until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    assert_eq!(tables(&mut active, BEGIN), tables(&mut standby, BEGIN));
    let status = active.function_mut().replication();
    assert_eq!((status.refused, status.resynchronisations), (0, 1));
}

#[test]
fn an_active_nat_works_alone_and_tells_everything_to_whoever_comes() {
    let [active, standby] = two(&large());
    let (config, at) = (active.clone(), standby);
    let mut active = device(&active, BEGIN);
    open(&mut active, &config, 0..5000, BEGIN);
    assert!(!active.function_mut().replication().is_connected);
    for round in 1..4 {
        let mut standby = device(&at, BEGIN);
        until("told anew", &mut active, &mut standby, BEGIN, |status| {
            status.is_synchronised && status.resynchronisations == round
        });
        assert_eq!(tables(&mut active, BEGIN), tables(&mut standby, BEGIN));
        drop(standby);
        let first = round as u32 * 5000;
        open(&mut active, &config, first..first + 5000, BEGIN);
    }
}

/// Sessions of an active NAT that is gone stay with the standby when another one comes, whose word
/// holds.
#[test]
fn a_new_active_nat_takes_nothing_from_what_the_standby_has() {
    let [first, at] = two(&large());
    let config = first.clone();
    let (mut active, mut standby) = (device(&first, BEGIN), device(&at, BEGIN));
    open(&mut active, &config, 0..2000, BEGIN);
    until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    drop(active);
    let other = Config { secret: Some(99), ..first };
    let mut active = device(&other, BEGIN);
    until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    assert_eq!(standby.function_mut().state().sessions.count(), 2000, "they stay");
    open(&mut active, &config, 1000..3000, BEGIN);
    until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    let (theirs, ours) = (tables(&mut active, BEGIN), tables(&mut standby, BEGIN));
    assert_eq!(theirs.sessions.len(), 2000);
    for (key, end) in &theirs.sessions {
        assert_eq!(ours.sessions.get(key), Some(end), "its word holds");
    }
}

#[test]
fn a_pace_is_kept_and_nothing_is_lost_by_it() {
    let [mut active, standby] = two(&large());
    active.replication.changes_per_s = 20_000;
    let config = active.clone();
    let (mut active, mut standby) = (device(&active, BEGIN), device(&standby, BEGIN));
    until("connected", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    let begin = Instant::now();
    open(&mut active, &config, 0..6000, BEGIN);
    until("synchronised", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
    // 6,000 changes less the 1,000 of a burst: never sooner, however fast the machine is.
    assert!(begin.elapsed() >= Duration::from_millis(249), "{:?}", begin.elapsed());
    assert_eq!(tables(&mut active, BEGIN), tables(&mut standby, BEGIN));
}

#[test]
fn another_configuration_is_refused_in_words() {
    let [active, standby] = two(&large());
    for (other, what) in [
        (Config { hairpinning: false, ..active.clone() }, "configuration differs"),
        (Config { sessions: 500, ..active.clone() }, "configuration differs"),
    ] {
        let (mut active, mut standby) = (device(&other, BEGIN), device(&standby, BEGIN));
        until("refused", &mut active, &mut standby, BEGIN, |status| status.trouble.contains(what));
        assert_eq!(active.function_mut().replication().connections, 0);
    }
    let same = Config { secret: Some(1), outside_ip: Ipv4Addr::new(203, 0, 113, 9), ..active };
    let (mut active, mut standby) = (device(&same, BEGIN), device(&standby, BEGIN));
    until("taken", &mut active, &mut standby, BEGIN, |status| status.is_synchronised);
}

#[test]
fn a_rehearsal_is_synchronised_by_itself() {
    let config = Config {
        replication: Replication { role: Role::Rehearsal, ..Replication::default() },
        ..large()
    };
    let mut active = device(&config, BEGIN);
    open(&mut active, &config, 0..3000, BEGIN);
    let deadline = Instant::now() + PATIENCE;
    while !active.function_mut().replication().is_synchronised {
        active.rest(BEGIN);
        assert!(Instant::now() < deadline, "{:?}", active.function_mut().replication());
        a_moment();
    }
    assert!(active.function_mut().replication().acknowledged >= 3000);
}

#[test]
fn an_address_that_is_taken_is_an_error_that_names_it() {
    let [_, standby] = two(&large());
    let _first = device(&standby, BEGIN);
    let second = function_cgnat::Cgnat::function(&standby, Shard::WHOLE, clock(), BEGIN);
    let what = second.err().expect("it is taken").to_string();
    assert!(what.contains(&format!("127.0.0.1:{}", standby.replication.port)), "{what}");
}
