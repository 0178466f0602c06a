//! Control flow: branches, calls and returns with their frames, and the external functions that
//! kernels may call.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{CODE_WINDOW, Context, Event, Inst, Regs};
use crate::fault::FaultKind;
use crate::launch::Thread;
use crate::printf;
use crate::program::{CALL_OVERHEAD, Function};

/// The place of an argument, parameter or result, relative to its function's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes in the frame's memory.
    Memory { offset: u32, size: u32 },
    /// A register, or two for 128 bits.
    Register { slot: u32, size: u32 },
}

impl Place {
    fn size(self) -> u32 {
        match self {
            Place::Memory { size, .. } | Place::Register { size, .. } => size,
        }
    }
}

/// The target of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    /// A function of the program.
    Function(u32),
    /// The function whose address is in a register.
    Register(u32),
    /// An external function.
    Builtin(Builtin),
    /// An external function without a definition, with the index of its error message.
    Missing(u32),
}

/// External functions that the device provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Printf,
    Malloc,
    Free,
    AssertFail,
    SetConditional,
}

impl Builtin {
    pub fn from_name(name: &str) -> Option<Builtin> {
        Some(match name {
            "vprintf" => Builtin::Printf,
            "malloc" => Builtin::Malloc,
            "free" => Builtin::Free,
            "__assertfail" => Builtin::AssertFail,
            "cudaGraphSetConditional" => Builtin::SetConditional,
            _ => return None,
        })
    }

    /// Returns the number of arguments.
    fn arity(self) -> usize {
        match self {
            Builtin::Printf | Builtin::SetConditional => 2,
            Builtin::Malloc | Builtin::Free => 1,
            Builtin::AssertFail => 5,
        }
    }
}

/// The operands of a call instruction.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    pub callee: Callee,
    pub args: Vec<Place>,
    pub results: Vec<Place>,
}

/// The caller's frame, to return to.
pub(crate) struct Frame {
    pub function: u32,
    /// The call instruction.
    pub call: *const Inst,
    /// The start of its registers.
    pub registers: usize,
    /// The start and the end of its memory in the stack.
    pub base: usize,
    pub top: usize,
    /// The bytes of the stack limit in use.
    pub used: usize,
}

/// A frame's memory and registers, which a [`Place`] is relative to.
struct View {
    frame: *mut u8,
    registers: *mut u64,
}

/// Copies an argument or result between frames.
///
/// # Safety
///
/// Both places belong to the functions whose frames the views are.
unsafe fn copy_place(from: &View, source: Place, to: &View, target: Place) {
    let size = source.size().min(target.size()) as usize;
    let address = |view: &View, place: Place| match place {
        // SAFETY: inside the frame; register slots hold their values in little-endian order.
        Place::Memory { offset, .. } => unsafe { view.frame.add(offset as usize) },
        // SAFETY: as above.
        Place::Register { slot, .. } => unsafe { view.registers.add(slot as usize).cast() },
    };
    // SAFETY: as above; frames do not overlap.
    unsafe { std::ptr::copy(address(from, source), address(to, target), size) }
}

impl Thread {
    fn view(&mut self, registers: usize, base: usize) -> View {
        // SAFETY: both are inside, or one past the end where a frame is empty.
        unsafe {
            View {
                frame: self.stack.as_mut_ptr().cast::<u8>().add(base),
                registers: self.registers.as_mut_ptr().add(registers),
            }
        }
    }

    /// Makes room for `function`'s frame at the top of the stack. Returns `false` if it exceeds
    /// `limit`.
    pub fn open_frame(&mut self, index: u32, function: &Function, limit: usize) -> bool {
        let base = (self.top + CALL_OVERHEAD).next_multiple_of(function.frame_align as usize);
        let top = base + function.frame_size as usize;
        let used = self.used.saturating_add(function.stack_bytes);
        if used > limit {
            return false;
        }
        self.used = used;
        self.function = index;
        self.base = base;
        self.top = top;
        self.reserve();
        self.register_base = self.registers.len();
        self.registers.extend_from_slice(&function.template);
        true
    }

    /// Extends the stack's memory to its top.
    pub fn reserve(&mut self) {
        let words = self.top.div_ceil(16);
        if self.stack.len() < words {
            self.stack
                .resize(words.max(self.stack.len() * 2).min(words + 4096), 0);
        }
    }
}

