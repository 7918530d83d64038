//! `plumbline show`: what a daemon counts, with rates.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use daemon::client::Client;
use daemon::protocol::{Ask, Sought, View};
use jiff::Timestamp;
use logs::Question;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::output::{print, print_json, tell};
use crate::problem::Problem;
use crate::remote::Which;

mod wanted;

use self::wanted::wanted;

/// Shows the counters of a running daemon, with rates.
///
/// `plumbline show table users` shows the entries of a table, `plumbline show tables` the occupancy
/// of all tables.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to show
    #[arg(value_enum, default_value_t = What::Counters)]
    what: What,
    /// The table whose entries are shown; with `policy` the policy
    #[arg(value_name = "TABLE", required_if_eq_any([("what", "table"), ("what", "policy")]))]
    table: Option<String>,
    /// With `table`, of a controller: only the entries that are this by a key of the table, which
    /// `show tables` names; with `policy` first the route
    #[arg(value_name = "KEY=VALUE", requires = "table")]
    filters: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Repeat until interrupted
    #[arg(long)]
    watch: bool,
    /// The time between repetitions, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
    /// The largest number of table entries to show
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// The worker whose table entries are shown, in place of the first one's with the sums of what
    /// each worker counts
    #[arg(long, value_name = "NUMBER")]
    worker: Option<usize>,
    /// With `table`: only the entries that this leads to, of all workers: of a function's an
    /// address, or one with a port; of a controller's a prefix, too
    #[arg(long = "for", value_name = "ADDRESS[:PORT]|PREFIX")]
    sought: Option<String>,
    /// With `table`: show all that is known of each entry, a line for each key
    #[arg(long, conflicts_with = "json")]
    long: bool,
    /// With `--for`: those that there were at this time, as RFC 3339 has it, from a log of a NAT
    #[arg(long, value_name = "TIME", requires = "sought", requires = "log")]
    at: Option<Timestamp>,
    /// With `--at`: a file of lines of syslog (RFC 5424) as the NAT has sent them, or of messages
    /// of IPFIX (RFC 5655); may be repeated, in the order of their times
    #[arg(long, value_name = "FILE", requires = "at")]
    log: Vec<PathBuf>,
    /// With `alarms`: show those that are over, too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The views that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Sums over all workers
    Counters,
    /// Ports with counters, link state and properties
    Ports,
    /// Cycles by stage
    Stages,
    /// Drops by reason
    Drops,
    /// What goes to the host and comes from it
    Punts,
    /// The controllers by name, with their protocols and how their threads are
    Protocols,
    /// Neighbours of the function and of all protocols
    Neighbours,
    /// Timers and lags of what drives protocols
    Timers,
    /// What is wrong now; with `--all` what was, too
    Alarms,
    /// How full the tables are
    Tables,
    /// Entries of a table
    Table,
    /// What a policy makes of a route, by which rule: `show policy NAME ROUTE`
    Policy,
    /// Counters of each worker
    Workers,
    /// The configuration with all defaults
    Config,
    /// Counters, ports, stages, drops, punts and workers
    All,
}

const EXAMPLES: &str = "\
Examples:
  plumbline show
  plumbline show ports --watch
  plumbline show neighbours
  plumbline show table users --limit 20 --name gateway
  plumbline show table routes --for 192.0.2.1
  plumbline show table sessions --for 198.51.100.7:4242
  plumbline show table routes --for 192.0.2.0/24 match=longer family=ipv4-unicast
  plumbline show table advertised peer=192.0.2.11 --for 198.51.100.0/24 --long
  plumbline show policy customers 198.51.100.0/24
  plumbline show table blocks --for 198.51.100.7:4242 --at 2026-11-22T08:15:30Z --log nat.log";

