//! Groups of members among which flows are spread: next hops of equal cost, links of a bundle.
//!
//! ```text
//!  flow hash ── lowest bits ──► bucket 0  1  2  3  4  5  6  7      a fixed number a group
//!                               member a  b  c  a  b  c  a  b      shares by weight
//!  b leaves:                    member a  a  c  a  c  c  a  c      only b's flows move
//! ```
//! The shares are apportioned by the highest averages (D'Hondt's rule), which alone of the simple
//! rules keeps everybody's share when somebody leaves: who stays never has less than before.
//!
//! Guarantees: a member's buckets are its weight's part of all of them, rounded; a member that
//! leaves moves only its own flows, one that comes moves only the flows it gets, and one whose
//! weight changes moves as many as its share changes by. A change that fails changes nothing.
//!
//! It deliberately does not: compute hashes; remember flows, so those of a member that leaves and
//! comes back may go elsewhere; share between threads. A member whose weight is worth less than a
//! bucket may have none.

/// Groups of a fixed number of buckets; see the module's text.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The member of each bucket, group by group; `NONE` in groups without members.
    buckets: Vec<u32>,
    members: Vec<Vec<Member>>,
    limits: Limits,
}

/// What [`Groups`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Groups; all are there from the start, without members.
    pub groups: usize,
    /// Buckets of each group: a power of two up to 65,536. With b buckets and m members of one
    /// weight, shares differ by one bucket: m in b.
    pub buckets: usize,
    /// Members of each group, at most; not more than there are buckets.
    pub members: usize,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// What flows get: the number of a next hop, for instance. Below `u32::MAX`.
    pub value: u32,
    /// Its part of the flows, in relation to the others'.
    pub weight: u16,
}

/// Why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The limits cannot be.
    #[error(
        "{buckets} buckets for {members} members: give a power of two up to 65,536, and no more members than buckets"
    )]
    Limits {
        /// Buckets asked for.
        buckets: usize,
        /// Members asked for.
        members: usize,
    },
    /// There is no such group.
    #[error("group {group} is not there: the table was made for {limit}")]
    Group {
        /// Group asked for.
        group: usize,
        /// The limit given at creation.
        limit: usize,
    },
    /// The weight is 0, or the value is `u32::MAX`.
    #[error("a member needs a weight of 1 or more and a value below 4294967295")]
    Member,
    /// As many members as the groups were made for.
    #[error("the group is full: it was made for {limit} members")]
    Members {
        /// The limit given at creation.
        limit: usize,
    },
}

impl Groups {
    /// Groups without members.
    ///
    /// # Errors
    /// [`GroupError::Limits`].
    pub fn new(limits: Limits) -> Result<Groups, GroupError> {
        let Limits { groups, buckets, members } = limits;
        if !buckets.is_power_of_two() || buckets > BUCKETS_MAX || members > buckets {
            return Err(GroupError::Limits { buckets, members });
        }
        Ok(Groups {
            buckets: vec![NONE; groups * buckets],
            members: vec![Vec::new(); groups],
            limits,
        })
    }

    /// The member that flows of this hash go to; none where the group has none.
    #[inline(always)]
    pub fn pick(&self, group: u32, hash: u32) -> Option<u32> {
        let member = *self.buckets.get(self.bucket(group, hash))?;
        (member != NONE).then_some(member)
    }

    /// Asks the processor to fetch what [`Groups::pick`] needs.
    #[inline(always)]
    pub fn prefetch(&self, group: u32, hash: u32) {
        machine::memory::prefetch_at(&self.buckets, self.bucket(group, hash));
    }