impl Context<'_> {
    /// Updates the context after the thread's stack or frame has changed.
    pub fn sync_frame(&mut self) {
        // SAFETY: the context's thread is alive while it runs.
        let thread = unsafe { &mut *self.thread };
        self.stack = thread.stack.as_mut_ptr().cast();
        self.stack_len = thread.top as u64;
        // SAFETY: the base is at most the stack's length.
        self.frame = unsafe { self.stack.add(thread.base) };
    }
}

/// `call`; `imm` is the index of the [`CallSite`].
pub(crate) unsafe fn call(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: `decode` created the places for the frames they are used with; indirect calls are
    // checked.
    unsafe {
        let site = &c.code.calls[(*at).imm as usize];
        let index = match site.callee {
            Callee::Function(index) => index,
            Callee::Register(slot) => {
                let address = Regs(r).raw(slot);
                match c.code.function_at(address) {
                    Some(index) => index,
                    None => {
                        let message = format!(
                            "indirect call of {address:#x}, which is not the address of a function"
                        );
                        return c.fault(at, FaultKind::InvalidCall, message);
                    }
                }
            }
            Callee::Builtin(builtin) => return call_builtin(at, Regs(r), c, site, builtin),
            Callee::Missing(message) => {
                let message = c.code.messages[message as usize].1.clone();
                return c.fault(at, FaultKind::InvalidCall, message);
            }
        };
        let function = &c.code.functions[index as usize];
        if matches!(site.callee, Callee::Register(_)) {
            let same = |a: &[Place], b: &[Place]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.size() == b.size())
            };
            if function.code.is_empty()
                || function.entry
                || !same(&site.args, &function.params)
                || site.results.len() > function.returns.len()
            {
                let message = format!(
                    "indirect call of `{}` with parameters that differ from its own",
                    function.name
                );
                return c.fault(at, FaultKind::InvalidCall, message);
            }
        }
        let thread = &mut *c.thread;
        let frame = Frame {
            function: thread.function,
            call: at,
            registers: thread.register_base,
            base: thread.base,
            top: thread.top,
            used: thread.used,
        };
        if !thread.open_frame(index, function, c.launch.stack_limit) {
            let (limit, used) = (c.launch.stack_limit, thread.used);
            let message = format!(
                "stack overflow: the call of `{}` needs {} bytes, and {} of the stack's {limit} are \
                 left",
                ptx::stack::demangle(&function.name),
                function.stack_bytes,
                limit.saturating_sub(used),
            );
            return c.fault(at, FaultKind::StackOverflow, message);
        }
        let from = thread.view(frame.registers, frame.base);
        let to = thread.view(thread.register_base, thread.base);
        for (&source, &target) in site.args.iter().zip(&function.params) {
            copy_place(&from, source, &to, target);
        }
        thread.frames.push(frame);
        c.sync_frame();
        c.stop(function.code.as_ptr(), Event::Frame)
    }
}

/// `ret`.
pub(crate) unsafe fn ret(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in `call`.
    unsafe {
        let thread = &mut *c.thread;
        let Some(frame) = thread.frames.pop() else {
            return c.stop(at, Event::Exit);
        };
        let function = &c.code.functions[thread.function as usize];
        let site = &c.code.calls[(*frame.call).imm as usize];
        let from = thread.view(thread.register_base, thread.base);
        let to = thread.view(frame.registers, frame.base);
        for (&source, &target) in function.returns.iter().zip(&site.results) {
            copy_place(&from, source, &to, target);
        }
        thread.registers.truncate(thread.register_base);
        thread.function = frame.function;
        thread.register_base = frame.registers;
        thread.base = frame.base;
        thread.top = frame.top;
        thread.used = frame.used;
        c.sync_frame();
        c.stop(frame.call.add(1), Event::Frame)
    }
}

