//! Properties that a program can query about itself: types, places in the source, addresses and
//! alignments, sizes of unsized values; packed and over-aligned data; statics of other crates.

use crate::{cases, mix};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::{Any, TypeId, type_name};
use core::mem::{MaybeUninit, align_of_val, size_of_val};
use core::panic::Location;
use core::sync::atomic::{AtomicU32, Ordering};

#[track_caller]
fn line() -> u32 {
    Location::caller().line()
}

#[track_caller]
fn line_of_line() -> (u32, u32, usize) {
    let here = Location::caller();
    (line(), here.column(), here.file().len())
}

trait Base {
    fn base(&self) -> u32;
}

trait Side {
    fn side(&self) -> u64 {
        11
    }
}

trait Derived: Base + Side + Any {
    fn derived(&self) -> u32 {
        self.base() + 1
    }
}

struct Small(u8);
struct Large([u64; 5]);

impl Base for Small {
    fn base(&self) -> u32 {
        self.0.into()
    }
}
impl Side for Small {}
impl Derived for Small {}
impl Base for Large {
    fn base(&self) -> u32 {
        self.0.iter().sum::<u64>() as u32
    }
}
impl Side for Large {
    fn side(&self) -> u64 {
        self.0[4]
    }
}
impl Derived for Large {
    fn derived(&self) -> u32 {
        7
    }
}

