//! What the bench knows of the function `mobile-gateway`: the section of a scenario ([`Section`])
//! and the objects that it generates ([`catalogue`]), the traffic ([`workload`]), what must become
//! of each frame ([`oracle`]), the functional check ([`sample`]), and what devices of another
//! making are told (`service`).

pub mod catalogue;

mod section;

mod sections;

mod workers;

pub mod workload;

pub mod oracle;

pub mod sample;

mod frames;

mod service;

mod fuzz;

pub use self::oracle::Model;
pub use self::section::Section;
pub use self::sections::Traffic;
pub use self::workload::Users;

use function_kit::{Invalid, NetworkFunction, Shard};
use function_mobile_gateway as unit;
use function_mobile_gateway::{Config, Update};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::Service;
use serde_json::{Value, json};

/// The mobile gateway as the bench knows it.
pub struct MobileGateway;

impl model_kit::Model for MobileGateway {
    type Unit = unit::MobileGateway;
    type Section = Section;
    type Traffic = Traffic;
    type Workload = Users;
    type Oracle = Model;

    /// TIPSY's bearers have a rate limit, which hardly anything passes.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        let mut meant = unit::MobileGateway::meant_by(alias);
        if alias == "mgw" {
            meant.push(("rate-limit", json!(10_000)));
        }
        meant
    }

    fn validate(section: &mut Section, traffic: &mut Traffic) -> Result<(), Invalid> {
        sections::settle_tunnel(section, traffic)?;
        section::validate(section)?;
        sections::validate(section, traffic)
    }

    fn config(section: &Section) -> Config {
        section.config()
    }

    fn initial(section: &Section) -> Box<dyn Iterator<Item = Update> + '_> {
        Box::new(section.initial())
    }

    fn population(section: &Section) -> (&'static str, u64) {
        ("users", u64::from(section.user))
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(section: &Section, traffic: &Traffic, _: Clock) -> Users {
        Users::new(section, traffic)
    }

    fn oracle(section: &Section, shard: Shard) -> Model {
        Model::new(section, shard)
    }

    fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Update>> {
        sample::sample(section, traffic)
    }

    fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(section)
    }

    fn service(section: &Section) -> Service {
        service::service(section)
    }
}
