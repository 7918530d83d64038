//! What the bench knows of the function `cgnat`: its traffic ([`workload`]), what must become of
//! each frame ([`oracle`]), the functional check ([`sample`]), and what devices of another making
//! are told (`service`).

mod sections;

mod application;
mod mix;

pub mod workload;

pub mod oracle;

pub mod sample;

pub mod log;

pub mod translation;

mod service;

pub mod fuzz;

pub use self::application::{Application, Transport};
pub use self::oracle::Model;
pub use self::sections::Traffic;
pub use self::workload::{Clients, Packet};

use function_cgnat as unit;
use function_cgnat::Config;
use function_cgnat::Update;
use function_kit::{Invalid, NetworkFunction, Shard};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::Service;

/// The carrier-grade NAT as the bench knows it.
pub struct Cgnat;

impl model_kit::Model for Cgnat {
    type Unit = unit::Cgnat;
    type Section = Config;
    type Traffic = Traffic;
    type Workload = Clients;
    type Oracle = Model;

    fn validate(section: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        unit::Cgnat::validate(section)?;
        sections::validate(section, traffic)?;
        mix::validate(section, traffic)
    }

    fn config(section: &Config) -> Config {
        section.clone()
    }

    fn population(config: &Config) -> (&'static str, u64) {
        ("sessions", u64::from(config.sessions))
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(config: &Config, traffic: &Traffic, _: Clock) -> Clients {
        Clients::new(config, traffic)
    }

    fn oracle(config: &Config, shard: Shard) -> Model {
        Model::new(config, shard)
    }

    fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
        sample::sample(config, traffic)
    }

    fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(config)
    }

    fn service(config: &Config) -> Service {
        service::service(config)
    }
}