/// Runs `plumbline show`.
///
/// # Errors
/// When no daemon answers.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    if let (Some(at), Some(sought)) = (args.at, &args.sought) {
        let sought = sought.parse().map_err(|what: String| Problem::of_usage(what, ""))?;
        return past(args, sought, at);
    }
    let mut client = args.which.connect()?;
    loop {
        let began = Instant::now();
        if matches!(args.what, What::Table | What::Policy) {
            table(args, &mut client)?;
        } else {
            let shown = client.ask(Ask::Show(args.what.view()))?;
            match args.json {
                true => print_json(&shown)?,
                false => print(&said(args, shown))?,
            }
        }
        if !args.watch {
            return Ok(Exit::Passed);
        }
        let interval = Duration::from_secs_f64(args.interval);
        while let Some(left) = interval.checked_sub(began.elapsed()) {
            thread::park_timeout(left);
        }
    }
}

/// The answer as text: lists of records as tables.
fn said(args: &Args, shown: Value) -> String {
    let list = |rows: &Value, none: &str| match rows.as_array() {
        Some(rows) if !rows.is_empty() => list_of(rows),
        _ => format!("{none}\n"),
    };
    match args.what {
        What::Neighbours if shown["is_whole"] == false => {
            list(&shown["neighbours"], "") + "… there are more\n"
        }
        What::Neighbours => list(&shown["neighbours"], "no neighbours"),
        What::Tables => {
            let tables = &shown["controllers"];
            let more = if tables.is_array() { list(tables, "") } else { String::new() };
            let mut shown = shown.clone();
            shown.as_object_mut().into_iter().for_each(|all| drop(all.shift_remove("controllers")));
            text(&shown) + &more
        }
        What::Timers => list(&shown["timers"], "nothing drives a protocol beside the workers"),
        What::Alarms => {
            let (alarms, mut text) = (&shown["alarms"], String::new());
            text += &list(&alarms["raised"], "no alarms");
            if args.all {
                text += &list(&alarms["cleared"], "none that are over");
            }
            text
        }
        _ => text(&shown),
    }
}

