//! A row as keys with texts, and from there to the type of an entry.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::form::Form;

/// The keys of a row with their texts, and those that its file gives to all rows.
#[derive(Debug)]
pub struct Cells<'a> {
    form: &'a Form,
    text: String,
    /// Keys by their places in the form, with where their texts are.
    own: Vec<(usize, Range<usize>)>,
    further: Vec<(usize, &'a str)>,
}

impl<'a> Cells<'a> {
    /// An empty row of a file with these keys for all rows.
    ///
    /// # Errors
    /// A key that no row has.
    pub(crate) fn new(
        form: &'a Form,
        further: &'a BTreeMap<String, String>,
    ) -> Result<Cells<'a>, String> {
        let mut cells = Cells { form, text: String::new(), own: Vec::new(), further: Vec::new() };
        for (key, text) in further {
            let place = cells.place_of(key)?;
            cells.further.push((place, text));
        }
        Ok(cells)
    }

    /// The text of a key; none if neither the row nor its file says it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let place = self.form.keys.iter().position(|one| *one == key)?;
        let own = self.own.iter().find(|(own, _)| *own == place);
        match own {
            Some((_, range)) => self.text.get(range.clone()),
            None => {
                let mut further = self.further.iter();
                further.find(|(own, _)| *own == place).map(|(_, text)| *text)
            }
        }
    }

    /// The row as the type of an entry.
    ///
    /// # Errors
    /// The key that does not fit, and why.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(self).map_err(|wrong: Wrong| wrong.0)
    }

    pub(crate) fn form(&self) -> &'a Form {
        self.form
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.own.clear();
    }

    /// The place of a key in the form.
    pub(crate) fn place_of(&self, key: &str) -> Result<usize, String> {
        let found = self.form.keys.iter().position(|one| *one == key);
        found.ok_or_else(|| {
            format!("`{key}` is no key of a row; keys are {}", self.form.keys.join(", "))
        })
    }

    /// Adds a key, which the row has not said yet.
    pub(crate) fn push(&mut self, place: usize, text: &str) -> Result<(), String> {
        if self.own.iter().any(|(own, _)| *own == place) {
            let key = self.form.keys.get(place).copied().unwrap_or_default();
            return Err(format!("says `{key}` twice; keep one"));
        }
        let begin = self.text.len();
        self.text.push_str(text);
        self.own.push((place, begin..self.text.len()));
        Ok(())
    }
}

/// What is wrong with a row, in words.
#[derive(Debug)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Wrong {
        Wrong(what.to_string())
    }

    fn missing_field(field: &'static str) -> Wrong {
        Wrong(format!("`{field}` is missing; write it as `{field}=…`, or give it to the file"))
    }
}

impl<'de> Deserializer<'de> for &'de Cells<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_map(Entries { cells: self, next: 0, value: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

/// The cells one by one: those of the row, then those of the file that the row does not say.
struct Entries<'de, 'a> {
    cells: &'de Cells<'a>,
    next: usize,
    value: Option<(&'static str, &'de str)>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let cells = self.cells;
        loop {
            let at = self.next;
            self.next += 1;
            let (place, text) = match cells.own.get(at) {
                Some((place, range)) => (*place, cells.text.get(range.clone()).unwrap_or_default()),
                None => {
                    let Some((place, text)) = cells.further.get(at - cells.own.len()) else {
                        return Ok(None);
                    };
                    if cells.own.iter().any(|(own, _)| own == place) {
                        continue;
                    }
                    (*place, *text)
                }
            };
            let Some(key) = cells.form.keys.get(place) else { continue };
            self.value = Some((*key, text));
            return seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some);
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, text) = self.value.take().unwrap_or_default();
        let value = seed.deserialize(Text(text));
        value.map_err(|Wrong(what)| Wrong(format!("{key}: {what}")))
    }
}

/// A text as whatever is asked for.
#[derive(Clone, Copy)]
struct Text<'de>(&'de str);

impl<'de> Text<'de> {
    fn number<T: FromStr + fmt::Display>(self, least: T, most: T) -> Result<T, Wrong> {
        self.0.parse().map_err(|_| {
            Wrong(format!("`{}` is not a whole number from {least} to {most}", self.0))
        })
    }

    /// A list or mapping in JSON.
    fn json<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let mut json = serde_json::Deserializer::from_str(self.0);
        (&mut json)
            .deserialize_any(visitor)
            .map_err(|error| Wrong(format!("`{}` is neither a word nor JSON: {error}", self.0)))
    }
}

macro_rules! numbers {
    ($($name:ident $visit:ident $type:ty),*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            visitor.$visit(self.number(<$type>::MIN, <$type>::MAX)?)
        })*
    };
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.starts_with(['[', '{']) {
            return self.json(visitor);
        }
        match (self.0.parse::<u64>(), self.0) {
            (Ok(number), _) => visitor.visit_u64(number),
            (_, "true") => visitor.visit_bool(true),
            (_, "false") => visitor.visit_bool(false),
            (_, text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            "true" | "yes" => visitor.visit_bool(true),
            "false" | "no" => visitor.visit_bool(false),
            other => Err(Wrong(format!("`{other}` is neither true nor false"))),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let number = self.0.parse().ok().filter(|number: &f64| number.is_finite());
        visitor.visit_f64(number.ok_or_else(|| Wrong(format!("`{}` is not a number", self.0)))?)
    }

    numbers! {
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if !variants.contains(&self.0) {
            return Err(Wrong(format!("`{}` is none of {}", self.0, variants.join(", "))));
        }
        BorrowedStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i128 u128 f32 char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    struct Entry {
        prefix: String,
        #[serde(default)]
        vrf: u16,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        pair: Option<[u16; 2]>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        Permit,
        Deny,
    }

    const FORM: Form =
        Form { keys: &["prefix", "vrf", "kind", "pair"], unnamed: 1, takes_routes: false };

    fn typed(line: &str, further: &[(&str, &str)]) -> Result<Entry, String> {
        let owned = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
        let further = further.iter().map(owned).collect();
        let mut cells = Cells::new(&FORM, &further)?;
        crate::text::cells(line, &mut cells)?;
        cells.typed()
    }

    #[test]
    fn words_become_the_fields_of_an_entry() {
        let entry = typed("10.0.0.0/8 kind=deny pair=[1,2] # a comment", &[("vrf", "3")]);
        let prefix = "10.0.0.0/8".to_owned();
        let all = Entry { prefix, vrf: 3, kind: Some(Kind::Deny), pair: Some([1, 2]) };
        assert_eq!(entry, Ok(all));
        assert_eq!(typed("a vrf=4", &[("vrf", "3")]).map(|entry| entry.vrf), Ok(4));
    }

    #[test]
    fn what_does_not_fit_is_told_by_its_key() {
        for (line, what) in [
            ("a vrf=70000", "vrf: `70000` is not a whole number from 0 to 65535"),
            ("a kind=refuse", "kind: `refuse` is none of permit, deny"),
            ("a b", "`b` is a word too many; write `prefix`"),
            ("a colour=red", "`colour` is no key of a row; keys are prefix, vrf"),
            ("vrf=1", "`prefix` is missing"),
            ("a prefix=b", "says `prefix` twice"),
            ("a pair=[1", "pair: `[1` is neither a word nor JSON"),
        ] {
            let error = typed(line, &[]).expect_err(line);
            assert!(error.starts_with(what), "{line}: {error}");
        }
    }
}
