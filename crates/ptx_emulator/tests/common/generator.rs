//! What generators of random kernels share.

use std::fmt::Write;

/// A function that writes its arguments to a report and exits the thread. The code after a call is
/// unreachable.
pub const PANIC: &str = "
    .func panic (.param .b64 to, .param .b64 index, .param .b64 len, .param .b64 place) .noreturn {
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [to];
        ld.param.u64 %rd2, [index];
        ld.param.u64 %rd3, [len];
        ld.param.u64 %rd4, [place];
        st.global.u64 [%rd1], %rd2;
        st.global.u64 [%rd1+8], %rd3;
        st.global.u64 [%rd1+16], %rd4;
        exit;
    }
    ";

/// The code of a kernel.
#[derive(Default)]
pub struct Code {
    pub body: String,
    /// The blocks that follow the body, to which checks branch.
    pub panics: String,
    /// The number of the last register.
    pub count: u32,
}

impl Generator for Code {
    fn code(&mut self) -> &mut Code {
        self
    }
}

/// A generator of a kernel.
pub trait Generator {
    fn code(&mut self) -> &mut Code;

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.code().body, "    {line}");
    }

    /// Returns a new register: the prefix and a number.
    fn register(&mut self, prefix: &str) -> String {
        self.code().count += 1;
        format!("{prefix}{}", self.code().count)
    }

    /// Emits an instruction, and returns the new register with its result.
    fn op(&mut self, prefix: &str, opcode: &str, sources: &str) -> String {
        let result = self.register(prefix);
        self.line(&format!("{opcode} {result}, {sources};"));
        result
    }

    /// Adds a panic with the label `$Pn`: a call of `function`, which is [`PANIC`] or another one
    /// with these parameters, with the register that has the report's address.
    fn add_panic(&mut self, function: &str, report: &str, n: u32, index: &str, len: &str) {
        let _ = writeln!(
            self.code().panics,
            "
                $P{n}:
                {{
                    .param .b64 a;
                    st.param.b64 [a], {report};
                    .param .b64 b;
                    st.param.b64 [b], {index};
                    .param .b64 c;
                    st.param.b64 [c], {len};
                    .param .b64 d;
                    st.param.b64 [d], {n};
                    call.uni {function}, (a, b, c, d);
                }}
                "
        );
    }
}

/// Returns the prefix of the registers with this width, and the suffix of those that hold the lower
/// half of a parameter, if the width is 32.
pub fn registers(bits: u32) -> (&'static str, &'static str) {
    match bits {
        32 => ("%r", "32"),
        _ => ("%rd", ""),
    }
}

/// Returns the seed to repeat, if there is one, and the number of kernels: `SEED` and `COUNT`.
pub fn settings(count: u64) -> (Option<u64>, u64) {
    let of = |name: &str| std::env::var(name).ok()?.parse().ok();
    (of("SEED"), of("COUNT").unwrap_or(count))
}
