//! A program with its arguments: run in the workspace's folder, and shown so that it can be repeated.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program, its arguments, and what is added to its environment.
#[derive(Clone, Debug)]
pub struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
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

impl Invocation {
    /// A program with arguments separated by single spaces.
    pub fn new(program: impl Into<String>, arguments: &str) -> Invocation {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Invocation { program: program.into(), arguments, environment: Vec::new() }
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

    /// Runs it, passes its standard output on, and adds up the test results in it.
    ///
    /// # Errors
    /// When it cannot be started or its output not be read.
    pub fn run_counting(&self) -> Result<Ended> {
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{self}`"))?;
        let mut ended = Ended { code: None, tests_passed: 0, tests_failed: 0 };
        if let Some(output) = child.stdout.take() {
            (ended.tests_passed, ended.tests_failed) = pass_on(output, &mut std::io::stdout())
                .with_context(|| format!("cannot read what `{self}` prints"))?;
        }
        ended.code = child.wait().with_context(|| format!("cannot wait for `{self}`"))?.code();
        Ok(ended)
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
        command.args(&self.arguments).current_dir(workspace());
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

/// Passes lines on, and adds up the passed and failed tests that they tell of.
fn pass_on(from: impl Read, to: &mut impl Write) -> io::Result<(u64, u64)> {
    let mut sum = (0, 0);
    for line in BufReader::new(from).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        // A closed standard output is no reason to leave the tests half-run.
        let _ = writeln!(to, "{line}");
        if let Some((passed, failed)) = test_result(&line) {
            sum = (sum.0 + passed, sum.1 + failed);
        }
    }
    Ok(sum)
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
    fn an_exit_code_is_told() {
        let ended = Invocation::new("sh", "-c").argument("exit 7").run_counting();
        assert_eq!(ended.expect("sh exists").code, Some(7));
    }

    #[test]
    fn output_is_passed_on_and_counted() {
        let text = "a\ntest result: ok. 2 passed; 1 failed; 0 ignored\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored\n";
        let mut out = Vec::new();
        assert_eq!(pass_on(text.as_bytes(), &mut out).expect("a text is readable"), (5, 1));
        assert_eq!(out, text.as_bytes());
    }
}
