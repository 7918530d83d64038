//! Nodes on a link that several share: routers, and a switch that repeats what they send.

use std::collections::VecDeque;

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Time};
use protocol_vrrp::frames::{GROUPS, TAKES};
use protocol_vrrp::{Command, Report, Vrrp};
use simulation::World;

/// A node of the simulated network, whose links join two nodes each.
pub enum Node {
    /// A router.
    Router(Box<Vrrp>),
    /// A switch with a number of links: what comes by one leaves by the others.
    Switch(Switch),
}

/// A switch; its links are the first ones of the world.
pub struct Switch {
    links: u32,
    opened: u32,
    repeated: VecDeque<(Socket, Vec<u8>)>,
}

impl Node {
    /// A switch of this many links.
    pub fn switch(links: u32) -> Node {
        Node::Switch(Switch { links, opened: 0, repeated: VecDeque::new() })
    }
}

/// The router of a node that lives.
pub fn router(world: &World<Node>, node: usize) -> Option<&Vrrp> {
    match world.machine(node)? {
        Node::Router(vrrp) => Some(vrrp),
        Node::Switch(_) => None,
    }
}

impl Machine for Node {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match self {
            Node::Router(vrrp) => vrrp.input(now, input),
            Node::Switch(switch) => {
                let Input::Arrival(Arrival::Frame { interface, bytes, .. }) = input else { return };
                let others = (0..switch.links).filter(|link| *link != interface.0);
                switch.repeated.extend(others.map(|link| (Socket(link), bytes.to_vec())));
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        let switch = match self {
            Node::Router(vrrp) => return vrrp.poll(now),
            Node::Switch(switch) => switch,
        };
        if switch.opened < switch.links {
            let interface = Interface(switch.opened);
            let (takes, groups) = (TAKES.to_vec(), GROUPS.to_vec());
            let opening = Opening::Frames { interface, takes, groups };
            let socket = Socket(switch.opened);
            switch.opened += 1;
            return Some(Output::Departure(Departure::Open { socket, opening }));
        }
        let (socket, bytes) = switch.repeated.pop_front()?;
        Some(Output::Departure(Departure::Frame { socket, bytes }))
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Router(vrrp) => vrrp.deadline(),
            Node::Switch(switch) => {
                let is_waiting = switch.opened < switch.links || !switch.repeated.is_empty();
                is_waiting.then_some(Time::ZERO)
            }
        }
    }
}
