#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::hook_input::hold(bytes));
