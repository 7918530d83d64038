//! The address mapping rules in a file, and look-ups in them.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use daemon::{Configuration, Parts, RunError};
use functions::cgnat::Cgnat;
use functions::cgnat::config::{Config, DeterministicRule, StaticRule, deterministic_plan};
use functions::cgnat::deterministic::{Block, Owner as PlanOwner, Plan};
use functions::sections::Prefixed;
use functions::{Chain, NetworkFunction};
use serde_json::Value;

use super::answer::{Answer, Owner, Ports, Protocol, Rule};
use super::port_forwarding;
use crate::problem::Problem;
use crate::scenario::{self, choose};

/// The file that holds the rules.
#[derive(clap::Args)]
pub struct Source {
    /// The scenario file, YAML or JSON
    #[arg(value_name = "SCENARIO")]
    pub file: PathBuf,
    /// The file is a configuration for `plumbline run`
    #[arg(long, conflicts_with = "cell")]
    pub run: bool,
    /// The cell of the scenario; default: the first
    #[arg(long, value_name = "ID")]
    pub cell: Option<String>,
    /// Set a key of the scenario to a YAML value, as in `function.core=2`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "run")]
    pub set: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The address mappings in a NAT's configuration.
pub struct Rules {
    config: Config,
    plan: Plan,
    file: String,
}

impl Rules {
    /// Reads the rules from a file.
    ///
    /// # Errors
    /// When the file is invalid, has no NAT, or has no rules that fix ports.
    pub fn read(source: &Source) -> Result<Rules, Problem> {
        let (name, section) = section(source)?;
        let config = nat(&name, section).map_err(|problem| at(problem, &source.file))?;
        Rules::new(config, &source.file)
    }

    fn new(config: Config, file: &Path) -> Result<Rules, Problem> {
        let has_static = !config.static_rules.is_empty() || !config.port_forwarding.is_empty();
        if config.deterministic.is_empty() && !has_static {
            let what = "the NAT has no rules that fix ports: its pools allocate them on demand";
            let remedy = "add `deterministic` rules (RFC 7422) to the function section, or search the \
                          NAT's log";
            return Err(at(Problem::of_usage(what, remedy), file));
        }
        let plan = deterministic_plan(&config.deterministic)
            .map_err(|invalid| at(Problem::of_usage(invalid.what, invalid.remedy), file))?;
        Ok(Rules { config, plan, file: file.display().to_string() })
    }

    /// The outside address and the ports of a subscriber.
    ///
    /// # Errors
    /// When no rule covers the subscriber.
    pub fn forward(&self, realm: u16, inside: Ipv4Addr) -> Result<Answer, Problem> {
        if realm == 0
            && let Some((rule, outside)) =
                self.one_to_one(inside, |rule| (rule.inside, rule.outside))
        {
            return Ok(one_to_one(inside, outside, rule));
        }
        if realm == 0
            && let Some(answer) = port_forwarding::forward(&self.config.port_forwarding, inside)
        {
            return Ok(answer);
        }
        let rule = self.rule(|rule| rule.realm == realm && holds(rule.inside, inside));
        let (Some(block), Some(rule)) = (self.plan.forward(realm, inside), rule) else {
            let rules = self.config.deterministic.iter();
            let mut known: Vec<_> =
                rules.filter(|rule| rule.realm == realm).map(|rule| rule.inside).collect();
            if realm == 0 {
                known.extend(self.config.static_rules.iter().map(|rule| rule.inside));
                let hosts = self.config.port_forwarding.iter().flat_map(|rule| &rule.hosts);
                known.extend(hosts.map(|host| Prefixed { address: host.inside, len: 32 }));
            }
            let what = format!("no rule covers the subscriber {inside} of realm {realm}");
            return Err(self.not_told(&what, "subscribers", known));
        };
        Ok(Answer {
            shared_ports: self.plan.dynamic(block.outside).map(ports),
            ..subscriber(realm, inside, block, rule)
        })
    }

