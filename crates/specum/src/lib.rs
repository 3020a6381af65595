//! Everything of specum that touches the world.
