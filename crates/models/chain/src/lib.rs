//! What the bench knows of the function `chain`: the traffic of one of its functions
//! ([`workload`]), what must become of each frame ([`oracle`]), and the samples of all functions.
//!
//! The models of the functions are known here by what every model provides ([`part`]), never by
//! name.

pub mod sections;

pub mod part;

pub mod workload;

pub mod oracle;

mod sample;

mod fuzz;

pub use self::oracle::Model;
pub use self::part::Models;
pub use self::sections::{Section, Traffic};
pub use self::workload::Frames;

use std::marker::PhantomData;

use function_chain::{Config, Update};
use function_kit::{Invalid, Shard};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::erased::Configured;
use model_kit::service::Service;

/// A chain of such functions as the bench knows it.
pub struct Chain<L>(PhantomData<fn() -> L>);

impl<L: Models> model_kit::Model for Chain<L> {
    type Unit = function_chain::Chain<L::Members>;
    type Section = Section;
    type Traffic = Traffic<L>;
    type Workload = Frames;
    type Oracle = Model;

    fn validate(section: &mut Section, traffic: &mut Traffic<L>) -> Result<(), Invalid> {
        sections::validate(section, traffic)
    }

    fn config(section: &Section) -> Config {
        section.config()
    }

    fn initial(section: &Section) -> Box<dyn Iterator<Item = Update> + '_> {
        let of = |(index, member): (usize, &'_ std::sync::Arc<dyn Configured>)| {
            let changes: Vec<_> = member.initial().collect();
            changes.into_iter().map(move |change| Update::At { place: index + 1, change })
        };
        Box::new(section.members().iter().enumerate().flat_map(of))
    }

    fn population(section: &Section) -> (&'static str, u64) {
        section.source().map_or(("functions", 0), |member| member.population())
    }

    fn seed(traffic: &Traffic<L>) -> u64 {
        traffic.seed()
    }

    fn workload(section: &Section, _: &Traffic<L>, clock: Clock) -> Frames {
        Frames::new(section, clock)
    }

    fn oracle(section: &Section, shard: Shard) -> Model {
        Model::new(section, shard)
    }

    fn sample(section: &Section, _: &Traffic<L>) -> Vec<Step<Update>> {
        sample::sample(section)
    }

    fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(section)
    }

    fn service(section: &Section) -> Service {
        Service::Chain(section.members().iter().map(|member| member.service()).collect())
    }
}