    /// The subscriber that has an outside port.
    ///
    /// # Errors
    /// When no rule covers the outside address, or the answer depends on the protocol and no
    /// protocol is given.
    pub fn reverse(
        &self,
        outside: Ipv4Addr,
        port: u16,
        protocol: Option<Protocol>,
    ) -> Result<Answer, Problem> {
        if let Some((rule, inside)) = self.one_to_one(outside, |rule| (rule.outside, rule.inside)) {
            return Ok(Answer { port: Some(port), ..one_to_one(inside, outside, rule) });
        }
        let rules = &self.config.port_forwarding;
        if let Some(answer) = port_forwarding::reverse(rules, (outside, port), protocol) {
            return answer.map_err(|problem| problem.at("file", &self.file));
        }
        let rule = self.rule(|rule| holds(rule.outside, outside));
        let (Some(owner), Some(rule)) = (self.plan.reverse(outside, port), rule) else {
            let rules = self.config.deterministic.iter().map(|rule| rule.outside);
            let own = self.config.static_rules.iter().map(|rule| rule.outside);
            let shared = self.config.port_forwarding.iter().map(|rule| rule.outside);
            let shared = shared.map(|address| Prefixed { address, len: 32 });
            let known = rules.chain(own).chain(shared);
            let pool = self.config.all_pools().find(|pool| holds(*pool, outside));
            let what = match pool {
                Some(pool) => format!(
                    "{outside} is in the pool {}, which allocates ports on demand: only the NAT's log \
                     identifies the subscriber",
                    text(pool)
                ),
                None => format!("no rule covers the outside address {outside}"),
            };
            return Err(self.not_told(&what, "outside addresses", known.collect()));
        };
        let nobody = Answer {
            owner: Owner::Nobody,
            realm: None,
            inside: None,
            outside,
            port: Some(port),
            inside_port: None,
            protocol,
            ports: None,
            shared_ports: None,
            forwards: Vec::new(),
            rule: rule.clone(),
        };
        Ok(match owner {
            PlanOwner::Nobody => nobody,
            PlanOwner::Dynamic => Answer { owner: Owner::Shared, ..nobody },
            PlanOwner::Subscriber { realm, inside } => {
                let block = self.plan.forward(realm, inside).filter(|block| block.holds(port));
                // Both look-ups are inverses of each other; `functions` tests that.
                let block = block.ok_or_else(|| {
                    Problem::of_usage("the rules contradict each other", "report it with the file")
                })?;
                Answer { port: Some(port), ..subscriber(realm, inside, block, rule) }
            }
        })
    }

    /// The first deterministic rule that satisfies `is`.
    fn rule(&self, is: impl Fn(&DeterministicRule) -> bool) -> Option<Rule> {
        let number = self.config.deterministic.iter().position(is)?;
        let rule = &self.config.deterministic[number];
        Some(Rule {
            key: "deterministic",
            number: number + 1,
            inside: text(rule.inside),
            outside: text(rule.outside),
        })
    }

    /// The address that a one-to-one rule maps `address` to. `ends` returns a rule's source and
    /// target prefix in the direction of the look-up.
    fn one_to_one(
        &self,
        address: Ipv4Addr,
        ends: impl Fn(&StaticRule) -> (Prefixed<Ipv4Addr>, Prefixed<Ipv4Addr>),
    ) -> Option<(Rule, Ipv4Addr)> {
        let rules = &self.config.static_rules;
        let number = rules.iter().position(|rule| holds(ends(rule).0, address))?;
        let (_, to) = ends(&rules[number]);
        let host = u32::MAX.checked_shr(to.len.into()).unwrap_or(0);
        let other = Ipv4Addr::from_bits(to.address.to_bits() & !host | address.to_bits() & host);
        let rule = Rule {
            key: "static",
            number: number + 1,
            inside: text(rules[number].inside),
            outside: text(rules[number].outside),
        };
        Some((rule, other))
    }

