//! What the bench generates of a gateway: as a configuration, and as changes behind it.
//!
//! | generated | said by |
//! |---|---|
//! | access nodes, lists, profiles | the configuration, behind what is listed |
//! | next hops, routes | changes |
//! | sessions | changes, unless clients bring them up |

use function_bng::Update;
use function_bng::config::{Config, Name, Node, Policer, Profile, Queue, Tags};
use function_bng::control::listed;
use function_kit::Invalid;
use function_kit::sections::function_key;

use crate::beside;
use crate::catalogue::{self, Subscriber};
use crate::section::{Generated, RATE_MAX, Section, SetUp, Vlans};

/// The configuration that a section means: what subscribers have in common is listed, and there is
/// room for sessions, next hops and routes, which come by [`initial`].
pub fn config(section: &Section) -> Config {
    let Section { generated, config } = section;
    let mut config = config.clone();
    let addresses = [
        (&mut config.access_addresses, catalogue::GATEWAY),
        (&mut config.core_addresses, catalogue::GATEWAY_CORE),
    ];
    for (own, usual) in addresses {
        if own.is_empty() {
            own.extend(usual);
        }
    }
    config.secret = config.secret.or(Some(SECRET));
    config.nodes.extend((0..generated.nodes_generated).map(|number| node(generated, number)));
    let lists = if generated.rules_generated > 0 { generated.lists_generated } else { 0 };
    let list = |number| catalogue::list(number, generated.rules_generated);
    config.lists.extend((0..lists).map(list));
    let classes: Vec<Name> = config.classes.iter().map(|class| class.name).collect();
    let profiles = [catalogue::PROFILE, catalogue::OTHER_PROFILE];
    config.profiles.extend(profiles.map(|name| profile(generated, name, &classes)));
    let sessions = config.sessions.len() as u32 + generated.subscribers + generated.passing();
    let room = |key: &mut u32, least: u32| *key = (*key).max(least);
    room(&mut config.session_capacity, sessions + SESSIONS_SPARE);
    room(&mut config.line_sessions, line_sessions(generated) + LINE_SPARE);
    room(&mut config.node_capacity, config.nodes.len() as u32 + 2);
    room(&mut config.list_capacity, config.lists.len() as u32 + 4);
    room(&mut config.list_rules, generated.rules_generated.max(8));
    room(&mut config.profile_capacity, config.profiles.len() as u32 + 4);
    room(&mut config.next_hop_capacity, config.next_hops.len() as u32 + generated.nhop + 2);
    room(&mut config.route_capacity, config.routes.len() as u32 + generated.server + 4);
    config
}

/// The changes that bring next hops, routes and sessions, one after the other.
pub fn initial(section: &Section) -> impl Iterator<Item = Update> + '_ {
    let generated = &section.generated;
    let hops = (0..generated.nhop).map(|number| Update::AddNextHop(catalogue::next_hop(number)));
    let routes = (0..generated.server).flat_map(|number| catalogue::routes(section, number));
    let session = |number| Subscriber::new(section, number).added(section);
    let there = match generated.set_up {
        SetUp::Configured => generated.subscribers,
        SetUp::Protocol => 0,
    };
    hops.chain(routes.map(Update::AddRoute)).chain((0..there).map(session))
}

/// All changes that a gateway begins with: those of the configuration, then the generated ones.
pub(crate) fn all_initial<'a>(
    section: &'a Section,
    config: &'a Config,
) -> impl Iterator<Item = Update> + 'a {
    listed(config).chain(initial(section))
}

/// Checks the section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &Section) -> Result<(), Invalid> {
    let generated = &section.generated;
    let form = match generated.vlans {
        Vlans::None => Tags::None,
        Vlans::One => Tags::One,
        Vlans::Two => Tags::Two,
    };
    if !section.config.tags.contains(&form) {
        return Err(function_key(
            "vlans",
            "is a form that lines may not have".into(),
            "Give one of the forms in `tags`, or add it there",
        ));
    }
    if line_sessions(generated) > LINE_SESSIONS_MAX {
        let what = format!("makes lines of {} sessions", line_sessions(generated));
        let remedy = "Use `vlans: two`, or so many subscribers that a line has at most 65,500";
        return Err(function_key("vlans", what, remedy));
    }
    for (key, rate) in
        [("session-rate", generated.session_rate), ("node-rate", generated.node_rate)]
    {
        if !(1.0..=RATE_MAX.0).contains(&rate.0) {
            return Err(function_key(key, format!("{rate} is no rate"), "Give 1 to 10^12 byte/s"));
        }
    }
    if generated.rules_generated == 0 && generated.lists_generated > 1 {
        return Err(function_key(
            "lists-generated",
            "lists without rules do not differ".into(),
            "Set `rules-generated`, or leave `lists-generated` out",
        ));
    }
    beside::validate(section)?;
    function_bng::config::validate(&config(section))
}

/// Sessions of the line that has the most.
fn line_sessions(generated: &Generated) -> u32 {
    let most = generated.subscribers + generated.passing();
    let lines = most.div_ceil(generated.line_hosts);
    let rounds = match generated.vlans {
        Vlans::None => lines,
        Vlans::One => lines.div_ceil(catalogue::VLANS),
        Vlans::Two => lines.div_ceil(catalogue::VLANS * catalogue::CUSTOMER_VLANS),
    };
    rounds.saturating_mul(generated.line_hosts).min(most)
}

fn node(generated: &Generated, number: u32) -> Node {
    Node {
        name: catalogue::node_name(number),
        up_rate: Some(generated.node_rate),
        down_rate: Some(generated.node_rate),
        burst: generated.burst(generated.node_rate),
        weight: 1,
    }
}

fn profile(generated: &Generated, name: Name, classes: &[Name]) -> Profile {
    let (rate, burst) = (generated.session_rate, generated.burst(generated.session_rate));
    let (policers, queues) = (generated.policers as usize, generated.queues as usize);
    let policer = |&class: &Name| Policer {
        class,
        rate,
        burst,
        peak_rate: None,
        peak_burst: burst,
        mark: None,
        mark_excess: None,
    };
    let queue = |(level, &class): (usize, &Name)| Queue {
        class,
        rate: Some(rate),
        burst,
        level: level as u8,
        weight: 1,
        depth_bytes: generated.queue_bytes,
        codel: false,
    };
    Profile {
        name,
        up_rate: (policers > 0).then_some(rate),
        up_burst: burst,
        policers: classes.iter().take(policers).map(policer).collect(),
        down_rate: (queues > 0).then_some(rate),
        down_burst: burst,
        weight: 1,
        overhead_bytes: 0,
        queues: classes.iter().take(queues).enumerate().map(queue).collect(),
        list: (generated.rules_generated > 0).then(|| catalogue::list_name(0)),
    }
}

/// Identifiers of PPPoE are as many.
const LINE_SESSIONS_MAX: u32 = 65_500;

/// Sessions of a line for which there is room beside.
const LINE_SPARE: u32 = 16;

/// Sessions for which there is room beside the generated ones, so that changes can be tried by
/// hand.
const SESSIONS_SPARE: u32 = 64;

/// What keys the indexes: any number will do, and the same one makes runs comparable.
const SECRET: u64 = 1;
