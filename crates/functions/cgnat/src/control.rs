//! What can change while a carrier-grade NAT runs: pools, one-to-one and port forwarding rules,
//! limits, timeouts, where logs go, sessions of a subscriber, virtual addresses, and whether it is
//! the active one of several.

use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;
use function_kit::PortName;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stages::virtuals::Virtual;

use crate::config::{Mac, PortForwarding, PortForwardingHost, Prefixed, StaticRule, Timeouts};
use crate::interfaces::Interfaces;
use crate::ruling;
use crate::state::State;
use crate::types::flow::{Far, Inside, halves};

/// A change at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// Subscribers may get addresses of a further pool, or of a drained one again.
    AddPool {
        /// Network of the pool.
        pool: Prefixed<Ipv4Addr>,
    },
    /// No new subscriber and no new block gets an address of a pool; sessions go on.
    DrainPool {
        /// Network of the pool.
        pool: Prefixed<Ipv4Addr>,
    },
    /// A one-to-one rule holds from now on; sessions that its subscribers have end.
    AddStatic {
        /// Subscribers' addresses.
        inside: Prefixed<Ipv4Addr>,
        /// What they become: a network of the same length, which no pool and no other rule has.
        outside: Prefixed<Ipv4Addr>,
    },
    /// A one-to-one rule holds no longer; sessions of its subscribers end.
    RemoveStatic {
        /// Subscribers' addresses.
        inside: Prefixed<Ipv4Addr>,
        /// What they became.
        outside: Prefixed<Ipv4Addr>,
    },
    /// The port forwarding rule of an outside address is this one from now on; sessions end of
    /// hosts that come, go or have other ports than before.
    SetPortForwarding {
        /// The outside address, which no pool and no other rule has.
        outside: Ipv4Addr,
        /// All of its hosts, as in the file.
        #[schemars(length(min = 1, max = 1024))]
        hosts: Vec<PortForwardingHost>,
    },
    /// An outside address has no port forwarding rule any more; sessions of its hosts end.
    RemovePortForwarding {
        /// The outside address.
        outside: Ipv4Addr,
    },
    /// Most sessions of a subscriber from now on; 0 for no limit. Sessions that are there stay.
    SetSessionLimit {
        /// The limit.
        sessions: u32,
    },
    /// How long sessions live from now on, those included that are there.
    SetTimeouts {
        /// All timeouts, as in the file; one that is left out has its default.
        timeouts: Timeouts,
    },
    /// Where the log goes from now on; the address is of the same version of IP as before.
    SetCollector {
        /// Address of the collector.
        collector: IpAddr,
        /// UDP port of the collector; 0 for the one of the format.
        #[serde(default)]
        port: u16,
        /// To whom messages go by Ethernet.
        next_hop_mac: Mac,
    },
    /// Ends all sessions of a subscriber.
    ClearSubscriber {
        /// Inside address of the subscriber; behind a softwire, the address of the B4 element.
        address: IpAddr,
        /// The VLAN of its VRF; 0 for none.
        #[serde(default)]
        #[schemars(range(max = 4094))]
        vlan: u16,
    },
    /// A virtual address (RFC 9568) becomes the NAT's own at an interface, or has another Ethernet
    /// address from now on.
    SetVirtual {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The virtual Ethernet address.
        mac: Mac,
        /// The virtual address.
        address: IpAddr,
        /// Whether pings to it are answered.
        accept: bool,
    },
    /// A virtual address is the NAT's no more.
    RemoveVirtual {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The virtual address.
        address: IpAddr,
    },
    /// Whether this NAT is the one that packets go through, of two that share their outside
    /// addresses; whoever decides that, VRRP say, tells it, and may tell it twice. One in the
    /// replication `role: pair` tells the other one of its sessions while it is active, and is told
    /// while it is not; with `pools-answer: active`, or `role: standby`, it answers for pools while
    /// it is.
    SetActive {
        /// Whether it is.
        active: bool,
    },
}

