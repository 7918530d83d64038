//! A program with its arguments: run in the workspace's folder, and shown so that it can be
//! repeated.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program, its arguments, and what is added to its environment.
#[derive(Clone, Debug)]
pub struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    folder: PathBuf,
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// Tests that passed, as the output tells.
    pub tests_passed: u64,
    /// Tests that failed.
    pub tests_failed: u64,
}

/// How something ended that is no test and went well: it counts as one.
pub const ONE_PASSED: Ended = Ended { code: Some(0), tests_passed: 1, tests_failed: 0 };

impl Invocation {
    /// A program with arguments separated by single spaces.
    pub fn new(program: impl Into<String>, arguments: &str) -> Invocation {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        let (program, environment) = (program.into(), Vec::new());
        Invocation { program, arguments, environment, folder: workspace() }
    }

    /// The same with one more argument, which may hold spaces.
    pub fn argument(mut self, argument: impl Into<String>) -> Invocation {
        self.arguments.push(argument.into());
        self
    }

    /// The same with a variable in its environment.
    pub fn variable(mut self, name: &'static str, value: impl Into<String>) -> Invocation {
        self.environment.push((name, value.into()));
        self
    }

    /// The same in another folder than the workspace's.
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Invocation {
        self.folder = folder.into();
        self
    }

    /// Runs it with the terminal's input and output.
    ///
    /// # Errors
    /// When it cannot be started or does not end well.
    pub fn run(&self) -> Result<()> {
        let ended = self.command().status().with_context(|| format!("cannot start `{self}`"))?;
        if !ended.success() {
            bail!("`{self}` failed ({ended})");
        }
        Ok(())
    }

    /// Runs it with all that it prints in a file, and adds up the test results there.
    ///
    /// # Errors
    /// When it cannot be started, or the file not be written or read.
    pub fn run_into(&self, path: &Path) -> Result<Ended> {
        let begun = || -> std::io::Result<Command> {
            let file = File::create(path)?;
            let mut command = self.command();
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
            Ok(command)
        };
        let mut command = begun().with_context(|| format!("cannot write {}", path.display()))?;
        let status = command.status().with_context(|| format!("cannot start `{self}`"))?;
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (tests_passed, tests_failed) = test_results(&String::from_utf8_lossy(&text));
        Ok(Ended { code: status.code(), tests_passed, tests_failed })
    }

    /// Runs it and gives what it prints on standard output; what it says beside that is shown.
    ///
    /// # Errors
    /// When it cannot be started or does not end well.
    pub fn output(&self) -> Result<String> {
        let output = self.command().stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start `{self}`"))?;
        if !output.status.success() {
            bail!("`{self}` failed ({})", output.status);
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` prints no text"))
    }

    /// Whether it can be started and ends well; its output is thrown away.
    pub fn succeeds(&self) -> bool {
        self.command()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Set by the cargo that runs this program; they would pin the toolchain of the inner one.
        if self.arguments.first().is_some_and(|first| first.starts_with('+')) {
            command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
        }
        command
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Whether a program of one of these names is in the search path.
pub fn is_installed(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| names.iter().any(|name| folder.join(name).is_file()))
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([' ', '"', '$', '*']) {
        format!("'{text}'")
    } else {
        text.to_owned()
    }
}

/// The sums of the passed and of the failed tests that a text tells of.
fn test_results(text: &str) -> (u64, u64) {
    let results = text.lines().filter_map(test_result);
    results.fold((0, 0), |sum, (passed, failed)| (sum.0 + passed, sum.1 + failed))
}

/// Passed and failed tests of a line such as `test result: ok. 12 passed; 0 failed; …`.
fn test_result(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        let part = counts.split("; ").find(|part| part.ends_with(what))?;
        part.split(' ').next()?.parse().ok()
    };
    Some((count(" passed")?, count(" failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_tests_are_read() {
        let line = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; x";
        assert_eq!(test_result(line), Some((12, 0)));
        let line = "test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured";
        assert_eq!(test_result(line), Some((7, 2)));
        assert_eq!(test_result("test lpm::tests::a ... ok"), None);
    }

    #[test]
    fn an_invocation_is_shown_as_a_shell_takes_it() {
        let invocation =
            Invocation::new("cargo", "doc --no-deps").variable("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(invocation.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn what_is_printed_is_kept_and_counted() {
        let folder = std::env::temp_dir().join(format!("xtask-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let file = folder.join("printed.txt");
        let script = "echo 'test result: ok. 2 passed; 1 failed; 0 ignored' >&2; \
                      echo 'test result: ok. 3 passed; 0 failed; 0 ignored'; pwd; exit 7";
        let invocation = Invocation::new("sh", "-c").argument(script).within("/");
        let ended = invocation.run_into(&file).expect("sh exists");
        assert_eq!((ended.code, ended.tests_passed, ended.tests_failed), (Some(7), 5, 1));
        assert!(fs::read_to_string(&file).expect("written").ends_with("\n/\n"));
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