unsafe fn call_builtin(
    at: *const Inst,
    r: Regs,
    c: &mut Context,
    site: &CallSite,
    builtin: Builtin,
) -> *const Inst {
    let mut args = [0u64; 5];
    if site.args.len() != builtin.arity() {
        let message = format!("a call of {builtin:?} with {} arguments", site.args.len());
        return c.fault(at, FaultKind::InvalidCall, message);
    }
    // SAFETY: the places are in this frame; an argument has at most as many bytes as are read.
    unsafe {
        let here = View {
            frame: c.frame,
            registers: r.0,
        };
        let mut value = [0u64; 2];
        for (arg, &place) in args.iter_mut().zip(&site.args) {
            let target = View {
                frame: std::ptr::null_mut(),
                registers: value.as_mut_ptr(),
            };
            value = [0; 2];
            copy_place(&here, place, &target, Place::Register { slot: 0, size: 8 });
            *arg = value[0];
        }
        let result = match builtin {
            Builtin::Malloc => c.launch.memory.heap_alloc(args[0], c.launch.heap_limit),
            Builtin::Free => {
                if args[0] != 0 && !c.launch.memory.heap_free(args[0]) {
                    let message = format!("free of {:#x}, which malloc did not return", args[0]);
                    return c.fault(at, FaultKind::IllegalAddress, message);
                }
                0
            }
            Builtin::Printf => match printf::print(c, at, args[0], args[1]) {
                Some(count) => count,
                None => return std::ptr::null(),
            },
            Builtin::AssertFail => return assert_fail(at, c, &args),
            Builtin::SetConditional => {
                if !set_conditional(c, args[0], args[1] as u32) {
                    let message = format!("{:#x} is not the condition of a graph", args[0]);
                    return c.fault(at, FaultKind::IllegalAddress, message);
                }
                0
            }
        };
        if let Some(&place) = site.results.first() {
            let value = [result, 0];
            let from = View {
                frame: std::ptr::null_mut(),
                registers: value.as_ptr().cast_mut(),
            };
            copy_place(&from, Place::Register { slot: 0, size: 16 }, &here, place);
        }
        at.add(1)
    }
}

/// `cudaGraphSetConditional(handle, value)`: the handle of a condition is its address.
fn set_conditional(c: &Context, handle: u64, value: u32) -> bool {
    let place = c.launch.memory.range_of(handle);
    if place.is_none_or(|(start, size)| start != handle || size < 4) {
        return false;
    }
    let place: *const AtomicU32 = std::ptr::with_exposed_provenance(handle as usize);
    // SAFETY: the address is in device memory, which has a larger alignment.
    unsafe { (*place).store(value, Ordering::Relaxed) };
    true
}

/// `__assertfail(message, file, line, function, character size)`: prints CUDA's message, and
/// faults.
unsafe fn assert_fail(at: *const Inst, c: &mut Context, args: &[u64; 5]) -> *const Inst {
    let mut texts = Vec::new();
    for address in [args[0], args[1], args[3]] {
        // SAFETY: `at` is the instruction being executed.
        match unsafe { printf::read_string(c, at, address) } {
            Some(text) => texts.push(String::from_utf8_lossy(&text).into_owned()),
            None => return std::ptr::null(),
        }
    }
    // SAFETY: the context's thread is alive while it runs.
    let thread = unsafe { (*c.thread).tid };
    let (line, block) = (args[2] as u32, c.block);
    let text = format!(
        "{}:{line}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n",
        texts[1], texts[2], block[0], block[1], block[2], thread[0], thread[1], thread[2], texts[0]
    );
    c.launch.write_output(text.as_bytes());
    let message = format!("assertion `{}` failed at {}:{line}", texts[0], texts[1]);
    c.fault(at, FaultKind::Assert, message)
}

/// Returns the target of a branch of `offset` instructions. A backward branch uses up the time
/// slice.
#[inline(always)]
unsafe fn jump(at: *const Inst, offset: i64, c: &mut Context) -> *const Inst {
    // SAFETY: `decode` computed the offset from a label of the same function.
    let target = unsafe { at.offset(offset as isize) };
    if offset <= 0 {
        c.fuel -= 1;
        if c.fuel == 0 {
            return c.stop(target, Event::Preempted);
        }
    }
    target
}

/// `bra` without a predicate.
pub(crate) unsafe fn branch(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: see `jump`.
    unsafe { jump(at, (*at).imm, c) }
}

/// `@a bra`.
pub(crate) unsafe fn branch_if(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: see `jump`.
    unsafe {
        if Regs(r).get((*at).a) {
            jump(at, (*at).imm, c)
        } else {
            at.add(1)
        }
    }
}

