//! Every form that the section can have, and what is wrong with one is named with the place.

use serde_json::{Value, json};

use super::super::{Scenario, ScenarioError};
use super::DeviceChoice;
use crate::fake::FUNCTIONS;

fn parse(device: &str, more: &str) -> Result<Scenario, ScenarioError> {
    let text = format!("function: fake\nmethods: throughput\ndevice: {device}\n{more}");
    Scenario::parse("dir/test.yaml", text, FUNCTIONS)
}

fn devices(device: &str, more: &str) -> (Vec<DeviceChoice>, Vec<String>) {
    let scenario = parse(device, more).unwrap_or_else(|error| panic!("{device}: {error}"));
    (scenario.benchmarks[0].devices.clone(), scenario.notes)
}

fn named(device: &str, more: &str) -> Vec<(&'static str, Value, Value)> {
    let (devices, _) = devices(device, more);
    let of = |one: &DeviceChoice| (one.name(), json!(one.options), json!(one.parameters));
    devices.iter().map(of).collect()
}

#[test]
fn a_name_a_mapping_or_a_list_of_both() {
    assert_eq!(named("linux", ""), [("linux", json!({}), json!({}))]);
    assert_eq!(named("{tester-core: 0}", ""), [("embedded", json!({}), json!({}))]);
    let own = json!({"forwarding": "rps"});
    assert_eq!(named("{name: linux, forwarding: rps}", ""), [("linux", own.clone(), json!({}))]);
    let both = named("[embedded, {name: linux, forwarding: rps}]", "scale: outer\n");
    assert_eq!(
        both,
        [
            ("embedded", json!({}), json!({"device.name": "embedded"})),
            ("linux", own, json!({"device.name": "linux"})),
        ]
    );
}

#[test]
fn a_key_goes_to_the_devices_that_know_it() {
    let all = named("{name: [embedded, linux, ovs], forwarding: softirq}", "scale: outer\n");
    let options: Vec<Value> = all.iter().map(|(_, options, _)| options.clone()).collect();
    assert_eq!(options, [json!({}), json!({"forwarding": "softirq"}), json!({})]);
}

#[test]
fn lists_of_a_devices_own_keys_are_swept() {
    let all = named("{name: linux, forwarding: [rps, softirq]}", "scale: outer\n");
    let parameters: Vec<Value> = all.iter().map(|(_, _, swept)| swept.clone()).collect();
    let of = |value: &str| json!({"device.forwarding": value});
    assert_eq!(parameters, [of("rps"), of("softirq")]);
    let scenario = parse("{name: linux, forwarding: [rps, softirq]}", "scale: outer\n");
    assert_eq!(scenario.expect("two cells").cells().count(), 2);
}

#[test]
fn without_a_sweep_only_the_first_device_is_used_and_a_note_says_so() {
    let (devices, notes) = devices("[embedded, linux]", "scale: none\n");
    assert_eq!(devices.iter().map(DeviceChoice::name).collect::<Vec<_>>(), ["embedded"]);
    assert!(notes.iter().any(|note| note.contains("only the first device")), "{notes:?}");
}

#[test]
fn cores_are_those_of_this_process() {
    let cores = machine::cpu::available_cores();
    let core = cores[0];
    let (one, _) = devices(&format!("{{worker-cores: {core}}}"), "");
    assert_eq!(one[0].worker_cores, Some(vec![core]));
    let (one, _) = devices(&format!("{{tester-core: {core}}}"), "");
    assert_eq!(one[0].tester_core, Some(core));
    let both = format!("{{tester-core: {core}, worker-cores: [{core}]}}");
    let error = parse(&both, "").expect_err("a core each");
    assert!(error.to_string().contains("cannot serve both the tester and a worker"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("[]", "device", "measures nothing"),
        ("7", "device", "the name of a device"),
        ("[embedded, 7]", "device[1]", "the name of a device"),
        ("linus", "device", "no device `linus`"),
        ("{name: []}", "device.name", "expected a name"),
        ("{name: [embedded, 3]}", "device.name[1]", "expected a name"),
        ("{name: linux, forwardin: rps}", "device.forwardin", "unknown key"),
        ("{worker-cores: []}", "device.worker-cores", "no core"),
        ("{worker-cores: x}", "device.worker-cores", "not a core that this process may use"),
        ("[linux, linux]", "device", "two devices are the same"),
    ];
    for (device, place, what) in cases {
        let error = parse(device, "scale: outer\n").expect_err(device).to_string();
        assert!(error.contains(place) && error.contains(what), "{device}: {error}");
    }
}
