//! The body of the fuzz target: the reflector beside a plain one, by what bytes describe.
//!
//! The files in reading order: [`path`] has paths, [`model`] is the plain reflector, [`policy`] has
//! its policies, [`wire`] makes UPDATEs of what it has, `several` identifies paths, [`step`] is
//! what happens, [`trial`] sets both beside each other.

use protocol_bgp::capabilities::Role;
use protocol_kit::Random;

use model::Attributes;
use step::Step;
use trial::{ASN, IDENTIFIER, PEERS, STRANGER, Trial};
use wire::{ASKED, TARGETS};

pub mod path;

pub mod model;

mod several;

pub mod policy;

pub mod step;

pub mod trial;

pub mod wire;

/// Lets happen what bytes describe, and compares in between and in the end what all peers know. It
/// panics when that is not what the plain reflector says, and when something is left of peers that
/// are gone.
///
/// The first byte tells how much is kept for those who lag, whether peers ask for route targets,
/// whether they may tell a few routes alone, what the AS of one is to that of the reflector, which
/// peers tell and are told several paths, and whether they have policies. Of
/// steps each has six bytes: what, of whom, and four that say more; behind what the stranger says
/// stand the bytes of it.
pub fn reflector(bytes: &[u8]) {
    let Some((kept, mut rest)) = bytes.split_first() else { return };
    let has_targets = kept / 3 % 2 == 1;
    let most = if kept / 6 % 2 == 1 { 4 } else { u32::MAX };
    let trial = Trial::new([100, 600, 1 << 20][usize::from(*kept) % 3], has_targets);
    let role = usize::from(kept / 12)
        .checked_sub(1)
        .and_then(|at| ROLES.get(at))
        .copied()
        .filter(|_| !has_targets);
    let (peers, paths_max) =
        [(0, 0), (0b11111, 64), (0b10011, 2), (0b01110, 3)][usize::from(kept / 72)];
    let mut trial = trial.bounded(most).related(role).with_paths(peers, paths_max);
    if *kept >= POLICED && !has_targets && most == u32::MAX {
        trial = trial.policed((*kept).into());
    }
    let mut count = 0;
    while let Some((head, behind)) = rest.split_first_chunk() {
        let (step, behind) = step(*head, behind);
        rest = behind;
        trial.step(step);
        count += 1;
        if count % STEPS_BETWEEN == 0 {
            compare(&mut trial);
        }
    }
    compare(&mut trial);
    trial.end();
}

/// Compares both without what the stranger has said.
fn compare(trial: &mut Trial) {
    trial.step(Step::Close(STRANGER));
    trial.settle();
    trial.check();
}

/// The step that bytes describe, and the bytes behind it.
fn step([what, who, x, y, z, w]: [u8; 6], behind: &[u8]) -> (Step, &[u8]) {
    let peer = u16::from(who) % (STRANGER + 1);
    let known = u16::from(who) % STRANGER;
    // What is above the number of prefixes is the path's, where there are several.
    let prefixes = || (0..=w % 4).map(|more| (x % 42 + more * (1 + w / 64)) % 42).collect();
    let asked = || (0..=w % 3).map(|more| (x % 12 + more * (w % 12)) % ASKED.len() as u8).collect();
    let step = match what % KINDS {
        0 | 1 => Step::Open(peer),
        2 => Step::Close(known),
        3 => Step::Lose(known),
        4 => Step::Mark(known),
        5 => Step::Sweep(known),
        6..=8 => Step::Announce(known, prefixes(), attributes(x, y, z)),
        9 => Step::Withdraw(known, prefixes()),
        10 if x % 3 > 0 => Step::Drain(known, x % 3 == 1),
        10 => Step::Refresh(known),
        11 | 12 => Step::Take(peer, 30 + usize::from(x) * 2),
        13 | 14 => Step::Work,
        16 => Step::Ask(known, asked(), attributes(x, y, z)),
        17 => Step::AskNoMore(known, asked()),
        18 => Step::HasAsked(known),
        19 => Step::Expire(peer),
        20 => Step::Police(known, u64::from(x) << 8 | u64::from(y)),
        _ => {
            let (body, behind) = behind.split_at(behind.len().min(usize::from(x)));
            return (Step::Hear(body.to_vec()), behind);
        }
    };
    (step, behind)
}

