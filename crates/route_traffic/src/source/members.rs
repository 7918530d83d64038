//! Which provider edges are members of which networks, drawn from a seed.

use machine::hash::Keyed;

/// Pairs of an edge and a network of which it is a member, by edge, then by network.
#[derive(Clone, Debug)]
pub struct Members {
    pairs: Vec<(u16, u32)>,
    edges: u16,
}

impl Members {
    /// Draws members: each network has at least two edges, where there are as many, and at most
    /// `most`.
    ///
    /// # Errors
    /// In words, if there is no network or edge, or more than there are numbers for.
    pub fn new(networks: u32, edges: u16, most: u16, seed: u64) -> Result<Members, String> {
        if networks == 0 || edges == 0 || most == 0 || networks > u32::from(u16::MAX) {
            return Err(format!(
                "{networks} networks at up to {most} of {edges} edges: choose 1 to 65535 networks \
                 and at least one edge"
            ));
        }
        let keyed = Keyed::new([seed, 0x4d45_4d42]);
        let most = most.min(edges);
        let least = most.min(2);
        let mut pairs = Vec::new();
        for network in 0..networks {
            let mut draws = 0;
            let mut draw = |below: u16| {
                draws += 1;
                (keyed.of2(u64::from(network), draws) % u64::from(below)) as u16
            };
            let count = least + draw(most - least + 1);
            let mut members: Vec<u16> = Vec::new();
            while members.len() < usize::from(count) {
                let edge = draw(edges);
                if !members.contains(&edge) {
                    members.push(edge);
                }
            }
            pairs.extend(members.into_iter().map(|edge| (edge, network)));
        }
        pairs.sort_unstable();
        Ok(Members { pairs, edges })
    }

    /// Returns how many pairs there are.
    pub fn count(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// Returns the edge and the network of a pair.
    pub fn pair(&self, at: u32) -> (u16, u32) {
        self.pairs[at as usize]
    }

    /// Returns the networks of an edge.
    pub fn networks(&self, edge: u16) -> Vec<u32> {
        let of_edge = self.pairs.iter().filter(|(of, _)| *of == edge);
        of_edge.map(|(_, network)| *network).collect()
    }

    /// Returns how many edges there are, with those that are members of nothing.
    pub fn edges(&self) -> u16 {
        self.edges
    }
}

/// The route target of a network (RFC 4360 section 4).
pub(crate) fn target(network: u32) -> [u8; 8] {
    let [a, b, c, d] = network.to_be_bytes();
    let [high, low] = AS.to_be_bytes();
    [0, 2, high, low, a, b, c, d]
}

/// The AS in Route Distinguishers and targets.
pub(crate) const AS: u16 = 65000;
