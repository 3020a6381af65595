use jsonc_parser::{JsonValue, parse_to_value};
use proptest::prelude::*;

use super::*;

fn installed(text: &str) -> String {
    with_hooks(Some(text), "/bin/specum").unwrap()
}

/// How often our hooks, or others', are on an event.
fn hooks_on(text: &str, event: &str, name: &str) -> usize {
    let (_, text) = behind_mark(text);
    let value =
        parse_to_value(text, &Default::default()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let Some(JsonValue::Object(root)) = value else { return 0 };
    let groups = root.get_object("hooks").and_then(|hooks| hooks.get_array(event));
    let lists =
        groups.into_iter().flat_map(|groups| groups.iter()).filter_map(|group| match group {
            JsonValue::Object(group) => group.get_array("hooks"),
            _ => None,
        });
    let is_named = |hook: &&JsonValue<'_>| matches!(hook, JsonValue::Object(hook) if hook.get_string("name").is_some_and(|it| it == name));
    lists.map(|list| list.iter().filter(is_named).count()).sum()
}

#[test]
fn a_new_file_and_an_empty_one_are_told_apart() {
    let created = with_hooks(None, "/bin/specum").unwrap();
    assert!(created.starts_with("{\n  \"hooks\": {\n    \"BeforeAgent\": [\n"), "{created}");
    assert!(created.ends_with("\n}\n"), "{created}");
    for same in [created.clone(), created.trim_end().to_owned(), created.replace('\n', "\r\n")] {
        assert_eq!(without_hooks(&same).unwrap(), None, "{same:?}");
    }
    for empty in ["", "\n", " \r\n\t", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(without_hooks(&installed(empty)).unwrap().as_deref(), Some(empty), "{empty:?}");
    }
}

#[test]
fn what_is_added_looks_like_the_file() {
    for (text, begin, end) in [
        (
            "{\r\n\t\"a\": [1, 2] // mine\r\n}\r\n",
            "{\r\n\t\"a\": [1, 2], // mine\r\n\t\"hooks\": {\r\n\t\t\"BeforeAgent\": [\r\n",
            "\r\n\t\t]\r\n\t}\r\n}\r\n",
        ),
        (
            "{\n    \"a\": 1,\n}\n",
            "{\n    \"a\": 1,\n    \"hooks\": {\n        \"BeforeAgent\": [\n",
            "\n        ]\n    },\n}\n",
        ),
        (
            "{\n \"hooks\": {\n  \"AfterAgent\": []\n }\n}",
            "{\n \"hooks\": {\n  \"AfterAgent\": [ {\n   \"hooks\": [\n    {\n     \"type\": ",
            "\n  ]\n }\n}",
        ),
        (
            "{\"a\": 1}",
            "{\"a\": 1, \"hooks\": {\"BeforeAgent\": [{\"hooks\": [{\"type\": ",
            "}]}]}}",
        ),
        ("{}", "{ \"hooks\": {\n  \"BeforeAgent\": [\n    {\n      \"hooks\": [\n", "\n  ]\n}}"),
    ] {
        let with = installed(text);
        assert!(with.starts_with(begin) && with.ends_with(end), "{with}");
        if text.contains('\r') {
            assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{with}");
        }
    }
}

#[test]
fn a_hook_of_ours_is_brought_up_to_date_and_keeps_what_was_added_to_it() {
    let old = installed("{\n  \"a\": 1\n}\n").replace("3600000", "1 /* mine */").replacen(
        "\"type\": \"command\",\n",
        "// mine too\n",
        1,
    );
    let new = with_hooks(Some(&old), "/opt/specum").unwrap();
    assert_eq!(new.matches("/opt/specum hook ").count(), 4, "{new}");
    assert!(new.contains("\"timeout\": 3600000 /* mine */"), "{new}");
    assert!(new.contains("// mine too\n"), "{new}");
    assert!(!new.contains("/bin/specum"), "{new}");
    assert_eq!(without_hooks(&new).unwrap().as_deref(), Some("{\n  \"a\": 1\n}\n"));
}

/// Writes settings; what they look like is up to the numbers.
struct Writer<'n> {
    numbers: std::iter::Cycle<std::slice::Iter<'n, u8>>,
    text: String,
}