/// The keys that some of the records have, in the order in which they come.
fn keys_of(rows: &[Value]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in rows.iter().filter_map(Value::as_object).flatten() {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// Records as a table.
fn list_of(rows: &[Value]) -> String {
    let keys = keys_of(rows);
    let heads = keys.iter().map(|key| key.replace('_', " ")).collect();
    let row = |row: &Value| keys.iter().map(|key| plain(&row[key.as_str()])).collect();
    let cells: Vec<Vec<String>> = [heads].into_iter().chain(rows.iter().map(row)).collect();
    left_aligned(&cells)
}

/// Formats rows as columns that are aligned left.
fn left_aligned(rows: &[Vec<String>]) -> String {
    columns_of(rows, |_| false)
}

/// Formats rows as columns, of which some are aligned right.
fn columns_of(rows: &[Vec<String>], is_right: impl Fn(usize) -> bool) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| match is_right(at) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

impl What {
    fn view(self) -> View {
        match self {
            What::Counters => View::Counters,
            What::Ports => View::Ports,
            What::Stages => View::Stages,
            What::Drops => View::Drops,
            What::Punts => View::Punts,
            What::Protocols => View::Protocols,
            What::Neighbours => View::Neighbours,
            What::Timers => View::Timers,
            What::Alarms => View::Alarms,
            What::Tables | What::Table | What::Policy => View::Tables,
            What::Workers => View::Workers,
            What::Config => View::Config,
            What::All => View::All,
        }
    }
}

/// Fetches the entries of a table page by page, up to the limit.
fn table(args: &Args, client: &mut Client) -> Result<(), Problem> {
    let named = (args.table.clone().unwrap_or_default(), args.what == What::Policy);
    let (name, sought, filters) = wanted(named, args.sought.as_ref(), &args.filters)?;
    let mut entries: Vec<Value> = Vec::new();
    // What is sought is asked of one worker after the other.
    let mut turn = 0;
    let mut from = Some(0);
    let mut columns = Value::Null;
    while let Some(place) = from.filter(|_| entries.len() < args.limit) {
        let page = client.ask(Ask::Table {
            name: name.clone(),
            worker: if sought.is_some() { Some(turn) } else { args.worker },
            from: place,
            limit: if sought.is_some() { usize::MAX } else { args.limit - entries.len() },
            of: sought.clone(),
            filters: filters.clone(),
        })?;
        for entry in page["entries"].as_array().into_iter().flatten() {
            // What every worker has is shown once.
            if turn == 0 || sought.is_none() || !entries.contains(entry) {
                entries.push(entry.clone());
            }
        }
        from = page["next"].as_u64();
        columns = page["columns"].clone();
        let is_last = page["workers"].as_u64().is_none_or(|count| turn as u64 + 1 >= count);
        if from.is_none() && sought.is_some() && !is_last {
            (turn, from) = (turn + 1, Some(0));
        }
    }
    let has_more = from.is_some() || entries.len() > args.limit;
    entries.truncate(args.limit);
    if args.json {
        return print_json(&entries);
    }
    let mut text = match args.long {
        true => long_text(&entries),
        false => table_text(&entries, &columns),
    };
    if has_more {
        text.push_str("… more entries follow: raise --limit\n");
    }
    print(&text)
}

/// Shows entries that there were at a time, from a log.
fn past(args: &Args, sought: Sought, at: Timestamp) -> Result<Exit, Problem> {
    let table = args.table.as_deref().unwrap_or_default();
    let question = Question { table, sought, at, limit: args.limit };
    let found = logs::ask(&args.log, &question)?;
    match args.json {
        true => print_json(&found.entries)?,
        false => print(&table_text(&found.entries, &Value::Null))?,
    }
    for remark in &found.remarks {
        tell(&format!("note: {remark}\n"));
    }
    Ok(Exit::Passed)
}

/// Entries of a table as text: of columns that are named those that some entry has. What somebody
/// has named for a line stands aligned left but for numbers.
fn table_text(entries: &[Value], columns: &Value) -> String {
    let cell = |entry: &Value, head: &String| plain(&entry[head]);
    let named = columns.as_array().filter(|columns| !columns.is_empty());
    let Some(named) = named else {
        let heads = keys_of(entries);
        let rows = entries.iter().map(|entry| heads.iter().map(|head| cell(entry, head)).collect());
        return aligned([heads.clone()].into_iter().chain(rows));
    };
    let has = |head: &&str| entries.iter().any(|entry| !entry[*head].is_null());
    let heads: Vec<String> =
        named.iter().filter_map(Value::as_str).filter(has).map(str::to_owned).collect();
    if heads.is_empty() {
        return "no entries\n".to_owned();
    }
    let is_number = |head: &String| {
        entries.iter().all(|entry| entry[head].is_number() || entry[head].is_null())
    };
    let are_numbers: Vec<bool> = heads.iter().map(is_number).collect();
    let row = |entry: &Value| heads.iter().map(|head| cell(entry, head)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> =
        [heads.clone()].into_iter().chain(entries.iter().map(row)).collect();
    columns_of(&rows, |at| are_numbers[at])
}

/// Entries with all that is known of each: a line for each key, and an empty one between two.
fn long_text(entries: &[Value]) -> String {
    let block = |entry: &Value| {
        let mut leaves = Vec::new();
        flatten("", entry, &mut leaves);
        let rows: Vec<Vec<String>> =
            leaves.into_iter().map(|(key, value)| vec![key, value]).collect();
        left_aligned(&rows)
    };
    match entries {
        [] => "no entries\n".to_owned(),
        _ => entries.iter().map(block).collect::<Vec<_>>().join("\n"),
    }
}

/// Formats each view as a section with one line per number, with its rate.
fn text(shown: &Value) -> String {
    let mut text = String::new();
    let none = Map::new();
    let shown = shown.as_object().unwrap_or(&none);
    for (name, view) in shown.iter().filter(|(_, view)| view.is_object() || view.is_array()) {
        if name.ends_with(RATES) {
            continue;
        }
        if let Some(rows) = table_of(name, view) {
            text.push_str(&aligned(rows));
            continue;
        }
        let mut values = Vec::new();
        flatten("", view, &mut values);
        let mut rates = Vec::new();
        shown.get(&format!("{name}{RATES}")).iter().for_each(|view| flatten("", view, &mut rates));
        let rates: BTreeMap<String, String> = rates.into_iter().collect();
        let has_rates = !rates.is_empty();
        let row = |(path, value): (String, String)| {
            let rate = rates.get(&path).filter(|rate| rate.as_str() != "0").cloned();
            match has_rates {
                true => vec![path, value, rate.unwrap_or_default()],
                false => vec![path, value],
            }
        };
        let mut head = vec![name.clone(), String::new()];
        if has_rates {
            head.push("per second".to_owned());
        }
        let _ = write!(text, "{}", aligned([head].into_iter().chain(values.into_iter().map(row))));
    }
    text
}

/// One row per entry of a mapping whose entries are numbers under the same keys; none if the
/// mapping has another shape.
fn table_of(name: &str, view: &Value) -> Option<Vec<Vec<String>>> {
    let entries = view.as_object()?;
    let first = entries.values().next()?.as_object()?;
    let alike = |entry: &Value| {
        entry.as_object().is_some_and(|entry| {
            entry.values().all(Value::is_number) && entry.keys().eq(first.keys())
        })
    };
    if !entries.values().all(alike) {
        return None;
    }
    let heads = first.keys().map(|key| key.replace('_', " "));
    let mut rows = vec![[name.to_owned()].into_iter().chain(heads).collect::<Vec<_>>()];
    for (key, entry) in entries {
        let cells = entry.as_object().into_iter().flatten().map(|(_, value)| plain(value));
        rows.push([key.clone()].into_iter().chain(cells).collect());
    }
    Some(rows)
}

/// Collects the leaves of a JSON tree with their paths.
fn flatten(path: &str, value: &Value, leaves: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| flatten(&below(key), value, leaves));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| flatten(&below(&index.to_string()), value, leaves));
        }
        leaf => leaves.push((path.to_owned(), plain(leaf))),
    }
}

