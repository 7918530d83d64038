//! Prints a page as PDF with an installed browser of the Chromium family, in headless mode.
//!
//! The browser gets a profile of its own in a temporary folder, no network, and a time limit. This
//! program never installs or downloads a browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::problem::Problem;

/// Prints an HTML page as PDF with an installed browser.
///
/// # Errors
/// When no browser is installed, the browser fails or takes too long, or `stop` becomes true.
pub fn print_to_pdf(page: &[u8], stop: &AtomicBool) -> Result<Vec<u8>, Problem> {
    let browser = find().ok_or_else(|| {
        Problem::of_environment(
            "no browser that can print a page is installed",
            "install chromium, or open the page in a browser and print it there",
        )
    })?;
    let failed = |what: String| {
        let remedy = "open the page in a browser and print it there";
        Problem::of_environment(what, remedy).at("program", browser.display())
    };
    let folder = tempfile::Builder::new()
        .prefix("plumbline-pdf-")
        .tempdir()
        .map_err(|error| Problem::of_writing(&env::temp_dir(), &error))?;
    let (html, pdf) = (folder.path().join("report.html"), folder.path().join("report.pdf"));
    fs::write(&html, page).map_err(|error| Problem::of_writing(&html, &error))?;
    let child = command(&browser, folder.path(), &html, &pdf).spawn();
    let mut child =
        Running(child.map_err(|error| failed(format!("the browser cannot be run: {error}")))?);
    let status = child.wait(stop).map_err(&failed)?;
    match fs::read(&pdf) {
        Ok(bytes) if status.success() && bytes.starts_with(b"%PDF") => Ok(bytes),
        _ => Err(failed(format!("the browser did not print the page ({status})"))),
    }
}

/// The first browser found on the search path.
fn find() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let candidates = NAMES.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

fn command(browser: &Path, folder: &Path, html: &Path, pdf: &Path) -> Command {
    let mut command = Command::new(browser);
    command.args(FLAGS);
    if rustix::process::geteuid().is_root() {
        // Chromium refuses to run as root with its sandbox.
        command.arg("--no-sandbox");
    }
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(format!("--print-to-pdf={}", pdf.display()));
    command.arg(format!("file://{}", html.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A browser process that is killed when this value is dropped.
struct Running(Child);

impl Running {
    fn wait(&mut self, stop: &AtomicBool) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if stop.load(Ordering::Relaxed) {
                return Err("stopped".to_owned());
            }
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => thread::park_timeout(POLL),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("the browser did not finish within {} s", DEADLINE.as_secs()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The browser is still running only after a timeout or Ctrl-C.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Program names under which distributions install Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Flags for the browser: no window, no header or footer with date and path, and no network (the
/// proxy does not exist).
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-pdf-header-footer",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-extensions",
    "--proxy-server=127.0.0.1:9",
];

/// Time limit for printing a page: far more than a page takes, for busy machines.
const DEADLINE: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(20);
