//! The server of runs: what is asked is understood, and answered from the folder of runs.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use web::ServeError;

use crate::answer::{answer, refusal};
use crate::archive::Archive;
use crate::guard::understand;

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listening: web::Server,
    runs_dir: PathBuf,
}

impl Server {
    /// Listens at an address; port 0 stands for any that is free.
    ///
    /// # Errors
    /// When the address is taken, or not this machine's.
    pub fn bind(address: SocketAddr, runs_dir: PathBuf) -> Result<Server, ServeError> {
        Ok(Server { listening: web::Server::bind(address)?, runs_dir })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listening.address()
    }

    /// Answers until `stop` becomes true; connections that are open then are cut.
    ///
    /// # Errors
    /// When the system refuses a thread or the listening socket.
    pub fn run(self, stop: &AtomicBool) -> io::Result<()> {
        let archive = Archive::new(self.runs_dir);
        self.listening.run(
            stop,
            Arc::new(move |method, uri, headers| {
                let answered = match understand(method, uri, headers) {
                    Ok(asked) => answer(&archive, &asked),
                    Err(refused) => refusal(&refused),
                };
                answered.into_response()
            }),
        )
    }
}
