//! What the bench knows of the function `l2-switch`: the stations that it generates ([`generated`],
//! [`catalogue`]), its traffic ([`workload`]), what must become of each frame ([`oracle`]), the
//! functional check ([`sample`]), and what devices of another making are told (`service`).

pub mod generated;

pub mod catalogue;

mod sections;

pub mod workload;

pub mod oracle;

pub mod sample;

mod service;

mod fuzz;

pub use self::generated::{Generated, Section};
pub use self::oracle::Model;
pub use self::sections::Traffic;
pub use self::workload::Stations;

use function_kit::{Invalid, Shard};
use function_l2_switch as unit;
use function_l2_switch::{Config, Update};
use machine::clock::Clock;
use model_kit::check::Step;
use model_kit::service::Service;
use model_kit::test_packets::{FRAME_BYTES_MAX, frame_sizes};

/// The bridge as the bench knows it.
pub struct L2Switch;

impl model_kit::Model for L2Switch {
    type Unit = unit::L2Switch;
    type Section = Section;
    type Traffic = Traffic;
    type Workload = Stations;
    type Oracle = Model;

    fn validate(section: &mut Section, traffic: &mut Traffic) -> Result<(), Invalid> {
        generated::validate(section)?;
        frame_sizes(&traffic.pkt_size, FRAME_BYTES_MAX)
    }

    fn config(section: &Section) -> Config {
        generated::config(section)
    }

    fn initial(section: &Section) -> Box<dyn Iterator<Item = Update> + '_> {
        Box::new(generated::initial(section))
    }

    fn population(Section { generated, config }: &Section) -> (&'static str, u64) {
        ("stations", u64::from(generated.count()) + config.station_count() as u64)
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn workload(section: &Section, traffic: &Traffic, _: Clock) -> Stations {
        Stations::new(section, traffic)
    }

    fn oracle(section: &Section, _: Shard) -> Model {
        Model::new(section)
    }

    fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Update>> {
        sample::sample(section, traffic)
    }

    fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(&section.config)
    }

    fn service(section: &Section) -> Service {
        service::service(section)
    }
}
