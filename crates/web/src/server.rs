//! The loop that takes connections, and their limits.
//!
//! One thread serves; answers are made on threads beside it, few at a time, and of each client
//! fewer than that. A connection has a time in which its request's head must have come, and one in
//! which it ends whatever it does; where there are too many, one without a request ends
//! ([`Open`]).

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
use tokio::time::timeout;

use crate::open::{Open, Place, Places};

/// Creates the response to the head of a request. It may read files and may take time.
pub type Answer = Arc<dyn Fn(&Method, &Uri, &HeaderMap) -> Response<Full<Bytes>> + Send + Sync>;

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    limits: Limits,
}

/// What clients may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    places: Places,
    /// Time in which the head of a request must have come.
    head: Duration,
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
        Ok(Server { listener, limits: LIMITS })
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
        let served = runtime.block_on(accept(self, &answer, stop));
        runtime.shutdown_timeout(GRACE);
        served
    }
}

async fn accept(server: Server, answer: &Answer, stop: &AtomicBool) -> io::Result<()> {
    let Server { listener, limits } = server;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let open = Open::new(limits.places);
    while !stop.load(Ordering::Relaxed) {
        match timeout(POLL, listener.accept()).await {
            Ok(Ok((stream, peer))) => {
                // Without a place it is closed.
                let Some(place) = open.enter(peer.ip()) else { continue };
                let number = place.number();
                let task = converse(stream, Arc::clone(answer), (place, limits.head));
                open.runs(number, tokio::spawn(task).abort_handle());
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
async fn converse(stream: TcpStream, answer: Answer, (place, head): (Place, Duration)) {
    let service = service_fn(|request| respond(request, Arc::clone(&answer), &place));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever a peer does wrong ends its connection and nothing else.
    let _ = timeout(CONNECTION_TIME_MAX, pin!(connection)).await;
}

async fn respond(
    request: Request<Incoming>,
    answer: Answer,
    place: &Place,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, _) = request.into_parts();
    place.set_answered(true);
    // Nobody closes the semaphore, so there is a turn in the end.
    let turn = place.answers.acquire().await;
    let answered =
        tokio::task::spawn_blocking(move || answer(&head.method, &head.uri, &head.headers)).await;
    drop(turn);
    place.set_answered(false);
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

/// More connections of a client than a browser has tabs and connections for each, and one answer
/// fewer than there may be at a time, so that nobody waits for those of another.
const LIMITS: Limits = Limits {
    places: Places { all: 256, by_client: 64, answers_by_client: ANSWERS_MAX - 1 },
    head: Duration::from_secs(2),
};

/// Largest number of answers created at a time; each may hold a record in memory.
const ANSWERS_MAX: usize = 2;

const HEADERS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 16 << 10;
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(120);

/// Interval at which `stop` is read.
const POLL: Duration = Duration::from_millis(100);

/// Time limit for a page that is being rendered at the end.
const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::thread;

    use super::*;

    fn get(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        stream.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn connections_without_a_request_keep_nobody_out() {
        let mut server = Server::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        // Such connections never end by themselves here.
        server.limits.head = Duration::from_secs(3600);
        let address = server.address().expect("it listens");
        let stop = AtomicBool::new(false);
        let answer: Answer = Arc::new(|_, _, _| Response::new(Full::new(Bytes::from("a page"))));
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.run(&stop, answer));
            let half: Vec<TcpStream> = (0..300)
                .map(|_| {
                    let mut stream = TcpStream::connect(address).expect("it listens");
                    stream.write_all(b"GET / HTTP/1.1\r\nHost:").expect("it takes it");
                    stream
                })
                .collect();
            for _ in 0..3 {
                assert!(get(address).ends_with("a page"));
            }
            drop(half);
            stop.store(true, Ordering::Relaxed);
            serving.join().expect("it ends").expect("it has served");
        });
    }
}
