//! `startup.conf`, as an operator would write it for one bench: memif and nothing else.

use std::fmt::Write as _;
use std::path::Path;

use super::options::Options;

/// What a process of VPP is started with.
pub(super) struct Startup<'a> {
    pub options: &'a Options,
    /// Its private folder.
    pub folder: &'a Path,
    /// Prefix of its files below `/dev/shm`.
    pub prefix: &'a str,
    /// Core of the main thread, which sleeps but for the CLI; none where it is not pinned.
    pub main_core: Option<usize>,
    /// Cores of the workers; none for work on the main thread.
    pub worker_cores: &'a [usize],
    /// Number of routes that its heap must have room for.
    pub routes: usize,
}

/// Plugins that are loaded; all others are not.
pub(super) const PLUGINS: [&str; 1] = ["memif_plugin.so"];

impl Startup<'_> {
    /// Returns the text of the file. Its words are separated by white space, and paths in it have
    /// none.
    pub fn text(&self) -> String {
        let folder = self.folder.display();
        let page = if self.options.huge_pages { "default-hugepage" } else { "4K" };
        let mut text = format!(
            "unix {{\n  nodaemon\n  nosyslog\n  nocolor\n  cli-no-banner\n  cli-no-pager\n  \
             runtime-dir {folder}\n  cli-listen {folder}/{CLI}\n}}\n\
             api-segment {{ prefix {} }}\n\
             statseg {{ socket-name {folder}/stats.sock }}\n\
             logging {{ default-syslog-log-level disabled }}\n\
             memory {{ main-heap-size {}M main-heap-page-size {page} }}\n\
             buffers {{ buffers-per-numa {} page-size {page} }}\n",
            self.prefix,
            self.heap_mib(),
            self.options.buffers,
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", self.cpu());
        text += "plugins {\n";
        if let Some(plugins) = &self.options.plugin_folder {
            let _ = writeln!(text, "  path {}", plugins.display());
        }
        text += "  plugin default { disable }\n";
        for plugin in PLUGINS {
            let _ = writeln!(text, "  plugin {plugin} {{ enable }}");
        }
        text + "}\n"
    }

    fn cpu(&self) -> String {
        let mut text = "cpu {".to_owned();
        if let Some(core) = self.main_core {
            let _ = write!(text, " main-core {core}");
        }
        if !self.worker_cores.is_empty() {
            let cores: Vec<String> = self.worker_cores.iter().map(usize::to_string).collect();
            let _ = write!(text, " corelist-workers {}", cores.join(","));
        }
        text + " }"
    }

    fn heap_mib(&self) -> usize {
        HEAP_MIB + self.routes * ROUTE_KIB / 1024
    }
}

/// Returns the core of the main thread: one that no worker has.
pub(super) fn main_core(available: &[usize], workers: &[usize]) -> Option<usize> {
    available.iter().copied().find(|core| !workers.contains(core))
}

/// Name of the CLI's socket in the folder.
pub(super) const CLI: &str = "cli.sock";

/// Heap without routes in MiB, VPP's default.
const HEAP_MIB: usize = 1024;

/// Heap for each route in KiB, with its entry, its path list and its share of the trie.
const ROUTE_KIB: usize = 2;
