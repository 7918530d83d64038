//! The state of workers before they run: built by the configuration, brought to what was known
//! before, and then a team.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Port, Refusal};
use functions::{AnyUpdate, Configured, FrameSteering, Invalid, Running};
use host::Machines;
use machine::clock::{self, Clock};
use packet::PortId;

use super::{Team, shard, worker};
use crate::before::{Before, unusable};
use crate::error::RunError;
use crate::machines;
use crate::member::Member;
use crate::read;
use crate::unit::Launch;

/// State of all workers before they run.
pub(crate) struct Prepared {
    config: Arc<dyn Configured>,
    functions: Vec<Box<dyn Running>>,
    clock: Clock,
}

impl Prepared {
    /// Builds the state of this number of workers, and lets them know what was known before.
    pub fn build(
        function: &read::Function,
        workers: usize,
        clock: Clock,
        before: Option<&mut Before>,
    ) -> Result<Prepared, RunError> {
        let config = &function.configured;
        // What was known came on top of the keys under which it was kept.
        let first = match &before {
            None => Arc::clone(config),
            Some(before) => {
                let keys = before.function().as_object().cloned().unwrap_or_default();
                let bad = |bad: Invalid| unusable(format!("its function section: {}", bad.what));
                function.kind.read(keys).map_err(bad)?.with_secrets_of(&**config)
            }
        };
        let now = clock::now();
        let build = |index| first.function(shard(index, workers), clock, now);
        let functions = (0..workers).map(build).collect::<Result<_, _>>();
        let mut functions: Vec<Box<dyn Running>> =
            functions.map_err(|error| RunError::setup(error, "configure less, or free memory"))?;
        if let Some((of_first, others)) = functions.split_first_mut() {
            others.iter_mut().for_each(|one| one.join(&mut **of_first, workers));
        }
        let mut prepared = Prepared { config: Arc::clone(config), functions, clock };
        if let Some(before) = before {
            prepared.remember(before, &*first)?;
        }
        Ok(prepared)
    }

    /// Tells all workers what the link of a port carries.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) {
        self.functions.iter_mut().for_each(|function| function.set_mtu(port, mtu));
    }

    /// How ports find the worker of a frame, where there are several.
    pub fn frame_steering(&self) -> Option<FrameSteering> {
        let first = self.functions.first().filter(|_| self.functions.len() > 1)?;
        self.config.frame_steering(&**first)
    }

    /// Applies what was known before, then the difference to the current keys.
    fn remember(&mut self, before: &mut Before, first: &dyn Configured) -> Result<(), RunError> {
        let differing =
            first.difference(&*self.config).map_err(|Invalid { key, what, .. }| {
                unusable(format!("it was saved under another `{key}`, which {what}"))
            })?;
        while let Some(update) = before.next(&*self.config)? {
            match self.apply(&update) {
                // What a file of rows has no more needs no removal.
                Err((Refusal::NotFound, _)) if update.kind().starts_with("remove-") => {}
                done => done.or_else(|(_, why)| before.refuse(why))?,
            }
        }
        before.tell()?;
        differing.iter().try_for_each(|update| self.apply(update).map_err(|(_, why)| unusable(why)))
    }

    /// Applies a change on the workers that it concerns, and returns why one of them refuses it.
    fn apply(&mut self, update: &AnyUpdate) -> Result<(), (Refusal, String)> {
        let (count, steering) = (self.functions.len(), self.config.steering(update));
        let mut outcome = Ok(());
        for (index, function) in self.functions.iter_mut().enumerate() {
            if steering.is_none_or(|bits| worker(bits, count) == index)
                && let Err(why) = function.apply(update.clone(), clock::now())
            {
                outcome = Err((why, format!("{update:?}: {why}")));
            }
        }
        outcome
    }

    /// Returns what [`Team::changes`] does once they run, without waiting for any of them.
    pub fn changes(&self) -> Vec<AnyUpdate> {
        let (now, count) = (clock::now(), self.functions.len());
        let of = |(index, function): (usize, &dyn Running)| {
            let found = self.config.memory(shard(index, count), function, now);
            found.into_iter().filter(move |update| {
                // What all workers know is told once.
                index == 0 || self.config.steering(update).is_some()
            })
        };
        self.functions.iter().map(|function| &**function).enumerate().flat_map(of).collect()
    }

    /// Starts a worker for each list of queues.
    ///
    /// # Errors
    /// When a thread or the memory of a batch is not available.
    pub fn launch(
        self,
        queues: Vec<Vec<Box<dyn Port>>>,
        launch: &Launch,
    ) -> Result<Team, RunError> {
        let Prepared { config, mut functions, clock } = self;
        let stop = Arc::new(AtomicBool::new(false));
        let machines = Machines::default();
        let mut team = Team { config, members: Vec::new(), machines, clock, stop };
        let mut mesh =
            match team.config.hands_over() && functions.len() > 1 {
                true => port_memory::mesh(functions.len(), team.config.ports().len()).map_err(
                    |error| RunError::setup(format!("no memory between workers: {error}"), ""),
                )?,
                false => Vec::new(),
            };
        mesh.resize_with(functions.len(), Vec::new);
        let machines = functions.iter_mut().flat_map(|function| function.machines()).collect();
        team.machines = machines::drive(machines, &launch.observer)?;
        let all = functions.into_iter().zip(queues).zip(mesh).enumerate();
        for (index, ((function, mut queues), towards_workers)) in all {
            queues.extend(towards_workers);
            let core = launch.cores.get(index).copied().unwrap_or_default();
            team.members.push(Member::start(function, queues, core, launch, &team.stop)?);
        }
        Ok(team)
    }
}