/// An unsized value of one's own.
struct Tail<T: ?Sized> {
    head: u16,
    tail: T,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Packed {
    a: u8,
    b: u64,
    c: u16,
    d: [u32; 2],
}

#[repr(C, packed(2))]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Packed2 {
    a: u8,
    b: u32,
    c: f64,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Aligned([u8; 3]);

#[repr(transparent)]
struct Wrapper<T>(T);

enum Never {}

union Bits {
    float: f32,
    int: u32,
    bytes: [u8; 4],
}

static TABLE: [&dyn Derived2; 3] = [&1u8, &2u32, &[3u8, 4]];

trait Derived2: Sync {
    fn value(&self) -> u32;
}
impl Derived2 for u8 {
    fn value(&self) -> u32 {
        u32::from(*self) * 100
    }
}
impl Derived2 for u32 {
    fn value(&self) -> u32 {
        *self * 1000
    }
}
impl Derived2 for [u8; 2] {
    fn value(&self) -> u32 {
        u32::from(self[1])
    }
}

static STEPS: &[(&str, fn(u32) -> u32)] = &[
    ("double", |x| x.wrapping_mul(2)),
    ("ones", u32::count_ones),
    ("swap", u32::swap_bytes),
];

cases! {
    fn reflect_types(i, record) {
        let all: [&dyn Any; 5] = [&i, &"text", &1.5f32, &(i, i), &Small(3)];
        for any in all {
            record.put((any.is::<u32>(), any.is::<&str>(), any.is::<(u32, u32)>()));
            record.put(any.downcast_ref::<f32>().copied().unwrap_or(0.0));
            record.put(any.type_id() == TypeId::of::<Small>());
        }
        record.put(type_name::<Option<Vec<u8>>>().len());
        let boxed: Box<dyn Any> = Box::new(String::from("owned"));
        record.put(boxed.downcast::<String>().map_or(0, |text| text.len()));
        record.put(TypeId::of::<&'static str>() == TypeId::of::<&str>());
    }

    fn reflect_callers(i, record) {
        let first = line();
        let second = line();
        record.put((second - first, first));
        record.put(line_of_line());
        let through: fn() -> u32 = line;
        // Through a pointer it is where the function stands.
        record.put(through() < first);
        record.put(Some(i).map_or_else(line, |_| Location::caller().line()));
    }

    fn reflect_upcasts(i, record) {
        let all: Vec<Rc<dyn Derived>> = alloc::vec![Rc::new(Small(i as u8)), Rc::new(Large([i.into(); 5]))];
        for derived in all {
            record.put((derived.derived(), size_of_val(&*derived), align_of_val(&*derived)));
            let base: &dyn Base = &*derived;
            let side: &dyn Side = &*derived;
            record.put((base.base(), side.side()));
            let any: Rc<dyn Any> = derived;
            record.put(any.downcast_ref::<Small>().map(|small| small.0));
        }
    }

    fn reflect_unsized(i, record) {
        let sized = Tail { head: i as u16, tail: [1u32, 2, 3] };
        let slice: &Tail<[u32]> = &sized;
        record.put((slice.head, slice.tail.len(), size_of_val(slice), align_of_val(slice)));
        record.put(slice.tail.iter().sum::<u32>());
        let boxed: Box<Tail<dyn Base>> = Box::new(Tail { head: 5, tail: Large([u64::from(i); 5]) });
        record.put((boxed.head, boxed.tail.base(), size_of_val(&*boxed)));
        let text: Box<str> = alloc::format!("{i}!").into();
        record.put((text.len(), size_of_val(&*text)));
        let shared: Rc<[u16]> = (0..i as u16 % 7).collect();
        record.put((shared.len(), shared.iter().sum::<u16>()));
    }

    fn reflect_packed(i, record) {
        let mut packed = Packed { a: 1, b: mix(i.into()), c: 3, d: [i, 5] };
        packed.b = packed.b.rotate_left(u32::from(packed.a));
        packed.d[1] ^= packed.d[0];
        let (b, c, d) = (packed.b, packed.c, packed.d);
        record.put((b, c));
        record.put(d);
        record.put((size_of::<Packed>(), align_of::<Packed>()));
        let array = [packed; 3];
        let at = &raw const array[1].b;
        record.put(unsafe { at.read_unaligned() });
        let mut two = [Packed2::default(); 4];
        for (k, item) in two.iter_mut().enumerate() {
            *item = Packed2 { a: k as u8, b: i * k as u32, c: f64::from(i) / 3.0 };
        }
        record.put(two[3] == two[2]);
        let c = two[3].c;
        record.put((c, size_of::<Packed2>(), align_of::<Packed2>()));
    }

    fn reflect_aligned(i, record) {
        let one = Aligned([i as u8; 3]);
        let boxed = Box::new([one; 2]);
        record.put((&raw const one as usize % 64, &raw const *boxed as usize % 64));
        record.put((size_of::<Aligned>(), boxed[1].0[2]));
        let bytes = [0u8; 100];
        for k in 0..20 {
            let part = &bytes[k..];
            let at = part.as_ptr() as usize;
            for align in [1usize, 2, 4, 8, 16] {
                record.put((at + part.as_ptr().align_offset(align)) % align);
            }
            let (head, words, tail) = unsafe { part.align_to::<u64>() };
            record.put(head.len() < 8 && tail.len() < 8);
            record.put(head.len() + words.len() * 8 + tail.len() == part.len());
        }
    }

    fn reflect_unions(i, record) {
        let mut bits = Bits { float: i as f32 + 0.5 };
        unsafe {
            record.put(bits.int);
            bits.bytes[3] ^= 0x80;
            record.put(bits.float);
            bits.int += 1;
            record.put(bits.bytes);
        }
        let mut array: [MaybeUninit<u16>; 6] = [MaybeUninit::uninit(); 6];
        for (k, slot) in array.iter_mut().enumerate() {
            slot.write(k as u16 * i as u16);
        }
        let array: [u16; 6] = unsafe { core::mem::transmute(array) };
        record.put(array);
        record.put(Wrapper(i).0);
        let none: Result<u32, Never> = Ok(i);
        let Ok(value) = none;
        record.put((value, size_of::<Result<u32, Never>>()));
    }

    fn reflect_statics(i, record) {
        for item in TABLE {
            record.put(item.value());
        }
        let mut x = i;
        for (name, step) in STEPS {
            x = step(x);
            record.put((name.len(), x));
        }
        // The tables of core and alloc.
        record.put(alloc::format!("{i:>7}|{i:#010b}|{:e}|{:?}", f64::from(i) * 1.5, char::from_u32(i + 0xe0)).len());
        record.put(i.to_le_bytes());
        record.put('ß'.to_uppercase().count() + 'ǆ'.to_lowercase().count());
        record.put(char::from_u32(0x390 + i).is_some_and(char::is_alphabetic));
    }

    fn reflect_black_box(i, record) {
        let x = core::hint::black_box(i);
        let pair = core::hint::black_box((x, [x; 3]));
        record.put(pair.1);
        let reference = core::hint::black_box(&pair);
        record.put(reference.0);
        let counter = AtomicU32::new(i);
        record.put(counter.try_update(Ordering::AcqRel, Ordering::Acquire, |x| x.checked_sub(5)).is_ok());
        record.put(counter.into_inner());
    }
}
