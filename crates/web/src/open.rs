//! Open connections by client: who may have one more, and which one ends for it.
//!
//! A client is an IPv4 address or the first half of an IPv6 address. Where there is no place, the
//! eldest connection that has no request ends: that of the client itself if it has its share,
//! else that of the client with the most. So connections that say nothing keep nobody out, not
//! even others from their own address.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Of all clients.
    pub all: usize,
    /// Of each client.
    pub by_client: usize,
    /// Answers that are made for a client at a time.
    pub answers_by_client: usize,
}

/// The open connections.
#[derive(Debug)]
pub struct Open {
    places: Places,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By their numbers, the eldest first.
    connections: BTreeMap<u64, Connection>,
    clients: HashMap<IpAddr, Client>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    client: IpAddr,
    /// Whether a request of it is being answered.
    is_answered: bool,
    /// Ends it; none until its task runs.
    end: Option<AbortHandle>,
}

#[derive(Debug)]
struct Client {
    connections: usize,
    answers: Arc<Semaphore>,
}

/// The place of a connection, which it gives back when it is dropped.
#[derive(Debug)]
pub struct Place {
    open: Arc<Open>,
    number: u64,
    /// Bounds the answers that are made for its client at a time.
    pub answers: Arc<Semaphore>,
}

impl Open {
    pub fn new(places: Places) -> Arc<Open> {
        Arc::new(Open { places, state: Mutex::default() })
    }

    /// A place for a connection of this client, for which others may end; none where all that
    /// could end for it are being answered.
    pub fn enter(self: &Arc<Open>, address: IpAddr) -> Option<Place> {
        let client = client_of(address);
        let mut state = self.lock();
        if state.of(client) >= self.places.by_client {
            state.end_eldest(client)?;
        }
        if state.connections.len() >= self.places.all {
            let greatest = state.clients.iter().max_by_key(|(_, client)| client.connections);
            let greatest = *greatest?.0;
            state.end_eldest(greatest)?;
        }
        let answers_by_client = self.places.answers_by_client;
        let known = state.clients.entry(client).or_insert_with(|| Client {
            connections: 0,
            answers: Arc::new(Semaphore::new(answers_by_client)),
        });
        known.connections += 1;
        let answers = Arc::clone(&known.answers);
        let number = state.next;
        state.next += 1;
        let connection = Connection { client, is_answered: false, end: None };
        state.connections.insert(number, connection);
        Some(Place { open: Arc::clone(self), number, answers })
    }

    /// Says how a connection is ended.
    pub fn runs(&self, number: u64, end: AbortHandle) {
        if let Some(connection) = self.lock().connections.get_mut(&number) {
            connection.end = Some(end);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&self, client: IpAddr) -> usize {
        self.clients.get(&client).map_or(0, |client| client.connections)
    }

    /// Ends the eldest connection of a client that is not being answered, if there is one.
    fn end_eldest(&mut self, client: IpAddr) -> Option<()> {
        let idle = |one: &Connection| one.client == client && !one.is_answered;
        let (number, _) = self.connections.iter().find(|(_, connection)| idle(connection))?;
        let number = *number;
        if let Some(end) = self.remove(number).and_then(|connection| connection.end) {
            end.abort();
        }
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let connection = self.connections.remove(&number)?;
        if let Some(client) = self.clients.get_mut(&connection.client) {
            client.connections -= 1;
            if client.connections == 0 {
                self.clients.remove(&connection.client);
            }
        }
        Some(connection)
    }
}

impl Place {
    /// The number of the connection.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Says whether a request of the connection is being answered.
    pub fn set_answered(&self, is_answered: bool) {
        if let Some(connection) = self.open.lock().connections.get_mut(&self.number) {
            connection.is_answered = is_answered;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.lock().remove(self.number);
    }
}

/// Whoever has an IPv6 address usually has all with the same first 64 bits.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places = Places { all: 6, by_client: 4, answers_by_client: 1 };

    fn enter(open: &Arc<Open>, address: &str) -> Option<Place> {
        open.enter(address.parse().expect("an address"))
    }

    fn numbers(open: &Open) -> Vec<u64> {
        open.lock().connections.keys().copied().collect()
    }

    #[test]
    fn the_eldest_of_a_client_with_its_share_ends() {
        let open = Open::new(PLACES);
        let _other = enter(&open, "192.0.2.9");
        let held: Vec<_> = (0..6).map(|_| enter(&open, "192.0.2.1").expect("a place")).collect();
        assert_eq!(numbers(&open), [0, 3, 4, 5, 6]);
        // What has ended already gives nothing back a second time.
        drop(held);
        assert_eq!(numbers(&open), [0]);
        assert_eq!(open.lock().clients.len(), 1);
    }

    #[test]
    fn the_client_with_the_most_makes_room() {
        let open = Open::new(PLACES);
        let _few: Vec<_> = (0..2).map(|_| enter(&open, "192.0.2.1")).collect();
        let _most: Vec<_> = (0..4).map(|host| enter(&open, &format!("2001:db8::{host}"))).collect();
        let _new = enter(&open, "192.0.2.3").expect("a place");
        assert_eq!(numbers(&open), [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn what_is_being_answered_stays() {
        let open = Open::new(PLACES);
        let places: Vec<_> = (0..4).map(|_| enter(&open, "192.0.2.1").expect("a place")).collect();
        places.iter().for_each(|place| place.set_answered(true));
        assert!(enter(&open, "192.0.2.1").is_none());
        places[2].set_answered(false);
        let _new = enter(&open, "192.0.2.1").expect("a place");
        assert_eq!(numbers(&open), [0, 1, 3, 4]);
    }
}
