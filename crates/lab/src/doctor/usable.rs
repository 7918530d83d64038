//! Which devices can run here and which kinds of ports can be opened, and what would enable the
//! others.

use devices::driver::Unavailable;
use devices::registry;
use serde::Serialize;

/// Availability of a device or port type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usable {
    /// Name in configurations.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Why it cannot be used here; none if it can.
    pub hindrance: Option<Hindrance>,
    /// Functions for which it cannot be used here, and why, if it can be used for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<(&'static str, Hindrance)>,
}

/// Why a device or port type cannot be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hindrance {
    /// The missing requirement.
    pub why: String,
    /// The command that meets the requirement, or other advice.
    pub remedy: String,
}

/// All devices; the embedded device has no requirements.
pub(super) fn devices() -> Vec<Usable> {
    let said = |error: Unavailable| Hindrance { why: error.why, remedy: error.remedy };
    let look = |device: registry::Device| {
        let routing = device.routing.filter(|_| !device.forwards());
        let forwarding = device.driver.and_then(|driver| driver.available().err());
        let hindrance = forwarding.or(routing.and_then(|driver| driver.available().err()));
        let hindrance = hindrance.map(said);
        let usable = device.driver.filter(|_| hindrance.is_none());
        let lacks = usable.map(|driver| driver.lacks()).unwrap_or_default();
        Usable {
            name: device.name,
            summary: device.summary,
            hindrance,
            lacks: lacks.into_iter().map(|(function, error)| (function, said(error))).collect(),
        }
    };
    registry::devices().map(look).collect()
}

/// All port types that a configuration can name.
pub(super) fn ports() -> Vec<Usable> {
    let look = |kind: &&'static dyn ports::Kind| Usable {
        name: kind.name(),
        summary: kind.summary(),
        hindrance: (kind.available().err())
            .map(|error| Hindrance { why: error.what, remedy: error.remedy }),
        lacks: Vec::new(),
    };
    ports::PORTS.iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_says_why_and_what_to_do() {
        let devices = devices();
        assert_eq!((devices[0].name, devices[0].hindrance.is_none()), ("embedded", true));
        for usable in devices.iter().chain(&ports()) {
            assert!(!usable.summary.is_empty(), "{usable:?}");
            let lacks = usable.lacks.iter().map(|(_, hindrance)| hindrance);
            for hindrance in usable.hindrance.iter().chain(lacks) {
                assert!(!hindrance.why.is_empty() && !hindrance.remedy.is_empty(), "{usable:?}");
            }
        }
    }
}
