//! Datagrams that are no right answers change nothing but counters; so do requests of strangers.

use protocol_kit::{Input, Machine, Random};
use protocol_radius::dynamic::{self, Asker, Dynamic};
use protocol_radius::{Client, Code, Command, PROTOCOL, Report};

use crate::support::{OWN, access, config, deliver, far, ms, outputs, secret};

/// Malformed datagrams of a run, to each machine.
const DATAGRAMS: u64 = 1_000_000;

#[test]
fn malformed_datagrams_change_nothing_but_counters() {
    let seed = 1;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut client = Client::new(&config(1)).expect("usable");
    let mut dynamic = Dynamic::new(dynamic::Config {
        locals: vec![std::net::SocketAddr::new(OWN, 3799)],
        clients: vec![Asker { address: far(0).ip(), secret: secret() }],
        identities: Vec::new(),
        window: std::time::Duration::from_secs(300),
        needs_timestamp: false,
        needs_signature: false,
        kept_max: 16,
        patience: std::time::Duration::from_secs(5),
        wall: protocol_radius::Wall(0),
    })
    .expect("usable");
    for token in 0..256 {
        let request = access("name");
        client.input(ms(0), Input::Command(Command::Ask { token, request }));
    }
    let (sent, _) = outputs(&mut client, ms(0));
    outputs(&mut dynamic, ms(0));
    let right: Vec<Vec<u8>> = sent.iter().map(|it| it.answer(Code::AccessAccept)).collect();
    for _ in 0..DATAGRAMS {
        let mut bytes = match random.below(3) {
            0 => (0..random.below(80)).map(|_| random.bits() as u8).collect(),
            1 => sent[random.below(256) as usize].bytes.clone(),
            _ => right[random.below(256) as usize].clone(),
        };
        // At least one byte is another one, or is missing.
        match bytes.len() as u64 {
            0 => {}
            len if random.below(4) == 0 => bytes.truncate(random.below(len) as usize),
            len => bytes[random.below(len) as usize] ^= 1 << random.below(8),
        }
        deliver(&mut client, sent[0].socket, far(0), &bytes, ms(0));
        deliver(&mut dynamic, sent[0].socket, far(0), &bytes, ms(0));
    }
    assert_eq!(client.pending(), 256);
    assert_eq!(outputs(&mut client, ms(0)), (vec![], vec![]));
    assert_eq!(outputs(&mut dynamic, ms(0)), (vec![], vec![]));
    let counters = client.views()[0].counters;
    let dropped = counters.malformed + counters.code + counters.unexpected;
    assert_eq!(dropped + counters.authenticator + counters.signature, DATAGRAMS);
    let of_dynamic = dynamic.counters();
    let dropped = of_dynamic.malformed + of_dynamic.code;
    assert_eq!(dropped + of_dynamic.authenticator + of_dynamic.signature, DATAGRAMS);
    // All of them still have their answers.
    for (sent, right) in sent.iter().zip(&right) {
        sent.answer_by(&mut client, right, ms(1));
    }
    let (_, said) = outputs(&mut client, ms(1));
    assert_eq!(said.iter().filter(|it| matches!(it, Report::Answer { .. })).count(), 256);
}

#[test]
fn inputs_of_the_fuzz_target_and_damaged_ones_keep_every_promise() {
    let seed = 2;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for example in (PROTOCOL.examples)() {
        (PROTOCOL.fuzz)(&example);
        for _ in 0..8 {
            let mut damaged = example.clone();
            let at = random.below(damaged.len() as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
            (PROTOCOL.fuzz)(&damaged);
        }
    }
}
