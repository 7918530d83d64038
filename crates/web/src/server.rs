//! The loop that takes connections, and their limits.
//!
//! One thread serves; answers are made on threads beside it, few at a time. A
//! connection has a time in which its request's head must have come, and one in which it ends
//! whatever it does; more connections than the limit wait in the system's queue.

use std::convert::Infallible;
use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fmt, io};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Creates the response to the head of a request. It may read files and may take time.
pub type Answer = Arc<dyn Fn(&Method, &Uri, &HeaderMap) -> Response<Full<Bytes>> + Send + Sync>;

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

/// Error of a server that cannot listen or cannot continue.
#[derive(Debug)]
pub struct ServeError {
    /// Address on which it should listen.
    pub address: SocketAddr,
    /// The system's error.
    pub source: io::Error,
}

impl Server {
    /// Listens on an address; port 0 means any free port.
    ///
    /// # Errors
    /// When the address is in use, or not an address of this machine.
    pub fn bind(address: SocketAddr) -> Result<Server, ServeError> {
        let failed = |source| ServeError { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Server { listener })
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// The system's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` becomes true; open connections are then closed.
    ///
    /// # Errors
    /// When the system refuses a thread or the listening socket.
    pub fn run(self, stop: &AtomicBool, answer: Answer) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(ANSWERS_MAX)
            .build()?;
        let served = runtime.block_on(accept(self.listener, &answer, stop));
        runtime.shutdown_timeout(GRACE);
        served
    }
}

async fn accept(listener: TcpListener, answer: &Answer, stop: &AtomicBool) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while !stop.load(Ordering::Relaxed) {
        // A place first: what finds none waits in the queue of the system.
        let Ok(Ok(place)) = timeout(POLL, Arc::clone(&places).acquire_owned()).await else {
            continue;
        };
        match timeout(POLL, listener.accept()).await {
            Ok(Ok((stream, _))) => {
                tokio::spawn(converse(stream, Arc::clone(answer), place));
            }
            // The peer is gone already, or file descriptors are used up until a connection ends;
            // to ask again at once would only take the time of those that are open.
            Ok(Err(_)) => drop(timeout(POLL, pending::<()>()).await),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Serves one connection from its first request to its end.
async fn converse(stream: TcpStream, answer: Answer, _place: OwnedSemaphorePermit) {
    let service = service_fn(move |request| respond(request, Arc::clone(&answer)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever a peer does wrong ends its connection and nothing else.
    let _ = timeout(CONNECTION_TIME_MAX, pin!(connection)).await;
}

async fn respond(
    request: Request<Incoming>,
    answer: Answer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, _) = request.into_parts();
    let answered =
        tokio::task::spawn_blocking(move || answer(&head.method, &head.uri, &head.headers)).await;
    // The task ends early only by a mistake of this program; the server goes on.
    Ok(answered.unwrap_or_else(|_| mistake()))
}

fn mistake() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(MISTAKE)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: {}", self.address, self.source)
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

const MISTAKE: &[u8] = b"this is a bug in plumbline; please report it\n";

/// Largest number of connections, more than the tabs of a user: those whose requests never end keep
/// nobody else out.
const CONNECTIONS_MAX: usize = 256;

/// Largest number of answers created at a time; each may hold a record in memory.
const ANSWERS_MAX: usize = 2;

const HEADERS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEAD_TIME_MAX: Duration = Duration::from_secs(2);
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(120);

/// Interval at which `stop` is read.
const POLL: Duration = Duration::from_millis(100);

/// Time limit for a page that is being rendered at the end.
const GRACE: Duration = Duration::from_secs(1);
