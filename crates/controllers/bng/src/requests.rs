//! What servers and operators ask of sessions: changes and ends.

use std::net::IpAddr;

use controller_kit::Unanswered;
use protocol_dhcp::Prefix;
use protocol_kit::Time;
use protocol_radius::List;
use protocol_radius::asking::{ErrorCause, SessionKey, Wanted};
use protocol_radius::attributes::ipv6_prefix_value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

use crate::config::PoolKind;
use crate::core::Core;
use crate::granted::{Granted, name_of, v6_of};
use crate::session::{Session, Waiter, Why};

/// By what an operator names a session; of several keys all have to be its.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Chosen {
    /// Number of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Name of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Address of the station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// An address of the session, or the first one of a prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
}

/// The same, with the profile that they are to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Profiled {
    /// Name of the profile.
    pub profile: String,
    /// The number of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Address of the station.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// An address of the session, or the first one of a prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
}

impl Core {
    /// A server asks for a change or an end of a session.
    pub fn asked(
        &mut self,
        request: u64,
        wants: Wanted,
        keys: &[SessionKey],
        attributes: &List,
        now: Time,
    ) {
        let verdict = self.found(keys).and_then(|number| match wants {
            Wanted::Disconnect => {
                self.end(number, Why::Disconnected, now);
                Ok(Some(()))
            }
            Wanted::Change => self.change(number, request, attributes, now).map(|()| None),
        });
        let answer = match verdict {
            Ok(None) => return,
            Ok(Some(())) => Ok(()),
            Err(cause) => Err(cause),
        };
        if let Some(aaa) = &mut self.aaa {
            aaa.answer(request, answer, now);
        }
    }

    /// The one session that has all of these keys.
    fn found(&self, keys: &[SessionKey]) -> Result<u32, ErrorCause> {
        let known = |key: &SessionKey| {
            !matches!(
                key,
                SessionKey::Called(_)
                    | SessionKey::MultiSession(_)
                    | SessionKey::Chargeable(_)
                    | SessionKey::InterfaceId(_)
            )
        };
        if !keys.iter().all(known) {
            return Err(ErrorCause::UnsupportedAttribute);
        }
        let has_all = |number: u32, session: &Session| {
            session.ending.is_none() && keys.iter().all(|key| self.has_key(number, session, key))
        };
        // An address or a number leads to its session; without one all are looked at.
        let direct = keys.iter().find_map(|key| match key {
            SessionKey::Address(address) => Some(self.pools.owner(Prefix::host(*address))),
            SessionKey::Port(number) => Some(Some(*number)),
            SessionKey::Session(id) => Some(number_in(id)),
            _ => None,
        });
        let found: Vec<u32> = match direct {
            Some(number) => {
                let session = number.and_then(|number| Some((number, self.sessions.get(number)?)));
                session
                    .filter(|(number, it)| has_all(*number, it))
                    .into_iter()
                    .map(|it| it.0)
                    .collect()
            }
            None => {
                let all = self.sessions.from(1).filter(|(number, it)| has_all(*number, it));
                all.map(|(number, _)| number).take(2).collect()
            }
        };
        match *found {
            [number] => Ok(number),
            [] => Err(ErrorCause::SessionContextNotFound),
            _ => Err(ErrorCause::MultipleSessionSelectionUnsupported),
        }
    }

    fn has_key(&self, number: u32, session: &Session, key: &SessionKey) -> bool {
        let is_prefix = |kind: PoolKind, value: &[u8]| {
            let prefix = session.used(kind);
            let octets = prefix.and_then(|it| Some(ipv6_prefix_value(v6_of(it)?, it.bits())));
            octets.is_some_and(|octets| octets == value)
        };
        match key {
            SessionKey::UserName(name) => session.user.as_bytes() == name.as_slice(),
            SessionKey::Port(port) => *port == number,
            SessionKey::PortId(id) => {
                format!("{}.{}", session.line.outer, session.line.inner).as_bytes() == id.as_slice()
            }
            SessionKey::Address(address) => has_address(session, *address),
            SessionKey::Prefix(value) => is_prefix(PoolKind::Slaac, value),
            SessionKey::DelegatedPrefix(value) => is_prefix(PoolKind::Delegated, value),
            SessionKey::Calling(mac) => session.mac.to_string().as_bytes() == mac.as_slice(),
            SessionKey::Session(id) => self
                .aaa
                .as_ref()
                .is_some_and(|aaa| aaa.id(number, session).as_bytes() == id.as_slice()),
            SessionKey::InterfaceId(_)
            | SessionKey::Called(_)
            | SessionKey::MultiSession(_)
            | SessionKey::Chargeable(_) => false,
        }
    }

