//! What entries have to be, as a person writes it: a peer, a family, a route.
//!
//! | `for` | routes |
//! |---|---|
//! | `192.0.2.1` | the one with the longest prefix that covers the address |
//! | `192.0.2.0/24` | that one; with `match=longest` the longest that covers it, with `match=longer` all within |
//! | `65000:1:192.0.2.0/24` | the same of a VPN; without a Route Distinguisher those of all |
//! | other words | routes whose text has the word: a MAC address, a route target |

use std::net::IpAddr;

use controller_kit::table::{FOR, quoted};
use controller_kit::{Asked, Unanswered};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::prefix::{bits_before, covers, shorter, without_distinguisher};
use protocol_bgp::text::{Route, parse};

use super::room::Numbers;
use super::seen::Seen;
use crate::groups::view::View;

/// Which routes are sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Routes<'a> {
    /// The families that may have them.
    pub families: FamilySet,
    text: Option<&'a str>,
    how: Match,
}

/// How a prefix is compared with the one that is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// It is the same.
    Exact,
    /// It is the longest that covers it.
    Longest,
    /// It is one of those within.
    Longer,
}

/// How routes of a family are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test<'a> {
    /// By their numbers, or all.
    Numbers,
    /// They are within a prefix.
    Within(Vec<u8>),
    /// They are the same or within, whatever their Route Distinguisher.
    OfAnyVpn(Vec<u8>, bool),
    /// Their texts have this word.
    Word(&'a str),
}

impl<'a> Routes<'a> {
    /// Reads what routes are sought.
    ///
    /// # Errors
    /// With what is wrong with the filters.
    pub fn read(seen: Seen<'_>, asked: &Asked<'a>) -> Result<Routes<'a>, Unanswered> {
        let named = asked.filter("family").map(family).transpose()?;
        let how = asked.filter("match").map(|word| {
            let found = MATCHES.iter().find(|(name, _)| *name == word).map(|(_, how)| *how);
            let names = MATCHES.map(|(name, _)| name);
            found.ok_or_else(|| Unanswered::unknown("match", word, &names))
        });
        let how = how.transpose()?;
        let families: FamilySet = match named {
            Some(family) => [family].into_iter().collect(),
            None => FAMILIES.iter().map(|row| row.family).collect(),
        };
        let Some(text) = asked.filters.get(FOR).map(|text| text.trim()) else {
            if how.is_some() {
                let what = "`match` says how a route is found, and none is sought";
                return Err(Unanswered::new(what, "add `--for PREFIX`, or leave `match` out"));
            }
            return Ok(Routes { families, text: None, how: Match::Exact });
        };
        if text.is_empty() || text.len() > TEXT_MAX {
            return Err(no_route(text));
        }
        let usual = if text.contains('/') { Match::Exact } else { Match::Longest };
        let all = Routes { families, text: Some(text), how: how.unwrap_or(usual) };
        // Any word may be one of a route that is no prefix: it is, where there are such routes.
        let may_have =
            |family: Family| bits_before(family).is_some() || seen.reflector.count(family).0 > 0;
        let has =
            |family: &Family| all.test(*family).is_some() && (named.is_some() || may_have(*family));
        let families: FamilySet = families.iter().filter(has).collect();
        match named {
            Some(family) if families.is_empty() => Err(none_of(family, text)),
            None if families.is_empty() => Err(no_route(text)),
            _ => Ok(Routes { families, ..all }),
        }
    }

    /// Whether one route is sought, and not all that are something.
    pub fn is_one(&self) -> bool {
        self.text.is_some() && self.how != Match::Longer
    }

    /// Which routes of a family may be it, before [`Test::holds`] says that they are.
    pub fn numbers(&self, view: View<'_>, family: Family) -> Numbers {
        let all = Numbers::Below(view.routes.end());
        let Some(text) = self.text else { return all };
        match (self.test(family), parse(family, text)) {
            (Some(Test::Numbers), Ok(key)) => Numbers::These(match self.how {
                Match::Longest => {
                    let one = |key: &Vec<u8>| shorter(family, key);
                    let mut keys = std::iter::successors(Some(key), one);
                    let has_path = |number: &u32| view.routes.route(*number).best().is_some();
                    let find = |key: Vec<u8>| view.routes.find(&key).filter(has_path);
                    keys.find_map(find).into_iter().collect()
                }
                _ => view.routes.find(&key).into_iter().collect(),
            }),
            (Some(_), _) => all,
            (None, _) => Numbers::These(Vec::new()),
        }
    }

    /// How routes of each family are found, by its place in [`FAMILIES`].
    pub fn tests(&self) -> [Option<Test<'a>>; FAMILIES.len()] {
        FAMILIES.each_ref().map(|row| self.test(row.family))
    }

    /// How routes of a family are found; `None` if the text is none of it.
    fn test(&self, family: Family) -> Option<Test<'a>> {
        let Some(text) = self.text else { return Some(Test::Numbers) };
        let Some(before) = bits_before(family) else { return Some(Test::Word(text)) };
        match (parse(family, text), self.how) {
            (Ok(key), Match::Longer) => Some(Test::Within(key)),
            (Ok(_), _) => Some(Test::Numbers),
            (Err(_), Match::Longest) => None,
            (Err(_), how) if before > 0 => {
                let plain = match family {
                    Family::VpnV4 => Family::Ipv4Unicast,
                    _ => Family::Ipv6Unicast,
                };
                let key = parse(plain, text).ok()?;
                Some(Test::OfAnyVpn(key, how == Match::Longer))
            }
            (Err(_), _) => None,
        }
    }
}

