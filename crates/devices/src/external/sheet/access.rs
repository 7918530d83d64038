//! Access lists and policers on the set-up sheet.

use std::net::IpAddr;

use model_kit::service::{Access, Bucket, Part, PoliceBy, Rule};

use super::Sheet;

impl Sheet {
    /// Adds the lists and policers of a router.
    pub(super) fn access(&mut self, access: &Access) {
        let Access { ingress, egress, police_by, policers } = access;
        for (name, way, rules) in [("incoming", "came in", ingress), ("outgoing", "leaves", egress)]
        {
            if rules.is_empty() {
                continue;
            }
            self.say(format_args!(
                "Access list of {name} packets: the first rule that matches counts, and what none \
                 matches is dropped."
            ));
            self.each(rules, |place, rule| {
                format!("Rule {} of {name} packets: {}", place + 1, said(rule, way))
            });
        }
        let by = match police_by {
            None => return,
            Some(PoliceBy::Rule) => "the rule of incoming packets tells it",
            Some(PoliceBy::Port) => "the port at which they arrive has its number",
            Some(PoliceBy::Dscp) => "their code point is its number",
        };
        self.say(format_args!("Packets have a policer: {by}. It counts bytes from IP on."));
        let policers: Vec<_> = policers.iter().collect();
        self.each(&policers, |_, (number, buckets)| {
            let said = |Bucket { rate_bits_per_s, burst_bytes }: &Bucket| {
                format!("{rate_bits_per_s} bit/s with a burst of {burst_bytes} bytes")
            };
            let all: Vec<String> = buckets.iter().map(said).collect();
            format!("Policer {number} lets pass {}", all.join(", and of the rest "))
        });
    }
}

/// Describes a rule.
fn said(rule: &Rule, way: &str) -> String {
    let mut line = if rule.permits { "permit" } else { "deny" }.to_owned();
    let mut say = |word: &str, value: Option<String>| {
        line += &value.map_or(String::new(), |value| format!(" {word} {value}"));
    };
    let prefix = |prefix: Option<(IpAddr, u8)>| prefix.map(|(net, len)| format!("{net}/{len}"));
    let range = |ports: Option<(u16, u16)>| ports.map(|(first, last)| format!("{first}-{last}"));
    let number = |value: Option<u8>| value.map(|value| value.to_string());
    say("from", prefix(rule.source));
    say("to", prefix(rule.destination));
    say("protocol", number(rule.protocol));
    say("source ports", range(rule.source_ports));
    say("destination ports", range(rule.destination_ports));
    say("ICMP type", number(rule.icmp_type));
    say("ICMP code", number(rule.icmp_code));
    let flags = |(set, clear)| format!("{set:#04x} set and {clear:#04x} not set");
    say("TCP flags", rule.tcp_flags.map(flags));
    let part = |part| match part {
        Part::Whole => "no fragment",
        Part::Any => "any fragment",
        Part::First => "the first fragment",
        Part::Later => "later fragments",
    };
    say("which is", rule.part.map(|one| part(one).to_owned()));
    say("DSCP", number(rule.dscp));
    say(&format!("which {way} by port"), rule.port.map(|port| port.0.to_string()));
    say(&format!("which {way} by VLAN"), rule.vlan.map(|vlan| vlan.to_string()));
    say("with policer", rule.policer.map(|policer| policer.to_string()));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_of_a_rule_is_on_the_sheet() {
        let rule = Rule {
            permits: true,
            source: Some(("10.0.0.0".parse().expect("an address"), 8)),
            destination_ports: Some((80, 443)),
            tcp_flags: Some((2, 0x10)),
            part: Some(Part::First),
            port: Some(packet::PortId(1)),
            policer: Some(7),
            ..Rule::default()
        };
        assert_eq!(
            said(&rule, "came in"),
            "permit from 10.0.0.0/8 destination ports 80-443 TCP flags 0x02 set and 0x10 not set \
             which is the first fragment which came in by port 1 with policer 7"
        );
    }
}