/// Applies a change at `now`, between two batches: packets see it wholly or not at all.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(
    state: &mut State,
    interfaces: &mut Interfaces,
    update: &Update,
    now: Ticks,
) -> Result<(), Refusal> {
    match *update {
        Update::AddPool { pool } => add_pool(state, interfaces, pool, now),
        Update::DrainPool { pool } => {
            let (first, count) = state.allocation.addresses.pool(pool).ok_or(Refusal::NotFound)?;
            state.allocation.drain(first..first + count);
            Ok(())
        }
        Update::AddStatic { inside, outside } => {
            ruling::add_static(state, interfaces, StaticRule { inside, outside }, now)
        }
        Update::RemoveStatic { inside, outside } => {
            ruling::remove_static(state, interfaces, StaticRule { inside, outside }, now)
        }
        Update::SetPortForwarding { outside, ref hosts } => {
            let rule = PortForwarding { outside, hosts: hosts.clone() };
            ruling::set_forwarding(state, interfaces, rule, now)
        }
        Update::RemovePortForwarding { outside } => {
            ruling::remove_forwarding(state, interfaces, outside, now)
        }
        Update::SetSessionLimit { sessions } => {
            state.session_limit = sessions;
            Ok(())
        }
        Update::SetTimeouts { timeouts } => {
            if !timeouts.are_possible() {
                return Err(Refusal::Invalid);
            }
            state.set_timeouts(timeouts);
            Ok(())
        }
        Update::SetCollector { collector, port, next_hop_mac } => {
            let log = state.log.as_mut().ok_or(Refusal::NotFound)?;
            log.redirect(collector, port, next_hop_mac).then_some(()).ok_or(Refusal::Invalid)
        }
        Update::ClearSubscriber { address, vlan } => clear(state, interfaces, (address, vlan), now),
        Update::SetVirtual { port, vlan, mac, address, accept } => {
            interfaces.set_virtual((port, vlan), address, Virtual { mac: mac.0, accept })
        }
        Update::RemoveVirtual { port, vlan, address } => {
            interfaces.remove_virtual((port, vlan), address)
        }
        Update::SetActive { active } => {
            state.is_active = active;
            interfaces.set_active(active);
            Ok(())
        }
    }
}

/// Lets subscribers have addresses of a pool.
fn add_pool(
    state: &mut State,
    interfaces: &mut Interfaces,
    pool: Prefixed<Ipv4Addr>,
    now: Ticks,
) -> Result<(), Refusal> {
    let addresses = &mut state.allocation.addresses;
    if interfaces.has_virtual_in(pool) {
        return Err(Refusal::Exists);
    }
    if let Some((first, count)) = addresses.pool(pool) {
        (first..first + count).for_each(|number| state.allocation.open(number));
        return Ok(());
    }
    ruling::check_new(interfaces, addresses, pool)?;
    let first = addresses.add_pool(pool).ok_or(Refusal::Exists)?;
    let count = 1u32.checked_shl(32 - u32::from(pool.len)).unwrap_or(0);
    (first..first + count).for_each(|number| state.allocation.open(number));
    ruling::addresses_changed(state, interfaces, now);
    Ok(())
}

/// Ends all sessions of a subscriber, by its address and the VLAN of its VRF.
fn clear(
    state: &mut State,
    interfaces: &Interfaces,
    (address, vlan): (IpAddr, u16),
    now: Ticks,
) -> Result<(), Refusal> {
    let key = match address {
        IpAddr::V4(address) => Inside::ipv4(address.to_bits(), 0, vlan, Far::default()),
        IpAddr::V6(_) if vlan != 0 => return Err(Refusal::NotFound),
        IpAddr::V6(address) => {
            let ds_lite = interfaces.ds_lite.as_ref();
            if let Some(softwire) = ds_lite.and_then(|it| it.softwire(address)) {
                let (address, near) = (softwire.name, softwire.realm.into());
                let key = Inside { address, near, ..Inside::default() };
                // An IPv6 subscriber may have the address of a B4 element as well.
                if state.clear(&key, now).is_ok() {
                    return Ok(());
                }
            }
            if halves(address)[0] == 0 {
                return Err(Refusal::NotFound);
            }
            Inside { address: halves(address), ..Inside::default() }
        }
    };
    state.clear(&key, now).map(|_| ())
}
