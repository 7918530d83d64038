//! What the kernel tells of its memory and of this thread's time, and how many files it lets be
//! open.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Returns the memory that the buffers of TCP sockets take, in bytes: those of both ends of every
/// connection of the machine, sent and received data alike, in whole pages (the field `mem` of TCP
/// in `/proc/net/sockstat`). None where the kernel does not tell it. What a measurement adds is the
/// difference to what was there before.
pub(crate) fn socket_bytes() -> Option<u64> {
    pages(&fs::read_to_string("/proc/net/sockstat").ok()?)
        .map(|pages| pages * rustix::param::page_size() as u64)
}

fn pages(text: &str) -> Option<u64> {
    let tcp = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_ascii_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

/// Returns the processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Lets this many files be open beside those that are, as far as the hard limit allows it.
///
/// # Errors
/// In words that say what to do, if it does not.
pub(crate) fn let_be_open(files: usize) -> Result<(), String> {
    let wanted = (files + OTHER_FILES) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if is_enough(current) {
        return Ok(());
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() && is_enough(maximum) {
        return Ok(());
    }
    Err(format!(
        "{files} sessions need {wanted} open files, and {} are allowed: raise the hard limit \
         (`ulimit -Hn {wanted}` as root, or LimitNOFILE of the service)",
        maximum.unwrap_or(0)
    ))
}

/// Files that are open beside sessions, of the device among them where it is in this process.
const OTHER_FILES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_tcp_are_found() {
        let text =
            "sockets: used 9\nTCP: inuse 4 orphan 0 tw 1 alloc 5 mem 17\nUDP: inuse 1 mem 2\n";
        assert_eq!(pages(text), Some(17));
        assert_eq!(pages("UDP: inuse 1 mem 2\n"), None);
        assert!(socket_bytes().is_some(), "every Linux tells it");
    }

    #[test]
    fn too_many_files_are_an_error_that_says_what_to_do() {
        assert_eq!(let_be_open(1), Ok(()));
        let why = let_be_open(1 << 40).unwrap_err();
        assert!(why.contains("ulimit -Hn"), "{why}");
    }
}
