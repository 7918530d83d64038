//! Several controllers of one daemon: what each is told, keeps, and goes on with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller_kit::erased::{Kind, Unit};
use controller_kit::{Action, Asked, Controller, Event, Metric, Page, Setup, Table, Unanswered};
use daemon::protocol::{Ask, View};
use daemon::{Configuration, Parts};
use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured, configured};
use protocol_kit::{Input, Machine, Output, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::{BRIDGE, parts, start, try_start, until};

/// The controllers of the tests.
pub const SIDES: &[&dyn Kind] = &[&Unit::<Side<1>>::new(), &Unit::<Side<2>>::new()];

/// A controller that wants stations, or rules: things of a kind that is its own.
struct Side<const N: u8> {
    config: Keys,
    is_of_a_switch: bool,
    /// The numbers of what it has found, and of what it has.
    found: BTreeSet<u64>,
    has: BTreeSet<u64>,
    /// What became of its changes: the first numbers and counts.
    applied: Vec<(u64, u64)>,
    /// Of what workers have told it.
    heard: Vec<u64>,
    reloads: u32,
    /// What was in its file.
    kept: String,
}

/// Keys of such a controller.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keys {
    stations: Vec<u64>,
    /// Whether it panics after its first changes.
    #[serde(default)]
    panics: bool,
    #[serde(default)]
    file: Option<PathBuf>,
}

/// The kinds of changes of a side: stations of the left one, rules of the right one.
fn kinds_of(side: u8) -> [&'static str; 2] {
    if side == 1 { ["set-station", "remove-station"] } else { ["set-rule", "remove-rule"] }
}

/// The change by which a side has something, or has it no more; a switch refuses station 40.
fn change_of(side: u8, one: u64, is_there: bool) -> Value {
    let [set, remove] = kinds_of(side);
    let mac = format!("02:00:00:00:01:{one:02x}");
    let port = if one == 40 { "port-3" } else { "uplink" };
    match (side, is_there) {
        (1, true) => json!({set: {"mac": mac, "port": port}}),
        (1, false) => json!({remove: {"mac": mac}}),
        (_, true) => json!({set: {"priority": one, "action": "permit"}}),
        (_, false) => json!({remove: {"priority": one}}),
    }
}

/// What a side has by an update, if it is one of its own.
fn number_of(side: u8, update: &AnyUpdate) -> Option<u64> {
    let value = update.value();
    (0..100).find(|&one| [true, false].iter().any(|&is| value == change_of(side, one, is)))
}

impl<const N: u8> Controller for Side<N> {
    const NAME: &'static str = if N == 1 { "left" } else { "right" };
    const SUMMARY: &'static str = "stations of a side";
    const TABLES: &'static [Table] =
        &[Table { name: "things", summary: "a thing of a side", filters: &["odd"] }];

    type Config = Keys;

    fn validate(_: &mut Keys) -> Result<(), Invalid> {
        Ok(())
    }

    fn new(config: &Keys, setup: Setup<'_>) -> Result<Side<N>, Invalid> {
        if config.stations.contains(&99) {
            let what = "has 99".to_owned();
            let remedy = "Leave it out".into();
            return Err(Invalid { section: "controller", key: "stations".into(), what, remedy });
        }
        let found: Option<BTreeSet<u64>> =
            setup.state.iter().map(|update| number_of(N, update)).collect();
        let found = found.expect("its own alone");
        let is_of_a_switch = setup.function.is_some_and(|function| function.name() == "l2-switch");
        let (config, has, applied, heard) = (config.clone(), found.clone(), Vec::new(), Vec::new());
        let (kept, reloads) = (String::new(), 0);
        Ok(Side { config, is_of_a_switch, found, has, applied, heard, reloads, kept })
    }

    fn file(config: &Keys) -> Option<&Path> {
        config.file.as_deref()
    }

    fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid> {
        self.kept = String::from_utf8_lossy(kept).into_owned();
        Ok(())
    }

