//! Events after which all routes are as the feeders have told them first, or gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use measure::{Convergence, MeasureError};

use crate::pack;
use crate::tester::core::Core;
use crate::tester::event::{Event, TURN};

/// The device starts without routes, all sessions come up, and then the feeders tell everything.
/// Slow clients, the last ones that are no feeders, read nothing until all others have everything;
/// the outcome has no times of them.
pub(crate) fn table(
    core: &mut Core,
    event: &mut Event<'_>,
    slow: u32,
) -> Result<Convergence, MeasureError> {
    let clients = core.plan.client_count();
    if slow as usize >= clients || slow as usize > core.plan.clients.len() {
        return Err(MeasureError::NothingToMeasure(format!(
            "{slow} of {clients} clients cannot be slow: one has to read, and feeders have to"
        )));
    }
    core.forget();
    let device = event.device.start().map_err(MeasureError::Device)?;
    core.sessions.set_device(device);
    let first = Instant::now();
    connect_all(core, event)?;
    let sessions_up = core.last_up.map(|last| last.saturating_duration_since(first));
    let (quick, slow) = split(clients, slow as usize);
    for client in &slow {
        core.sessions.set_reading(core.plan.session_of(*client), false);
    }
    event.start(core);
    core.feed()?;
    event.wait(core, &quick)?;
    let since = core.sessions.first_fed.unwrap_or(first);
    if !slow.is_empty() {
        for client in &slow {
            core.sessions.set_reading(core.plan.session_of(*client), true);
        }
        let end = event.end();
        event.wait(core, &slow)?;
        event.set_end(end);
    }
    core.table = Some(core.heard.leading());
    Ok(Convergence { sessions_up, ..event.outcome(core, (&quick, since)) })
}

/// The feeders withdraw everything.
pub(crate) fn withdraw_all(
    core: &mut Core,
    event: &mut Event<'_>,
) -> Result<Convergence, MeasureError> {
    let withdrawals = pack::withdrawals(&core.plan.fed);
    core.expected.withdraw_all();
    core.expect();
    core.sessions.first_fed = None;
    event.start(core);
    let began = Instant::now();
    for (feeder, messages) in withdrawals.into_iter().enumerate() {
        core.sessions.feed(feeder, &Arc::new(messages), &[]);
    }
    let all: Vec<usize> = (0..core.plan.client_count()).collect();
    event.wait(core, &all)?;
    let since = core.sessions.first_fed.unwrap_or(began);
    let outcome = event.outcome(core, (&all, since));
    // Something is taken away.
    Ok(Convergence { withdrawals_seen: 0, ..outcome })
}

/// The last clients lose their sessions, and come back at once. The outcome has their times, and
/// those of others whose tables have changed meanwhile.
pub(crate) fn lose_clients(
    core: &mut Core,
    event: &mut Event<'_>,
    clients: u32,
) -> Result<Convergence, MeasureError> {
    let all = core.plan.client_count();
    if clients == 0 || clients as usize > all {
        return Err(MeasureError::NothingToMeasure(format!(
            "{clients} of {all} clients cannot lose their sessions"
        )));
    }
    let (others, lost) = split(all, clients as usize);
    core.heard.begin_chain();
    event.start(core);
    let since = Instant::now();
    core.last_up = None;
    for client in &lost {
        core.connect(core.plan.session_of(*client), event.deadline());
    }
    let every: Vec<usize> = (0..all).collect();
    event.wait(core, &every)?;
    let sessions_up = core.last_up.map(|last| last.saturating_duration_since(since));
    let has_changed = |client: &usize| core.heard.changed(*client).is_some_and(|at| at >= since);
    let timed: Vec<usize> =
        lost.iter().copied().chain(others.into_iter().filter(has_changed)).collect();
    Ok(Convergence { sessions_up, ..event.outcome(core, (&timed, since)) })
}

/// The device is killed and started again; all sessions come back, and the feeders tell everything
/// again as soon as theirs stand.
pub(crate) fn restart(core: &mut Core, event: &mut Event<'_>) -> Result<Convergence, MeasureError> {
    core.heard.begin_chain();
    event.start(core);
    let since = Instant::now();
    core.last_up = None;
    let device = event.device.restart().map_err(MeasureError::Device)?;
    core.sessions.set_device(device);
    event.start_anew();
    for session in 0..core.plan.speakers().count() {
        core.connect(session, event.deadline());
    }
    let all: Vec<usize> = (0..core.plan.client_count()).collect();
    event.wait(core, &all)?;
    let sessions_up = core.last_up.map(|last| last.saturating_duration_since(since));
    Ok(Convergence { sessions_up, ..event.outcome(core, (&all, since)) })
}

/// Connects all sessions, and waits until all stand.
fn connect_all(core: &mut Core, event: &mut Event<'_>) -> Result<(), MeasureError> {
    core.last_up = None;
    let until = event.deadline().min(Instant::now() + CONNECT_PATIENCE);
    for session in 0..core.plan.speakers().count() {
        core.connect(session, until);
    }
    while !core.sessions.are_settled() {
        event.turn(core, TURN)?;
    }
    core.check_sessions()
}

/// All clients but the last ones, and the last ones.
fn split(clients: usize, last: usize) -> (Vec<usize>, Vec<usize>) {
    let first = clients - last;
    ((0..first).collect(), (first..clients).collect())
}

/// How long sessions may take to come up for the first time.
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
