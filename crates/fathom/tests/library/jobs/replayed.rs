//! Inputs that the fuzzer found to reach something of the readers: each is read or refused again, without a panic.

#[path = "../../../../../fuzz/readers.rs"]
mod readers;

/// The bytes of a line that `fuzz/inputs/pack` wrote.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits: String = rest.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).unwrap()
                }
                other => other,
            },
            other => other,
        });
    }
    bytes
}

#[test]
fn what_the_fuzzer_found_is_read_or_refused() {
    type Look = fn(&[u8]);
    let targets: [(&str, Look); 4] = [
        (include_str!("../../../../../fuzz/inputs/job.txt"), readers::job),
        (include_str!("../../../../../fuzz/inputs/command.txt"), readers::command),
        (include_str!("../../../../../fuzz/inputs/iolog.txt"), readers::iolog),
        (include_str!("../../../../../fuzz/inputs/trace.txt"), readers::trace),
    ];
    for (inputs, look) in targets {
        assert!(inputs.lines().count() > 10);
        inputs.lines().for_each(|line| look(&unescaped(line)));
    }
}
