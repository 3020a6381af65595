//! Tests on the real binary.

mod host;
mod host_smoke;
mod model;
