//! `plumbline generate`: completions for shells, and manual pages, from the definition of flags.

use std::path::PathBuf;

use clap::{Command, ValueEnum};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::output::print;
use crate::problem::Problem;

/// Writes shell completions and manual pages.
///
/// Without a folder, completions go to standard output, and so does the page of the whole program:
/// `plumbline generate bash > /etc/bash_completion.d/plumbline`. With one, files are named as the
/// shell or `man` looks for them: `plumbline.bash`, `_plumbline`, `plumbline.fish`, and a page for
/// each command.
#[derive(clap::Args)]
pub struct Args {
    /// What to write
    what: What,

    /// Write into this folder, which must exist, instead of standard output
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// What can be written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
    /// Manual pages in roff
    Man,
}

/// Runs `plumbline generate` for the program's definition.
///
/// # Errors
/// When the folder or standard output cannot be written.
pub fn run(args: &Args, mut command: Command) -> Result<Exit, Problem> {
    let shell = match args.what {
        What::Bash => Some(Shell::Bash),
        What::Zsh => Some(Shell::Zsh),
        What::Fish => Some(Shell::Fish),
        What::Man => None,
    };
    match (shell, &args.output) {
        (Some(shell), Some(folder)) => {
            let failed = |error| Problem::of_writing(folder, &error);
            clap_complete::generate_to(shell, &mut command, NAME, folder).map_err(failed)?;
        }
        (Some(shell), None) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, NAME, &mut text);
            print(&String::from_utf8_lossy(&text))?;
        }
        (None, Some(folder)) => {
            let failed = |error| Problem::of_writing(folder, &error);
            clap_mangen::generate_to(dated(command), folder).map_err(failed)?;
        }
        (None, None) => {
            let mut text = Vec::new();
            let failed = |error| Problem::of_writing("standard output".as_ref(), &error);
            clap_mangen::Man::new(dated(command)).render(&mut text).map_err(failed)?;
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Exit::Passed)
}

/// The command with a version that names no commit, so that a page changes with its text alone.
fn dated(command: Command) -> Command {
    command.version(env!("CARGO_PKG_VERSION"))
}

const NAME: &str = "plumbline";
