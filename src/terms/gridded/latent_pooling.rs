//! Who shares a latent path: everybody, the connected parts of a graph, or nobody while a coupling draws paths together.
//!
//! With n participants, R runs and q the node weights of a run, a path of a group g weighs |g| / (n R) in the ridge and the
//! roughness. Where everybody has a path of their own the coupling adds strength / (n R) times the sum over runs, nodes
//! and pairs of participants of q L_pp' z_p . z_p', with L = I - 11'/n (`Population`: the squared distance from the mean) or the
//! Laplacian of the affinity (`Neighborhood`: affinity times the squared distance of neighbours).

use std::collections::HashMap;

use super::error::GriddedError;

/// How the latent paths of participants are related.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum LatentPooling {
    /// One path for all.
    #[default]
    Shared,
    /// A path each, drawn to their mean.
    Population,
    /// A path each, drawn to those of the neighbours.
    Neighborhood(Affinity),
    /// One path for each connected part of the graph of positive affinities.
    Components(Affinity),
}

/// Symmetric affinities of participants; pairs that are not named have affinity 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Affinity {
    /// Two participants and their affinity, finite and not negative; each pair once.
    pub edges: Vec<(String, String, f64)>,
}

/// One latent path in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Index into [`super::Problem::runs`].
    pub run: usize,
    /// Index into [`super::Problem::groups`].
    pub group: usize,
    /// Index in the latent vector of node 0, factor 0.
    pub latent_offset: usize,
    /// Weight |g| / (n R) of the path's ridge and roughness.
    pub(super) share: f64,
}

/// Groups of participants who share a path, and the coupling of paths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grouping {
    /// Indices of participants, each in one group.
    pub groups: Vec<Vec<usize>>,
    /// L, n x n, where every participant has a path.
    pub coupling: Option<Vec<f64>>,
}

impl Affinity {
    /// The n x n matrix of the affinities of `participants`.
    fn matrix(&self, participants: &[String]) -> Result<Vec<f64>, GriddedError> {
        let n = participants.len();
        let index: HashMap<&str, usize> = participants.iter().enumerate().map(|(i, p)| (p.as_str(), i)).collect();
        let find = |name: &String| {
            let unknown = || GriddedError::AffinityName { participant: name.clone() };
            index.get(name.as_str()).copied().ok_or_else(unknown)
        };
        let mut out = vec![0.0; n * n];
        let mut seen = vec![false; n * n];
        for (a, b, value) in &self.edges {
            let (i, j) = (find(a)?, find(b)?);
            let value = *value;
            let names = (a.clone(), b.clone());
            if i == j || !value.is_finite() || value < 0.0 {
                return Err(GriddedError::Affinity { first: names.0, second: names.1, value });
            }
            if std::mem::replace(&mut seen[i * n + j], true) || std::mem::replace(&mut seen[j * n + i], true) {
                return Err(GriddedError::AffinityTwice { first: names.0, second: names.1 });
            }
            out[i * n + j] = value;
            out[j * n + i] = value;
        }
        Ok(out)
    }
}

impl LatentPooling {
    /// Groups and coupling of `participants`, in their order.
    pub(super) fn grouping(&self, participants: &[String]) -> Result<Grouping, GriddedError> {
        let n = participants.len();
        let alone = || (0..n).map(|i| vec![i]).collect();
        Ok(match self {
            LatentPooling::Shared => Grouping { groups: vec![(0..n).collect()], coupling: None },
            LatentPooling::Population => {
                let mean = 1.0 / n as f64;
                let entry = |i: usize, j: usize| if i == j { 1.0 - mean } else { -mean };
                let coupling = (0..n * n).map(|at| entry(at / n, at % n)).collect();
                Grouping { groups: alone(), coupling: Some(coupling) }
            }
            LatentPooling::Neighborhood(affinity) => {
                let mut matrix = affinity.matrix(participants)?;
                for i in 0..n {
                    let degree: f64 = matrix[i * n..(i + 1) * n].iter().sum();
                    matrix[i * n..(i + 1) * n].iter_mut().for_each(|v| *v = -*v);
                    matrix[i * n + i] = degree;
                }
                Grouping { groups: alone(), coupling: Some(matrix) }
            }
            LatentPooling::Components(affinity) => {
                Grouping { groups: connected(&affinity.matrix(participants)?, n), coupling: None }
            }
        })
    }
}

impl LatentPooling {
    /// Groups of `n` new participants, who are coupled to fitted ones only.
    pub(super) fn grouping_of_new(&self, n: usize) -> Grouping {
        let groups = match self {
            LatentPooling::Shared => vec![(0..n).collect()],
            _ => (0..n).map(|i| vec![i]).collect(),
        };
        Grouping { groups, coupling: None }
    }
}

/// Connected parts of the graph of positive entries, by their first member.
fn connected(matrix: &[f64], n: usize) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    let mut seen = vec![false; n];
    for start in 0..n {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let mut group = vec![start];
        let mut next = 0;
        while let Some(&i) = group.get(next) {
            next += 1;
            for j in 0..n {
                if matrix[i * n + j] > 0.0 && !seen[j] {
                    seen[j] = true;
                    group.push(j);
                }
            }
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}
