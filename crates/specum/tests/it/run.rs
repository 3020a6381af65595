//! `specum run` on the real binary: killed anywhere, interrupted, in groups,
//! and beside others who want the same spec.

/// Agents with children that hide.
mod children;

/// `kill -9` at every step.
mod crash;

/// Seen from another process namespace, host or run.
mod elsewhere;

/// Ended by others.
mod ended;

/// Seen from other terminals.
mod follow;

/// What keeps git from working, and what git is told.
mod ground;

/// Tasks that a person finishes by hand.
mod by_hand;

/// Worktrees, and their way into the tree.
mod groups;

/// Beside a person who works in their tree.
mod isolate;

/// What a person types into the live view.
mod keys;

/// Files that somebody deletes.
mod lost_files;

/// File systems that are full.
mod no_room;

/// Who else wants the spec.
mod owner;

/// Pointers to submodules that others have staged.
mod pointers;

/// Everything killed at once.
mod power;

/// Repositories as people have them: hooks, an index that says more than the
/// files do, submodules, ignored specs.
mod repos;

/// The journals of earlier loops, and what goes when it is old.
mod retention;

/// Agents that harm the ground they stand on.
mod rough;

/// What leaves a tree, and where it is then.
mod safekeeping;

/// git as people have set it up.
mod settings;

/// Repositories of every shape, and files of every kind.
mod shapes;

/// Ctrl-C and its kin, `pause`, `cancel`, and `kill -9` with agents at work.
mod signals;

/// Started in every way that people and programs know.
mod started;

/// Runs that wait for a person instead of ending.
mod stay;

/// What a person says to the work while it goes on.
mod steer;

/// What a person has taken out again.
mod undo;

/// With a person's terminal in reach.
mod terminals;

pub(crate) use harness::run::{
    Listener, agent, at_work, command_run, committed, nothing_is_left, planned, processes,
    references, run, run_command, run_with, send, starts, state_home, tree, works, worktrees,
};
