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

/// A bound server that does not answer yet.
#[derive(Debug)]
pub struct Server {
    listening: web::Server,
    runs_dir: PathBuf,
}

impl Server {
    /// Binds to an address; port 0 takes any free port.
    ///
    /// # Errors
    /// When the address is in use, or not one of this machine.
    pub fn bind(address: SocketAddr, runs_dir: PathBuf) -> Result<Server, ServeError> {
        Ok(Server { listening: web::Server::bind(address)?, runs_dir })
    }

    /// The address on which the server listens.
    ///
    /// # Errors
    /// The system's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listening.address()
    }

    /// Answers requests until `stop` becomes true; open connections are then closed.
    ///
    /// # Errors
    /// When the system refuses a thread or the listening socket fails.
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
