//! Names in first-seen order with their indices.

use std::collections::HashMap;

/// An ordered set of names; the index of a name is the order in which it was first seen.
#[derive(Debug, Default)]
pub(super) struct Names {
    list: Vec<String>,
    index: HashMap<String, usize>,
    last: usize,
}

impl Names {
    /// The index of `name`, which is added where it is new.
    pub(super) fn intern(&mut self, name: &str) -> usize {
        // Neighbouring rows mostly repeat a name; one comparison then saves the hash.
        if self.list.get(self.last).is_some_and(|n| n == name) {
            return self.last;
        }
        self.last = match self.index.get(name) {
            Some(&i) => i,
            None => {
                let i = self.list.len();
                self.list.push(name.to_string());
                self.index.insert(name.to_string(), i);
                i
            }
        };
        self.last
    }

    /// The names in first-seen order.
    pub(super) fn list(&self) -> &[String] {
        &self.list
    }

    /// Gives up the names in first-seen order.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

/// Names for a message: all of them up to `most`, then how many more there are.
pub(super) fn brief(names: &[String], most: usize) -> String {
    if names.len() <= most {
        return names.join(", ");
    }
    format!("{} and {} more", names[..most].join(", "), names.len() - most)
}

/// A count with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_the_index_of_its_first_appearance() {
        let mut names = Names::default();
        let indices: Vec<usize> = ["b", "a", "b", "b", "c", "a"].iter().map(|n| names.intern(n)).collect();
        assert_eq!(indices, [0, 1, 0, 0, 2, 1]);
        assert_eq!(names.into_list(), ["b", "a", "c"]);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let names: Vec<String> = ["a", "b", "c", "d"].iter().map(|s| s.to_string()).collect();
        assert_eq!(brief(&names, 4), "a, b, c, d");
        assert_eq!(brief(&names, 2), "a, b and 2 more");
    }
}