    /// The error for an address that no rule covers; it names the prefixes that the rules do cover.
    fn not_told(&self, what: &str, of: &str, known: Vec<Prefixed<Ipv4Addr>>) -> Problem {
        let more = known.len().saturating_sub(NAMED_MAX);
        let named: Vec<String> = known.into_iter().take(NAMED_MAX).map(text).collect();
        let mut remedy = match named.len() {
            0 => "name the realm of a rule (--realm)".to_owned(),
            _ => format!("the rules cover these {of}: {}", named.join(", ")),
        };
        if more > 0 {
            remedy += &format!(" and {more} more");
        }
        Problem::of_usage(what, remedy).at("file", &self.file)
    }
}

/// The function section of a file, and the function's name.
fn section(source: &Source) -> Result<(String, Value), Problem> {
    if source.run {
        let configuration = Configuration::read(&source.file, Parts::all())
            .map_err(|error| Problem::from(RunError::from(error)))?;
        let function = &configuration.function;
        return Ok((function.kind.name().to_owned(), function.configured.keys().into()));
    }
    let scenario = scenario::read_file(&source.file, &source.set)?;
    let (benchmark, cell) = choose(&scenario, source.cell.as_deref(), "read")?;
    let mut effective = benchmark.configure(cell)?.effective();
    Ok((benchmark.unit.name().to_owned(), effective["function"].take()))
}

/// The NAT configuration in a function's section: the section itself, or that of the NAT in a
/// chain.
fn nat(name: &str, mut section: Value) -> Result<Config, Problem> {
    if name == Chain::NAME
        && let Some(parts) = section["chain"].as_array_mut()
    {
        let mut nats: Vec<Value> = parts.drain(..).filter(|part| is_nat(&part["name"])).collect();
        if nats.len() > 1 {
            let what = format!("the chain has {} NATs", nats.len());
            return Err(Problem::of_usage(what, "put the NAT to look up into a file of its own"));
        }
        section = nats.pop().unwrap_or_default();
    } else if name != Cgnat::NAME {
        section = Value::Null;
    }
    let Value::Object(mut keys) = section else {
        let what = format!("the function `{name}` is not a NAT");
        return Err(Problem::of_usage(what, "name a file whose function is `cgnat`"));
    };
    keys.remove("name");
    serde_json::from_value(Value::Object(keys)).map_err(|error| {
        Problem::of_usage(format!("the NAT cannot be read: {error}"), "see `plumbline schema`")
    })
}

fn is_nat(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name == Cgnat::NAME || Cgnat::ALIASES.contains(&name))
}

fn subscriber(realm: u16, inside: Ipv4Addr, block: Block, rule: Rule) -> Answer {
    Answer {
        owner: Owner::Subscriber,
        realm: Some(realm),
        inside: Some(inside),
        outside: block.outside,
        port: None,
        inside_port: None,
        protocol: None,
        ports: Some(ports(block)),
        shared_ports: None,
        forwards: Vec::new(),
        rule,
    }
}

/// The answer for a subscriber with an outside address of its own.
fn one_to_one(inside: Ipv4Addr, outside: Ipv4Addr, rule: Rule) -> Answer {
    let all = Ports { first: 0, last: u16::MAX, step: 1, count: 1 << 16 };
    Answer {
        owner: Owner::Subscriber,
        realm: Some(0),
        inside: Some(inside),
        outside,
        port: None,
        inside_port: None,
        protocol: None,
        ports: Some(all),
        shared_ports: None,
        forwards: Vec::new(),
        rule,
    }
}

fn ports(block: Block) -> Ports {
    Ports {
        first: block.first_port,
        last: block.last_port(),
        step: block.step,
        count: block.len.into(),
    }
}

fn holds(network: Prefixed<Ipv4Addr>, address: Ipv4Addr) -> bool {
    let shift = 32 - u32::from(network.len);
    let part = |address: Ipv4Addr| u64::from(address.to_bits()) >> shift;
    part(network.address) == part(address)
}

fn text(network: Prefixed<Ipv4Addr>) -> String {
    String::from(network)
}

fn at(problem: Problem, file: &Path) -> Problem {
    problem.at("file", file.display())
}

/// The largest number of prefixes that an error names.
const NAMED_MAX: usize = 8;
