//! Decides how ptxas, or the driver, should compile a module: as a whole program, which is the
//! default, or its functions one at a time, to be linked (`ptxas -c`, `cuLinkAddData`).
//!
//! As a whole program, ptxas 13.0 (at `-O1` to `-O3`, sm_75 to sm_120) miscompiles functions that
//! are called: if a register is set to 0, and to 1 after a branch, ptxas keeps only the 1 and drops
//! the branch. The same function is correct if other functions of the module are left out, and
//! always correct with `-c`. In a module of 230 functions, 10 of 87 device tests failed on an H100;
//! linked, all passed, and loading took 7 s instead of 21 s. A module of four functions is enough
//! to show the bug.
//!
//! Linking costs kernels registers: each kernel gets as many as the functions that report its
//! panics need (45 instead of 32 for a vector addition), while for a whole program ptxas compiles
//! these functions for the kernel's register count. So only modules that do much of their work in
//! functions are linked; panics and their formatting do not count. Kernels whose functions are
//! inlined have few such statements or none, at most 100 in the examples and tests.

use crate::hash::{HashMap, HashSet};

use crate::lexer::{Kind, Lexer, Token};

/// The number of statements in functions from which a module is linked.
const MANY: usize = 512;

/// Returns whether a module's functions should be compiled one at a time and linked. Returns false
/// for text that is not PTX.
pub fn is_to_be_linked(ptx: &str) -> bool {
    statements_in_functions(ptx).is_some_and(|count| count >= MANY)
}

/// The outline of a function or kernel.
#[derive(Default)]
struct Body<'a> {
    entry: bool,
    statements: usize,
    /// Whether it has a `ret`.
    returns: bool,
    /// The names in it, except those of `endings`.
    names: HashSet<&'a str>,
    /// Blocks that end in a call and `exit`.
    endings: Vec<Ending<'a>>,
}

/// A block that ends in a call and `exit`, as calls of functions that do not return do.
struct Ending<'a> {
    /// The names in the call, one of which is the function.
    called: Vec<&'a str>,
    /// All names.
    names: Vec<&'a str>,
}

/// Returns the number of statements and declarations in functions that kernels call or refer to,
/// except for panics, or `None` if the text is not PTX.
fn statements_in_functions(ptx: &str) -> Option<usize> {
    let mut reader = Reader {
        ptx,
        lexer: Lexer::new(ptx),
    };
    let mut bodies: HashMap<&str, Body> = HashMap::default();
    let mut variables: HashMap<&str, HashSet<&str>> = HashMap::default();
    loop {
        match reader.next()? {
            (Kind::Eof, _) => break,
            (_, kind @ (".func" | ".entry")) => {
                let (name, body) = reader.function()?;
                if let Some(mut body) = body {
                    body.entry = kind == ".entry";
                    bodies.insert(name, body);
                }
            }
            (_, ".global" | ".const") => {
                let mut names = Vec::new();
                loop {
                    match reader.next()? {
                        (Kind::Punct(b';'), _) => break,
                        (Kind::Eof, _) => return None,
                        (Kind::Ident, name) => names.push(name),
                        _ => {}
                    }
                }
                let mut names = names.into_iter();
                if let Some(name) = names.next() {
                    variables.insert(name, names.collect());
                }
            }
            _ => {}
        }
    }
    let mut open: Vec<&str> = (bodies.iter())
        .filter_map(|(&name, body)| body.entry.then_some(name))
        .collect();
    let never_returns =
        |name: &str| (bodies.get(name)).is_some_and(|body| !body.entry && !body.returns);
    let mut seen: HashSet<&str> = open.iter().copied().collect();
    let mut count = 0;
    while let Some(name) = open.pop() {
        if never_returns(name) {
            continue;
        }
        let mut names: Vec<&str> = Vec::new();
        if let Some(body) = bodies.get(name) {
            count += if body.entry { 0 } else { body.statements };
            names.extend(&body.names);
            let others = (body.endings.iter())
                .filter(|ending| !ending.called.iter().any(|name| never_returns(name)));
            names.extend(others.flat_map(|ending| &ending.names));
        } else if let Some(of_variable) = variables.get(name) {
            names.extend(of_variable);
        }
        open.extend(names.into_iter().filter(|name| seen.insert(name)));
    }
    Some(count)
}

struct Reader<'a> {
    ptx: &'a str,
    lexer: Lexer<'a>,
}

impl<'a> Reader<'a> {
    /// Returns the next token with its text, or `None` for an invalid token.
    fn next(&mut self) -> Option<(Kind, &'a str)> {
        let Token {
            kind, start, end, ..
        } = self.lexer.next().ok()?;
        Some((kind, &self.ptx[start..end]))
    }

