//! Changes as text: `handover teid=1 base-station=0`.

use std::net::Ipv4Addr;
use std::str::FromStr;

use functions::mobile_gateway::Update;
use functions::mobile_gateway::catalogue::User;

/// Reads a change.
pub fn read_update(text: &str) -> Result<Update, String> {
    let mut words = text.split(' ');
    let kind = words.next().unwrap_or("");
    let values = Values(words.filter_map(|word| word.split_once('=')).collect());
    match kind {
        "add-user" => Ok(Update::AddUser(User {
            ipv4: values.read("ipv4")?,
            ipv6_prefix: u64::from_str_radix(values.text("ipv6-prefix")?, 16)
                .map_err(|error| error.to_string())?,
            teid: values.read("teid")?,
            base_station: values.read("base-station")?,
        })),
        "remove-user" => Ok(Update::RemoveUser { teid: values.read("teid")? }),
        "handover" => Ok(Update::Handover {
            teid: values.read("teid")?,
            base_station: values.read("base-station")?,
        }),
        "add-server" => {
            let (prefix, len) = values.prefix()?;
            Ok(Update::AddServer { prefix, len, next_hop: values.read("next-hop")? })
        }
        "remove-server" => {
            let (prefix, len) = values.prefix()?;
            Ok(Update::RemoveServer { prefix, len })
        }
        _ => Err(format!("'{kind}' is no change")),
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
