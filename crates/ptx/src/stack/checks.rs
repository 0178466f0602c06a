//! Adds to a module what its kernels need to get enough stack: a record for each kernel, which the
//! host reads, and a check at the start of recursive functions, which reports an overflow before it
//! occurs.
//!
//! `stacksave` returns the stack pointer, which ptxas has already lowered by the function's frame.
//! The host writes the address of the end of the stack to [`FLOOR`]. With a host that does not, it
//! is 0, and every check passes. On sm_90 (driver 580), the stack pointer starts at 0xfffdc0 in
//! every thread and grows down, and the stack ends exactly the context's limit below that address.

use std::fmt::Write;
use std::mem::offset_of;

use cust_core::report::{
    BLOCK, COMPLETE, FILE_LEN, KIND, LAUNCH, LINE, OVERFLOW, SIZE, STATE, SYMBOL, Slot, TEXT,
    THREAD,
};

use super::{Analysis, demangle};
use crate::{Error, Item, Module, Statement};

pub use cust_core::stack::RECORD_PREFIX;

/// The 8-byte variable with the address of the end of the stack.
pub const FLOOR: &str = match cust_core::stack::FLOOR.to_str() {
    Ok(name) => name,
    Err(_) => panic!("the name is ASCII"),
};
/// The variable with the launches in which a thread panicked.
const LAUNCHES: &str = "__cuda_std_panicked_launches";

/// The PTX that completes a module. It outlives the completed module, which borrows it.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    source: String,
    /// The names of the functions that get checks, in the order in which the source has the checks.
    checked: Vec<String>,
}

/// Returns the function that claims the report, as a panic does, and reports which function has how
/// much stack left. `note` is the code that records the launch.
fn handler(slot: &str, note: &str) -> String {
    const BUFFER: usize = offset_of!(Slot, buffer);
    const CLAIM: usize = offset_of!(Slot, claim);
    let [block_x, block_y, block_z] = [BLOCK, BLOCK + 4, BLOCK + 8];
    let [thread_x, thread_y, thread_z] = [THREAD, THREAD + 4, THREAD + 8];
    format!(
        "
.weak .func __cuda_std_stack_overflow(.param .b64 name, .param .b64 length, .param .b64 left)
{{
    .reg .pred %p;
    .reg .b16 %byte;
    .reg .b32 %r<8>;
    .reg .b64 %report, %name, %length, %left, %at, %to, %launch;
    ld.param.u64 %name, [name];
    ld.param.u64 %length, [length];
    ld.param.u64 %left, [left];
    ld.global.u64 %report, [{slot}+{BUFFER}];
    setp.ne.s64 %p, %report, 0;
    @%p bra $known;
    trap;
$known:
{note}    atom.global.cas.b32 %r0, [{slot}+{CLAIM}], 0, 1;
    setp.ne.s32 %p, %r0, 0;
    @%p bra $done;
    mov.u32 %r1, %ctaid.x;
    st.u32 [%report+{block_x}], %r1;
    mov.u32 %r1, %ctaid.y;
    st.u32 [%report+{block_y}], %r1;
    mov.u32 %r1, %ctaid.z;
    st.u32 [%report+{block_z}], %r1;
    mov.u32 %r1, %tid.x;
    st.u32 [%report+{thread_x}], %r1;
    mov.u32 %r1, %tid.y;
    st.u32 [%report+{thread_y}], %r1;
    mov.u32 %r1, %tid.z;
    st.u32 [%report+{thread_z}], %r1;
    cvt.u32.u64 %r2, %length;
    st.u32 [%report+{FILE_LEN}], %r2;
    mov.u32 %r3, {OVERFLOW};
    st.u32 [%report+{KIND}], %r3;
    cvt.u32.u64 %r4, %left;
    st.u32 [%report+{LINE}], %r4;
    mov.u64 %launch, %gridid;
    st.u64 [%report+{LAUNCH}], %launch;
    add.s64 %to, %report, {TEXT};
    mov.u64 %at, 0;
$copy:
    setp.ge.u64 %p, %at, %length;
    @%p bra $copied;
    ld.u8 %byte, [%name];
    st.u8 [%to], %byte;
    add.s64 %name, %name, 1;
    add.s64 %to, %to, 1;
    add.s64 %at, %at, 1;
    bra $copy;
$copied:
    membar.sys;
    mov.u32 %r5, {COMPLETE};
    st.volatile.u32 [%report+{STATE}], %r5;
$done:
    exit;
}}
"
    )
}

/// Records the launch for threads that wait at the grid barrier, in modules that have such threads
/// or panics.
pub(crate) const NOTE_LAUNCH: &str = "
    mov.u64 %launch, %gridid;
    and.b64 %at, %launch, 127;
    shl.b64 %at, %at, 3;
    mov.u64 %to, __cuda_std_panicked_launches;
    add.s64 %to, %to, %at;
    add.s64 %launch, %launch, 1;
    st.relaxed.gpu.global.u64 [%to], %launch;
