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
    assert_eq!(scenario.benchmarks[0].devices[0].name(), "embedded");
    let names: Vec<_> =
        scenario.benchmarks[0].methods.iter().map(|choice| choice.method.name()).collect();
    assert_eq!(names, ["capacity", "throughput"], "of the default ones those for frames");
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
        ("function: fake\nenvironment: {}\n", 2, "environment", "unknown key `", "`default`"),
        ("function: fake\nsut: {a: 1}\n", 2, "sut.a", "unknown key `", "valid keys"),
        ("function: fake\nsut: {type: vp}\n", 2, "sut.type", "not a switch", "`vpp`"),
        ("function: fake\ntester: {typ: 1}\n", 2, "tester.typ", "unknown key `", "`type`"),
        ("function: fake\ntester: {type: trex}\n", 2, "tester.type", "TCP", "`moongen`"),
        ("function: fake\ntester: {type: mongen}\n", 2, "tester.type", "not a tester", "`moongen`"),
        ("function: fake\ntester: {test-time: 0}\n", 2, "tester.test-time", "more than 0", "30"),
        ("function: fake\ntester: {test-time: x}\n", 2, "tester.test-time", "a number", "TIPSY"),
        ("function: fake\nmethods: capacity\ntester: {a: 1}\n", 3, "tester", "exclude", "keep one"),
        ("function: bng\n", 1, "function.name", "broadband", "fake"),
        ("pipeline: fk\ntraffic: {json: a}\n", 2, "traffic.json", "not read", "write its keys"),
        ("function: fake\nrepetitions: 0\n", 2, "repetitions", "from 1 to 1000", ""),
        ("function: fake\nrepetitions: 1e15\n", 2, "repetitions", "from 1 to 1000", ""),
        ("function: fake\nrepetitions: many\n", 2, "repetitions", "a text", "repetitions: 5"),
        ("function: fake\nseed: -1\n", 2, "seed", "not -1", "seed: 5"),
        ("function: fake\ncompare: function.user\n", 2, "compare", "not swept", "a list"),
        (
            "function: {name: fake, user: [1, 2]}\ncompare: function.usr\n",
            2,
            "compare",
            "not swept",
            "`function.user`",
        ),
        ("function: fake\nbenchmark: []\n", 1, "function", "`benchmark` lists", "`default`"),
        ("benchmark: []\n", 1, "benchmark", "empty list", "at least one"),
        ("benchmark: {function: fake}\n", 1, "benchmark", "a list", "`- `"),
        ("default: {function: fake}\n", 1, "default", "without", "add `benchmark"),
        ("benchmark:\n- function: fake\n  seed: 1\n", 3, "benchmark[0].seed", "whole", "top"),
        (
            "benchmark: [{id: a}]\ndefault:\n  function: {name: fake, usr: 1}\n",
            3,
            "default.function.usr",
            "unknown key `usr`",
            "`user`",
        ),
        (
            "benchmark:\n- pipeline: {name: bng}\n- pipeline: {name: nat}\n",
            2,
            "benchmark[0].pipeline.name",
            "broadband gateway; Plumbline does not implement it yet",
            "remove the benchmark",
        ),
        (
            "function: fake\nmethods:\n- name: scale\n  along: function.usr\n",
            4,
            "methods[0].along",
            "no key `usr`",
            "`user`",
        ),
        (
            "function: fake\nmethods:\n- {name: scale, along: function.user, from: 2, to: 1}\n",
            3,
            "methods[0].to",
            "below",
            "swap",
        ),
        (
            "function: fake\nmethods:\n- {name: scale, along: function.user, from: 1, to: 9, factor: 1}\n",
            3,
            "methods[0].factor",
            "above 1",
            "decade",
        ),
        (
            "function: fake\nmethods:\n- {name: scale, along: function.user, from: 1, to: 9e9, factor: 1.000001}\n",
            3,
            "methods[0].factor",
            "more than 1000",
            "larger",
        ),
        (
            "function: fake\nmethods:\n- {name: scale, along: function.user, values: [0]}\n",
            1,
            "function.user",
            "at least 1",
            "",
        ),
        (
            "function: {name: fake, user: [1, 2]}\nmethods:\n- {name: scale, along: function.user, values: [3]}\n",
            1,
            "function.user",
            "already swept",
            "single value",
        ),
        (
            "function: fake\nthresholds:\n- figure: throughputs\n  at-least: 1\n",
            3,
            "thresholds[0].figure",
            "no method has",
            "`throughput`",
        ),
        (
            "function: fake\nthresholds:\n- figure: throughput\n  at-least: 5 ms\n",
            4,
            "thresholds[0].at-least",
            "`ms` is not a unit here",
            "is in pps",
        ),
        (
            "function: fake\nthresholds:\n- figure: throughput\n",
            3,
            "thresholds[0]",
            "neither",
            "at-least",
        ),
        (
            "function: fake\nthresholds:\n- {figure: throughput, method: capacty, at-least: 1}\n",
            3,
            "thresholds[0].method",
            "does not use the method",
            "`capacity`",
        ),
        (
            "function: fake\nthresholds:\n- {figure: throughput, at-least: 5, at-most: 4}\n",
            3,
            "thresholds[0].at-most",
            "no value can meet",
            "swap",
        ),
        (
            "function: {name: fake, user: [1, 2]}\nthresholds:\n- {figure: throughput, at-least: 5, cells: {function.user: 3}}\n",
            3,
            "thresholds[0].cells",
            "no cell",
            "use values",
        ),
        (
            "function: fake\nvisualize:\n- {x-axis: function.usr, y-axis: cell.setup_seconds}\n",
            3,
            "visualize[0].x-axis",
            "no result has",
            "`function.user`",
        ),
        (
            "function: fake\nvisualize:\n- {x-axis: function.user, y-axis: [], type: sipmle}\n",
            3,
            "visualize[0].type",
            "not a valid type",
            "USL",
        ),
        (
            "function: fake\nvisualize:\n- {x-axis: id, y-axis: id, type: contour}\n",
            3,
            "visualize[0]",
            "z-axis",
            "colours",
        ),
        (
            "function: fake\nvisualize:\n- {x-axis: id, y-axis: id, aggregate: [{a: 1}]}\n",
            3,
            "visualize[0].aggregate",
            "MongoDB",
            "`filter`",
        ),
        (
            "function: fake\nvisualize:\n- {x-axis: id, y-axis: id, filter: {id: {$regex: a}}}\n",
            3,
            "visualize[0].filter.id.$regex",
            "not a known operator",
            "$lt",
        ),
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
        ("function: fake\npipeline: fake\n", 2, "pipeline", "synonyms", "`function`"),
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
    std::fs::create_dir(path("folder")).expect("writable");
    assert!(error("folder").what.contains("directory contains no scenario"), "{}", error("folder"));
    assert!(error("mobil.yaml").remedy.contains("mobile.yaml?"), "{}", error("mobil.yaml"));
    assert!(error("").file.contains("binary.yaml"), "{}", error(""));
    assert!(error("empty.yaml").what.contains("empty"));
    assert_eq!(error("binary.yaml").line, Some(2));
    let endless = read("/dev/zero".into()).expect_err("it never ends");
    assert!(endless.what.contains("16 MiB"), "{endless}");
}