    /// A session is granted something else. What it has of addresses stays.
    fn change(
        &mut self,
        number: u32,
        request: u64,
        attributes: &List,
        now: Time,
    ) -> Result<(), ErrorCause> {
        let mapped = self.aaa.as_ref().map(|aaa| aaa.map(attributes)).unwrap_or_default();
        let session = self.sessions.get(number).ok_or(ErrorCause::SessionContextNotFound)?;
        let granted = session.granted.clone().ok_or(ErrorCause::SessionContextNotFound)?;
        // Of two changes at once nobody could tell which one the gateway has refused.
        if session.undo.is_some() {
            return Err(ErrorCause::ResourcesUnavailable);
        }
        let (fixed, pools) = (granted.fixed, granted.pools.clone());
        let ignored = granted.ignored;
        let mut changed = granted
            .with(&mapped, attributes.attributes())
            .ok_or(ErrorCause::InvalidAttributeValue)?;
        if changed.ignored > ignored {
            return Err(ErrorCause::UnsupportedAttribute);
        }
        // Addresses among the attributes are keys of the session.
        (changed.fixed, changed.pools) = (fixed, pools);
        self.regrant(number, changed, Some(Waiter::Request(request)), now);
        Ok(())
    }

    /// The sessions that an operator names.
    fn chosen(&self, chosen: &Chosen) -> Result<Vec<u32>, Unanswered> {
        if *chosen == Chosen::default() {
            let remedy = "give `session`, `user`, `mac` or `address`";
            return Err(Unanswered::new("no session is named", remedy));
        }
        let mac: Option<MacAddr> = match &chosen.mac {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| {
                let what = format!("{} is no address", controller_kit::table::quoted(text));
                Unanswered::new(what, "write it as `02:00:00:00:00:01`")
            })?),
        };
        let has_all = |(number, session): &(u32, &Session)| {
            session.ending.is_none()
                && chosen.session.is_none_or(|wanted| wanted == *number)
                && chosen.user.as_ref().is_none_or(|user| *user == session.user)
                && mac.is_none_or(|mac| mac == session.mac)
                && chosen.address.is_none_or(|address| has_address(session, address))
        };
        let found = self.sessions.from(1).filter(has_all).map(|(number, _)| number);
        match found.collect::<Vec<u32>>() {
            found if found.is_empty() => {
                Err(Unanswered::new("there is no such session", "look at the table `subscribers`"))
            }
            found => Ok(found),
        }
    }

    /// An operator ends sessions; returns how many.
    pub fn disconnect(&mut self, chosen: &Chosen, now: Time) -> Result<usize, Unanswered> {
        let found = self.chosen(chosen)?;
        found.iter().for_each(|number| self.end(*number, Why::Operator, now));
        Ok(found.len())
    }

    /// An operator gives sessions another profile; returns how many, without those that are not let
    /// in yet, or of which another change is on its way.
    pub fn set_profile(&mut self, keys: &Profiled, now: Time) -> Result<usize, Unanswered> {
        let Profiled { session, user, mac, address, .. } = keys.clone();
        let profile = name_of(&keys.profile)
            .filter(|profile| self.places.gateway.profiles.iter().any(|one| one.name == *profile));
        let profile = profile.ok_or_else(|| {
            let names: Vec<&str> =
                self.places.gateway.profiles.iter().map(|one| one.name.as_str()).collect();
            Unanswered::unknown("profile", &keys.profile, &names)
        })?;
        let found = self.chosen(&Chosen { session, user, mac, address })?;
        let mut count = 0;
        for number in found {
            let session = self.sessions.get(number).filter(|session| session.undo.is_none());
            if let Some(granted) = session.and_then(|session| session.granted.clone()) {
                self.regrant(number, Granted { profile, ..granted }, None, now);
                count += 1;
            }
        }
        Ok(count)
    }
}

/// The number in an identifier of a session ([`crate::aaa::Aaa::id`]).
fn number_in(id: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(id.get(8..16)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Whether a session uses an address, or a prefix that begins with it.
pub(crate) fn has_address(session: &Session, address: IpAddr) -> bool {
    let kinds = [PoolKind::Ipv4, PoolKind::Na, PoolKind::Slaac, PoolKind::Delegated];
    kinds.iter().filter_map(|kind| session.used(*kind)).any(|prefix| prefix.address() == address)
}
