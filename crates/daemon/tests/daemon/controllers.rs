//! Several controllers of one daemon: what each is told, keeps, and goes on with.

use std::collections::BTreeSet;
use std::sync::Arc;

use controller_kit::erased::{Kind, Unit};
use controller_kit::{Action, Controller, Event, Setup};
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

/// A controller that wants stations whose Ethernet addresses have its number.
struct Side<const N: u8> {
    config: Keys,
    /// Stations that it has found, and those that it has.
    found: BTreeSet<u64>,
    has: BTreeSet<u64>,
    /// What became of its changes: the first numbers and counts.
    applied: Vec<(u64, u64)>,
    reloads: u32,
}

/// Keys of such a controller.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keys {
    stations: Vec<u64>,
    /// Whether it panics after its first changes.
    #[serde(default)]
    panics: bool,
}

fn mac(side: u8, station: u64) -> String {
    format!("02:00:00:00:{side:02x}:{station:02x}")
}

/// The station of an update, if it is of a side.
fn station_of(side: u8, update: &AnyUpdate) -> Option<u64> {
    let value = update.value();
    let mac = value.as_object()?.values().next()?["mac"].as_str()?.to_owned();
    let last = mac.strip_prefix(&format!("02:00:00:00:{side:02x}:"))?;
    u64::from_str_radix(last, 16).ok()
}

impl<const N: u8> Controller for Side<N> {
    const NAME: &'static str = if N == 1 { "left" } else { "right" };
    const SUMMARY: &'static str = "stations of a side";

    type Config = Keys;

    fn validate(_: &mut Keys) -> Result<(), Invalid> {
        Ok(())
    }

    fn new(config: &Keys, setup: Setup<'_>) -> Result<Side<N>, Invalid> {
        assert!(setup.function.is_some_and(|function| function.name() == "l2-switch"));
        if config.stations.contains(&99) {
            let what = "has 99".to_owned();
            let remedy = "Leave it out".into();
            return Err(Invalid { section: "controller", key: "stations".into(), what, remedy });
        }
        let found: Option<BTreeSet<u64>> =
            setup.state.iter().map(|update| station_of(N, update)).collect();
        let found = found.expect("its own alone");
        let has = found.clone();
        Ok(Side { config: config.clone(), found, has, applied: Vec::new(), reloads: 0 })
    }

    fn claims(update: &AnyUpdate) -> bool {
        station_of(N, update).is_some()
    }

    fn reload(&mut self, config: &Keys, _: Option<&dyn Configured>, _: Time) -> bool {
        self.config = config.clone();
        self.reloads += 1;
        N == 1
    }

    fn show(&self) -> Value {
        json!({"found": self.found, "has": self.has, "applied": self.applied,
               "reloads": self.reloads})
    }
}

impl<const N: u8> Machine for Side<N> {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, _: Time, input: Input<'_, Event>) {
        if let Input::Command(Event::Applied { first, count, .. }) = input {
            self.applied.push((first, count));
            assert!(!self.config.panics || !self.found.is_empty(), "a test wants it");
        }
    }

    fn poll(&mut self, _: Time) -> Option<Output<Action>> {
        let wanted: BTreeSet<u64> = self.config.stations.iter().copied().collect();
        let set = wanted
            .difference(&self.has)
            .map(|one| json!({"set-station": {"mac": mac(N, *one), "port": "uplink"}}));
        let remove = self
            .has
            .difference(&wanted)
            .map(|one| json!({"remove-station": {"mac": mac(N, *one)}}));
        let switch = configured::<function_l2_switch::L2Switch>(Default::default());
        let all = set.chain(remove).map(|one| switch.update(&one).expect("a change"));
        let updates: Vec<AnyUpdate> = all.collect();
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
    run.ask(Ask::Set(json!({"set-station": {"mac": mac(9, 9), "port": "uplink"}}))).expect("room");
    let folder = Arc::clone(&run.folder);
    run.stop().expect("it ends well");
    let run = try_start(&text, true, folder).expect("it starts");
    let found = |name: &str| {
        let shown = run.show(View::Protocols);
        Some(shown["protocols"][name]["controller"]["found"].clone()).filter(Value::is_array)
    };
    assert_eq!(until("the left one", || found("left")), json!([2, 3]));
    assert_eq!(until("the right one", || found("right")), json!([8]));
    assert!(run.show(View::Tables).to_string().contains("\"used\":6"), "2 + 3 + 1");
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
        ("controllers: [{name: middle}]", "no controller `middle`"),
        ("controllers: [{stations: []}]", "the name is missing"),
        ("controllers: [{name: left, statoins: []}]", "unknown key `statoins`"),
        ("controllers: [7]", "expected a mapping"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.what.contains(what), "{text}: {error}");
    }
}