    /// Adds a member or changes its weight, and returns the weight it had.
    ///
    /// # Errors
    /// [`GroupError`]; the group is as before.
    pub fn set(&mut self, group: usize, member: Member) -> Result<Option<u16>, GroupError> {
        self.check_group(group)?;
        if member.weight == 0 || member.value == NONE {
            return Err(GroupError::Member);
        }
        let members = &mut self.members[group];
        let old = match members.binary_search_by_key(&member.value, |member| member.value) {
            Ok(at) => Some(std::mem::replace(&mut members[at], member).weight),
            Err(_) if members.len() >= self.limits.members => {
                return Err(GroupError::Members { limit: self.limits.members });
            }
            Err(at) => {
                members.insert(at, member);
                None
            }
        };
        self.apportion(group);
        Ok(old)
    }

    /// Removes a member and returns its weight; `None` where there is no such one.
    pub fn remove(&mut self, group: usize, value: u32) -> Option<u16> {
        let members = self.members.get_mut(group)?;
        let at = members.binary_search_by_key(&value, |member| member.value).ok()?;
        let removed = members.remove(at);
        self.apportion(group);
        Some(removed.weight)
    }

    /// The members of a group, in the order of their values; none of one that is not there.
    pub fn members(&self, group: usize) -> &[Member] {
        self.members.get(group).map_or(&[], Vec::as_slice)
    }

    /// The member of each bucket of a group, `u32::MAX` where it has none.
    pub fn buckets(&self, group: usize) -> &[u32] {
        let start = group.saturating_mul(self.limits.buckets);
        self.buckets.get(start..start.saturating_add(self.limits.buckets)).unwrap_or(&[])
    }

    /// What it may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Bytes held: those of the buckets, which look-ups read, and of the members.
    pub fn bytes(&self) -> usize {
        let members: usize = self.members.iter().map(Vec::capacity).sum();
        self.buckets.len() * size_of::<u32>() + members * size_of::<Member>()
    }

    #[inline(always)]
    fn bucket(&self, group: u32, hash: u32) -> usize {
        group as usize * self.limits.buckets + (hash as usize & (self.limits.buckets - 1))
    }

    fn check_group(&self, group: usize) -> Result<(), GroupError> {
        let limit = self.limits.groups;
        if group < limit { Ok(()) } else { Err(GroupError::Group { group, limit }) }
    }

    /// Gives every member its share and moves no bucket that need not move.
    fn apportion(&mut self, group: usize) {
        let members = &self.members[group];
        let start = group * self.limits.buckets;
        let buckets = &mut self.buckets[start..start + self.limits.buckets];
        if members.is_empty() {
            buckets.fill(NONE);
            return;
        }
        let mut missing = shares(members, buckets.len());
        let mut free = Vec::new();
        for (at, bucket) in buckets.iter().enumerate() {
            match members.binary_search_by_key(bucket, |member| member.value) {
                Ok(member) if missing[member] > 0 => missing[member] -= 1,
                _ => free.push(at),
            }
        }
        // Neighbouring buckets go to different members, as far as they last.
        let mut member = 0;
        for at in free {
            while missing[member] == 0 {
                member = (member + 1) % members.len();
            }
            buckets[at] = members[member].value;
            missing[member] -= 1;
            member = (member + 1) % members.len();
        }
    }
}

/// Buckets for each member by D'Hondt's rule; who is first in the list wins a tie.
fn shares(members: &[Member], buckets: usize) -> Vec<usize> {
    let total: u64 = members.iter().map(|member| u64::from(member.weight)).sum();
    // The rule gives nobody less than the whole part of what its weight is worth.
    let whole = |member: &Member| (buckets as u64 * u64::from(member.weight) / total) as usize;
    let mut shares: Vec<usize> = members.iter().map(whole).collect();
    for _ in shares.iter().sum::<usize>()..buckets {
        let mut best = 0;
        for at in 1..members.len() {
            // weight / (share + 1), compared crosswise.
            let [one, other] = [(at, best), (best, at)]
                .map(|(of, by)| u64::from(members[of].weight) * (shares[by] as u64 + 1));
            if one > other {
                best = at;
            }
        }
        shares[best] += 1;
    }
    shares
}

const BUCKETS_MAX: usize = 65_536;

/// The bucket of a group without members.
const NONE: u32 = u32::MAX;
