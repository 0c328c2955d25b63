//! Twins of the state-space algebra.

mod twins;
