//! What the bench knows of the function `bng`: the sections of a scenario ([`section`],
//! [`Traffic`]) and the subscribers that they generate ([`catalogue`]), the traffic ([`workload`]),
//! what must become of each frame ([`oracle`]), the functional check ([`sample`]), and what devices
//! of another making are told (`service`).

pub mod catalogue;

pub mod section;

mod generated;

mod sections;

mod frames;

mod beside;

mod given;

mod clients;

pub mod workload;

pub mod oracle;

pub mod sample;

mod service;

mod fuzz;

pub use self::oracle::Model;
pub use self::section::{Generated, Section};
pub use self::sections::Traffic;
pub use self::workload::Subscribers;

use function_bng as unit;
use function_bng::{Config, Update};
use function_kit::{Invalid, Shard};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::Service;
use serde_json::Value;

/// The broadband network gateway as the bench knows it.
pub struct BroadbandGateway;

impl model_kit::Model for BroadbandGateway {
    type Unit = unit::BroadbandGateway;
    type Section = Section;
    type Traffic = Traffic;
    type Workload = Subscribers;
    type Oracle = Model;

    fn validate(section: &mut Section, traffic: &mut Traffic) -> Result<(), Invalid> {
        generated::validate(section)?;
        sections::validate(section, traffic)
    }

    fn config(section: &Section) -> Config {
        generated::config(section)
    }

    fn initial(section: &Section) -> Box<dyn Iterator<Item = Update> + '_> {
        Box::new(generated::initial(section))
    }

    fn population(section: &Section) -> (&'static str, u64) {
        ("subscribers", u64::from(section.generated.subscribers))
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(section: &Section, traffic: &Traffic, _: Clock) -> Subscribers {
        Subscribers::new(section, traffic)
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

    fn beside(section: &Section) -> Vec<(&'static str, Value)> {
        beside::beside(section)
    }

    fn alone(section: &Section) -> Section {
        beside::alone(section)
    }
}
