//! Tests on the real binary.