    fn claims(config: &Keys) -> Vec<&'static str> {
        let also = config.stations.contains(&50).then_some("remove-station");
        kinds_of(N).into_iter().chain(also).collect()
    }

    fn reload(&mut self, config: &Keys, _: Option<&dyn Configured>, _: Time) -> bool {
        self.config = config.clone();
        self.reloads += 1;
        N == 1
    }

    fn show(&self) -> Value {
        json!({"found": self.found, "has": self.has, "applied": self.applied,
               "heard": self.heard, "reloads": self.reloads, "kept": self.kept})
    }

    fn table_sizes(&self) -> Vec<Option<u64>> {
        vec![Some(self.has.len() as u64)]
    }

    fn table_page(&self, asked: &Asked<'_>, _: Time) -> Result<Page, Unanswered> {
        let odd = asked.filter("odd");
        assert!(odd != Some("panic"), "a test wants it");
        let all = self.has.range(asked.from..).filter(|one| odd.is_none() || *one % 2 == 1);
        let mut all = all.copied();
        let entries = all.by_ref().take(asked.limit).map(|one| json!({"thing": one})).collect();
        Ok(Page { entries, next: all.next(), columns: &["thing"] })
    }

    fn metrics(&self) -> Vec<Metric> {
        let of = vec![("of", Self::NAME.to_owned())];
        let samples = vec![(of, self.has.len() as f64)];
        vec![Metric { name: "things_total", is_counter: true, help: "Things of a side.", samples }]
    }
}

