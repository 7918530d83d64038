//! What a service manager hears of the daemon (sd_notify(3)): that it forwards, reads its file
//! again, or ends. Without a manager nobody is told.
//!
//! A manager names its socket in `NOTIFY_SOCKET`, and each message is a datagram of lines. It may
//! be gone or slow: nothing waits for it, and nothing fails if it does not hear. Deliberately
//! absent: watchdogs, because a restart would stop forwarding that goes on.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The daemon forwards and answers.
pub fn ready() {
    tell("READY=1\nSTATUS=forwards");
}

/// The daemon ends.
pub(crate) fn stopping() {
    tell("STOPPING=1\nSTATUS=stops");
}

/// The daemon reads its file again.
pub(crate) fn reloading() {
    tell("RELOADING=1\nSTATUS=reads its file again");
}

/// The daemon goes on after a reload; `refused` says why nothing has changed, or nothing.
pub(crate) fn reloaded(refused: &str) {
    match refused {
        "" => tell("READY=1\nSTATUS=forwards; its file was read again"),
        // A status is one line.
        why => tell(&format!(
            "READY=1\nSTATUS=forwards; reload refused, nothing has changed: {}",
            why.replace('\n', " ")
        )),
    }
}

fn tell(message: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&name, message) {
        tracing::debug!(%error, "the service manager does not hear");
    }
}

fn send(name: &OsStr, message: &str) -> io::Result<()> {
    // `@` stands for the zero with which an abstract name begins.
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_message_reaches_sockets_with_a_path_and_with_an_abstract_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notify");
        let hidden = format!("plumbline-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&hidden).expect("a name");
        let sockets = [
            (UnixDatagram::bind(&path), path.into_os_string()),
            (UnixDatagram::bind_addr(&address), format!("@{hidden}").into()),
        ];
        for (socket, name) in sockets {
            let socket = socket.expect("it is free");
            socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
            send(&name, "READY=1").expect("somebody listens");
            let mut heard = [0; 64];
            let length = socket.recv(&mut heard).expect("a message");
            assert_eq!(&heard[..length], b"READY=1");
        }
        assert!(send(OsStr::new("/nowhere/notify"), "READY=1").is_err());
    }
}