";

/// The maximum length of a function's name in a report.
const NAME_BYTES: usize = 2048;
const _: () = assert!(NAME_BYTES <= SIZE - TEXT);

impl Texts {
    /// Creates the PTX for an analyzed module.
    pub fn new(module: &Module<'_>, analysis: &Analysis) -> Texts {
        let has = |wanted: &str| {
            let variable = |item: &Item<'_>| matches!(item, Item::Variable(v) if v.name == wanted);
            module.items.iter().any(variable)
        };
        let mut source = format!(
            ".version {}.{}\n.target {}\n.address_size 64\n",
            module.version.0,
            module.version.1,
            module.target.first().unwrap_or(&"sm_75"),
        );
        // Writing to a string cannot fail.
        if analysis.needs.iter().any(|need| need.bytes > 0) {
            for need in &analysis.needs {
                let _ = writeln!(
                    source,
                    ".visible .global .align 8 .u32 {RECORD_PREFIX}{}[2] = {{{}, {}}};",
                    need.kernel,
                    need.bytes,
                    u32::from(need.recursive)
                );
            }
        }
        let mut checked = Vec::new();
        if analysis.reserves.is_empty() || has(FLOOR) {
            return Texts { source, checked };
        }
        let _ = writeln!(source, ".weak .global .align 8 .u64 {FLOOR};");
        let slot = SYMBOL.to_str().unwrap_or_default();
        if !has(slot) {
            let size = size_of::<Slot>();
            let _ = writeln!(source, ".weak .global .align 8 .b8 {slot}[{size}];");
        }
        let note = if has(LAUNCHES) { NOTE_LAUNCH } else { "" };
        source.push_str(&handler(slot, note));
        for (index, (name, reserve)) in analysis.reserves.iter().enumerate() {
            let shown = demangle(name);
            let bytes = &shown.as_bytes()[..shown.len().min(NAME_BYTES)];
            let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
            let (length, list) = (bytes.len(), list.join(", "));
            let _ = writeln!(
                source,
                ".global .align 1 .b8 __cuda_std_stack_in_{index}[{length}] = {{{list}}};
                .func __cuda_std_stack_check_{index}() {{ {{
                    .reg .pred %enough;
                    .reg .b64 %left, %floor, %name;
                    stacksave.u64 %left;
                    ld.global.nc.u64 %floor, [{FLOOR}];
                    sub.s64 %left, %left, %floor;
                    setp.ge.s64 %enough, %left, {reserve};
                    @%enough bra $enough;
                    mov.u64 %name, __cuda_std_stack_in_{index};
                    cvta.global.u64 %name, %name;
                    {{
                        .param .b64 name;
                        .param .b64 length;
                        .param .b64 left;
                        st.param.b64 [name], %name;
                        st.param.b64 [length], {length};
                        st.param.b64 [left], %left;
                        call __cuda_std_stack_overflow, (name, length, left);
                    }}
                    exit;
                    $enough:
                }} }}"
            );
            checked.push(name.clone());
        }
        Texts { source, checked }
    }
}

/// Adds records and checks to a module.
///
/// # Errors
///
/// Returns an error if the generated PTX cannot be parsed.
pub fn complete<'a>(module: &mut Module<'a>, texts: &'a Texts) -> Result<(), Error> {
    let added = Module::parse(&texts.source)?;
    let mut first = Vec::new();
    let mut handler = None;
    let mut checks = Vec::new();
    for item in added.items {
        match item {
            Item::Function(function) if function.name.starts_with("__cuda_std_stack_check_") => {
                checks.push(function.body.unwrap_or_default());
            }
            Item::Function(function) => {
                let mut prototype = function.clone();
                prototype.body = None;
                first.push(Item::Function(prototype));
                handler = Some(function);
            }
            item => first.push(item),
        }
    }
    for (name, check) in texts.checked.iter().zip(checks) {
        for item in &mut module.items {
            if let Item::Function(function) = item
                && function.name == name
                && let Some(body) = &mut function.body
            {
                let code = |statement: &Statement<'_>| {
                    matches!(statement, Statement::Instruction(_) | Statement::Block(_))
                };
                let place = body.iter().position(code).unwrap_or(body.len());
                body.splice(place..place, check.clone());
            }
        }
    }
    if let Some(handler) = handler {
        let last = module
            .items
            .iter()
            .rposition(|item| matches!(item, Item::Function(_)));
        let place = last.map_or(module.items.len(), |last| last + 1);
        module.items.insert(place, Item::Function(handler));
    }
    module.items.splice(0..0, first);
    Ok(())
}
