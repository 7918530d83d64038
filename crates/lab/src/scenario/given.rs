//! What a command line names as its scenario: a file, or a function without one, with keys that it
//! sets over it.
//!
//! What is set is checked by the same reader as a file's keys, and its errors name the option.

use std::path::PathBuf;

use document::Setting;
use document::tree::Tree;
use serde_json::{Value, json};

use super::ScenarioError;

/// A scenario as a command line names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The file, or a directory of files; none if the function is named instead.
    pub path: Option<PathBuf>,
    /// Name of the function, if there is no file.
    pub function: Option<String>,
    /// Names of the methods, in place of those of the file; none keeps these.
    pub methods: Vec<String>,
    /// The values of `--set`, each `KEY=VALUE`, in the order in which they take effect.
    pub set: Vec<String>,
}

impl Given {
    /// True if a file is taken as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.path.is_some() && self.methods.is_empty() && self.set.is_empty()
            || *self == Given::default()
    }

    /// What stands for the file's name: the path, or the option that names the function.
    pub(super) fn file(&self) -> String {
        match (&self.path, &self.function) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(function)) => format!("--function {function}"),
            (None, None) => String::new(),
        }
    }

    /// The tree of a file, or an empty one, with what is set over it.
    ///
    /// # Errors
    /// When there is neither a file nor a function, or a key cannot be set.
    pub(super) fn over(&self, file: Option<Tree>) -> Result<Tree, ScenarioError> {
        let name = self.file();
        let mut root = match (file, &self.function) {
            (Some(root), _) => root,
            (None, Some(function)) => {
                let mut root = Tree::empty(&name);
                for (path, value) in [(&["name"][..], function), (&["function", "name"], function)]
                {
                    let value = Value::from(value.as_str());
                    root.set(&Setting::of(&name, path, value), &NAMED)?;
                }
                root
            }
            (None, None) => {
                let remedy = "name a scenario file, or a function by --function";
                return Err(ScenarioError::of_file(&name, "no scenario is named", remedy));
            }
        };
        if !self.methods.is_empty() {
            for other in ["method", "methods", "tester"] {
                root.take(other);
            }
            for (at, method) in self.methods.iter().enumerate() {
                let option = format!("--method {method}");
                let at = at.to_string();
                if at == "0" {
                    root.set(&Setting::of(&option, &["methods"], json!([])), &NAMED)?;
                }
                let method = Value::from(method.as_str());
                root.set(&Setting::of(&option, &["methods", &at, "name"], method), &NAMED)?;
            }
        }
        for set in &self.set {
            root.set(&Setting::parse("--set", set)?, &NAMED)?;
        }
        Ok(root)
    }

    /// The text of the scenario that `root` is.
    pub(super) fn text(&self, root: &Tree) -> String {
        let from = match &self.path {
            Some(path) => format!("{} with", path.display()),
            None => "without a file, by".to_owned(),
        };
        let function = self.function.iter().map(|name| format!("--function {name}"));
        let methods = self.methods.iter().map(|name| format!("--method {name}"));
        let set = self.set.iter().map(|set| format!("--set {set}"));
        let mut text = format!("# {from}:\n").replace('\r', " ");
        for option in function.chain(methods).chain(set) {
            text += &format!("#   {}\n", option.replace(['\n', '\r'], " "));
        }
        text + &root.to_yaml()
    }
}

