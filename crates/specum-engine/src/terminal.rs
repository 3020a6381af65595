//! The terminal of a person who watches: while a view is drawn on it, it shows nothing of
//! what is typed, and what was typed is thrown away.
//!
//! Only the echo of keys and the wait for a whole line are turned off. Ctrl-C, Ctrl-Z and
//! Ctrl-\ do what they always do. The terminal is as it was when the view ends, when we
//! panic or are interrupted, and while we are stopped; in the background we leave it
//! alone.

use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};

use crate::os::{self, QuietTerminal};

/// There is one terminal, and whatever ends the process has to reach it.
static HELD: Mutex<Option<QuietTerminal>> = Mutex::new(None);

/// The terminal is quiet as long as this lives.
#[derive(Debug)]
pub struct Quiet(());

/// Makes the terminal quiet from now on, if we have one and stand in its foreground.
pub fn quiet() -> Quiet {
    static HOOKS: Once = Once::new();
    HOOKS.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        os::when_asked_to_stop(|| {
            // Held until we go on: nobody makes it quiet again before we have stopped.
            let mut held = lock();
            if let Some(terminal) = held.as_mut() {
                terminal.let_go();
            }
            os::stop();
        });
    });
    let mut terminal = QuietTerminal::open();
    if let Some(terminal) = &mut terminal {
        terminal.hold();
    }
    *lock() = terminal;
    Quiet(())
}

/// Whether a key was pressed since this was asked last; the key itself is thrown away.
/// Makes the terminal quiet again if a person has brought us back to the foreground.
pub fn key_was_pressed() -> bool {
    lock().as_mut().is_some_and(|terminal| {
        terminal.hold();
        terminal.typed()
    })
}

/// Makes the terminal what it was, for good.
pub(crate) fn restore() {
    let mut held = match HELD.try_lock() {
        Ok(held) => held,
        Err(TryLockError::Poisoned(held)) => held.into_inner(),
        // Who holds it may be the one that panics; it does nothing that takes time.
        Err(TryLockError::WouldBlock) => return,
    };
    if let Some(mut terminal) = held.take() {
        terminal.let_go();
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(mut terminal) = lock().take() {
            terminal.let_go();
        }
    }
}

fn lock() -> MutexGuard<'static, Option<QuietTerminal>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}