#[test]
fn a_list_of_benchmarks_has_defaults_below_each() {
    let scenario = parse(
        "name: several\nrepetitions: 2\nseed: 9\ncompare: pipeline.user\n\
         benchmark:\n- id: a\n  function: {user: [1, 2]}\n- name: b\n  methods: throughput\n  \
         traffic: {pkt-size: 128}\n- methods: capacity\n\
         default:\n  function: {name: fake, user: 3, bst: 7}\n  traffic: {pkt-size: [64]}\n",
    )
    .expect("every key is good");
    let ids: Vec<_> = scenario.benchmarks.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "benchmark-3"]);
    let cells: Vec<_> = scenario.cells().map(|(_, cell)| cell.id.as_str()).collect();
    assert_eq!(
        cells,
        [
            "a:user=1,pkt-size=64",
            "a:user=2,pkt-size=64",
            "b:pkt-size=64",
            "b:pkt-size=128",
            "benchmark-3:pkt-size=64"
        ]
    );
    assert_eq!(scenario.benchmarks[1].cells[0].sections[0]["bst"], 7);
    assert_eq!(scenario.benchmarks[1].methods.len(), 1);
    assert_eq!(scenario.benchmarks[0].methods.len(), 2);
    let plan = Plan { seed: 9, repetitions: 2, compare: Some("function.user".into()) };
    assert_eq!(scenario.plan, plan);
}

