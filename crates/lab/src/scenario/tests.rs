//! Whole scenario files: what loads, and what every kind of mistake is answered with.

use super::*;
use crate::fake::FUNCTIONS;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("dir/test.yaml", text.to_owned(), FUNCTIONS)
}

fn error(text: &str) -> ScenarioError {
    parse(text).expect_err("the scenario is bad")
}

#[test]
fn the_least_scenario_has_defaults_for_everything() {
    let scenario = parse("function: fake\n").expect("a name is enough");
    assert_eq!(scenario.name, "test");
    assert_eq!(scenario.benchmarks[0].device.name, "embedded");
    let names: Vec<_> =
        scenario.benchmarks[0].methods.iter().map(|choice| choice.method.name()).collect();
    assert_eq!(names, methods::DEFAULT_METHODS);
    assert_eq!(scenario.cells().count(), 1);
    assert!(scenario.notes.is_empty());
}

#[test]
fn a_full_scenario_is_read() {
    let scenario = parse(
        "name: my test/1\ndescription: for all\nfunction:\n  name: fake\n  user: [1, 1e3]\n  \
         ports: [7, 8]\ntraffic:\n  pkt-size: [64, 128]\nmethods:\n  - capacity\n  - name: \
         capacity\n    repetitions: 2\nscale: outer\ndevice: {name: embedded, tester-core: 0}\n",
    )
    .expect("every key is good");
    assert_eq!(scenario.name, "my-test-1");
    assert_eq!(scenario.cells().count(), 4);
    assert_eq!(scenario.benchmarks[0].cells[3].id, "user=1000,pkt-size=128");
    assert_eq!(scenario.benchmarks[0].methods[1].method.configuration()["repetitions"], 2);
    let effective = scenario.benchmarks[0]
        .configure(&scenario.benchmarks[0].cells[3])
        .expect("valid")
        .effective();
    assert_eq!(effective["function"]["user"], 1000);
    assert_eq!(effective["function"]["ports"], serde_json::json!([7, 8]));
}

#[test]
fn tipsys_files_mean_what_tipsy_means() {
    let text = "{ \"pipeline\": { \"name\": \"fk\", \"user\": [3, 4], \"bst\": 9, } }";
    let scenario = parse(text).expect("an alias, lists and a trailing comma");
    assert_eq!(scenario.benchmarks[0].unit.name(), "fake");
    assert_eq!(scenario.cells().count(), 1);
    assert_eq!(scenario.benchmarks[0].cells[0].sections[0]["user"], 3);
    assert!(scenario.notes[0].contains("user = 3"), "{:?}", scenario.notes);
    assert!(scenario.notes[0].contains("scale: outer"), "{:?}", scenario.notes);
}

#[test]
fn mistakes_are_named_with_line_key_and_remedy() {
    let cases = [
        ("function: {name: fake}\ntrafic: {}\n", 2, "trafic", "unknown key `", "`traffic`"),
        ("function: fake\nsut: {}\n", 2, "sut", "unknown key `", "`device`"),
        ("function: fake\ntester: {}\n", 2, "tester", "unknown key `", "`methods`"),
        ("function: fake\ntraffic: {thread: 1}\n", 2, "traffic.thread", "unknown", "remove it"),
        ("function:\n  name: fake\n  usr: 1\n", 3, "function.usr", "unknown key `", "`user`"),
        ("pipeline:\n  name: fk\n  usr: 1\n", 3, "pipeline.usr", "unknown key `", "`user`"),
        ("function:\n  name: fake\n  user: 0\n", 3, "function.user", "at least 1", ""),
        ("function:\n  name: fake\n  user: -1\n", 3, "function.user", "from 0 to", ""),
        ("function:\n  name: fake\n  user: many\n", 3, "function.user", "whole number", ""),
        ("function:\n  name: fake\n  user: [1, 0]\n", 3, "function.user", "value 0 of", ""),
        ("function:\n  name: fake\n  user: []\n", 3, "function.user", "empty list", "remove"),
        ("function: {name: fak}\n", 1, "function.name", "no function `fak`", "`fake`"),
        ("function: {user: 1}\n", 1, "function.name", "missing", "fake"),
        ("function: fake\ntraffic:\n  pkt-size: 70000\n", 3, "traffic.pkt-size", "65535", ""),
        ("function: fake\ntraffic: 3\n", 2, "traffic", "a number", ""),
        ("function: fake\nscale: inner\n", 2, "scale", "`inner`", "`outer`"),
        ("function: fake\nmethods: []\n", 2, "methods", "empty list", "name at least"),
        ("function: fake\nmethods:\n  - capasity\n", 3, "methods[0]", "capasity", "`capacity`"),
        (
            "function: fake\nmethods:\n  - name: capacity\n    repetition: 1\n",
            4,
            "methods[0].repetition",
            "unknown key `repetition`",
            "`repetitions`",
        ),
        (
            "function: fake\nmethods:\n  - name: capacity\n    repetitions: 0\n",
            4,
            "methods[0].repetitions",
            "1 to 1000",
            "",
        ),
        ("function: fake\ndevice: embeded\n", 2, "device", "embeded", "`embedded`"),
        ("function: fake\ndevice: {tester-core: 4096}\n", 2, "device.tester-core", "4096", ""),
        ("function: fake\ndevice: {core: 1}\n", 2, "device.core", "unknown", "tester-core"),
        ("function: fake\npipeline: fake\n", 2, "pipeline", "two words", "`function`"),
        ("function: fake\nname: [a]\n", 2, "name", "a list", ""),
    ];
    for (text, line, key, what, remedy) in cases {
        let error = error(text);
        assert_eq!((error.line, error.key.as_str()), (Some(line), key), "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
        assert!(error.remedy.contains(remedy), "{text:?}: {error}");
        assert!(!error.remedy.is_empty(), "{text:?}: {error}");
        assert_eq!(error.file, "dir/test.yaml");
    }
}

#[test]
fn a_scenario_without_a_function_is_told_what_to_add() {
    let error = error("name: nothing\n");
    assert!(error.remedy.contains("function: {name: fake}"), "{error}");
}

#[test]
fn files_that_are_no_files_are_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("mobile.yaml"), "function: fake\n").expect("writable");
    std::fs::write(path("binary.yaml"), b"a: 1\nb: \xff\xfe\n").expect("writable");
    std::fs::write(path("empty.yaml"), "").expect("writable");
    let read = |path: std::path::PathBuf| Scenario::read(&path, FUNCTIONS);
    assert_eq!(read(path("mobile.yaml")).expect("good").name, "mobile");
    let error = |name: &str| read(path(name)).expect_err("it is bad");
    assert!(error("mobil.yaml").remedy.contains("mobile.yaml?"), "{}", error("mobil.yaml"));
    assert!(error("").what.contains("directory"));
    assert!(error("empty.yaml").what.contains("empty"));
    assert_eq!(error("binary.yaml").line, Some(2));
    let endless = read("/dev/zero".into()).expect_err("it never ends");
    assert!(endless.what.contains("16 MiB"), "{endless}");
}
