//! What the bench knows of the function `l3-router`: the state that it generates ([`generated`],
//! [`catalogue`]), its traffic ([`workload`]), what must become of each frame ([`oracle`]), the
//! functional check ([`sample`]), and what devices of another making are told (`service`).

pub mod generated;

pub mod catalogue;

pub mod prefixes;

mod validate;

mod sections;

pub mod workload;

pub mod oracle;

pub mod sample;

mod ends;

pub mod ports;

mod paths;

mod internet;

mod service;

mod fuzz;

mod far_end;

mod far_ends;

pub use self::generated::{Generated, Section};
pub use self::oracle::Model;
pub use self::sections::Traffic;
pub use self::workload::Routed;

use function_kit::{Invalid, NetworkFunction, Shard};
use function_l3_router as unit;
use function_l3_router::{Config, Said, Update};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::Service;
use serde_json::{Value, json};

/// The router as the bench knows it.
pub struct L3Router;

impl model_kit::Model for L3Router {
    type Unit = unit::L3Router;
    type Section = Section;
    type Traffic = Traffic;
    type Workload = Routed;
    type Oracle = Model;

    /// TIPSY's next hops have source addresses.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        let mut meant = unit::L3Router::meant_by(alias);
        if alias == "l3fwd" {
            meant.push(("source-mac", json!("next-hop")));
        }
        meant
    }

    fn validate(section: &mut Section, traffic: &mut Traffic) -> Result<(), Invalid> {
        validate::validate(section)?;
        sections::validate(&section.config, traffic)
    }

    fn config(section: &Section) -> Config {
        generated::config(section)
    }

    fn initial(section: &Section) -> Box<dyn Iterator<Item = Said> + '_> {
        Box::new(generated::initial(section).map(Update::said))
    }

    fn population(section: &Section) -> (&'static str, u64) {
        let Section { generated: config, config: listed } = section;
        let generated = u64::from(config.upstream_l3_table_size + config.downstream_l3_table_size);
        let internet = u64::from(config.internet_routes + config.internet_routes_ipv6);
        let listed = (listed.all_routes().count() + config.routes_read.len()) as u64;
        ("routes", generated + internet + listed)
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(section: &Section, traffic: &Traffic, clock: Clock) -> Routed {
        Routed::new(section, traffic).with_far_end(clock)
    }

    fn oracle(section: &Section, _: Shard) -> Model {
        Model::new(section)
    }

    fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Said>> {
        sample::sample(section, traffic)
    }

    fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(section)
    }

    fn service(section: &Section) -> Service {
        service::service(section)
    }
}
