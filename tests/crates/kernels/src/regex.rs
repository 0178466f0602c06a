//! Regular expressions: parsed, compiled and searched for on the device.

use crate::{Input, Record, cases};
use alloc::string::String;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;

fn put_matches(pattern: &str, text: &str, record: &mut Record) {
    let vm = PikeVM::new(pattern);
    record.put(vm.is_ok());
    if let Ok(vm) = vm {
        let mut cache = vm.create_cache();
        for found in vm.find_iter(&mut cache, text) {
            record.put((found.start(), found.end()));
        }
    }
}

cases! {
    "regex-automata", 128;
    fn regex_captures(mut input, record) {
        let text = input.words();
        let vm = PikeVM::new(r"(?<year>\d{4})-(?<month>\d\d)|(foo|bar)(.)");
        record.put((text.len(), vm.is_ok()));
        let Ok(vm) = vm else { return };
        let (mut cache, mut captures) = (vm.create_cache(), vm.create_captures());
        vm.captures(&mut cache, &text, &mut captures);
        for group in captures.iter() {
            record.put(group.map(|span| (span.start, span.end)));
        }
    }

    "regex-automata", 128;
    fn regex_dense(mut input, record) {
        let text = input.words();
        let dfa = dense::Builder::new()
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .build("(foo|ba[rz])+[0-9]*");
        record.put((text.len(), dfa.is_ok()));
        let Ok(dfa) = dfa else { return };
        record.put(dfa.memory_usage());
        let found = dfa.try_search_fwd(&regex_automata::Input::new(&text));
        record.put(found.ok().flatten().map(|found| found.offset()));
    }

    "regex-automata", 128;
    fn regex_random(mut input, record) {
        // Expressions put together at random, some of which are not one.
        const PARTS: [&str; 14] = [
            "a", "b", "(", ")", "*", "+", "|", "[a-f]", ".", "?", r"\w", "{2,3}", "foo", "^",
        ];
        let pattern: String = (0..input.below(8))
            .map(|_| PARTS[input.below(14) as usize])
            .collect();
        record.put(&pattern[..]);
        put_matches(&pattern, &input.words(), record);
    }

    "regex-automata", 128;
    fn regex_words(mut input, record) {
        let text = input.words();
        record.put(text.len());
        put_matches(r"(?:[a-z]+)@(?:[a-z_]+)\.com|\d{4}-\d\d-\d\d|\bé", &text, record);
    }
}