impl Test<'_> {
    /// Whether a route is what is sought.
    pub fn holds(&self, family: Family, key: &[u8]) -> bool {
        match self {
            Test::Numbers => true,
            Test::Within(short) => covers(short, key),
            Test::OfAnyVpn(short, is_longer) => {
                let bare = without_distinguisher(key);
                bare.is_some_and(|bare| match is_longer {
                    true => covers(short, &bare),
                    false => *short == bare,
                })
            }
            Test::Word(word) => {
                let text = Route(family, key).to_string();
                text == *word || text.split([' ', ',']).any(|one| one == *word)
            }
        }
    }

    /// What it costs to find out, in looks.
    pub fn cost(&self) -> usize {
        match self {
            Test::Numbers | Test::Within(_) => 0,
            Test::OfAnyVpn(..) => 2,
            // A text is made of each route.
            Test::Word(_) => 15,
        }
    }
}

/// Says what would be a route.
fn no_route(text: &str) -> Unanswered {
    let what = format!("{} is no route of any family that there is", quoted(text));
    Unanswered::new(what, "write a prefix (10.0.0.0/8), an address, or a word of a route's text")
}

/// Says what would be a route of a family.
fn none_of(family: Family, text: &str) -> Unanswered {
    let is_of_vpn = bits_before(family).is_some_and(|before| before > 0);
    let plain = [Family::Ipv4Unicast, Family::Ipv6Unicast];
    if is_of_vpn && plain.iter().any(|plain| parse(*plain, text).is_ok()) {
        let what = format!("the longest match of {} depends on the VPN", quoted(text));
        let remedy = "write its Route Distinguisher in front (65000:1:10.0.0.1), or \
                      `match=exact` or `match=longer` for all VPNs";
        return Unanswered::new(what, remedy);
    }
    let what = format!("{} is no route of {family}", quoted(text));
    match parse(family, "") {
        Err(protocol_bgp::text::NotARoute::Text { form, .. }) => {
            Unanswered::new(what, format!("write one as {form}"))
        }
        _ => Unanswered::new(what, "give a word of one, as `show table routes` has it"),
    }
}

/// Reads the name of a family.
///
/// # Errors
/// With the nearest name.
pub(super) fn family(name: &str) -> Result<Family, Unanswered> {
    let names = FAMILIES.each_ref().map(|row| row.name);
    name.parse().map_err(|_| Unanswered::unknown("family", name, &names))
}

/// Reads the address of a peer, and returns its number.
///
/// # Errors
/// When there is none with it.
pub(crate) fn peer(seen: Seen<'_>, text: &str) -> Result<u16, Unanswered> {
    let address = text.parse::<IpAddr>().ok();
    address.and_then(|address| seen.peers.of_address(address)).ok_or_else(|| {
        let few = seen.peers.iter().take(NEAR_MAX).map(|(number, _)| seen.name_of(number));
        let few: Vec<String> = few.collect();
        let few: Vec<&str> = few.iter().map(String::as_str).collect();
        let unknown = Unanswered::unknown("peer", text, &few);
        match unknown.remedy.starts_with("did you mean") {
            true => unknown,
            false => Unanswered::new(unknown.what, "see the addresses of `show table peers`"),
        }
    })
}

/// The names of ways to compare.
const MATCHES: [(&str, Match); 3] =
    [("exact", Match::Exact), ("longest", Match::Longest), ("longer", Match::Longer)];

/// Characters of a route that is sought.
const TEXT_MAX: usize = 200;

/// Peers among which the nearest address is looked for.
const NEAR_MAX: usize = 1024;
