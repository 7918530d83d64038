//! The template of a model: what the bench knows of a patch.

pub mod sections;

pub mod workload;

pub mod oracle;

pub mod sample;

mod fuzz;

use function_kit::{Invalid, Shard};
use function_template::{Config, Update};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::{Bridge, Service};

use self::oracle::Model;
use self::sections::Traffic;
use self::workload::Passed;

/// The patch as the bench knows it.
pub struct Template;

impl model_kit::Model for Template {
    type Unit = function_template::Template;
    type Section = Config;
    type Traffic = Traffic;
    type Workload = Passed;
    type Oracle = Model;

    fn validate(_: &mut Config, _: &mut Traffic) -> Result<(), Invalid> {
        Ok(())
    }

    fn config(section: &Config) -> Config {
        section.clone()
    }

    fn population(_: &Config) -> (&'static str, u64) {
        ("patches", 1)
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(_: &Config, traffic: &Traffic, _: Clock) -> Passed {
        Passed::new(traffic)
    }

    fn oracle(section: &Config, _: Shard) -> Model {
        Model { is_closed: section.closed }
    }

    fn sample(_: &Config, _: &Traffic) -> Vec<Step<Update>> {
        sample::sample()
    }

    fn unreachable(_: &Config) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    fn service(_: &Config) -> Service {
        Service::Bridge(Bridge { ports: 2, patch: Some([None, None]), ..Bridge::default() })
    }
}