/// `@!a bra`, which also skips a guarded instruction.
pub(crate) unsafe fn branch_unless(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: see `jump`.
    unsafe {
        if Regs(r).get((*at).a) {
            at.add(1)
        } else {
            jump(at, (*at).imm, c)
        }
    }
}

/// `brx.idx`: branches by the `a`-th of `c` offsets at `e` in the extra operands.
pub(crate) unsafe fn branch_indexed(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: the offsets are those of labels of this function.
    unsafe {
        let i = &*at;
        let index: u32 = Regs(r).get(i.a);
        if index >= i.c {
            let message = format!("`brx.idx` with index {index}, of {} targets", i.c);
            return c.fault(at, FaultKind::InvalidInstruction, message);
        }
        let offset = c.code.extra[(i.e + index) as usize] as i32;
        jump(at, offset.into(), c)
    }
}

/// `exit`.
pub(crate) unsafe fn exit(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    c.stop(at, Event::Exit)
}

/// An instruction that waits for other threads; `imm` is its index in `Code::syncs`.
pub(crate) unsafe fn sync(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    c.stop(at, Event::Sync)
}

/// `trap`.
pub(crate) unsafe fn trap(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    c.fault(at, FaultKind::Trap, "the kernel executed `trap`")
}

/// `brkpt`.
pub(crate) unsafe fn breakpoint(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    c.fault(at, FaultKind::Breakpoint, "the kernel executed `brkpt`")
}

/// An instruction that cannot be executed; `imm` is the index of the message.
pub(crate) unsafe fn unsupported(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    let message = c.code.messages[unsafe { (*at).imm } as usize].1.clone();
    c.fault(at, FaultKind::InvalidInstruction, message)
}

/// `d =` the local address of offset `imm` in the frame, or with `e` the generic address.
pub(crate) unsafe fn frame_address(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        let i = &*at;
        let window = if i.e != 0 { super::LOCAL_WINDOW } else { 0 };
        Regs(r).set_raw(
            i.d,
            (window + (*c.thread).base as u64).wrapping_add(i.imm as u64),
        );
        at.add(1)
    }
}

/// `alloca d, a` with alignment `imm`.
pub(crate) unsafe fn allocate(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler; the stack grows before it is used.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let thread = &mut *c.thread;
        let base = thread.top.next_multiple_of(i.imm as usize);
        let size = r.raw(i.a);
        let top = usize::try_from(size)
            .ok()
            .and_then(|size| base.checked_add(size));
        let used = top.map(|top| thread.used.saturating_add(top - thread.top));
        match (top, used) {
            (Some(top), Some(used)) if used <= c.launch.stack_limit => {
                (thread.top, thread.used) = (top, used);
            }
            _ => {
                let message = format!("stack overflow: `alloca` of {size} bytes");
                return c.fault(at, FaultKind::StackOverflow, message);
            }
        }
        thread.reserve();
        r.set_raw(i.d, base as u64);
        c.sync_frame();
        at.add(1)
    }
}

/// The stack pointer of a thread at its start on hardware (measured on sm_90). The stack grows
/// down.
const STACK_START: usize = 0xff_fdc0;

/// `stacksave d`.
pub(crate) unsafe fn save_stack(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        Regs(r).set_raw((*at).d, STACK_START.wrapping_sub((*c.thread).used) as u64);
        at.add(1)
    }
}

/// `stackrestore a`.
pub(crate) unsafe fn restore_stack(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: the new top is checked to be inside the frame.
    unsafe {
        let thread = &mut *c.thread;
        let pointer = Regs(r).raw((*at).a) as usize;
        let used = STACK_START.wrapping_sub(pointer);
        let least = thread.base + c.code.functions[thread.function as usize].frame_size as usize;
        let freed = thread.used.checked_sub(used);
        match freed.and_then(|freed| thread.top.checked_sub(freed)) {
            Some(top) if top >= least => (thread.top, thread.used) = (top, used),
            _ => {
                let message =
                    format!("`stackrestore` of {pointer:#x}, which `stacksave` did not return");
                return c.fault(at, FaultKind::InvalidInstruction, message);
            }
        }
        c.sync_frame();
        at.add(1)
    }
}

/// Returns the address that represents a function.
pub(crate) fn function_address(index: u32) -> u64 {
    CODE_WINDOW + (u64::from(index) + 1) * 16
}
