//! Kernels in which one thread panics. The host calls the same function and catches the panic:
//! message, line and column must be those of the device's report.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use cuda_std::prelude::*;

/// A way to panic.
#[derive(Clone, Copy)]
pub struct Panic {
    /// The name of the case.
    pub name: &'static str,
    /// A function that panics, on the device and on the host.
    pub run: fn(u32) -> u64,
    /// Whether it panics only with overflow checks.
    pub overflow: bool,
}

macro_rules! panics {
    ($($(#[$overflow:ident])? fn $name:ident($i:ident) $body:block)*) => {
        $(
            pub mod $name {
                use super::*;

                pub fn run($i: u32) -> u64 $body
            }
        )*

        /// All ways to panic.
        pub const PANICS: &[Panic] = &[$(Panic {
            name: stringify!($name),
            run: $name::run,
            overflow: panics!(@overflow $($overflow)?),
        }),*];
    };
    (@overflow) => { false };
    (@overflow overflow) => { true };
}

/// The kernel in which one thread panics, in the way of that number.
///
/// # Safety
/// There is an element of `done` for each thread.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn run_panic(case: u32, who: u32, done: *mut u64) {
    let i = thread::index_1d();
    let value = if i == who {
        (PANICS[case as usize].run)(i)
    } else {
        1
    };
    unsafe { *done.add(i as usize) = value };
}

#[derive(Debug)]
#[allow(dead_code)]
struct Failure {
    code: u32,
    reason: &'static str,
}

struct Shown(u32);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«{:04}»", self.0)
    }
}

/// A trait whose objects have two functions `fmt`.
trait Both: fmt::Display + fmt::Debug {}

impl Both for u32 {}

struct Different(u32);

impl Both for Different {}

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "displayed {}", self.0)
    }
}

impl fmt::Debug for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debugged {}", self.0)
    }
}

fn failing(i: u32) -> Result<u64, Failure> {
    if i < 1000 {
        Err(Failure {
            code: i,
            reason: "too small",
        })
    } else {
        Ok(1)
    }
}

fn nothing(i: u32) -> Option<u64> {
    (i > 1000).then_some(1)
}

fn deep(i: u32, depth: u32) -> u64 {
    if depth == 0 {
        panic!("at the bottom, {i}");
    }
    deep(i, depth - 1) + 1
}

