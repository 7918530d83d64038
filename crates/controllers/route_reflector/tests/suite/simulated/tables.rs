//! The tables that operators ask for, beside what the peers know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use controller_kit::Asked;
use controller_kit::erased::Running;
use controller_route_reflector::RouteReflector;
use controller_route_reflector::fuzz::model::Attributes;
use controller_route_reflector::fuzz::wire::{Paths, key};
use protocol_bgp::text::Route;
use protocol_kit::Time;
use serde_json::{Value, json};

/// All entries of a table, by small pages.
fn all(
    reflector: &RouteReflector,
    table: &str,
    peer: Option<IpAddr>,
) -> Result<Vec<Value>, String> {
    let filters: BTreeMap<String, String> =
        peer.map(|peer| ("peer".to_owned(), peer.to_string())).into_iter().collect();
    let (mut all, mut from) = (Vec::new(), Some(0));
    while let Some(place) = from {
        let asked = Asked { table, from: place, limit: 37, filters: &filters };
        let page = Running::table_page(reflector, &asked, Time::ZERO);
        let page = page.map_err(|why| format!("{table}: {why:?}"))?;
        all.extend(page.entries);
        from = page.next;
    }
    Ok(all)
}

/// What a peer is told by the table is what it knows, attribute by attribute.
pub fn compare_advertised(
    reflector: &RouteReflector,
    peer: IpAddr,
    known: &Paths,
) -> Result<(), String> {
    let line = |family: &str, route: &str, it: [Value; 5]| {
        format!("{family} {route} {}", it.map(|value| value.to_string()).join(" "))
    };
    let told = all(reflector, "advertised", Some(peer))?;
    let told = told.iter().map(|entry| {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let keys = ["as-path", "local-pref", "med", "originator", "path-identifier"];
        line(&text("family"), &text("route"), keys.map(|key| entry[key].clone()))
    });
    let told: Vec<String> = told.collect();
    let expected = known.iter().map(|((family, prefix, identifier), it)| {
        let Attributes { path, preference, med, originator, .. } = it;
        let path = path.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let originator = originator.map(|it| std::net::Ipv4Addr::from(it).to_string());
        let route = Route(*family, &key(*family, *prefix)).to_string();
        let identifier = (*identifier != 0).then_some(*identifier);
        let it = [json!(path), json!(preference), json!(med), json!(originator), json!(identifier)];
        line(&family.to_string(), &route, it)
    });
    let expected: BTreeSet<String> = expected.collect();
    let count = told.len();
    let told: BTreeSet<String> = told.into_iter().collect();
    if count != told.len() {
        return Err(format!("{peer} is told a route twice by the table"));
    }
    match told.symmetric_difference(&expected).next() {
        Some(first) => Err(format!("the table of what {peer} is told has or lacks {first}")),
        None => Ok(()),
    }
}

/// All tables can be asked for at any time, and say as much as there is.
pub fn ask_all(reflector: &RouteReflector) -> Result<(), String> {
    let tables = ["peers", "routes", "groups", "targets", "attributes"];
    let sizes = Running::table_sizes(reflector);
    let sizes: Vec<u64> = sizes.into_iter().flatten().collect();
    for (table, size) in tables.into_iter().zip(sizes) {
        let count = all(reflector, table, None)?.len() as u64;
        if count != size {
            return Err(format!("`{table}` has {count} entries, not {size}"));
        }
    }
    Ok(())
}
