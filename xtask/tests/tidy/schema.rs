//! The keys, figures and paths in docs/scenarios.md are those of the program: its own schemas and
//! lists.

use devices::registry;
use lab::registry::FUNCTIONS;
use lab::scenario::TIPSY_PIPELINES;
use lab::schema::scenario_schema;
use measure::record::PATHS;
use methods::METHODS;

use crate::keys::table;
use crate::written;

#[test]
fn the_documented_keys_are_those_of_the_program() {
    written::hold("docs/scenarios.md", "keys", &tables());
}

fn tables() -> String {
    let scenario = scenario_schema(FUNCTIONS);
    let at = |path: &str| scenario.pointer(path).expect("the schema has it");
    let mut out = table("The scenario", &scenario, &scenario);
    out += &table("`benchmark` and `default`", &scenario, at("/$defs/benchmark"));
    out += &table("`device`", &scenario, at("/properties/device/anyOf/1"));
    for (device, schema) in registry::schemas() {
        let schema = schema.as_value();
        out += &table(&format!("`device: {{name: {}}}`", device.name), schema, schema);
    }
    for unit in FUNCTIONS {
        let (function, traffic) = (unit.config_schema(), unit.traffic_schema());
        let function = function.as_value();
        out += &table(&format!("`function: {{name: {}}}`", unit.name()), function, function);
        let traffic = traffic.as_value();
        out += &table(&format!("`traffic` of `{}`", unit.name()), traffic, traffic);
    }
    for entry in METHODS {
        let schema = (entry.schema)();
        let schema = schema.as_value();
        out += &table(&format!("`methods: [{{name: {}}}]`", entry.name), schema, schema);
    }
    let along = at("/$defs/method-entry/anyOf/1");
    out += &table("`methods: [{name: scale}]`", &scenario, along);
    let thresholds = at("/properties/thresholds/anyOf/0/items");
    out += &table("`thresholds`", &scenario, thresholds);
    out += &table("`visualize`", &scenario, at("/properties/visualize/anyOf/0/items"));
    out += &table("`tester`", &scenario, at("/$defs/tester"));
    out + &figures() + &paths() + &pipelines()
}

fn figures() -> String {
    let mut out = "\n### Figures\n\n| figure | unit |\n|---|---|\n".to_owned();
    out.extend(methods::figures().iter().map(|one| format!("| `{}` | {} |\n", one.name, one.unit)));
    out
}

fn paths() -> String {
    let mut out = "\n### Paths of plots\n\n\
        Beside these: keys as `pipeline.user` (or `function.user`), `traffic.pkt-size`,\n\
        `device.tester-core`, `tester.rate-limit`; figures as `throughput.latency_p99` or, of a part,\n\
        `throughput.latency_p99.uplink`. Rates are summed over directions.\n\n\
        | path | unit | meaning |\n|---|---|---|\n"
        .to_owned();
    out.extend(
        PATHS.iter().map(|one| format!("| `{}` | {} | {} |\n", one.path, one.unit, one.meaning)),
    );
    out
}

fn pipelines() -> String {
    let mut out =
        "\n### TIPSY's pipelines\n\n| `pipeline.name` | what it is | here |\n|---|---|---|\n"
            .to_owned();
    for (name, what) in TIPSY_PIPELINES {
        let unit = FUNCTIONS.iter().find(|unit| unit.aliases().contains(&name));
        let here = unit.map_or("not yet".to_owned(), |unit| format!("`{}`", unit.name()));
        out += &format!("| `{name}` | {} | {here} |\n", what.trim_start_matches("TIPSY's "));
    }
    out
}