fn attributes(x: u8, y: u8, z: u8) -> Attributes {
    let few = |number: u8, all: &[u32]| all.get(usize::from(number) % (all.len() + 1)).copied();
    Attributes {
        next_hop: [10, 0, 0, x % 3],
        path: (0..y % 3).map(|at| if y > 240 { ASN } else { 1 + u32::from(y >> at) % 3 }).collect(),
        med: few(y / 3, &[0, 1, 2]),
        preference: few(y / 16, &[99, 100, 101]),
        originator: few(z, &[1, 9, IDENTIFIER]).filter(|_| z < 128),
        clusters: few(z / 4, &[5, 6, IDENTIFIER]).into_iter().collect(),
        communities: few(z / 16, &[1, 0xffff_ff01, 0xffff_ff02, 0xffff_0000, 1])
            .into_iter()
            .collect(),
        targets: (0..z % 4)
            .filter_map(|at| TARGETS.get(usize::from(z >> at) % 6))
            .copied()
            .collect(),
        otc: few(x / 3, &[64_501, 7]).filter(|_| x > 200),
    }
}

/// Peers that come, say much and go, with and without a stranger.
pub fn examples() -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    let mut example = |steps: usize, kept: u8| {
        let mut bytes = vec![kept];
        (0..PEERS.len() as u8).for_each(|peer| bytes.extend([0, peer, 0, 0, 0, 0]));
        bytes.extend([0, STRANGER as u8, 0, 0, 0, 0]);
        for _ in 0..steps {
            let words = random.bits().to_le_bytes();
            bytes.extend(&words[..6]);
            if words[0] % KINDS == 15 {
                let said = &UPDATES[usize::from(words[6]) % UPDATES.len()];
                let at = bytes.len() - 4;
                bytes[at] = said.len() as u8;
                bytes.extend(*said);
            }
        }
        bytes
    };
    (0..12)
        .chain([12, 26, 36, 50, 60])
        .chain([72, 75, 79, 144, 147, 152, 216, 219])
        .chain([POLICED, 146, 159])
        .map(|number| example(10 + 10 * usize::from(number % 100), number))
        .collect()
}

/// What the stranger says: routes, with a path of its own, too much of it, and nothing.
const UPDATES: [&[u8]; 8] = [
    &[
        0, 0, 0, 18, 0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 10, 0, 0, 9, 0x40, 5, 4, 0, 0, 0, 200,
        24, 198, 51, 3,
    ],
    &[
        0, 4, 24, 198, 51, 3, 0, 27, 0x40, 1, 1, 2, 0x40, 2, 6, 2, 1, 0, 0, 0, 7, 0x40, 3, 4, 10,
        0, 0, 8, 0xe0, 99, 3, 1, 2, 3, 24, 198, 51, 5,
    ],
    &[0, 0, 0, 4, 0x40, 1, 1, 9, 24, 198, 51, 7],
    &[0, 0, 0, 0],
    // It asks for all routes, for too many bits of one, and for too few; and it has asked for all.
    &[
        0, 0, 0, 27, 0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 5, 4, 0, 0, 0, 200, 0x80, 14, 10, 0, 1, 132,
        4, 10, 0, 0, 9, 0, 0,
    ],
    &[0, 0, 0, 7, 0x80, 15, 4, 0, 1, 132, 97],
    &[0, 0, 0, 7, 0x80, 15, 4, 0, 1, 132, 31],
    &[0, 0, 0, 6, 0x80, 15, 3, 0, 1, 132],
];

/// Parts in a relation.
const ROLES: [Role; 5] =
    [Role::Provider, Role::Customer, Role::RouteServer, Role::RouteServerClient, Role::Peer];

/// Kinds of steps.
const KINDS: u8 = 21;

/// From here on the first byte says that peers have policies.
const POLICED: u8 = 132;

/// After this many steps both are compared.
const STEPS_BETWEEN: usize = 40;
