//! A control plane of routes that takes a known time for each client.

use std::time::Duration;

use measure::{
    Convergence, DeviceCpu, Load, MeasureError, Measurer, Routing, RoutingEvent, RoutingSize,
    Trial, TrialProgress, Watch,
};

/// A reflector whose client number *n* (from 1) has everything after *n* times `client`.
#[derive(Clone, Debug)]
pub struct Reflecting {
    /// What takes part.
    pub size: RoutingSize,
    /// Time for each client.
    pub client: Duration,
    /// Time of the tester alone.
    pub alone: Option<Duration>,
    /// The event, counted from 0, in which the last client lacks a route.
    pub wrong_at: Option<usize>,
    /// The event in which a session ends by itself.
    pub lost_at: Option<usize>,
    /// Events so far, in their order.
    pub events: Vec<RoutingEvent>,
}

impl Measurer for Reflecting {
    fn measure(&mut self, _: Load, _: Duration, _: &mut dyn Watch) -> Result<Trial, MeasureError> {
        Err(MeasureError::Unsupported("it forwards no frames"))
    }

    fn routing(&mut self) -> Option<&mut dyn Routing> {
        Some(self)
    }
}

impl Routing for Reflecting {
    fn size(&self) -> RoutingSize {
        self.size
    }

    fn converge(
        &mut self,
        event: RoutingEvent,
        patience: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Convergence, MeasureError> {
        let index = self.events.len();
        self.events.push(event);
        let RoutingSize { clients, routes, .. } = self.size;
        let times = (1..=clients).map(|client| self.client * client);
        let mut clients_ns: Vec<u64> =
            times.filter(|time| *time <= patience).map(|time| time.as_nanos() as u64).collect();
        if let RoutingEvent::Table { slow } = event {
            clients_ns.truncate((clients - slow) as usize);
        }
        let mut wrong = Vec::new();
        if self.wrong_at == Some(index) {
            clients_ns.pop();
            wrong.push("client 127.0.0.9: 192.0.2.0/24 is missing".to_owned());
        }
        let told = routes * u64::from(clients);
        watch.at(TrialProgress { elapsed: self.client, sent: routes, received: told });
        let mut changes = hdrhistogram::Histogram::new_with_bounds(1, 1 << 40, 3)
            .expect("these bounds are allowed");
        (1..=1000).for_each(|step| changes.saturating_record(step * 100_000));
        Ok(Convergence {
            sessions_up: matches!(event, RoutingEvent::Table { .. }).then_some(self.client),
            clients_ns,
            wrong,
            sessions_lost: u32::from(self.lost_at == Some(index)),
            updates: told / 100,
            routes: told,
            bytes: told * 5,
            changes_ns: matches!(event, RoutingEvent::Flaps { .. }).then_some(changes),
            withdrawals_seen: u32::from(event == RoutingEvent::Restart),
            device: Some(DeviceCpu { ns: 7_000_000, of: "1 thread".into() }),
            tester_cpu_ns: 3_000_000,
            resident_bytes: Some(64 << 20),
            socket_bytes: Some(1 << 20),
            stalls: Vec::new(),
        })
    }

    fn tester_alone(
        &mut self,
        _: Duration,
        _: &mut dyn Watch,
    ) -> Result<Option<Convergence>, MeasureError> {
        let of = |time: Duration| Convergence {
            clients_ns: vec![time.as_nanos() as u64],
            ..Convergence::default()
        };
        Ok(self.alone.map(of))
    }
}
