//! Plans of other tools: whatever the bytes, a spec comes of them that can be read, with
//! the tasks and the ticks that were there.

use specum_core::spec::gate::{self, Facts, Policy, Spec};
use specum_core::spec::import::{Source, Tool, convert, tool};
use specum_core::spec::{Doc, Texts};
use specum_core::tasks::TaskFile;

const PATHS: [&str; 7] = [
    "requirements.md",
    "spec.md",
    "proposal.md",
    "specs/a/spec.md",
    "design.md",
    "plan.md",
    "tasks.md",
];

pub fn hold(text: &[u8]) {
    let sources = PATHS.map(|path| Source { path, text });
    for path in PATHS {
        let _ = tool(&[Source { path, text }]);
    }
    let before = TaskFile::scan(text);
    for tool in [Tool::Kiro, Tool::SpecKit, Tool::OpenSpec, Tool::SmartRalph] {
        let imported = convert(tool, "name", &sources);
        assert!(imported.documents.is_sorted_by_key(|(doc, _)| *doc));
        let documents = imported.documents.iter();
        let texts = documents.fold(Texts::default(), |texts, (doc, text)| texts.with(*doc, text));
        let spec = Spec::of(texts);
        let after = spec.tasks().expect("a plan comes of a plan");
        let ticks = |file: &TaskFile<'_>| -> Vec<bool> {
            file.tasks.iter().map(|task| task.done).collect()
        };
        assert_eq!(ticks(after), ticks(&before), "{tool:?}");
        for doc in Doc::ALL {
            gate::judge(doc, &spec, &Facts::none(), &Policy::default());
        }
    }
}
