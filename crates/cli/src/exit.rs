//! The exit codes, defined once: the help text and the program both come from here.

use std::process::ExitCode;

use measure::record::Status;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done, and all checks passed.
    Passed,
    /// The device differs from the oracle.
    CheckFailed,
    /// The command line or the scenario is invalid.
    BadInput,
    /// The run was measured, but a measurement is not valid.
    Invalid,
    /// The machine, the disk or the device failed.
    Environment,
    /// A threshold of the scenario, or a condition of a comparison, was not met.
    ThresholdMissed,
    /// The user stopped the program.
    Interrupted,
}

/// All exit codes with their meanings, for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    success: everything passed
  1    a functional check failed: the device differs from the oracle
  2    invalid input: the command line or the scenario file
  3    a measurement is not valid; the report says why
  4    the environment failed: disk, memory, device
  5    a threshold of the scenario, or of --fail-if, was not met
  130  stopped by Ctrl-C; finished measurements are kept
With --json, the last line on standard error is the error as a JSON object.";

impl Exit {
    /// The process exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::CheckFailed => 1,
            Exit::BadInput => 2,
            Exit::Invalid => 3,
            Exit::Environment => 4,
            Exit::ThresholdMissed => 5,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl From<Status> for Exit {
    fn from(status: Status) -> Exit {
        match status {
            Status::Passed => Exit::Passed,
            Status::CheckFailed => Exit::CheckFailed,
            Status::Invalid => Exit::Invalid,
            Status::ThresholdMissed => Exit::ThresholdMissed,
            Status::Failed => Exit::Environment,
            Status::Interrupted => Exit::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_code() {
        use Exit::*;
        for exit in
            [Passed, CheckFailed, BadInput, Invalid, Environment, ThresholdMissed, Interrupted]
        {
            let line = format!("\n  {:<3}  ", exit.code());
            assert!(EXIT_CODES.contains(&line), "{exit:?}");
        }
    }
}