/// Keys whose value may be a name in place of a mapping with one.
const NAMED: [&str; 5] = ["function", "pipeline", "device", "methods", "method"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FUNCTIONS;
    use crate::scenario::Scenario;

    fn given(function: Option<&str>, methods: &[&str], set: &[&str]) -> Given {
        let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        Given {
            path: None,
            function: function.map(str::to_owned),
            methods: owned(methods),
            set: owned(set),
        }
    }

    fn over(text: &str, given: &Given) -> Result<Scenario, ScenarioError> {
        let texts = [("dir/a.yaml".to_owned(), text.to_owned())];
        let given = Given { path: Some("dir/a.yaml".into()), ..given.clone() };
        Scenario::of("dir/a.yaml", &texts, &given, FUNCTIONS)
    }

    #[test]
    fn a_function_needs_no_file() {
        let sets = ["function.user=[3, 4]", "traffic.pkt-size=128", "methods[0].repetitions=2"];
        let given = given(Some("fake"), &["capacity", "throughput"], &sets);
        let scenario = Scenario::given(&given, FUNCTIONS).expect("it is whole");
        assert_eq!(scenario.name, "fake");
        assert_eq!(scenario.cells().count(), 2);
        let benchmark = &scenario.benchmarks[0];
        let names: Vec<_> = benchmark.methods.iter().map(|one| one.method.name()).collect();
        assert_eq!(names, ["capacity", "throughput"]);
        assert_eq!(benchmark.methods[0].method.configuration()["repetitions"], 2);
        let effective = benchmark.configure(&benchmark.cells[1]).expect("valid").effective();
        assert_eq!(
            (&effective["function"]["user"], &effective["traffic"]["pkt-size"]),
            (&json!(4), &json!(128))
        );
    }

    #[test]
    fn the_text_runs_again_and_says_where_it_is_from() {
        let given = given(Some("fake"), &["capacity"], &["function.user=5", "description=a\nb"]);
        let scenario = Scenario::given(&given, FUNCTIONS).expect("it is whole");
        assert!(
            scenario.text.starts_with("# without a file, by:\n#   --function fake\n"),
            "{}",
            scenario.text
        );
        assert!(scenario.text.contains("#   --set description=a b\n"), "{}", scenario.text);
        let again =
            Scenario::parse("again.yaml", scenario.text.clone(), FUNCTIONS).expect("it runs");
        assert_eq!(again.name, scenario.name);
        let effective = |one: &Scenario| {
            let benchmark = &one.benchmarks[0];
            benchmark.configure(&benchmark.cells[0]).expect("valid").effective()
        };
        assert_eq!(effective(&again), effective(&scenario));
        assert_eq!(effective(&again)["function"]["user"], 5);
    }

    #[test]
    fn what_is_set_goes_over_the_file() {
        let text = "# why\nfunction: {name: fake, user: 1}\nmethod: throughput\n";
        let scenario =
            over(text, &given(None, &["capacity"], &["function.user=9", "device=linux"]));
        let error = scenario.expect_err("linux has no place for the source").to_string();
        assert!(error.contains("`capacity` runs source and sink inside the worker"), "{error}");
        let scenario = over(text, &given(None, &["capacity"], &["function.user=9"])).expect("good");
        assert_eq!(scenario.benchmarks[0].methods[0].method.name(), "capacity");
        assert!(scenario.text.starts_with("# dir/a.yaml with:\n#   --method capacity\n"));
        assert_eq!(scenario.benchmarks[0].cells[0].sections[0]["user"], 9);
        let plain = over(text, &given(None, &[], &[])).expect("good");
        assert_eq!(plain.text, text, "a file alone is recorded as it is");
    }

    #[test]
    fn a_mistake_is_answered_as_in_a_file_and_names_the_option() {
        let in_file =
            over("function: {name: fake, usr: 1}\n", &given(None, &[], &[])).expect_err("bad");
        let set =
            over("function: fake\n", &given(None, &[], &["function.usr=1"])).expect_err("bad");
        assert_eq!(
            (&set.what, &set.remedy, &set.key),
            (&in_file.what, &in_file.remedy, &in_file.key)
        );
        assert_eq!((set.file.as_str(), set.line), ("--set function.usr=1", None));
        for (given, option, what) in [
            (given(Some("fak"), &[], &[]), "--function fak", "no function `fak`"),
            (given(Some("fake"), &["capacty"], &[]), "--method capacty", "no method `capacty`"),
            (
                given(Some("fake"), &[], &["function.user=many"]),
                "--set function.user=many",
                "expected",
            ),
            (given(Some("fake"), &[], &["trafic.x=1"]), "--set trafic.x=1", "unknown key `trafic`"),
            (
                given(Some("fake"), &[], &["device=linus"]),
                "--set device=linus",
                "no device `linus`",
            ),
            (given(Some("fake"), &[], &["user"]), "--set user", "`=`"),
        ] {
            let error = Scenario::given(&given, FUNCTIONS).expect_err(option);
            assert_eq!(error.file, option, "{error}");
            assert!(error.what.contains(what), "{error}");
        }
    }
}
