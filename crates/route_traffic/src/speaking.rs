//! What sessions say in their OPENs, and whether a device's OPEN fits.

use std::net::IpAddr;

use protocol_bgp::Family;
use protocol_bgp::capabilities::{Capability, GracefulRestart};
use protocol_bgp::open::Open;

/// What all sessions of a tester have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaking {
    /// The AS of the tester's speakers.
    pub own_as: u32,
    /// The AS of the device.
    pub device_as: u32,
    /// The hold time that is offered, in seconds: 0, or at least 3.
    pub hold_time_s: u16,
    /// The families that are offered; a device has to offer them all, too.
    pub families: Vec<Family>,
    /// For how long a device that restarts is asked to be waited for, in seconds (RFC 4724); none
    /// without graceful restart.
    pub graceful_restart_s: Option<u16>,
    /// Whether messages of up to 65,535 bytes are taken (RFC 8654). Feeders send none.
    pub has_extended_messages: bool,
}

/// A speaker of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The address from which it connects, which only it has.
    pub local: IpAddr,
    /// Its identifier, which only it has; not 0.
    pub identifier: u32,
}

impl Speaking {
    /// Appends the OPEN of a speaker.
    pub fn write_open(&self, speaker: &Speaker, out: &mut Vec<u8>) {
        let mut capabilities: Vec<Capability> = Vec::new();
        let numbers = || self.families.iter().map(|family| family.numbers());
        capabilities.extend(numbers().map(|(afi, safi)| Capability::Multiprotocol(afi, safi)));
        capabilities.push(Capability::RouteRefresh);
        capabilities.push(Capability::FourOctetAs(self.own_as));
        if self.has_extended_messages {
            capabilities.push(Capability::ExtendedMessage);
        }
        if let Some(time_s) = self.graceful_restart_s {
            let families = numbers().map(|(afi, safi)| (afi, safi, true)).collect();
            capabilities.push(Capability::GracefulRestart(GracefulRestart {
                time_s: time_s.min(4095),
                families,
                ..GracefulRestart::default()
            }));
        }
        let (asn, hold_time_s, identifier) = (self.own_as, self.hold_time_s, speaker.identifier);
        Open { asn, hold_time_s, identifier, capabilities }.write(out);
    }

    /// Reads the OPEN of the device; returns the hold time in seconds.
    ///
    /// # Errors
    /// In words, if there can be no session.
    pub fn read_open(&self, body: &[u8]) -> Result<u16, String> {
        let open = Open::read(body).map_err(|why| format!("the device's OPEN is wrong: {why}"))?;
        if open.asn != self.device_as {
            return Err(format!("the device is of the AS {}, not {}", open.asn, self.device_as));
        }
        let mut offered: Vec<Option<Family>> = Vec::new();
        for capability in &open.capabilities {
            if let Capability::Multiprotocol(afi, safi) = capability {
                offered.push(Family::of(*afi, *safi));
            }
        }
        // Who names none has IPv4 (RFC 4760 section 8).
        if offered.is_empty() {
            offered.push(Some(Family::Ipv4Unicast));
        }
        if let Some(family) = self.families.iter().find(|one| !offered.contains(&Some(**one))) {
            return Err(format!("the device does not offer {family}: configure it for its peers"));
        }
        Ok(self.hold_time_s.min(open.hold_time_s))
    }
}
