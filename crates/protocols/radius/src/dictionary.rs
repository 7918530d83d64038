//! Names, types and formats of attributes, for people and for tables: read from text in the form of
//! FreeRADIUS dictionaries, `dictionary/standard` and `dictionary/vendors` of this crate first. So
//! no vendor is in code.
//!
//! **Not supported:** `$INCLUDE`; attributes inside of others (numbers with a dot, `BEGIN-TLV`) are
//! left out and counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::attributes::{Format, Key, ipv4, ipv6, ipv6_prefix, number, tagged};

/// Attributes by their names and numbers.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    attributes: BTreeMap<Key, Definition>,
    names: BTreeMap<String, Key>,
    vendors: BTreeMap<String, u32>,
    formats: BTreeMap<u32, Format>,
    /// Names of numbers.
    values: BTreeMap<(Key, u32), String>,
    left_out: u64,
}

/// What is known of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What its value is.
    pub kind: Kind,
    /// Whether a tag may stand before its value (RFC 2868).
    pub has_tag: bool,
    /// Whether its value is encrypted.
    pub is_encrypted: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text of UTF-8.
    Text,
    /// Any bytes.
    Octets,
    /// A number of 1, 2, 4 or 8 bytes.
    Number,
    /// An address of IPv4.
    Ipv4,
    /// An address of IPv6.
    Ipv6,
    /// A prefix of IPv6.
    Ipv6Prefix,
    /// Seconds since 1970.
    Date,
    /// An interface identifier of 8 bytes.
    InterfaceId,
}

/// What of a dictionary cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the dictionary: {why}")]
pub struct Unreadable {
    /// The line, from 1 on.
    pub line: usize,
    /// Why.
    pub why: String,
}

/// What of a table whose rows begin with an attribute's name cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} of the {table}: {why}")]
pub struct UnreadableRow {
    /// What the table has.
    pub table: &'static str,
    /// The row, from 1 on.
    pub row: usize,
    /// Why.
    pub why: String,
}

impl Dictionary {
    /// The attributes of the standards and of the vendors that this crate names.
    pub fn standard() -> Dictionary {
        let mut dictionary = Dictionary::default();
        for text in [STANDARD, VENDORS] {
            dictionary.read(text).expect("a test reads it");
        }
        dictionary
    }

    /// Adds what a text has. A name or number that is there already gets the new meaning.
    ///
    /// # Errors
    /// The first line that cannot be read; what stands before it is added.
    pub fn read(&mut self, text: &str) -> Result<(), Unreadable> {
        let mut vendor = 0;
        for (at, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            let read = match words[..] {
                [] => Ok(()),
                ["VENDOR", name, number] => self.add_vendor(name, number, None),
                ["VENDOR", name, number, format] => self.add_vendor(name, number, Some(format)),
                ["BEGIN-VENDOR", name, ..] => self.vendor(name).map(|number| vendor = number),
                ["END-VENDOR", ..] => {
                    vendor = 0;
                    Ok(())
                }
                ["ATTRIBUTE", name, number, kind, ref flags @ ..] => {
                    self.add_attribute(vendor, [name, number, kind], flags)
                }
                ["VALUE", attribute, name, number] => self.add_value(attribute, name, number),
                ["BEGIN-TLV" | "END-TLV", ..] => {
                    self.left_out += 1;
                    Ok(())
                }
                [word, ..] => Err(format!("`{word}` is none of VENDOR, ATTRIBUTE, VALUE")),
            };
            read.map_err(|why| Unreadable { line: at + 1, why })?;
        }
        Ok(())
    }

    /// Returns the key of an attribute by its name.
    pub fn key(&self, name: &str) -> Option<Key> {
        self.names.get(name).copied()
    }

    /// Returns what is known of an attribute.
    pub fn definition(&self, key: Key) -> Option<&Definition> {
        self.attributes.get(&key)
    }

    /// Returns how a vendor's attributes are written.
    pub fn format(&self, vendor: u32) -> Format {
        self.formats.get(&vendor).copied().unwrap_or(Format::USUAL)
    }

    /// Returns how many lines of attributes inside of others were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the name of an attribute, or its numbers.
    pub fn name(&self, key: Key) -> String {
        match (self.attributes.get(&key), key) {
            (Some(definition), _) => definition.name.clone(),
            (None, Key { vendor: 0, kind }) => format!("Attr-{kind}"),
            (None, Key { vendor, kind }) => format!("Attr-26.{vendor}.{kind}"),
        }
    }