#[test]
fn a_main_file_of_tipsy_loads_unchanged() {
    let scenario = parse(
        "{ \"benchmark\": [\n\
         {\"id\": \"rate\", \"scale\": \"outer\", \"pipeline\": {\"name\": \"fk\", \"user\": [3, 4]},\n\
           \"tester\": {\"type\": \"moongen-rfc2544\", \"loss-tolerance\": 0.01}},\n\
         {\"id\": \"other\", \"pipeline\": {\"name\": \"bng\", \"cpe\": [1, 2]}},\n\
         {\"id\": \"rate\", \"pipeline\": {\"name\": \"fk\", \"user\": [5, 6]}, },\n],\n\
         \"default\": {\"sut\": {\"type\": \"ovs\", \"coremask\": \"0x3\"}, \"tester\": {\"core\": 1,\n\
           \"test-time\": 10}, \"traffic\": {\"thread\": 0, \"pkt-size\": 64}},\n\
         \"visualize\": [\n\
         {\"type\": \"USL\", \"x-axis\": \"pipeline.user\", \"y-axis\": \"out.throughput.RX.PacketRate\",\n\
          \"filter\": {\"pipeline.name\": \"fk\", \"sut.type\": \"ovs\"}, \"group-by\": [\"sut.type\", \"tester.type\"]},\n\
         {\"type\": \"USL\", \"x-axis\": \"pipeline.user\", \"y-axis\": \"out.throughput.RX.PacketRate\",\n\
          \"filter\": {\"pipeline.name\": \"fk\", \"sut.type\": \"bess\"}, \"group-by\": [\"sut.type\", \"tester.type\"]},\n\
         {\"x-axis\": \"pipeline.cpe\", \"y-axis\": \"out.latency.Average\", \"axis-type\": \"loglog\"},\n\
         {\"x-axis\": \"pipeline.user\", \"y-axis\": \"id\", \"filter\": {\"pipeline.name\": \"bng\"}},\n]}",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let cells: Vec<_> = scenario.cells().map(|(_, cell)| cell.id.as_str()).collect();
    assert_eq!(cells, ["rate:user=3", "rate:user=4", "rate:base"]);
    let search = &scenario.benchmarks[0];
    assert_eq!(search.methods[0].method.name(), "throughput");
    let options = search.methods[0].method.configuration();
    assert_eq!(options["final-duration"].as_f64(), Some(10.0));
    let tolerance = options["loss-tolerance"].as_f64().expect("a number");
    assert!((tolerance - 0.01 / 14.880_952).abs() < 1e-9, "{tolerance}");
    assert_eq!(search.tester.as_ref().expect("TIPSY's")["test-time"], 10.0);
    assert_eq!(scenario.benchmarks[1].tester.as_ref().expect("TIPSY's")["type"], "moongen");
    assert_eq!(scenario.benchmarks[1].cells[0].sections[0]["user"], 5);
    assert_eq!(scenario.plots.len(), 1, "{:?}", scenario.plots);
    assert_eq!(scenario.plots[0].filter["pipeline.name"], "fake");
    assert_eq!(scenario.plots[0].filter.len(), 1);
    for part in [
        "ignored, because they concern other machines and programs: sut.coremask, tester.core, \
         traffic.thread",
        "instead of TIPSY's switch (`ovs`)",
        "benchmark[1] (line 4) is skipped: `bng` is TIPSY's broadband gateway",
        "plot 3 (line 14) is skipped: no result has a value `pipeline.cpe`",
        "plot 4 (line 15) is skipped: `bng`",
        "benchmark `rate`: scale is `none`",
        "14.88 Mpps",
        "check sequence",
    ] {
        let found = scenario.notes.iter().filter(|note| note.contains(part)).count();
        assert_eq!(found, 1, "{part}: {:#?}", scenario.notes);
    }
}

#[test]
fn a_benchmark_without_a_pipeline_is_of_the_mobile_gateway() {
    let error = error("benchmark: [{id: a}]\n");
    assert!(error.what.contains("`mgw` is TIPSY's mobile gateway"), "{error}");
}

#[test]
fn loads_in_bits_become_loads_in_packets_for_each_frame_length() {
    let text = "benchmark:\n- scale: outer\n  pipeline: {name: fk}\n  traffic: {pkt-size: [64, 128]}\n  \
                tester: {rate-limit: [512, 1024]}\n";
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let cells: Vec<_> = scenario.cells().map(|(_, cell)| cell.id.as_str()).collect();
    let expected = [
        "benchmark-1:pkt-size=64,rate-limit=512",
        "benchmark-1:pkt-size=128,rate-limit=512",
        "benchmark-1:pkt-size=64,rate-limit=1024",
        "benchmark-1:pkt-size=128,rate-limit=1024",
    ];
    assert_eq!(cells, expected);
    let error = error("pipeline: fk\ntraffic: {pkt-size: imix}\ntester: {rate-limit: 5}\n");
    assert_eq!((error.line, error.key.as_str()), (Some(3), "tester.rate-limit"));
}

#[test]
fn the_combined_test_searches_the_limit_and_measures_latency_there() {
    let text = "pipeline: fk\ntester: {type: moongen-combined, test-time: 5}\n";
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let methods = &scenario.benchmarks[0].methods;
    let names: Vec<_> = methods.iter().map(|choice| choice.method.name()).collect();
    assert_eq!(names, ["throughput", "latency"]);
    let options = methods[1].method.configuration();
    assert_eq!(options["loads"], serde_json::json!([1.0]));
    assert_eq!(options["duration"].as_f64(), Some(5.0));
    assert_eq!(options["search"]["final-duration"].as_f64(), Some(5.0));
}

#[test]
fn a_method_along_a_key_has_cells_of_its_own() {
    let scenario = parse(
        "function: {name: fake, bst: [1, 2]}\nmethods:\n- throughput\n- name: scale\n  along: \
         function.user\n  from: 1\n  to: 1000\n- name: scale\n  along: traffic.pkt-size\n  values: \
         [64, 128]\n  method: {name: throughput, loss-tolerance: 1 %}\n",
    )
    .expect("every key is good");
    let ids: Vec<_> = scenario.benchmarks.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["all", "scale-user", "scale-pkt-size"]);
    let counts: Vec<_> = scenario.benchmarks.iter().map(|one| one.cells.len()).collect();
    assert_eq!(counts, [2, 8, 4]);
    let cell = &scenario.benchmarks[1].cells[7];
    assert_eq!(cell.id, "scale-user:bst=2,user=1000");
    assert_eq!(cell.sections[0]["user"], 1000);
    assert_eq!(scenario.benchmarks[1].methods[0].method.name(), "capacity");
    assert_eq!(scenario.benchmarks[2].cells[3].sections[1]["pkt-size"], 128);
}

