//! Which client, server, ports and protocol a session has.

use traffic::Random;

use super::frames::{Ends, Protocol};
use super::learned::Translation;
use super::permutation::Permutation;
use crate::sections::Traffic;

/// Between whom a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The client's address.
    pub client: u32,
    /// The server's address.
    pub server: u32,
    /// The client's port, or the identifier of its echoes.
    pub client_port: u16,
    /// The server's port; 0 for echoes.
    pub server_port: u16,
    /// The protocol.
    pub protocol: Protocol,
}

impl Flow {
    /// Addresses and ports of packets from the client.
    #[inline(always)]
    pub fn uplink(&self) -> Ends {
        Ends {
            source: self.client,
            destination: self.server,
            source_port: self.client_port,
            destination_port: self.server_port,
        }
    }

    /// Addresses and ports of packets from the server to where the client seems to be.
    #[inline(always)]
    pub fn downlink(&self, client: Translation) -> Ends {
        Ends {
            source: self.server,
            destination: client.address,
            source_port: self.server_port,
            destination_port: client.port,
        }
    }
}

/// All sessions, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    order: Permutation,
    random: Random,
    server_ports: Divisor,
    servers: Divisor,
    client_ports: Divisor,
    first: Flow,
    /// Of 2^16 sessions: those that are TCP, and those that are TCP or ICMP.
    shares: [u32; 2],
}

impl Space {
    /// The sessions of a validated configuration.
    pub fn new(traffic: &Traffic) -> Space {
        let share = |share: f64| (share * f64::from(1u32 << 16)).round() as u32;
        Space {
            order: Permutation::new(traffic.sessions_most(), Random::new(traffic.random_seed, 2)),
            random: Random::new(traffic.random_seed, 3),
            server_ports: Divisor::new(traffic.server_ports),
            servers: Divisor::new(traffic.server),
            client_ports: Divisor::new(traffic.client_ports),
            first: Flow {
                client: traffic.first_client.to_bits(),
                server: traffic.first_server.to_bits(),
                client_port: traffic.first_client_port,
                server_port: traffic.first_server_port,
                protocol: Protocol::Udp,
            },
            shares: [share(traffic.tcp_share), share(traffic.tcp_share + traffic.icmp_share)],
        }
    }

    /// Between whom a session is; its number must be below that of all sessions.
    #[inline(always)]
    pub fn flow(&self, session: u64) -> Flow {
        let place = self.order.at(session) as u32;
        let (rest, server_port) = self.server_ports.divide(place);
        let (rest, server) = self.servers.divide(rest);
        let (client, client_port) = self.client_ports.divide(rest);
        let mut flow = Flow {
            client: self.first.client.wrapping_add(client),
            server: self.first.server.wrapping_add(server),
            client_port: self.first.client_port.wrapping_add(client_port as u16),
            server_port: self.first.server_port.wrapping_add(server_port as u16),
            protocol: self.protocol(place),
        };
        if flow.protocol == Protocol::Icmp {
            // Without a server port, the identifier alone tells sessions with a server apart.
            let number = client_port * self.server_ports.divisor() + server_port;
            flow.client_port = self.first.client_port.wrapping_add(number as u16);
            flow.server_port = 0;
        }
        flow
    }

    #[inline(always)]
    fn protocol(&self, place: u32) -> Protocol {
        if self.shares[1] == 0 {
            return Protocol::Udp;
        }
        let drawn = self.random.at(u64::from(place)) as u32 & 0xffff;
        match self.shares {
            [tcp, _] if drawn < tcp => Protocol::Tcp,
            [_, both] if drawn < both => Protocol::Icmp,
            _ => Protocol::Udp,
        }
    }
}

/// A number by which others are divided without a division: by its reciprocal in 64 bits, which is
/// exact for numbers of 32 bits (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", PLDI 1994).
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u32,
    /// 2^64 / divisor, rounded up; 0 for 2^64.
    reciprocal: u64,
}

impl Divisor {
    /// Dividing by 0 is dividing by 1.
    fn new(divisor: u32) -> Divisor {
        let divisor = divisor.max(1);
        Divisor { divisor, reciprocal: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    fn divisor(&self) -> u32 {
        self.divisor
    }

    /// Quotient and remainder.
    #[inline(always)]
    fn divide(&self, number: u32) -> (u32, u32) {
        if self.divisor == 1 {
            return (number, 0);
        }
        let product = u128::from(self.reciprocal) * u128::from(number);
        let quotient = (product >> 64) as u32;
        (quotient, number - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quotient_is_that_of_a_division(number: u32, divisor in 1u32.., small in 1u32..100) {
            for divisor in [divisor, small, 1 << (small % 32)] {
                let got = Divisor::new(divisor).divide(number);
                prop_assert_eq!(got, (number / divisor, number % divisor));
            }
        }

        #[test]
        fn no_two_sessions_are_between_the_same_ends(
            counts in (1u32..20, 1u32..6, 1u32..12, 1u32..6), seed in 1u64.., mixed: bool,
        ) {
            let traffic = Traffic {
                client: counts.0,
                client_ports: counts.1,
                server: counts.2,
                server_ports: counts.3,
                random_seed: seed,
                tcp_share: if mixed { 0.4 } else { 0.0 },
                icmp_share: if mixed { 0.3 } else { 0.0 },
                ..Traffic::default()
            };
            let space = Space::new(&traffic);
            let mut all = HashSet::new();
            for session in 0..traffic.sessions_most() {
                let flow = space.flow(session);
                let ends = flow.uplink();
                let clients = ends.source - traffic.first_client.to_bits();
                let servers = ends.destination - traffic.first_server.to_bits();
                prop_assert!(clients < counts.0 && servers < counts.2);
                let key = (ends.source, ends.destination, ends.source_port, ends.destination_port);
                prop_assert!(all.insert((key, flow.protocol as u8)), "{:?} twice", flow);
            }
        }
    }

    #[test]
    fn protocols_have_their_shares() {
        let traffic = Traffic { tcp_share: 0.5, icmp_share: 0.125, ..Traffic::default() };
        let space = Space::new(&traffic);
        let mut counts = [0; 3];
        (0..100_000).for_each(|session| counts[space.flow(session).protocol as usize] += 1);
        for (count, wanted) in counts.into_iter().zip([37_500i32, 50_000, 12_500]) {
            assert!((count - wanted).abs() < 1000, "{counts:?}");
        }
    }
}