impl<const N: u8> Machine for Side<N> {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, _: Time, input: Input<'_, Event>) {
        if let Input::Command(Event::Happened(what)) = &input {
            self.heard.push(what.subject);
        }
        if let Input::Command(Event::Applied { first, count, .. }) = input {
            self.applied.push((first, count));
            assert!(!self.config.panics || !self.found.is_empty(), "a test wants it");
        }
    }

    fn poll(&mut self, _: Time) -> Option<Output<Action>> {
        let wanted: BTreeSet<u64> = self.config.stations.iter().copied().collect();
        let set = wanted.difference(&self.has).map(|one| change_of(N, *one, true));
        let remove = self.has.difference(&wanted).map(|one| change_of(N, *one, false));
        let switch = configured::<function_l2_switch::L2Switch>(Default::default());
        let all = set.chain(remove).map(|one| switch.update(&one).expect("a change"));
        let updates: Vec<AnyUpdate> = all.filter(|_| self.is_of_a_switch).collect();
        self.has = wanted;
        (!updates.is_empty()).then_some(Output::Report(Action::Updates(updates)))
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

const BOTH: &str = "controllers: [{name: left, stations: [1, 2]}, \
                    {name: right, stations: [7], panics: true}]\nstate: @/state\n";

#[test]
fn each_controller_has_its_own_changes_numbers_and_end() {
    let text = format!("{BRIDGE}{BOTH}");
    let run = start(&text);
    let of = |name: &str| run.show(View::Protocols)["protocols"][name].clone();
    let left = until("the left one's changes", || {
        Some(of("left"))
            .filter(|left| left["controller"]["applied"].is_array())
            .filter(|left| left["controller"]["applied"] != json!([]))
    });
    assert_eq!(left["controller"]["applied"], json!([[0, 2]]));
    // The other one panics when its change has taken effect, and finds it.
    let right = until("the right one's second life", || {
        Some(of("right")).filter(|right| right["controller"]["found"] == json!([7]))
    });
    assert_eq!((&right["restarts"], &right["controller"]["applied"]), (&json!(1), &json!([])));
    assert_eq!(of("left")["restarts"], 0);
    let alarms = run.show(View::Alarms);
    let cleared = &alarms["alarms"]["cleared"][0];
    assert_eq!(
        (&cleared["source"], &cleared["cause"]),
        (&json!("right"), &json!("controller-restart"))
    );

    // A reload changes one of them, in its present life.
    let fewer = text.replace("[1, 2]", "[2, 3]");
    run.rewrite(&fewer);
    assert_eq!(run.ask(Ask::Reload).expect("a good file")["controllers"], json!(["left"]));
    let left = until("the left one's new keys", || {
        Some(of("left"))
            .filter(|left| left["controller"]["reloads"] == 1)
            .filter(|left| left["controller"]["applied"][1].is_array())
    });
    assert_eq!(left["controller"]["applied"].as_array().map(Vec::len), Some(2));
    assert_eq!((&left["controller"]["has"], &left["restarts"]), (&json!([2, 3]), &json!(0)));
    assert_eq!(of("right")["controller"]["reloads"], 0);
    // And one that has to begin again, from what it has made.
    run.rewrite(&fewer.replace("[7]", "[8]"));
    assert_eq!(run.ask(Ask::Reload).expect("a good file")["controllers"], json!(["right"]));
    let right = until("the right one's third life", || {
        Some(of("right"))
            .filter(|right| right["controller"]["has"] == json!([8]))
            .filter(|right| right["controller"]["applied"] != json!([]))
    });
    assert_eq!((&right["controller"]["found"], &right["restarts"]), (&json!([7]), &json!(1)));

    // What does not fit, and what needs a restart, is refused, and nothing changes.
    for (wanted, why) in [
        (fewer.replace("[2, 3]", "[99]"), "has 99"),
        (text.replace("{name: left, stations: [1, 2]}, ", ""), "controllers cannot be changed"),
    ] {
        run.rewrite(&wanted);
        let refused = run.ask(Ask::Reload).expect_err(why);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert_eq!(of("left")["controller"]["reloads"], 1);

    // A daemon that begins again gives each what it has made, and nothing of an operator's.
    let rule = json!({"priority": 9, "action": "permit"});
    run.ask(Ask::Set(json!({"set-egress-rule": rule}))).expect("room");
    let folder = Arc::clone(&run.folder);
    run.stop().expect("it ends well");
    let run = try_start(&text, true, folder).expect("it starts");
    let found = |name: &str| {
        let shown = run.show(View::Protocols);
        Some(shown["protocols"][name]["controller"]["found"].clone()).filter(Value::is_array)
    };
    assert_eq!(until("the left one", || found("left")), json!([2, 3]));
    assert_eq!(until("the right one", || found("right")), json!([8]));
    assert!(run.show(View::Tables).to_string().contains("\"used\":4"), "2 + 2");
}

#[test]
fn a_controller_is_given_what_its_file_has() {
    let text = format!("{BRIDGE}controllers: [{{name: left, stations: [], file: @/left}}]\n");
    let mut folder = Arc::new(tempfile::tempdir().expect("a folder"));
    for kept in ["", "what there was"] {
        let run = try_start(&text, true, folder).expect("it starts");
        let shown = || run.show(View::Protocols)["protocols"]["left"]["controller"].clone();
        let found =
            until("the controller", || Some(shown()["kept"].clone()).filter(Value::is_string));
        assert_eq!(found, kept);
        folder = Arc::clone(&run.folder);
        std::fs::write(folder.path().join("left"), "what there was").expect("writable");
        run.stop().expect("it ends well");
    }
    // One that cannot be read is no reason to begin without it.
    std::fs::remove_file(folder.path().join("left")).expect("it is there");
    std::fs::create_dir(folder.path().join("left")).expect("a folder");
    assert!(try_start(&text, true, folder).is_err());
}

#[test]
fn workers_tell_controllers_what_they_notice_without_interfaces_of_the_host() {
    let (_, below) = BRIDGE.split_once('\n').expect("it has lines");
    let keys = "interfaces: [{port: uplink}, {port: downlink}]";
    let function = format!("function: {{name: l3-router, {keys}}}\n");
    let run = start(&format!("{function}{below}controllers: [{{name: left, stations: []}}]\n"));
    let watched = json!({"watch-route": {"number": 5, "prefix": "10.9.0.0/16"}});
    run.ask(Ask::Set(watched)).expect("room");
    until("the route that is not there", || {
        let shown = run.show(View::Protocols);
        let heard = shown["protocols"]["left"]["controller"]["heard"].as_array().cloned();
        heard.filter(|heard| heard.len() == 1)
    });
    // No frame goes to a host.
    let punts = run.show(View::Punts)["punts"].clone();
    assert_eq!((&punts["reasons"], &punts["interfaces"]), (&json!({}), &json!({})));
}

#[test]
fn controllers_run_without_a_function() {
    let alone = "controllers: [{name: left, stations: [1]}]\ncontrol: {socket: @/control.sock}\n";
    let run = start(&format!("{alone}state: @/state\n"));
    let has = || run.show(View::Protocols)["protocols"]["left"]["controller"]["has"].clone();
    until("the controller", || (has() == json!([1])).then_some(()));
    let all = run.show(View::All);
    assert_eq!((&all["workers"], &all["ports"]), (&json!([]), &json!({})));
    assert_eq!(run.show(View::Tables)["workers"], 0);
    let config = run.show(View::Config)["config"].clone();
    assert_eq!((&config["function"], &config["ports"]), (&Value::Null, &json!({})));
    assert!(run.ask(Ask::Set(json!({"set-station": {}}))).is_err());
    run.rewrite(&format!("{}state: @/state\n", alone.replace("[1]", "[1, 2]")));
    assert_eq!(run.ask(Ask::Reload).expect("a good file")["controllers"], json!(["left"]));
    until("its new keys", || (has() == json!([1, 2])).then_some(()));
    run.rewrite(&format!("{BRIDGE}{}", alone.split_once('\n').expect("two lines").0));
    assert!(run.ask(Ask::Reload).is_err(), "a function needs a restart");
    let folder = Arc::clone(&run.folder);
    run.stop().expect("it ends well");
    let text = format!("{alone}state: @/state\n");
    try_start(&text, true, folder).expect("it starts").stop().expect("it ends well");

    for (text, what) in [
        (alone.to_owned() + "workers: {idle: poll}\n", "there are no workers"),
        (alone.to_owned() + "ports: {a: {type: wired, interface: a}}\n", "no port `a`"),
        ("log: {}\n".to_owned(), "no `function` section"),
        ("controllers: []\n".to_owned(), "no `function` section"),
        (alone.to_owned() + "function: none\n", "no function `none`"),
    ] {
        let error = Configuration::parse("a.yaml", &text.replace('@', ""), parts());
        let error = error.expect_err(what);
        assert!(error.what.contains(what), "{error}");
    }
}

#[test]
fn a_list_of_controllers_is_checked_as_a_whole() {
    let parse = |more: &str| {
        let text = format!("{BRIDGE}{more}\n").replace('@', "");
        let with = Parts { controllers: SIDES, ..parts() };
        Configuration::parse("a.yaml", &text, with)
    };
    for (text, what) in [
        ("controller: {name: left, stations: []}", r#"[{"name":"left","#),
        ("controllers: [{name: right, stations: []}]", r#"[{"name":"right","#),
        ("log: {}", "[]"),
    ] {
        let shown = parse(text).expect(text).effective()["controllers"].to_string();
        assert!(shown.starts_with(what), "{shown}");
    }
    for (text, what) in [
        ("controller: left\ncontrollers: [right]", "both `controller` and `controllers`"),
        ("controllers: {name: left}", "a list of controllers"),
        (
            "controllers: [{name: left, stations: []}, {name: left, stations: [1]}]",
            "a second controller `left`",
        ),
        (
            "controllers: [{name: left, stations: []}, {name: right, stations: [50]}]",
            "`left` and `right` both make changes like `remove-station`",
        ),
        ("controllers: [{name: middle}]", "no controller `middle`"),
        ("controllers: [{stations: []}]", "the name is missing"),
        ("controllers: [{name: left, statoins: []}]", "unknown key `statoins`"),
        ("controllers: [7]", "expected a mapping"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.what.contains(what), "{text}: {error}");
    }
}
