//! Changes as text: `handover ipv4=3.3.0.1 base-station=0`.

use std::net::Ipv4Addr;
use std::str::FromStr;

use function_mobile_gateway::Update;
use model_mobile_gateway::catalogue::{self, User};

/// Reads a change.
pub fn read_update(text: &str) -> Result<Update, String> {
    let mut words = text.split(' ');
    let kind = words.next().unwrap_or("");
    let values = Values(words.filter_map(|word| word.split_once('=')).collect());
    match kind {
        "add-user" => {
            let prefix = u64::from_str_radix(values.text("ipv6-prefix")?, 16);
            let user = User {
                ipv4: values.read("ipv4")?,
                ipv6_prefix: prefix.map_err(|error| error.to_string())?,
                teid: values.read("teid")?,
                base_station: values.read("base-station")?,
            };
            Ok(user.added())
        }
        "remove-user" => Ok(Update::RemoveUser { ipv4: values.read("ipv4")? }),
        "handover" => {
            let base_station = catalogue::base_station_ipv4(values.read("base-station")?);
            Ok(Update::Handover { ipv4: values.read("ipv4")?, base_station })
        }
        "add-server" => {
            let (prefix, len) = values.prefix()?;
            Ok(catalogue::add_route(prefix, len, values.read("next-hop")?))
        }
        "remove-server" => {
            let (prefix, len) = values.prefix()?;
            Ok(catalogue::remove_route(prefix, len))
        }
        // Any other change is written as in a scenario, in braces.
        _ => serde_saphyr::from_str(text).map_err(|error| error.to_string()),
    }
}

struct Values<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Values<'a> {
    fn text(&self, key: &str) -> Result<&'a str, String> {
        let found = self.0.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value).ok_or(format!("no {key}"))
    }

    fn read<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<T, String> {
        self.text(key)?.parse().map_err(|error: T::Err| format!("{key}: {}", error.to_string()))
    }

    fn prefix(&self) -> Result<(Ipv4Addr, u8), String> {
        let (prefix, len) = self.text("prefix")?.split_once('/').ok_or("a prefix has a length")?;
        let prefix = prefix.parse().map_err(|_| format!("'{prefix}' is no address"))?;
        let len = len.parse().map_err(|_| format!("'{len}' is no length"))?;
        Ok((prefix, len))
    }
}
