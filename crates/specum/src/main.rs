//! The `specum` program.

fn main() {}