impl Writer<'_> {
    fn choose(&mut self, from: u8) -> u8 {
        self.numbers.next().map_or(0, |number| number % from)
    }

    fn gap(&mut self) {
        const GAPS: [&str; 12] = [
            "",
            "",
            " ",
            " ",
            "\n",
            "\n  ",
            "\r\n\t",
            "\n\n",
            " // c\n",
            "/* c */",
            " /* c\n */ ",
            "\r\n// c\r\n",
        ];
        let gap = usize::from(self.choose(12));
        self.text.push_str(GAPS[gap]);
    }

    fn container(&mut self, brackets: [char; 2], entries: &[&dyn Fn(&mut Self)]) {
        self.text.push(brackets[0]);
        self.gap();
        for (number, entry) in entries.iter().enumerate() {
            entry(self);
            self.gap();
            if number + 1 < entries.len() || self.choose(4) == 0 {
                self.text.push(',');
                self.gap();
            }
        }
        self.text.push(brackets[1]);
    }

    fn field(&mut self, name: &str, value: &dyn Fn(&mut Self)) {
        self.text.push_str(&format!("\"{name}\""));
        self.gap();
        self.text.push(':');
        self.gap();
        value(self);
    }

    /// Up to three of these.
    fn some<'e>(&mut self, of: &[&'e dyn Fn(&mut Self)]) -> Vec<&'e dyn Fn(&mut Self)> {
        (0..self.choose(4)).map(|_| of[usize::from(self.choose(of.len() as u8))]).collect()
    }

    fn settings(&mut self, with_ours: bool) {
        let hook = |name: &'static str| {
            move |w: &mut Self| {
                let command = |w: &mut Self| w.text.push_str("\"x hook y\"");
                let name = |w: &mut Self| w.text.push_str(&format!("\"{name}\""));
                w.container(
                    ['{', '}'],
                    &[&|w| w.field("name", &name), &|w| w.field("command", &command)],
                );
            }
        };
        let (theirs, ours) = (hook("theirs"), hook(if with_ours { NAME } else { "theirs" }));
        let group = |w: &mut Self| {
            let list = |w: &mut Self| {
                let hooks = w.some(&[&theirs, &ours]);
                w.container(['[', ']'], &hooks);
            };
            w.container(['{', '}'], &[&|w| w.field("hooks", &list)]);
        };
        let groups = |w: &mut Self| {
            let groups = w.some(&[&group]);
            w.container(['[', ']'], &groups);
        };
        let other = |w: &mut Self| w.field("a", &|w| w.text.push_str("[1, 2]"));
        let hooks = |w: &mut Self| {
            w.field("hooks", &|w| {
                let events: [&dyn Fn(&mut Self); 3] = [
                    &|w| w.field("BeforeAgent", &groups),
                    &|w| w.field("AfterAgent", &groups),
                    &|w| w.field("BeforeTool", &groups),
                ];
                let first = usize::from(w.choose(4));
                w.container(['{', '}'], &events[first.min(3)..]);
            });
        };
        let all: [&dyn Fn(&mut Self); 3] = [&other, &hooks, &other];
        let (begin, end) =
            [(0, 0), (0, 1), (1, 2), (0, 2), (1, 3), (0, 3)][usize::from(self.choose(6))];
        self.gap();
        self.container(['{', '}'], &all[begin..end]);
        self.gap();
    }
}

fn settings(with_ours: bool) -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<u8>(), 1..200).prop_map(move |numbers| {
        let mut writer = Writer { numbers: numbers.iter().cycle(), text: String::new() };
        writer.settings(with_ours);
        writer.text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_the_layout_the_hooks_come_and_go_without_a_trace(text in settings(false)) {
        let with = installed(&text);
        for (event, ..) in EVENTS {
            prop_assert_eq!(hooks_on(&with, event, NAME), 1, "{}", &with);
            prop_assert_eq!(hooks_on(&with, event, "theirs"), hooks_on(&text, event, "theirs"));
        }
        for comment in ["// c", "/* c"] {
            prop_assert_eq!(with.matches(comment).count(), text.matches(comment).count());
        }
        prop_assert_eq!(&installed(&with), &with);
        prop_assert_eq!(without_hooks(&with).unwrap(), Some(text));
    }

    #[test]
    fn hooks_of_ours_are_taken_out_from_among_others_and_nothing_else(text in settings(true)) {
        let without = without_hooks(&text).unwrap().unwrap_or_else(|| "{}".to_owned());
        for (event, ..) in EVENTS {
            prop_assert_eq!(hooks_on(&without, event, NAME), 0, "{}", &without);
            prop_assert_eq!(hooks_on(&without, event, "theirs"), hooks_on(&text, event, "theirs"));
        }
        prop_assert_eq!(without.matches("\"a\"").count(), text.matches("\"a\"").count());
    }
}
