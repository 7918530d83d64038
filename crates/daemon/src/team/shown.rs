//! What operators are shown of a running function beside counters and tables.

use std::collections::HashSet;

use function_kit::{Condition, Neighbour, Spoken};
use functions::Running;
use packet::PortId;

use super::Team;
use crate::unit::Refused;

impl Team {
    /// Returns the neighbours of all workers, at most `limit` of each; one that several workers
    /// have is there once.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn neighbours(&mut self, limit: usize) -> Result<Vec<Neighbour>, Refused> {
        self.gather(move |function| function.neighbours(limit))
    }

    /// Returns those of a protocol in a state, at most `limit` of each worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn neighbours_in(
        &mut self,
        of: (&'static str, &'static str),
        limit: usize,
    ) -> Result<Vec<Neighbour>, Refused> {
        self.gather(move |function| function.neighbours_in(of, limit))
    }

    fn gather(
        &mut self,
        look: impl Fn(&dyn Running) -> Vec<Neighbour> + Copy + Send + 'static,
    ) -> Result<Vec<Neighbour>, Refused> {
        let mut all: Vec<Neighbour> = Vec::new();
        for member in &mut self.members {
            let found = member.look(move |function| look(&**function))?;
            let known: HashSet<_> = all.iter().map(key).collect();
            let new: Vec<_> = found.into_iter().filter(|one| !known.contains(&key(one))).collect();
            all.extend(new);
        }
        Ok(all)
    }

    /// Tells all workers what the link of a port carries.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) -> Result<(), Refused> {
        self.members.iter_mut().try_for_each(|member| member.look(move |it| it.set_mtu(port, mtu)))
    }

    /// Returns the tally that grows with each line of the function.
    pub fn lines_told_by(&self) -> Option<&'static str> {
        self.config.lines_told_by()
    }

    /// Takes the lines that the function has for the log, with their workers.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn lines(&mut self) -> Result<Vec<(usize, String)>, Refused> {
        let mut all = Vec::new();
        for (worker, member) in self.members.iter_mut().enumerate() {
            let lines = member.look(|function| function.lines())?;
            all.extend(lines.into_iter().map(|line| (worker, line)));
        }
        Ok(all)
    }

    /// Begins the end of all workers in good order, and returns how much of it is left.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn wind_down(&mut self) -> Result<u64, Refused> {
        let left = self.members.iter_mut().map(|member| member.look(|it| it.wind_down()));
        left.sum()
    }

    /// Returns what raises alarms of the function.
    pub fn conditions(&self) -> &'static [Condition] {
        self.config.conditions()
    }

    /// Returns a protocol that the workers speak.
    pub fn spoken(&self, protocol: &str) -> Option<&'static Spoken> {
        self.config.speaks().iter().find(|one| one.protocol == protocol)
    }
}

/// What tells one neighbour from the others.
fn key(one: &Neighbour) -> (&'static str, String, String) {
    (one.protocol, one.interface.clone(), one.address.clone())
}
