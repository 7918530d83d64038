//! This program as a daemon in another process: `plumbline run` in a network namespace of its own.
//!
//! The function is the embedded one, but its ports are real: sockets of the kernel on virtual
//! Ethernet, or memory shared by a socket. What it counts, its time by stage and its changes go
//! over its control socket. Process, namespace and folder are bound to this process and vanish with
//! it. Deliberately absent: tuning of the daemon beyond its ports.

mod child;
mod control;
mod device;
mod file;
mod guests;
mod links;
mod options;
mod standby;
mod usage;

#[cfg(test)]
mod tests;

use device::Device;
use keys::Invalid;
use model_kit::service::Service;
use schemars::Schema;
use serde_json::{Map, Value};

use crate::driver::{Driver, DriverError, Limitation, Running, Start, Unavailable};

pub use options::{Options, Ports, Topology};

/// The driver.
pub struct Process;

impl Driver for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn summary(&self) -> &'static str {
        "`plumbline run` in a separate process, over real ports"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        for (program, package) in [("ip", "iproute2"), ("setpriv", "util-linux")] {
            if !netns::is_installed(program) {
                return Err(Unavailable {
                    why: format!("{program} is not installed"),
                    remedy: format!("sudo apt-get install {package}"),
                });
            }
        }
        if !netns::may_make_namespaces() {
            return Err(Unavailable {
                why: "no right to make network namespaces (CAP_SYS_ADMIN)".to_owned(),
                remedy: "run plumbline with sudo".to_owned(),
            });
        }
        Ok(())
    }

    fn runs_beside(&self) -> bool {
        true
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        let short = Limitation {
            what: "a link cannot carry frames shorter than an Ethernet header".to_owned(),
            verdicts: vec!["truncated"],
            ..Limitation::default()
        };
        let options = Options::read(options)?;
        guests::possible(options.topology, service)?;
        Ok(match options.ports {
            Ports::AfPacket | Ports::AfXdp => vec![short],
            Ports::Memif | Ports::VhostUser | Ports::VirtioUser => Vec::new(),
        })
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        match Options::read(request.options)?.topology {
            Topology::Direct => Ok(Box::new(Device::start(request)?)),
            topology => Ok(Box::new(guests::start(topology, request)?)),
        }
    }

    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        let options = Options::read(request.options)?;
        if options.topology != Topology::Direct {
            return Ok(None);
        }
        Ok(Some(Box::new(links::Wire::make(&options, request)?)))
    }
}