panics! {
    fn panic_index(i) {
        let array = [1u64, 2, 3];
        array[i as usize + 3]
    }

    fn panic_slice_end(i) {
        let bytes = [1u8, 2, 3, 4];
        bytes[1..i as usize + 5].len() as u64
    }

    fn panic_slice_order(i) {
        let bytes = [1u8; 300];
        bytes[i as usize + 3..2].len() as u64
    }

    fn panic_vec_index(i) {
        let v: Vec<u64> = (0..3).collect();
        v[i as usize + 3]
    }

    fn panic_vec_remove(i) {
        let mut v: Vec<u64> = (0..3).collect();
        v.remove(i as usize + 7)
    }

    fn panic_unwrap_none(i) {
        nothing(i).unwrap()
    }

    fn panic_expect_none(i) {
        nothing(i).expect("there should be something")
    }

    fn panic_unwrap_err(i) {
        failing(i).unwrap()
    }

    fn panic_expect_err(i) {
        failing(i).expect("it should not fail")
    }

    fn panic_unwrap_ok(i) {
        Ok::<u64, Failure>(i.into()).unwrap_err().code.into()
    }

    fn panic_formatted(i) {
        if i < 5000 {
            panic!("thread {i:>4} has {} and {:?}", Shown(i), ("a tuple", 1.5, 'c'));
        }
        1
    }

    fn panic_plain(i) {
        if i < 5000 {
            panic!("just text, with {{braces}} and ünïcode");
        }
        1
    }

    fn panic_assert(i) {
        assert!(i > 5000);
        1
    }

    fn panic_assert_message(i) {
        assert!(i > 5000, "{i} is not more than {}", 5000);
        1
    }

    fn panic_assert_eq(i) {
        assert_eq!(i, i + 1, "with a message: {}", Shown(i));
        1
    }

    fn panic_assert_ne(i) {
        let text = String::from("same");
        assert_ne!(text, "same");
        i.into()
    }

    fn panic_unreachable(i) {
        match i {
            5000.. => 1,
            _ => unreachable!("but {} was reached", i),
        }
    }

    fn panic_division(i) {
        (100 / (i - i / 1)) as u64
    }

    fn panic_remainder(i) {
        u64::from(i) % (u64::from(i) >> 40)
    }

    fn panic_signed_division(i) {
        (i32::MIN / (i32::from(i < 5000) * -1)) as u64
    }

    fn panic_wide_division(i) {
        (u128::MAX / (u128::from(i) >> 100)) as u64
    }

    #[overflow]
    fn panic_add(i) {
        u64::from(u32::MAX - 5 + (i + 6))
    }

    #[overflow]
    fn panic_subtract(i) {
        (i as u8 & 1) as u64 - 2
    }

    #[overflow]
    fn panic_multiply(i) {
        ((i as i64 + 1) * i64::MAX * 2) as u64
    }

    #[overflow]
    fn panic_negate(i) {
        (-(i8::MIN + (i as i8 & 0))) as u64
    }

    #[overflow]
    fn panic_shift(i) {
        (1u32 << (i / 1000 + 32)) as u64
    }

    #[overflow]
    fn panic_pow(i) {
        u64::from(i + 10).pow(30)
    }

    #[overflow]
    fn panic_sum(i) {
        [200u8, i as u8 | 64].iter().sum::<u8>().into()
    }

    fn panic_borrow(i) {
        let cell = RefCell::new(i);
        let _first = cell.borrow_mut();
        let second = cell.borrow();
        u64::from(*second)
    }

    fn panic_borrow_mut(i) {
        let cell = RefCell::new(i);
        let _first = cell.borrow();
        let mut second = cell.borrow_mut();
        *second += 1;
        1
    }

    fn panic_copy_lengths(i) {
        let mut to = [0u8; 4];
        let from = [1u8; 8];
        to.copy_from_slice(&from[..5 + (i as usize & 1)]);
        to[3].into()
    }

    fn panic_split(i) {
        let array = [0u8; 4];
        array.split_at(i as usize + 5).0.len() as u64
    }

    fn panic_char_boundary(i) {
        let text = "aé😀";
        text[2 + (i as usize & 0)..].len() as u64
    }

    fn panic_parse(i) {
        let text = if i < 5000 { "12x" } else { "12" };
        text.parse::<u64>().unwrap()
    }

    fn panic_conversion(i) {
        u8::try_from(i + 256).unwrap().into()
    }

    fn panic_chunks(i) {
        [1u8, 2].chunks(i as usize & 0).count() as u64
    }

    fn panic_capacity(i) {
        Vec::<u64>::with_capacity(usize::MAX - i as usize).len() as u64
    }

    fn panic_in_closure(i) {
        let check: Box<dyn Fn(u32) -> u64> = Box::new(|x| {
            if x < 5000 {
                panic!("closure {x}");
            }
            1
        });
        check(i)
    }

    fn panic_in_iterator(i) {
        (0..5u32).map(|x| 60 / (i - i + 3 - x) as u64).sum()
    }

    fn panic_deep(i) {
        deep(i, 20)
    }

    fn panic_long_message(i) {
        assert!(i > 5000, "{}", "0123456789".repeat(600));
        1
    }

    fn panic_clamp_integer(i) {
        10i32.clamp(i as i32 + 5, -7) as u64
    }

    fn panic_clamp_small(i) {
        (1u8.clamp(i as u8 | 128, 100) as u64) + i8::clamp(1, 100 + (i as i8 & 1), -100) as u64
    }

    fn panic_clamp_wide(i) {
        5i128.clamp(i128::from(i), i128::MIN + 3) as u64
    }

    fn panic_clamp_word(i) {
        5usize.clamp(usize::MAX - i as usize, 9) as u64
    }

    fn panic_clamp_char(i) {
        u64::from('b'.clamp(char::from_u32(i + 300).unwrap(), '\''))
    }

    fn panic_clamp_float(i) {
        1.0f32.clamp(i as f32 + 1e20, 0.1) as u64
    }

    fn panic_clamp_nan(i) {
        1.0f64.clamp(f64::from(i), f64::NAN) as u64
    }

    fn panic_assert_numbers(i) {
        assert_eq!(u64::from(i), u64::from(i) + 1);
        1
    }

    fn panic_assert_references(i) {
        let pair = [i, i + 3];
        assert_ne!(&pair[0], &i, "of {} and {:?}", pair[1], i as i16);
        1
    }

    fn panic_assert_floats(i) {
        assert_eq!(i as f32 * 0.1, -0.5);
        1
    }

    fn panic_assert_order(i) {
        assert_eq!(i.cmp(&(i + 1)), core::cmp::Ordering::Greater);
        1
    }

    fn panic_assert_units(i) {
        assert_ne!((), (), "in {i}");
        1
    }

    fn panic_values(i) {
        if i < 5000 {
            let (a, b) = (i as u8 ^ 0x55, i as i8 ^ -3);
            panic!("{a} {b} {:?} {} {:?} {}", a > 3, b < 0, 'x', char::from(a));
        }
        1
    }

    fn panic_values_in_order(i) {
        if i < 5000 {
            panic!("{2} {0} {1} {2:?} {{{}}}", i, -1.5f32, i as f32 / 3.0);
        }
        1
    }

    fn panic_many_values(i) {
        if i < 5000 {
            let [a, b] = [u64::from(i), 3];
            panic!("{a} {b} {} {} {}", a + 1, a + 2, a + 3);
        }
        1
    }

    fn panic_nested_message(i) {
        if i < 5000 {
            let inner = format_args!("of {i}, {:?}", i as f32);
            panic!("a message {inner} and {}", format_args!("no {}", "values"));
        }
        1
    }

    fn panic_mark(i) {
        assert!(i > 5000, "\u{1A}m is {i}");
        1
    }

    fn panic_long_literal(i) {
        assert!(
            i > 5000,
            "a text of more than one hundred and twenty-seven characters, which the template of the \
             message has with a length of two bytes, \"quoted\" and \\ escaped: é {i}"
        );
        1
    }

    fn panic_strings(i) {
        let names = ["some", "other"];
        let (name, known) = (names[(i & 1) as usize], "known");
        assert!(i > 5000, "{name} {known} {i}");
        1
    }

    fn panic_changed_value(i) {
        let (mut value, cell) = (i, core::cell::Cell::new(1.5f32));
        let shown = &mut value;
        for step in 0..40 {
            *shown += step;
            cell.set(cell.get() * 1.5);
            if step == 20 + (i & 1) {
                panic!("{} after {step} of {}", *shown, cell.get());
            }
        }
        1
    }

    fn panic_trait_object(i) {
        let shown: &dyn Both = match i {
            0..5000 => &Different(i),
            _ => &i,
        };
        assert!(i > 5000, "{shown} or {shown:?}");
        1
    }

    fn panic_constant_object(i) {
        let shown: &dyn Both = &i;
        assert!(i > 5000, "{shown} or {shown:?}");
        1
    }

    fn panic_debug_object(i) {
        let shown: (&dyn fmt::Debug, &dyn fmt::Display) = (&i, &'c');
        assert!(i > 5000, "{:?} or {}", shown.0, shown.1);
        1
    }

    // Two messages of one inlined function, with different arguments.
    fn panic_shared_arguments(i) {
        let check = |value: u32, limit: u32| assert!(value < limit, "{value} of {limit}");
        check(i, 5000);
        check(i + 10, i + 5);
        1
    }

    fn panic_options(i) {
        assert!(i > 5000, "{i:04} {i:#x} {:.2} {:>7}", i as f32 / 3.0, i);
        1
    }
}

