//! The signatures of kernels and statics that the compiler appends to a module as comments: `//
//! cuda_std.signature NAME "TEXT"`, where TEXT is escaped as in a Rust string literal.

const PREFIX: &str = "// cuda_std.signature ";

/// Returns the comments for names and signatures.
pub fn write_signatures(signatures: &[(String, String)]) -> String {
    let line =
        |(name, text): &(String, String)| format!("{PREFIX}{name} \"{}\"\n", text.escape_default());
    signatures.iter().map(line).collect()
}

/// Returns the names in a module's comments, each with its signature as a Rust string literal.
///
/// ```
/// let comments = ptx::write_signatures(&[("scale".to_owned(), "fn scale(f32)".to_owned())]);
/// let signatures: Vec<_> = ptx::signatures(&comments).collect();
/// assert_eq!(signatures, [("scale", r#""fn scale(f32)""#)]);
/// ```
pub fn signatures(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = ptx
        .lines()
        .rev()
        .take_while(|line| line.starts_with(PREFIX));
    lines.filter_map(|line| line.strip_prefix(PREFIX)?.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let written = [
            ("a".to_owned(), "fn a of k 0.1.0 (&[f32])".to_owned()),
            ("X_1".to_owned(), "static X of \"k\" ü\n".to_owned()),
        ];
        let ptx = format!(".version 7.0\n// b \"c\"\n{}", write_signatures(&written));
        let read: Vec<_> = signatures(&ptx).collect();
        let expected = [
            ("X_1", r#""static X of \"k\" \u{fc}\n""#),
            ("a", r#""fn a of k 0.1.0 (&[f32])""#),
        ];
        assert_eq!(read, expected);
    }
}
