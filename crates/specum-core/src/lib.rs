//! The pure kernel of specum.