    /// Returns a value as text; a number that has a name by that. A value that is not of the
    /// attribute's type, or of no known type, is told in hexadecimal digits.
    pub fn text(&self, key: Key, value: &[u8]) -> String {
        let plain = self.plain(key, value);
        let name = plain.as_deref().and_then(|text| text.parse().ok());
        match name.and_then(|number| self.values.get(&(key, number))) {
            Some(name) => name.clone(),
            None => plain.unwrap_or_else(|| hex(value)),
        }
    }

    /// Returns a value as text, numbers by their digits, without its tag; `None` of a value that is
    /// not of the attribute's type.
    pub fn plain(&self, key: Key, value: &[u8]) -> Option<String> {
        let (kind, has_tag) =
            self.attributes.get(&key).map_or((Kind::Octets, false), |it| (it.kind, it.has_tag));
        match kind {
            Kind::Text => {
                let value = if has_tag { tagged(value).1 } else { value };
                String::from_utf8(value.to_vec()).ok()
            }
            Kind::Octets => Some(hex(value)),
            // The tag of a number is its first byte (RFC 2868 section 3.1).
            Kind::Number | Kind::Date if has_tag => {
                let tagless = number(value)? & 0x00ff_ffff;
                Some(tagless.to_string())
            }
            Kind::Number | Kind::Date => {
                if ![1, 2, 4, 8].contains(&value.len()) {
                    return None;
                }
                let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
                Some(value.iter().fold(0, add).to_string())
            }
            Kind::Ipv4 => ipv4(value).map(|address| address.to_string()),
            Kind::Ipv6 => ipv6(value).map(|address| address.to_string()),
            Kind::Ipv6Prefix => ipv6_prefix(value).map(|(prefix, len)| format!("{prefix}/{len}")),
            Kind::InterfaceId => {
                let words = <[u8; 8]>::try_from(value).ok()?;
                let words = words.as_chunks().0.iter().map(|word| u16::from_be_bytes(*word));
                let words: Vec<String> = words.map(|word| format!("{word:x}")).collect();
                Some(words.join(":"))
            }
        }
    }

