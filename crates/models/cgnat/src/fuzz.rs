//! What fuzzers try to break of the NAT: the whole, and each of its readers of foreign bytes.

mod alg;
mod log;
mod nat;
mod replication;
mod translation;

pub use self::log::log;

use model_kit::fuzz::{Fuzzed, Target};

use crate::Cgnat;

impl Fuzzed for Cgnat {
    const TARGETS: &'static [Target] = &[
        Target { name: "cgnat", body: nat::body, examples: nat::examples },
        Target { name: "cgnat_ftp", body: || Box::new(alg::ftp), examples: alg::ftp_examples },
        Target { name: "cgnat_log", body: || Box::new(log::log), examples: Vec::new },
        Target { name: "cgnat_pptp", body: || Box::new(alg::pptp), examples: alg::pptp_examples },
        Target {
            name: "cgnat_replication",
            body: replication::body,
            examples: replication::examples,
        },
        Target { name: "cgnat_shifts", body: || Box::new(alg::shifts), examples: Vec::new },
        Target { name: "cgnat_sip", body: || Box::new(alg::sip), examples: alg::sip_examples },
        Target { name: "translation", body: translation::body, examples: translation::examples },
    ];
}