#[test]
fn thresholds_are_in_the_units_of_the_record() {
    let scenario = parse(
        "function: {name: fake, user: [1, 2]}\nthresholds:\n- {figure: throughput, at-least: 5 Mpps, \
         cells: {pipeline.user: 2}}\n- {figure: latency_p99, method: throughput, of: uplink, at-most: \
         100 us}\n- {figure: loss_percent, at-least: 0, at-most: 0.1 %}\n",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let [rate, latency, loss] = scenario.thresholds.as_slice() else { panic!("three") };
    assert_eq!((rate.at_least, rate.at_most, rate.text.as_str()), (Some(5e6), None, ">= 5 Mpps"));
    assert_eq!(rate.cells["function.user"], 2);
    assert_eq!(latency.at_most, Some(100_000.0));
    assert_eq!(
        (latency.of.as_deref(), latency.method.as_deref()),
        (Some("uplink"), Some("throughput"))
    );
    assert_eq!((loss.at_least, loss.at_most), (Some(0.0), Some(0.1)));
    assert_eq!(loss.text, ">= 0 percent, <= 0.1 %");
}

#[test]
fn the_files_of_a_directory_are_merged_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    write("0_default.json", "{\"default\": {\"pipeline\": {\"name\": \"fk\", \"user\": 1}}}");
    write("main.json", "{\"benchmark\": [{\"id\": \"a\", \"pipeline\": {\"bst\": 2}}]}");
    write("more.yaml", "benchmark:\n- id: b\n  pipeline: {user: 8}\n");
    write(".hidden.json", "no scenario");
    write("notes.txt", "no scenario");
    let scenario =
        Scenario::read(folder.path(), FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<_> = scenario.benchmarks.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(scenario.benchmarks[1].cells[0].sections[0]["user"], 8);
    assert!(scenario.text.contains("0_default.json"), "{}", scenario.text);
    write("z.yaml", "benchmark:\n- pipeline:\n    usr: 1\n");
    let error = Scenario::read(folder.path(), FUNCTIONS).expect_err("a typing mistake");
    assert!(error.file.ends_with("z.yaml"), "{error}");
    assert_eq!((error.line, error.key.as_str()), (Some(3), "benchmark[0].pipeline.usr"));
}

#[test]
fn what_would_cost_too_much_is_refused_before_it_costs_anything() {
    let many = |count: usize, item: &str| vec![item; count].join(", ");
    let lists = format!("benchmark: [{}]\n", many(1_001, "{function: fake}"));
    assert!(error(&lists).what.contains("too many"), "{}", error(&lists));
    let users: Vec<String> = (1..=900).map(|n| n.to_string()).collect();
    let users = users.join(", ");
    let cells = format!(
        "benchmark: [{}]\ndefault: {{function: {{name: fake, user: [{users}]}}}}\n",
        many(2, "{}")
    );
    assert!(error(&cells).what.contains("more than 1000 cells"), "{}", error(&cells));
    let copies = format!(
        "benchmark: [{}]\ndefault: {{function: {{name: fake, ports: [{}]}}}}\n",
        many(1_000, "{}"),
        many(2_000, "7")
    );
    assert!(error(&copies).what.contains("copied from `default`"), "{}", error(&copies));
    let measurements = format!(
        "function: {{name: fake, user: [{users}]}}\nmethods: [{}]\nrepetitions: 1000\n",
        many(2, "capacity")
    );
    assert!(error(&measurements).what.contains("measurements"), "{}", error(&measurements));
    let thresholds = format!(
        "function: fake\nthresholds: [{}]\n",
        many(1_001, "{figure: throughput, at-most: 1}")
    );
    assert!(error(&thresholds).what.contains("more than 1000"), "{}", error(&thresholds));
    let plots = format!("function: fake\nvisualize: [{}]\n", many(201, "{x-axis: id, y-axis: id}"));
    assert!(error(&plots).what.contains("more than 200"), "{}", error(&plots));
    let methods = format!("function: fake\nmethods: [{}]\n", many(101, "capacity"));
    assert!(error(&methods).what.contains("more than 100"), "{}", error(&methods));
}
