//! Access lists and policers in words that devices of another making understand.

use crate::ports::Numbered;

use function_l3_router::config::{
    self, AclRule, Action, Algorithm, Config, List, PoliceBy, Policer,
};
use model_kit::service::{Access, Beyond, Bucket, Part, PoliceBy as By, Rule};

use crate::generated::{Section, all_policers};

/// The lists and policers of a router with this configuration.
pub(super) fn access(section: &Section, config: &Config) -> Access {
    let list = |list| config.all_rules(list).iter().map(|(_, one)| rule(config, one)).collect();
    let police_by = match config.police_by {
        PoliceBy::None | PoliceBy::Source => None,
        PoliceBy::Acl => Some(By::Rule),
        PoliceBy::Port => Some(By::Port),
        PoliceBy::Dscp => Some(By::Dscp),
    };
    let policers = all_policers(section).filter(|_| police_by.is_some());
    Access {
        ingress: list(List::Ingress),
        egress: list(List::Egress),
        police_by,
        policers: policers.map(|(number, policer)| (number, buckets(&policer))).collect(),
    }
}

/// What of policers has no words.
pub(super) fn beyond(config: &Config) -> Vec<Beyond> {
    let is_on = config.police_by != PoliceBy::None;
    let is_any = |of: fn(&Policer) -> bool| is_on && config.policers.iter().any(of);
    let overflows = |one: &Policer| one.algorithm == Algorithm::Rfc2697 && one.excess_burst > 0;
    Beyond::of(&[
        (
            "police-by",
            "policers chosen by a hash of the source",
            config.police_by == PoliceBy::Source,
        ),
        (
            "policers[].excess-burst",
            "a bucket that another one fills, by RFC 2697",
            is_any(overflows),
        ),
        (
            "policers[].colour-aware",
            "policers that go by the colour of packets",
            is_any(|one| one.colour_aware),
        ),
        ("policers[].parent", "policers in two levels", is_any(|one| one.parent.is_some())),
    ])
}

fn rule(config: &Config, rule: &AclRule) -> Rule {
    // Every key is named, so that a new one has to be thought of.
    let AclRule {
        action,
        source,
        destination,
        protocol,
        source_ports,
        destination_ports,
        icmp_type,
        icmp_code,
        tcp_flags,
        fragment,
        dscp,
        port,
        vlan,
        policer,
        log_one_in: _,
    } = *rule;
    Rule {
        permits: action == Action::Permit,
        source: source.map(|one| (one.address, one.len)),
        destination: destination.map(|one| (one.address, one.len)),
        protocol,
        source_ports: source_ports.map(|ports| (ports.first, ports.last)),
        destination_ports: destination_ports.map(|ports| (ports.first, ports.last)),
        icmp_type,
        icmp_code,
        tcp_flags: tcp_flags.map(|flags| (flags.set, flags.clear)),
        part: fragment.map(|part| match part {
            config::Part::None => Part::Whole,
            config::Part::Any => Part::Any,
            config::Part::First => Part::First,
            config::Part::Later => Part::Later,
        }),
        dscp,
        port: port.map(|name| config.number_of(name)),
        vlan,
        policer,
    }
}

/// What passes a policer that drops red packets: all that its last rate lets pass.
fn buckets(policer: &Policer) -> Vec<Bucket> {
    let committed =
        Bucket { rate_bits_per_s: policer.committed_rate, burst_bytes: policer.committed_burst };
    let second = Bucket { rate_bits_per_s: policer.excess_rate, burst_bytes: policer.excess_burst };
    let all = match policer.algorithm {
        // The second one is beyond these words.
        Algorithm::Rfc2697 => vec![committed],
        // RFC 2698 section 3: what is over the peak rate is red, whatever the other bucket holds.
        Algorithm::Rfc2698 => vec![second],
        // RFC 4115 section 3: a packet for which the first has no room is asked of the second.
        Algorithm::Rfc4115 => vec![committed, second],
    };
    all.into_iter().filter(|bucket| bucket.burst_bytes > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_is_the_buckets_that_keep_packets_from_being_red() {
        let policer = |algorithm| Policer {
            algorithm,
            committed_rate: 800,
            committed_burst: 350,
            excess_rate: 1600,
            excess_burst: 700,
            colour_aware: false,
            parent: None,
        };
        let [first, second] = [(800, 350), (1600, 700)]
            .map(|(rate_bits_per_s, burst_bytes)| Bucket { rate_bits_per_s, burst_bytes });
        assert_eq!(buckets(&policer(Algorithm::Rfc2697)), [first]);
        assert_eq!(buckets(&policer(Algorithm::Rfc2698)), [second]);
        assert_eq!(buckets(&policer(Algorithm::Rfc4115)), [first, second]);
        let without = Policer { excess_burst: 0, ..policer(Algorithm::Rfc4115) };
        assert_eq!(buckets(&without), [first], "what holds nothing lets nothing pass");
    }
}
