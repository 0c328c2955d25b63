//! Which participants share a latent path on a grid.

use super::shared::SharedError;
use crate::data::Edge;
use crate::lang::ast::Paths;
use crate::model::SharedTerm;

/// The groups of participants (by index) who share a path, ordered by their first member.
pub(super) fn groups(
    paths: Paths,
    objective: &[(SharedTerm, f64)],
    participants: &[String],
    edges: &[Edge],
) -> Result<Vec<Vec<usize>>, SharedError> {
    let needed = paths == Paths::PerComponent || objective.iter().any(|(t, _)| *t == SharedTerm::LatentNeighbors);
    if needed && edges.is_empty() {
        return Err(SharedError::NoAffinity);
    }
    if !needed && !edges.is_empty() {
        return Err(SharedError::UnusedAffinity);
    }
    let mut ties = Vec::with_capacity(edges.len());
    for edge in edges {
        let find = |name: &String| {
            let unknown = || SharedError::AffinityName { name: name.clone(), present: participants.to_vec() };
            participants.iter().position(|p| p == name).ok_or_else(unknown)
        };
        let (a, b) = (find(&edge.first)?, find(&edge.second)?);
        if a == b || !edge.affinity.is_finite() || edge.affinity < 0.0 {
            let Edge { first, second, affinity } = edge.clone();
            return Err(SharedError::Affinity { first, second, affinity });
        }
        ties.push((a.min(b), a.max(b), edge.affinity));
    }
    for (i, tie) in ties.iter().enumerate() {
        if ties[..i].iter().any(|t| (t.0, t.1) == (tie.0, tie.1)) {
            let Edge { first, second, .. } = edges[i].clone();
            return Err(SharedError::AffinityTwice { first, second });
        }
    }
    let n = participants.len();
    Ok(match paths {
        Paths::Shared => vec![(0..n).collect()],
        Paths::PerParticipant => (0..n).map(|p| vec![p]).collect(),
        Paths::PerComponent => {
            // Every participant carries the first member of its component; ties merge two of them until nothing changes.
            let mut first: Vec<usize> = (0..n).collect();
            let mut changed = true;
            while changed {
                changed = false;
                for &(a, b, _) in ties.iter().filter(|t| t.2 > 0.0) {
                    let lower = first[a].min(first[b]);
                    changed |= first[a] != lower || first[b] != lower;
                    (first[a], first[b]) = (lower, lower);
                }
            }
            (0..n).filter(|&p| first[p] == p).map(|leader| (0..n).filter(|&p| first[p] == leader).collect()).collect()
        }
    })
}
