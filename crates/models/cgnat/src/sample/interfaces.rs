//! Interfaces beside those of the two ports: all that subscribers and hosts do elsewhere, at each
//! of them, and frames that are of none.
use function_cgnat::config::Side;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Step;
use packet::PortId;
use wire::arp;

use super::any_realm::OF_ANY_REALM;
use super::build::{datagram, with_tag};
use super::entries::{FIRST, number_of};
use super::refusals;
use super::steps::Sample;

/// All of it, where there are any.
pub(super) fn all(sample: &mut Sample) {
    for place in 0..sample.config.interfaces.len() {
        let side = sample.config.interfaces[place].side;
        let mut here = FIRST;
        here[usize::from(side == Side::Outside)] = Some(place);
        sample.at(here, |sample| {
            sample.forget();
            questions(sample, if side == Side::Inside { INSIDE } else { OUTSIDE });
            for part in OF_ANY_REALM {
                sample.forget();
                part(sample);
            }
        });
        strangers(sample, place);
    }
    // Hosts answer by another interface than the one by which they were asked.
    if let Some(place) = sample.config.interfaces.iter().position(|one| one.side == Side::Inside) {
        sample.forget();
        let ends = [(sample.visitor(0), 4000), (sample.server(0), 53)];
        let asked = datagram(ends[0], ends[1]);
        let sent = sample.inside("a subscriber of the first interface asks", &asked);
        sample.at([Some(place), None], |sample| sample.inside("and by another one", &asked));
        let answer = datagram(ends[1], ends[0]);
        sample.answer_to((OUTSIDE, sent), "both are answered where the address is", &answer);
    }
}

/// ARP at an interface.
fn questions(sample: &mut Sample, port: PortId) {
    let own = [sample.config.inside_ip, sample.config.outside_ip][usize::from(port == OUTSIDE)];
    for ip in [own, sample.first.inside_ip, sample.first.outside_ip, sample.places.pool] {
        for to_port in [true, false] {
            let asked = refusals::question(sample, (port, to_port), arp::OPERATION_REQUEST, ip);
            sample.frame(port, "ARP at a further interface", asked);
        }
    }
    let mut other = sample.framed(port, &datagram((own, 1), (own, 2)));
    other[5] ^= 0x40;
    sample.frame(port, "a frame for another station at a further interface", other);
}

/// Tags of nobody, and tags that are none, at the port of an interface.
fn strangers(sample: &mut Sample, place: usize) {
    let whole = sample.framed(INSIDE, &datagram((sample.visitor(0), 4000), (sample.server(0), 53)));
    let port = number_of(&sample.config, place);
    let about = "a frame of no interface, or of one with its tag";
    let taken = |vlan: u16| sample.config.interfaces.iter().any(|one| one.vlan == vlan);
    let unknown = (1..=4094).find(|vlan| !taken(*vlan)).unwrap_or(4094);
    let vlan = sample.config.interfaces[place].vlan;
    let mut frames = vec![whole.clone()];
    for tci in [unknown, vlan | 0xf000, 0xa000] {
        frames.push(with_tag(whole.clone(), tci));
    }
    let tagged = with_tag(whole, unknown);
    frames.extend([14, 15, 17, 18].map(|len| tagged[..len].to_vec()));
    frames.push(tagged[..13].to_vec());
    for frame in frames {
        sample.step(Step::Frame { port, frame, about });
        sample.count();
    }
}
