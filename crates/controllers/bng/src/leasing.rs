//! What gives leases of DHCP, of each version: a server of the controller's own, or a relay to
//! external ones.

use std::net::{IpAddr, Ipv6Addr};

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_dhcp::leases::Leases;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::{Access, Command, NotMade, Report, v4, v6};
use protocol_kit::{Input, Machine, Output, Time};

use crate::config::{Config, RelayMode};
use crate::places::Places;
use crate::session::Version;

/// A server, or a relay.
pub(crate) enum Leasing<S, R> {
    Server(S),
    Relay(R),
}

/// Of DHCPv4.
pub(crate) type V4 = Leasing<v4::Server, v4::Relay>;

/// Of DHCPv6.
pub(crate) type V6 = Leasing<v6::Server, v6::Relay>;

impl V4 {
    /// As the keys have it.
    ///
    /// # Errors
    /// What of them cannot be.
    pub fn new(config: &Config, places: &Places, seed: u64) -> Result<V4, Invalid> {
        let made = places.dhcp(config, seed, Version::V4);
        let Some(keys) = config.relay_v4() else {
            let server = v4::Server::new(made, places.router);
            return server.map(Leasing::Server).map_err(of_pools);
        };
        if places.router.is_unspecified() {
            let what = "has no address on lines by which clients know it".to_owned();
            let remedy = "Add an address of IPv4 to the gateway's `access-addresses`";
            return Err(invalid("relay.ipv4", what, remedy));
        }
        let mode = match keys.mode {
            RelayMode::Proxy => v4::Mode::Proxy,
            RelayMode::Relay => v4::Mode::Override,
        };
        let relay = v4::Relay::new(made, keys.local, &keys.servers, mode);
        let relay = relay.map_err(|why| of_servers("relay.ipv4.servers", &why))?;
        Ok(Leasing::Relay(relay.on_lines(places.router)))
    }
}

impl V6 {
    /// As the keys have it.
    ///
    /// # Errors
    /// What of them cannot be.
    pub fn new(config: &Config, places: &Places, seed: u64) -> Result<V6, Invalid> {
        let made = places.dhcp(config, seed, Version::V6);
        let Some(keys) = config.relay_v6() else {
            let server = v6::Server::new(made, places.identity());
            return server.map(Leasing::Server).map_err(of_pools);
        };
        let own = places.gateway.access_addresses.iter().find_map(|address| match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(*address),
        });
        let link: Ipv6Addr = own.unwrap_or(keys.local);
        let (on_lines, servers) = (places.link_local, keys.servers.clone());
        let addresses =
            Addresses { own: keys.local, link, on_lines, servers, enterprise: BROADBAND_FORUM };
        let relay = v6::Relay::new(made, addresses);
        relay.map(Leasing::Relay).map_err(|why| of_servers("relay.ipv6.servers", &why))
    }
}

impl<S, R> Leasing<S, R> {
    /// Whether it is a relay.
    pub fn is_relay(&self) -> bool {
        matches!(self, Leasing::Relay(_))
    }
}

impl<S: Access, R: Access> Machine for Leasing<S, R> {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match self {
            Leasing::Server(server) => server.input(now, input),
            Leasing::Relay(relay) => relay.input(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        match self {
            Leasing::Server(server) => server.poll(now),
            Leasing::Relay(relay) => relay.poll(now),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Leasing::Server(server) => server.deadline(),
            Leasing::Relay(relay) => relay.deadline(),
        }
    }
}

impl<S: Access, R: Access> Access for Leasing<S, R> {
    const PORT: u16 = S::PORT;

    fn table(&self) -> &Leases {
        match self {
            Leasing::Server(server) => server.table(),
            Leasing::Relay(relay) => relay.table(),
        }
    }

    fn table_mut(&mut self) -> &mut Leases {
        match self {
            Leasing::Server(server) => server.table_mut(),
            Leasing::Relay(relay) => relay.table_mut(),
        }
    }
}

fn of_pools(why: NotMade) -> Invalid {
    invalid("pools", format!("cannot be served: {why}"), "Lower `session-capacity`")
}

fn of_servers(key: &str, why: &NotMade) -> Invalid {
    invalid(key, format!("cannot be asked: {why}"), "Give 1 to 64 servers")
}

/// Whose remote identifiers those of lines are (RFC 4649): what access nodes say is as the
/// Broadband Forum has it (TR-101).
const BROADBAND_FORUM: u32 = 3561;