/// Every thread panics; one of them reports. The device formats the message, which has an option.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn panic_everywhere() {
    panic!("all of us, {:1}", 1 + 1);
}

/// The values that [`panic_with_values`] compares.
pub type Compared = (i32, f32, u32);

/// The messages of [`panic_with_values`], in the order of the cases.
pub fn compare(case: u32, (integer, float, number): Compared) -> u64 {
    match case {
        0 => 3.clamp(integer, 2) as u64,
        1 => 1.0f32.clamp(float, -2.5) as u64,
        2 => {
            assert_eq!(integer, number as i32, "in {float:?}");
            1
        }
        3 => u64::from(u8::try_from(number).unwrap()),
        _ => {
            assert!(float < 1.0, "element {integer} of {number} is {float}");
            1
        }
    }
}

/// The thread panics within the kernel's own code, in the way of that number.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn panic_with_values(case: u32, integer: i32, float: f32, number: u32) {
    compare(case, (integer, float, number));
}

/// A value that panics while it is formatted for a panic's message.
struct Hopeless;

impl fmt::Display for Hopeless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half a ")?;
        panic!("a panic in a panic");
    }
}

/// One thread panics twice.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn panic_twice() {
    if thread::first() {
        panic!("it was {Hopeless}");
    }
}

/// The line on which [`panic_without_memory`] asks for it.
pub const WITHOUT_MEMORY: u32 = line!() + 6;

/// Asks for memory that is not there.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn panic_without_memory(count: usize, to: *mut u64) {
    let numbers: Vec<u64> = (0..count as u64).collect();
    unsafe { *to = numbers[count / 2] };
}

/// The others must be past the barrier although one thread has panicked before it.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn panic_before_barrier(who: u32, done: *mut u64) {
    let i = thread::index_1d();
    if i == who {
        panic!("left alone");
    }
    thread::sync_threads();
    unsafe { *done.add(i as usize) = 1 };
}

/// Follows a list of indices to 0. Returns the number of steps.
fn follow(next: &[u32], mut at: usize) -> u64 {
    let mut steps = 0;
    while at != 0 {
        at = next[at] as usize;
        steps += 1;
    }
    steps
}

/// Mixes two numbers.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut mixed = a ^ b.rotate_left(17);
    for round in 1..=4 {
        mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15 | round);
        mixed ^= mixed >> 29;
    }
    mixed
}

/// The lanes of a warp leave two loops at different times, and one of them by a panic. The others must
/// not wait for it where the loops end.
///
/// # Safety
/// There are `len` indices, and an element of `done` for each thread.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn panic_in_loops(next: *const u32, len: usize, done: *mut u64) {
    let next = unsafe { core::slice::from_raw_parts(next, len) };
    let i = thread::index_1d() as usize;
    let first = follow(next, 40 * i + 5);
    let second = follow(next, 40 * i + 3);
    // Enough follows the loops that waiting behind them pays.
    let mixed = mix(mix(first, second), u64::from(next[i]));
    unsafe { *done.add(i) = mixed };
}
