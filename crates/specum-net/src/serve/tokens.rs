//! The tokens of the two links: 128 random bits each, new for each start.
//!
//! They are printed to the terminal and stand in no argument and no log. In the address they
//! stand behind `#`, which no browser sends anywhere.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use specum_engine::ports::World;
use specum_engine::process;

use super::guard::Wrong;
use crate::Failure;

/// How many digits a token has.
const DIGITS: usize = 32;
/// How long the file stands that leads a browser to the link.
const LEADS: Duration = Duration::from_secs(10);

/// The tokens of this start.
#[derive(Debug)]
pub(super) struct Tokens {
    look: String,
    steer: Option<String>,
    /// Those that were none of ours.
    pub(super) wrong: Wrong,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// To look.
    Looks,
    /// To look, and to say what a person may say.
    Steers,
}

impl Tokens {
    /// New ones, or those of a file that is written if it is not there.
    pub(super) fn make(
        world: &World,
        may_steer: bool,
        file: Option<&Path>,
    ) -> Result<Tokens, Failure> {
        let (look, steer) = match file {
            Some(file) => kept(world, file)?,
            None => (random()?, random()?),
        };
        Ok(Tokens { look, steer: may_steer.then_some(steer), wrong: Wrong::default() })
    }

    /// The token of the link that may look.
    pub(super) fn look(&self) -> &str {
        &self.look
    }

    /// The token of the link that may act, if there is one.
    pub(super) fn steer(&self) -> Option<&str> {
        self.steer.as_deref()
    }

    /// What a token allows. How long that takes says nothing about ours.
    pub(super) fn whose(&self, token: &str) -> Option<Who> {
        let looks = is_same(token, &self.look);
        let steers = self.steer.as_deref().is_some_and(|steer| is_same(token, steer));
        match (steers, looks) {
            (true, _) => Some(Who::Steers),
            (false, true) => Some(Who::Looks),
            (false, false) => None,
        }
    }

    /// Leads the user's browser to a link. A program's arguments can be seen by everybody,
    /// so it gets the name of a private file that leads there.
    pub(super) fn open(&self, world: &World, link: &str) -> Result<(), Failure> {
        let home = world.state_home.as_ref().ok_or_else(|| {
            Failure::not_found("neither XDG_STATE_HOME nor HOME is set; open the link by hand")
        })?;
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>specum</title>"
        );
        let file = home.join(format!("serve-{}.html", random()?));
        let written = world.disk.create_private(&file).map_err(|error| error.to_string());
        let written = written
            .and_then(|_| world.disk.write(&file, page.as_bytes()).map_err(|e| e.to_string()));
        written.map_err(Failure::failed)?;
        let disk = world.disk.clone();
        let gone = file.clone();
        let later = move || {
            std::thread::sleep(LEADS);
            let _ = disk.remove(&gone);
        };
        let spawned = std::thread::Builder::new().spawn(later).map(drop);
        let opened = spawned.and_then(|()| process::show_in_browser(&file));
        opened.map_err(|error| Failure::not_found(format!("{error}; open the link by hand")))
    }
}

/// So many random digits.
pub(super) fn random() -> Result<String, Failure> {
    let mut bytes = [0; DIGITS / 2];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::failed(format!("the system gives no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The two tokens of a file that nobody else can read.
fn kept(world: &World, file: &Path) -> Result<(String, String), Failure> {
    let cannot = |why: String| Failure::failed(format!("--token-file {}: {why}", file.display()));
    let created = world.disk.create_private(file).map_err(|error| cannot(error.to_string()))?;
    if created {
        let (look, steer) = (random()?, random()?);
        let text = format!("{look}\n{steer}\n");
        world.disk.write(file, text.as_bytes()).map_err(|error| cannot(error.to_string()))?;
        return Ok((look, steer));
    }
    if is_open_to_others(file) {
        return Err(cannot("others can read it: chmod 600".into()));
    }
    let text = world.disk.read(file, 4096).map_err(|error| cannot(error.to_string()))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut lines = text.lines().map(str::trim);
    let is_token =
        |line: &&str| line.len() == DIGITS && line.bytes().all(|b| b.is_ascii_hexdigit());
    match (lines.next().filter(is_token), lines.next().filter(is_token)) {
        (Some(look), Some(steer)) if look != steer => Ok((look.to_owned(), steer.to_owned())),
        _ => Err(cannot("it does not hold two tokens; delete it, and a new one is written".into())),
    }
}

#[cfg(unix)]
fn is_open_to_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Compares every byte, wherever the first difference is.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    black_box(differences) == 0 && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_allows_what_its_link_was_printed_for() {
        let world = World::real();
        let looking = Tokens::make(&world, false, None).unwrap();
        assert_eq!(looking.whose(looking.look()), Some(Who::Looks));
        assert_eq!(looking.steer(), None);
        let both = Tokens::make(&world, true, None).unwrap();
        assert_eq!(both.whose(both.steer().unwrap()), Some(Who::Steers));
        assert_eq!(both.whose(both.look()), Some(Who::Looks));
        for wrong in ["", &both.look()[1..], &format!("{}0", both.look()), looking.look()] {
            assert_eq!(both.whose(wrong), None, "{wrong}");
        }
        assert_eq!((both.look().len(), both.look() == looking.look()), (DIGITS, false));
    }

    #[test]
    fn a_token_file_is_private_and_keeps_the_links() {
        let place = tempfile::tempdir().unwrap();
        let (world, file) = (World::real(), place.path().join("tokens"));
        let first = Tokens::make(&world, true, Some(&file)).unwrap();
        let second = Tokens::make(&world, true, Some(&file)).unwrap();
        assert_eq!((first.look(), first.steer()), (second.look(), second.steer()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode =
                |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
            assert!(!is_open_to_others(&file));
            mode(0o644).unwrap();
            assert!(Tokens::make(&world, true, Some(&file)).unwrap_err().message.contains("chmod"));
            mode(0o600).unwrap();
        }
        std::fs::write(&file, "short\n").unwrap();
        assert!(
            Tokens::make(&world, true, Some(&file)).unwrap_err().message.contains("two tokens")
        );
    }
}