    /// Reads the rows of a table: an attribute's name, and what `read` makes of the rest.
    pub(crate) fn read_rows<T>(
        &self,
        table: &'static str,
        rows: &[(&str, &str)],
        read: impl Fn(Key, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, UnreadableRow> {
        let read = |(at, (name, rest)): (usize, &(&str, &str))| {
            let key = self.key(name).ok_or_else(|| format!("no attribute is called `{name}`"));
            let clear = key.and_then(|key| match self.definition(key) {
                Some(definition) if definition.is_encrypted => {
                    Err(format!("`{name}` is encrypted, and such attributes are not read or told"))
                }
                _ => Ok(key),
            });
            clear.and_then(|key| read(key, rest)).map_err(|why| UnreadableRow {
                table,
                row: at + 1,
                why,
            })
        };
        rows.iter().enumerate().map(read).collect()
    }

    fn vendor(&self, name: &str) -> Result<u32, String> {
        self.vendors.get(name).copied().ok_or_else(|| format!("no VENDOR is called `{name}`"))
    }

    fn add_vendor(&mut self, name: &str, code: &str, format: Option<&str>) -> Result<(), String> {
        let vendor = read_number(code)?;
        if let Some(text) = format {
            let lens = text.strip_prefix("format=").map(|lens| lens.split(',').collect::<Vec<_>>());
            let format = match lens.as_deref() {
                Some([kind @ ("1" | "2" | "4"), len @ ("0" | "1" | "2")]) => {
                    let len_of = |digit: &str| digit.as_bytes()[0] - b'0';
                    Format { kind_len: len_of(kind), len_len: len_of(len) }
                }
                _ => return Err(format!("`{text}` is no format as `format=1,1`")),
            };
            self.formats.insert(vendor, format);
        }
        self.vendors.insert(name.to_owned(), vendor);
        Ok(())
    }

    fn add_attribute(
        &mut self,
        vendor: u32,
        [name, code, kind]: [&str; 3],
        flags: &[&str],
    ) -> Result<(), String> {
        if code.contains('.') {
            self.left_out += 1;
            return Ok(());
        }
        // Older files name the vendor behind the type.
        let behind = flags.first().and_then(|word| self.vendors.get(*word)).copied();
        let key = Key { vendor: behind.unwrap_or(vendor), kind: read_number(code)? };
        let has = |flag: &str| {
            flags.iter().flat_map(|word| word.split(',')).any(|word| word.starts_with(flag))
        };
        let definition = Definition {
            name: name.to_owned(),
            kind: Kind::read(kind),
            has_tag: has("has_tag"),
            is_encrypted: has("encrypt="),
        };
        self.names.insert(name.to_owned(), key);
        self.attributes.insert(key, definition);
        Ok(())
    }

    fn add_value(&mut self, attribute: &str, name: &str, code: &str) -> Result<(), String> {
        let key = self.key(attribute);
        let key = key.ok_or_else(|| format!("no ATTRIBUTE is called `{attribute}`"))?;
        self.values.insert((key, read_number(code)?), name.to_owned());
        Ok(())
    }
}

impl Kind {
    /// The kind of a type's name; of one that is not known, any bytes.
    fn read(name: &str) -> Kind {
        match name.split('[').next().unwrap_or_default() {
            "string" | "text" => Kind::Text,
            "integer" | "integer64" | "short" | "byte" | "signed" | "uint32" => Kind::Number,
            "ipaddr" => Kind::Ipv4,
            "ipv6addr" => Kind::Ipv6,
            "ipv6prefix" => Kind::Ipv6Prefix,
            "date" => Kind::Date,
            "ifid" => Kind::InterfaceId,
            _ => Kind::Octets,
        }
    }
}

fn read_number(text: &str) -> Result<u32, String> {
    let read = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    read.map_err(|_| format!("`{text}` is no number"))
}

/// Bytes in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The rows of a table of this crate: a name, and what stands behind a space.
pub(crate) fn rows_of(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).collect()
}

const STANDARD: &str = include_str!("../dictionary/standard");

const VENDORS: &str = include_str!("../dictionary/vendors");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_those_of_the_files() {
        let dictionary = Dictionary::standard();
        let key = |name: &str| dictionary.key(name).expect("it is there");
        assert_eq!(key("Framed-IP-Address"), Key::standard(8));
        assert_eq!(key("Cisco-AVPair"), Key { vendor: 9, kind: 1 });
        assert_eq!(dictionary.name(Key { vendor: 14122, kind: 8 }), "WISPr-Bandwidth-Max-Down");
        assert_eq!(dictionary.name(Key { vendor: 99, kind: 8 }), "Attr-26.99.8");
        assert_eq!(dictionary.name(Key::standard(250)), "Attr-250");
        let text = |name: &str, value: &[u8]| dictionary.text(key(name), value);
        assert_eq!(text("Framed-IP-Address", &[192, 0, 2, 1]), "192.0.2.1");
        assert_eq!(text("Framed-IP-Address", &[192, 0]), "0xc000");
        assert_eq!(text("Acct-Status-Type", &[0, 0, 0, 3]), "Interim-Update");
        assert_eq!(text("Acct-Status-Type", &[0, 0, 0, 99]), "99");
        assert_eq!(text("Delegated-IPv6-Prefix", &[0, 16, 0x20, 1]), "2001::/16");
        assert_eq!(text("Framed-Interface-Id", &[0, 1, 0, 2, 0, 3, 0, 4]), "1:2:3:4");
        assert_eq!(text("ERX-Service-Activate", b"\x01gold"), "gold");
        assert_eq!(text("Class", &[1, 0xff]), "0x01ff");
        let password = dictionary.definition(key("Tunnel-Password"));
        assert!(password.is_some_and(|it| it.is_encrypted && it.has_tag));
    }

    #[test]
    fn a_file_of_an_operator_adds_vendors_and_their_formats() {
        let mut dictionary = Dictionary::standard();
        let text = "VENDOR Wide 429 format=4,0 # types of 4 bytes\nBEGIN-VENDOR Wide\n\
                    ATTRIBUTE Wide-Event 0xbfbe integer\nATTRIBUTE Wide-Inner 1.2 string\n\
                    VALUE Wide-Event Begin 7\nEND-VENDOR Wide\nATTRIBUTE Old-Style 5 string Wide\n";
        dictionary.read(text).expect("it is one");
        let key = Key { vendor: 429, kind: 0xbfbe };
        assert_eq!(dictionary.key("Wide-Event"), Some(key));
        assert_eq!(dictionary.key("Old-Style"), Some(Key { vendor: 429, kind: 5 }));
        assert_eq!(dictionary.text(key, &[0, 0, 0, 7]), "Begin");
        assert_eq!(dictionary.format(429), Format { kind_len: 4, len_len: 0 });
        assert_eq!(dictionary.left_out(), 1);
        for (text, line) in [
            ("ATTRIBUTE A x string", 1),
            ("\nVENDOR A 1 format=3,1", 2),
            ("BEGIN-VENDOR Nobody", 1),
            ("VALUE Nothing A 1", 1),
            ("$INCLUDE other", 1),
        ] {
            let read = Dictionary::default().read(text);
            assert_eq!(read.map_err(|error| error.line), Err(line), "{text}");
        }
    }
}
