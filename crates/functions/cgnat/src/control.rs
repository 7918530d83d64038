//! What can change while a carrier-grade NAT runs: pools, limits, timeouts, where logs go, sessions
//! of a subscriber, virtual addresses, and whether it is the active one of several.

use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;
use function_kit::PortName;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stages::virtuals::Virtual;

use crate::config::{Mac, Prefixed, Timeouts};
use crate::interfaces::Interfaces;
use crate::state::State;
use crate::types::flow::{Far, Inside, halves};

/// A change at run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        Update::AddPool { pool } => {
            let addresses = &mut state.allocation.addresses;
            if interfaces.siit.as_ref().is_some_and(|it| it.overlaps(pool)) {
                return Err(Refusal::Invalid);
            }
            if interfaces.has_virtual_in(pool) {
                return Err(Refusal::Exists);
            }
            let count = 1u32.checked_shl(32 - u32::from(pool.len)).ok_or(Refusal::Invalid)?;
            let first = match addresses.pool(pool) {
                Some((first, _)) => first,
                None if addresses.overlaps(pool) => return Err(Refusal::Exists),
                None => addresses.add_pool(pool).ok_or(Refusal::Exceeds("spare-addresses"))?,
            };
            (first..first + count).for_each(|number| state.allocation.open(number));
            interfaces.set_outside(&state.allocation.addresses);
            Ok(())
        }
        Update::DrainPool { pool } => {
            let (first, count) = state.allocation.addresses.pool(pool).ok_or(Refusal::NotFound)?;
            state.allocation.drain(first..first + count);
            Ok(())
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
        Update::ClearSubscriber { address, vlan } => {
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
