//! The routes of a router as a controller keeps them.

use controller_kit::{Link, Refusal};
use function_kit::Invalid;
use function_kit::erased::Configured;
use function_l3_router::Update;
use serde_json::{Map, Value, json};

use protocol_netlink::RouteChange;

use crate::account::CAUSES;
use crate::router::Router;
use crate::table;
use crate::tables::{self, Table};

/// What was told of routes, what the router has of it, and the changes on their way to it.
pub struct Routing {
    table: table::Table,
}

impl Routing {
    /// Takes over what a router has, for at most so many lists of next hops.
    ///
    /// # Errors
    /// When the function is no router with room for routes, or has no such VRF.
    pub fn new(
        function: Option<&dyn Configured>,
        listed: &[Table],
        lists_max: usize,
        state: &[Update],
    ) -> Result<Routing, Invalid> {
        let router = Router::of(function, listed)?;
        let vrfs = tables::vrfs(listed, router.vrfs);
        Ok(Routing { table: table::Table::new(router, vrfs, lists_max, state) })
    }

    /// The kinds of updates that are of routes, and of what they lead to.
    pub const CLAIMS: [&str; 6] = [
        "set-route",
        "remove-route",
        "set-next-hop",
        "remove-next-hop",
        "set-group-member",
        "remove-group-member",
    ];

    /// Whether a function is the router of these routes, unchanged.
    pub fn is_of(&self, function: Option<&dyn Configured>, listed: &[Table]) -> bool {
        Router::of(function, listed).is_ok_and(|router| router == self.table.ways.router)
    }

    /// Takes in what is told.
    pub fn tell(&mut self, change: RouteChange) {
        self.table.tell(change);
    }

    /// Everything is told anew from now on; until then what was told before holds.
    pub fn renew(&mut self) {
        self.table.renew();
    }

    /// Everything was told anew.
    pub fn settle(&mut self) {
        self.table.settle(false);
    }

    /// The host's interfaces are others.
    pub fn set_links(&mut self, links: &[Link]) {
        self.table.set_links(links.iter().map(|link| (link.kernel.0, link.number)).collect());
    }

    /// What was taken over from an earlier life and was not told by now goes.
    pub fn sweep(&mut self) {
        self.table.settle(true);
    }

    /// Whether something is held until everything was told.
    pub fn keeps(&self) -> bool {
        self.table.keeps()
    }

    /// Whether there are any routes.
    pub fn has_routes(&self) -> bool {
        self.table.ways.routes.counts()[0] > 0
    }

    /// Whether something stale was told again since somebody asked.
    pub fn take_renewed(&mut self) -> bool {
        std::mem::take(&mut self.table.is_renewed)
    }

    /// Does a part of what is left to do; false if there is nothing.
    pub fn step(&mut self) -> bool {
        self.table.step()
    }

    /// Begins to look at the routes that lead to what leads elsewhere now; false if there is
    /// nothing of the kind.
    pub fn follow(&mut self) -> bool {
        self.table.follow()
    }

    /// Whether there is something left to do.
    pub fn has_work(&self) -> bool {
        self.table.has_work()
    }

    /// Changes that wait to be handed over.
    pub fn waiting(&self) -> usize {
        self.table.ways.account.waiting()
    }

    /// Whether no more changes are to be made until some are answered.
    pub fn is_full(&self) -> bool {
        self.table.ways.account.is_full()
    }

    /// Hands over the next changes.
    pub fn hand_over(&mut self) -> Vec<Update> {
        self.table.ways.account.hand_over()
    }

    /// All changes before a number took effect that have no answer yet: answers are in order.
    pub fn applied(&mut self, end: u64) {
        while let Some(update) = self.table.ways.account.next_applied(end) {
            self.table.applied(&update);
        }
    }

    /// A change was refused.
    pub fn refused(&mut self, number: u64, why: Refusal) {
        self.applied(number);
        if let Some(update) = self.table.ways.account.refuse(number, why) {
            self.table.refuse(&update, why);
        }
    }

    /// Whether the router has everything that it is to have.
    pub fn is_fine(&self) -> bool {
        !self.table.wants_room() && self.table.ways.account.open() == 0
    }

    /// What a person sees of it, but for the counters.
    pub fn show(&self) -> Map<String, Value> {
        let (table, ways) = (&self.table, &self.table.ways);
        let [all, installed, stale] = ways.routes.counts();
        let [numbered, lists] = table.objects.counts();
        let refused: Map<String, Value> = CAUSES
            .iter()
            .zip(ways.account.refused)
            .map(|(cause, count)| ((*cause).to_owned(), count.into()))
            .collect();
        object(json!({
            "routes": {
                "all": all,
                "installed": installed,
                "waiting": all - installed,
                "stale": stale,
                "refused": table.refused.len(),
            },
            "numbers": numbered,
            "lists": lists,
            "next-hops": ways.hops.len(),
            "groups": ways.groups.len(),
            "links": ways.links.len(),
            "changes": {
                "open": ways.account.open(),
                "applied": ways.account.applied,
                "refused": refused,
            },
        }))
    }

    /// What was counted.
    pub fn counters(&self) -> Map<String, Value> {
        let (table, ways, counters) = (&self.table, &self.table.ways, &self.table.counters);
        object(json!({
            "other-table": counters.other_table,
            "taken": counters.taken,
            "no-ipv6": counters.no_ipv6,
            "encapsulated": counters.encapsulated,
            "no-gateway": counters.no_gateway,
            "lists-full": counters.lists_full,
            "swept": counters.swept,
            "members-left-out": table.objects.left_out,
            "no-room": ways.no_room,
        }))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