/// A value as people read it. What others have chosen, as names of users are, moves no cursor.
fn plain(value: &Value) -> String {
    let escaped = |text: String, one: char| match one.is_control() {
        true => text + &one.escape_default().to_string(),
        false => text + one.encode_utf8(&mut [0; 4]),
    };
    raw(value).chars().fold(String::new(), escaped)
}

fn raw(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Array(all) if all.is_empty() => "-".to_owned(),
        Value::Array(all) if all.iter().all(Value::is_string) => {
            all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.abs() >= 100.0 => format!("{float:.0}"),
            Some(float) if number.is_f64() => {
                let text = format!("{float:.2}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Formats rows as columns: the first column aligned left, the others right.
fn aligned(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        for (index, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(index) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match index {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds, from 0.05 to 3600".to_owned()),
    }
}

const RATES: &str = "_per_s";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        let entries = serde_json::json!([
            {"user": "\u{1b}[2J\r\nroot", "tags": ["a\u{7f}", "über"]},
        ]);
        let entries = entries.as_array().expect("a list");
        let row = r"\u{1b}[2J\r\nroot  a\u{7f} über";
        for columns in [Value::Null, serde_json::json!(["user", "tags"])] {
            let text = table_text(entries, &columns);
            assert!(text.ends_with(&format!("{row}\n")), "{text}");
            assert_eq!(text.lines().count(), 2, "{text}");
        }
    }

    #[test]
    fn numbers_stand_beside_their_rates() {
        let shown = serde_json::json!({
            "counters": {"received": 1200, "tallies": {"a": 3}},
            "counters_per_s": {"received": 400.25, "tallies": {"a": 0.0}},
            "rates_over_s": 1.0,
        });
        let expected = "\
counters         per second
received   1200         400
tallies.a     3
";
        assert_eq!(text(&shown), expected);
        let shown =
            serde_json::json!({"stages": {"check": {"cycles": 10}, "route": {"cycles": 5}}});
        assert_eq!(text(&shown), "stages  cycles\ncheck       10\nroute        5\n");
    }

    #[test]
    fn columns_are_those_of_all_rows() {
        let rows = serde_json::json!([{"a": 1}, {"a": 2, "vlan": 9}, {"by": "pcp"}]);
        let rows = rows.as_array().expect("rows");
        assert_eq!(list_of(rows), "a  vlan  by\n1  -     -\n2  9     -\n-  -     pcp\n");
    }
}
