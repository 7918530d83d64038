//! The mobile gateway against its oracle.

use std::cell::RefCell;
use std::time::Duration;

use function_kit::Shard;
use function_kit::sections::Dir;
use functions::mobile_gateway::config::Tunnel;
use model_kit::Model;
use models::mobile_gateway::{MobileGateway, Section, Traffic, Users};
use packet::PortId;
use traffic::{Frames, Stamp};
use units::BytesPerSec;
use wire::MacAddr;

use crate::check::Pair;
use crate::mutate::repair;

/// The gateway: every frame becomes exactly what the oracle says, in every kind of configuration,
/// as it is and with its checksums made right. The rate is so high that no frame depends on those
/// before it.
pub fn fuzz_mobile_gateway(data: &[u8]) {
    let port = PortId((data.len() % 2) as u8);
    let mut frame = data[..data.len().min(FRAME_LEN_MAX)].to_vec();
    PAIRS.with_borrow_mut(|pairs| {
        for repaired in [false, true] {
            if repaired {
                repair(&mut frame);
            }
            for pair in &mut *pairs {
                pair.elapsed += Duration::from_millis(20);
                if let Err(difference) = pair.frame(port, &frame) {
                    panic!("{difference}");
                }
            }
        }
    });
}

thread_local! {
    /// Setting up a gateway takes longer than a frame, so that each thread does it once.
    static PAIRS: RefCell<Vec<Pair<MobileGateway>>> =
        RefCell::new(configs().map(|config| Pair::new(&config, Shard::WHOLE)).collect());
}

/// Frames of users in every tunnel and version of IP, for the smoke run to damage.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let mut examples = Vec::new();
    for config in configs() {
        let ipv6_share = if config.ipv6 { 0.5 } else { 0.0 };
        let traffic = Traffic { dir: Dir::Bidir, ipv6_share, ..Traffic::default() };
        let users: Users = MobileGateway::workload(&config, &traffic, crate::check::clock());
        for sequence in 0..4 {
            for stream in 0..2 {
                let draw = users.draw(stream, sequence);
                let mut frame = vec![0; users.frame_len(&draw)];
                let stamp = Stamp { stream: stream as u16, sequence, time: 0 };
                users.write(&draw, stamp, &mut frame);
                examples.push(frame);
            }
        }
    }
    examples
}

fn configs() -> impl Iterator<Item = Section> {
    let kinds = [
        (Tunnel::GtpU, true, false),
        (Tunnel::GtpU, false, true),
        (Tunnel::Vxlan, true, false),
        (Tunnel::Vxlan, true, true),
    ];
    kinds.into_iter().map(|(tunnel, ipv6, fakedrop)| Section {
        tunnel: Some(tunnel),
        ipv6,
        fakedrop,
        user: 10,
        bst: 3,
        server: 4,
        rate_limit: BytesPerSec(1e12),
        // The station of the other examples.
        gw_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        ..Section::default()
    })
}

/// The longest frame that a worker has room for.
const FRAME_LEN_MAX: usize = 2014;