    /// Reads a function after `.func` or `.entry`: its name, and its body unless this is a
    /// declaration.
    fn function(&mut self) -> Option<(&'a str, Option<Body<'a>>)> {
        let mut token = self.next()?;
        if token.0 == Kind::Punct(b'(') {
            // The return parameters.
            while self.next()?.0 != Kind::Punct(b')') {}
            token = self.next()?;
        }
        let name = token.1;
        loop {
            match self.next()? {
                (Kind::Punct(b'{'), _) => return Some((name, Some(self.body()?))),
                (Kind::Punct(b';'), _) => return Some((name, None)),
                (Kind::Eof, _) => return None,
                _ => {}
            }
        }
    }

    /// Reads a body after its `{`.
    fn body(&mut self) -> Option<Body<'a>> {
        let mut body = Body::default();
        // The names since the last label or jump, and those of a call before this statement.
        let (mut names, mut called) = (Vec::new(), Vec::new());
        let (mut is_call, mut is_guarded) = (false, false);
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                (Kind::Punct(b'{'), _) => depth += 1,
                (Kind::Punct(b'}'), _) => depth -= 1,
                (Kind::Punct(b'@'), _) => is_guarded = true,
                (Kind::Punct(b';'), _) => {
                    body.statements += 1;
                    if !is_call {
                        called.clear();
                    }
                    (is_call, is_guarded) = (false, false);
                }
                (Kind::Ident, "exit") if !called.is_empty() && !is_guarded => {
                    let (called, names) = (std::mem::take(&mut called), std::mem::take(&mut names));
                    body.endings.push(Ending { called, names });
                }
                (Kind::Ident, "call") => {
                    is_call = true;
                    called.clear();
                }
                (kind, word)
                    if kind == Kind::Punct(b':') || ["bra", "brx", "ret"].contains(&word) =>
                {
                    body.returns |= word == "ret";
                    called.clear();
                    body.names.extend(names.drain(..));
                }
                (Kind::Ident, name) if !name.starts_with('%') => {
                    names.push(name);
                    if is_call {
                        called.push(name);
                    }
                }
                (Kind::Eof, _) => return None,
                _ => {}
            }
        }
        body.names.extend(names);
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 9.0\n.target sm_75\n.address_size 64\n";

    /// Returns a function of `statements` statements, preceded by a line.
    fn function(head: &str, line: &str, statements: usize) -> String {
        let body = "\tadd.s32 %r1, %r1, 1;\n".repeat(statements);
        format!("{head}\n{{\n\t.reg .b32 %r<2>;\n{line}\n{body}\tret;\n}}\n")
    }

    fn kernel(line: &str) -> String {
        function(".visible .entry k()", line, 3)
    }

    fn count(module: &str) -> Option<usize> {
        statements_in_functions(&format!("{HEADER}{module}"))
    }

    #[test]
    fn only_reachable_functions_count() {
        let large = function(".func (.param .b32 r) large(.param .b32 p)", "", MANY);
        for (line, before) in [
            ("call.uni (r), large, (p);", ""),
            ("mov.u64 %rd1, large;", ""),
            (
                "mov.u64 %rd1, table;",
                ".global .align 8 .u64 table[2] = {generic(text), large};\n",
            ),
            (
                "call.uni small, ();",
                ".func small()\n{\n\tcall.uni (r), large, (p);\n\tret;\n}\n",
            ),
            // The panic follows a branch.
            (
                "mov.u64 %rd1, large; @%p1 bra $L1; call.uni fail, (); exit;\n$L1:",
                ".func fail()\n{\n\texit;\n}\n",
            ),
            // The function returns.
            ("call.uni (r), large, (p); exit;", ""),
            // The panic is conditional.
            (
                "mov.u64 %rd1, large; @%p1 call.uni fail, (); @%p1 exit;",
                ".func fail()\n{\n\texit;\n}\n",
            ),
        ] {
            let text = format!("{HEADER}{before}{large}{}", kernel(line));
            assert!(is_to_be_linked(&text), "{line}");
        }
    }

    #[test]
    fn panics_and_kernels_do_not_count() {
        let large = function(".func large()", "", MANY);
        let before = format!(
            ".func fail(.param .b64 p);\n{large}.func fail(.param .b64 p)\n{{\n\
             \tcall.uni large, ();\n\texit;\n}}\n",
        );
        for line in [
            "",
            "$L1: mov.u64 %rd1, large; { .param .b64 p; st.param.b64 [p], %rd1; call.uni fail, (p); exit; } $L2:",
        ] {
            assert_eq!(count(&(before.clone() + &kernel(line))), Some(0), "{line}");
        }
        assert_eq!(count(&function(".visible .entry k()", "", MANY)), Some(0));
    }

    #[test]
    fn text_that_is_not_ptx_is_not_linked() {
        for text in [
            "no PTX",
            ".func f() {",
            ".entry k() { \u{e9} }",
            ".global x",
        ] {
            assert!(!is_to_be_linked(text), "{text}");
        }
    }
}
