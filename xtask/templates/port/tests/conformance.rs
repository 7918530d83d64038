//! The template port does what every port must.

use engine::{Opened, PortError, PortKind, PortRequest};
use port_conformance::{Bench, Promises, run};
use port_template::{Template, TemplateConfig};

struct Nobody;

impl Bench for Nobody {
    fn promises(&self) -> Promises {
        Promises::default()
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        Template::open(&TemplateConfig { up: true }, request)
    }

    fn peer_send(&mut self, _: &[Vec<u8>]) -> usize {
        0
    }

    fn peer_receive(&mut self, _: &mut dyn FnMut(&[u8])) {}
}

#[test]
fn the_port_conforms() {
    run("template", || Some(Nobody));
}
