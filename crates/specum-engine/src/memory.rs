//! A world in memory: a disk, a repository and a clock that do what a test or a
//! simulation wants, and touch nothing.
//!
//! They keep the promises of [`crate::ports`], so what works on them works the same code
//! as a user's own run. What only the real ones can show (signals, hooks of git, a disk
//! that lies) is for tests with real processes.

mod clock;
mod disk;
mod repository;

pub use self::clock::MemoryClock;
pub use self::disk::{Died, MemoryDisk};
pub use self::repository::{CommitFault, MemoryRepositories};
