//! Layouts: reordered, `repr(C)`, packed and aligned structs, unions, tuples, transmutes.

use crate::{cases, mix};
use alloc::vec::Vec;
use core::cell::Cell;
use core::mem::offset_of;

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Reordered {
    a: u8,
    b: u64,
    c: u16,
    d: bool,
    e: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Ordered {
    a: u8,
    b: u64,
    c: u16,
    d: [u8; 3],
    e: u128,
}

#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: u64,
    c: u16,
    d: f64,
}

#[derive(Clone, Copy)]
#[repr(packed(2))]
struct PackedToTwo {
    a: u8,
    b: u32,
    c: u64,
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
#[repr(packed(4))]
struct PackedWords {
    shorts: [i16; 2],
    number: u32,
    float: f64,
}

#[derive(Clone, Copy, PartialEq)]
#[repr(C, packed(2))]
struct PackedHalves {
    ints: [i64; 2],
    more: (i128, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Aligned(u8, u32);

#[derive(Clone, Copy)]
#[repr(C)]
union Bits {
    int: u32,
    float: f32,
    bytes: [u8; 4],
    halves: (u16, u16),
}

#[derive(Clone, Copy)]
union Large {
    small: u8,
    words: [u64; 5],
}

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Newtype<T>(T);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Nested {
    inner: Reordered,
    more: [Reordered; 2],
    tail: (u8, Aligned, ()),
}

#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
struct Transition {
    byte: u8,
    next: u32,
    link: u32,
}

/// Makes a number of many.
struct Sum(Cell<u64>);

impl Sum {
    #[inline(never)]
    fn add(&self, x: u64) {
        self.0.set(mix(self.0.get() ^ x));
    }
}

/// Needs the float and its bits.
fn bits(x: f64) -> u64 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

impl PackedWords {
    fn add_to(&self, sum: &Sum) {
        for x in { self.shorts } {
            sum.add(x as u64);
        }
        sum.add({ self.number }.into());
        sum.add(bits({ self.float }));
    }
}

impl PackedHalves {
    fn add_to(&self, sum: &Sum) {
        for x in { self.ints } {
            sum.add(x as u64);
        }
        let (wide, float) = { self.more };
        sum.add((wide >> 64) as u64);
        sum.add(wide as u64);
        sum.add(bits(float));
    }
}

#[inline(never)]
fn same<T: PartialEq>(a: &T, b: &T) -> bool {
    a == b
}

#[inline(never)]
fn store(x: u32, packed: &mut [Transition], plain: &mut [[u32; 2]]) {
    let at = x as usize / 2 % 8;
    if x % 2 == 0 {
        packed[at].link = x;
    } else {
        plain[at][1] = x;
    }
}

#[inline(never)]
fn pass<T>(x: T) -> T {
    x
}

#[inline(never)]
fn many(
    a: u8,
    b: Reordered,
    c: (u16, u64),
    d: [u8; 3],
    e: Option<u32>,
    f: &str,
    g: Aligned,
) -> u64 {
    u64::from(a)
        + b.b
        + u64::from(c.0) * c.1
        + u64::from(d[2])
        + u64::from(e.unwrap_or(5))
        + f.len() as u64
        + u64::from(g.1)
}

fn reordered(i: u32) -> Reordered {
    Reordered {
        a: i as u8,
        b: mix(i.into()),
        c: 300,
        d: i % 2 == 0,
        e: i as f32 * 0.5,
    }
}

/// Digits of two parts, with zeros around them that are only counted.
#[derive(Clone, Copy)]
struct Digits<'a> {
    parts: [Part<'a>; 2],
    leading: usize,
    trailing: usize,
}

#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    digits: usize,
}

impl<'a> Part<'a> {
    #[inline]
    fn split_first(self) -> Option<(u8, Self)> {
        let (&first, mut bytes) = self.bytes.split_first()?;
        while let Some((b'_', rest)) = bytes.split_first() {
            bytes = rest;
        }
        let digits = self.digits - 1;
        Some((first, Part { bytes, digits }))
    }
}

impl<'a> Digits<'a> {
    #[inline]
    fn split_first(self) -> Option<(u8, Self)> {
        if self.leading > 0 {
            let leading = self.leading - 1;
            return Some((b'0', Digits { leading, ..self }));
        }
        let [a, b] = self.parts;
        if let Some((first, a)) = a.split_first() {
            let parts = [a, b];
            return Some((first, Digits { parts, ..self }));
        }
        if let Some((first, b)) = b.split_first() {
            let parts = [a, b];
            return Some((first, Digits { parts, ..self }));
        }
        if self.trailing > 0 {
            let trailing = self.trailing - 1;
            return Some((b'0', Digits { trailing, ..self }));
        }
        None
    }

    fn number(self) -> u64 {
        let (mut number, mut rest) = (0u64, self);
        while let Some((digit, next)) = rest.split_first() {
            rest = next;
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
        }
        number
    }
}

/// Packed, in an enum, in a packed struct.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Inner {
    flag: bool,
    words: [i64; 4],
    wide: i128,
    sizes: [isize; 5],
}

#[derive(Clone, Copy)]
enum Kind {
    Inner(i64, Inner),
    Pair(u16, u32),
    Word(i64),
}

#[derive(Clone, Copy)]
#[repr(packed)]
struct Outer {
    number: i32,
    kinds: [Kind; 5],
    last: Option<i16>,
}

impl Outer {
    fn sum(self) -> u64 {
        let each = |kind| match kind {
            Kind::Inner(x, inner) => {
                let (words, wide, sizes) = (inner.words, inner.wide, inner.sizes);
                x as u64 ^ wide as u64 ^ sizes[2] as u64 ^ words[1] as u64 ^ u64::from(inner.flag)
            }
            Kind::Pair(x, y) => u64::from(x) + u64::from(y),
            Kind::Word(x) => x as u64,
        };
        let kinds = { self.kinds }.map(each);
        let sum = (kinds.iter()).fold(self.number as u64, |sum, kind| mix(sum ^ kind));
        sum.wrapping_add({ self.last }.unwrap_or(3) as u64)
    }
}

#[inline(never)]
fn pick<T>(first: bool, a: T, b: T) -> T {
    if first { a } else { b }
}

cases! {
    fn layout_sizes(_, record) {
        record.put((size_of::<Reordered>(), align_of::<Reordered>()));
        record.put((size_of::<Ordered>(), offset_of!(Ordered, d), offset_of!(Ordered, e)));
        record.put((size_of::<Packed>(), offset_of!(Packed, d), align_of::<PackedToTwo>()));
        record.put((size_of::<Aligned>(), align_of::<Nested>(), size_of::<Nested>()));
        record.put((size_of::<Large>(), size_of::<u128>(), align_of::<u128>()));
        record.put((align_of::<f64>(), align_of::<u64>(), size_of::<char>()));
        record.put((offset_of!(Reordered, a), offset_of!(Reordered, b), offset_of!(Reordered, e)));
    }

    fn layout_by_value(i, record) {
        let r = pass(reordered(i));
        record.put((r.a, r.b, r.c, r.d, r.e));
        let o = pass(Ordered { a: 1, b: mix(i.into()), c: 2, d: [3, 4, i as u8], e: u128::MAX - 5 });
        record.put((o.a, o.b, o.c, o.d, o.e));
        let n = pass(Nested { inner: r, more: [r, reordered(i + 1)], tail: (9, Aligned(1, i), ()) });
        record.put((n.more[1].b, n.tail.1.1, n == pass(n)));
        record.put(many(1, r, (2, 3), [4, 5, 6], Some(i), "seven", Aligned(8, 9)));
        record.put(many(i as u8, r, (7, 1 << 40), [0, 0, i as u8], None, "", Aligned(0, i)));
    }

    fn layout_packed(i, record) {
        let mut p = Packed { a: i as u8, b: mix(i.into()), c: 77, d: f64::from(i) * 0.25 };
        p.b ^= 1;
        p.c += 1;
        let (b, c, d) = (p.b, p.c, p.d);
        record.put((p.a, b, c, d));
        let pointer = &raw const p.d;
        record.put(unsafe { pointer.read_unaligned() });
        let array = [p, p, p];
        record.put(unsafe { (&raw const array[2].b).read_unaligned() });
        let two = pass(PackedToTwo { a: 3, b: i, c: mix(3) });
        let (b, c) = (two.b, two.c);
        record.put((two.a, b, c));
    }

    fn layout_aligned(i, record) {
        let a = [Aligned(1, i), Aligned(2, i + 1)];
        record.put((&raw const a[0]).addr() % 64);
        record.put((&raw const a[1]).addr() % 64);
        record.put((a[1].0, a[0].1, a[0] == a[1]));
        let buffer = pass((1u8, Aligned(5, i), 2u8));
        record.put((&raw const buffer.1).addr() % 64);
        record.put((buffer.0, buffer.1.1, buffer.2));
    }

    fn layout_unions(i, record) {
        let mut bits = Bits { float: i as f32 * 1.5 };
        unsafe {
            record.put((bits.int, bits.bytes, bits.halves));
            bits.bytes[3] ^= 0x80;
            record.put(bits.float);
            bits.halves.0 = 0xffff;
            record.put(pass(bits).int);
            let mut large = Large { words: [mix(i.into()); 5] };
            large.small = 7;
            record.put(pass(large).words);
        }
    }

    fn layout_transmutes(i, record) {
        let n = mix(i.into());
        unsafe {
            record.put(core::mem::transmute::<u64, [u16; 4]>(n));
            record.put(core::mem::transmute::<[u8; 4], u32>([1, 2, 3, i as u8]));
            record.put(core::mem::transmute::<f64, i64>(f64::from(i)));
            record.put(core::mem::transmute::<(u32, u32), [u32; 2]>((i, 5)));
            record.put(core::mem::transmute::<u8, bool>(i as u8 & 1));
            record.put(core::mem::transmute_copy::<[u64; 2], u128>(&[n, 3]));
        }
        record.put(pass(Newtype(n)).0);
        record.put(pass(Newtype((i, Newtype(2.5f32)))).0.1.0);
    }

    fn layout_tuples(i, record) {
        let t = pass((i as u8, mix(i.into()), (true, 'x'), [1u16; 3], ()));
        record.put((t.0, t.1, t.2.0, t.2.1, t.3));
        let ((a, b), c) = pass(((1u8, i), Some((2i16, "s"))));
        record.put((a, b, c));
        let pair = pass((i, u64::from(i)));
        record.put((pair.1, pair.0));
        let scalars = pass((i as u8, i % 2 == 0));
        record.put(scalars);
    }

    fn layout_zero_sized(i, record) {
        struct Nothing;
        let units = pass(((), Nothing, [(); 3]));
        let _ = &units;
        let v = pass((Nothing, i, ()));
        record.put((v.1, size_of_val(&v), size_of::<(Nothing, ())>()));
        let f = pass(|x: u32| x + 1);
        record.put((f(i), size_of_val(&f)));
    }

    // All fields but one are copied in a loop; libnvvm has lost the one.
    fn layout_struct_updates(i, record) {
        let parts = [&b"12_3"[..], b"4__5_67"].map(|bytes| Part { bytes, digits: 4 });
        let k = i as usize;
        let digits = Digits { parts, leading: k % 3, trailing: k % 5 };
        let tail = Digits { leading: 1, trailing: k % 2, ..digits };
        record.put((digits.number(), tail.number()));
        record.put(digits.split_first().map(|(digit, rest)| (digit, rest.number())));
    }

    // Both branches write the same to what is aligned and to what is not; libnvvm has made one store
    // of them, and taken the alignment of the first.
    fn layout_packed_in_branches(i, record) {
        let mut packed = [Transition::default(); 8];
        let mut plain = [[0u32; 2]; 8];
        for k in 0..8 {
            store(mix((8 * i + k).into()) as u32, &mut packed, &mut plain);
        }
        record.put((packed.map(|p| (p.byte, { p.next }, { p.link })), plain));
    }

    // The words of the float are loaded among others as one vector; libnvvm has taken one of them
    // twice where the float and its bits are wanted.
    fn layout_packed_words(i, record) {
        let sum = &Sum(Cell::new(0));
        let short = (i as i16).wrapping_mul(83).wrapping_add(82);
        let number = i.wrapping_mul(122).wrapping_add(78);
        let mut all = [PackedWords { shorts: [short, 1], number, float: 0.1 }; 3];
        sum.add((all[0] < all[1]).into());
        {
            let list: Vec<PackedWords> = all.iter().copied().rev().collect();
            list[list.len() / 2].add_to(sum);
            all[0] = list[list.len() - 1];
        }
        let other = PackedWords { shorts: [i16::MAX, (i as i16).wrapping_mul(84)], number: i.wrapping_mul(43), float: -2.5 };
        let before = core::mem::replace(&mut all[2], other);
        before.add_to(sum);
        all.rotate_left(1);
        all.reverse();
        {
            let copy = all;
            for x in &copy {
                x.add_to(sum);
            }
        }
        for x in &all {
            x.add_to(sum);
        }
        record.put(sum.0.get());
    }

    // The `f64` is loaded in 16-bit parts. ptxas 13.0 merges adjacent loads, and lost the upper half
    // of the joined value (`ptx::replace_bfi` avoids it).
    fn layout_packed_halves(i, record) {
        let sum = &Sum(Cell::new(0));
        let float = f64::from(i) * 796.37 + 0.1;
        let mut all = core::hint::black_box([
            PackedHalves { ints: [i64::from(i) * 91, i64::MAX], more: (i128::from(i) * 55, float) },
            PackedHalves { ints: [100, i64::from(i) * 45], more: (1, float * 5.0) },
            PackedHalves { ints: [i64::from(i) * 64, 99], more: (i128::MAX, -2.5) },
            PackedHalves { ints: [7, 99], more: (1, float * 1.01) },
            PackedHalves { ints: [i64::MAX, i64::from(i) * 5], more: (i128::from(i) * 80, 816.5) },
        ]);
        for pair in all.chunks_exact_mut(2) {
            if let Some((x, y)) = pair.split_first_mut() && let Some(y) = y.first_mut() {
                let old = *x;
                *x = *y;
                *y = old;
            }
        }
        sum.add(same(&all[4], &PackedHalves { ints: [i64::from(i) * 104, 34], more: (99, 0.1) }).into());
        for x in &all {
            x.add_to(sum);
        }
        for x in &all {
            x.add_to(sum);
        }
        if let Some(last) = Some(all).into_iter().flatten().last() {
            last.add_to(sum);
        }
        let copy = all;
        for x in &copy {
            x.add_to(sum);
        }
        record.put(sum.0.get());
    }

    // libnvvm splits what is copied into its pieces; of arrays of 2 KB it did not come to an end.
    fn layout_packed_arrays_in_iterators(i, record) {
        let x = mix(i.into());
        let inner = Inner { flag: true, words: [x as i64; 4], wide: i128::from(x), sizes: [7; 5] };
        let kinds = [Kind::Inner(1, inner), Kind::Pair(2, 3), Kind::Word(x as i64), Kind::Word(4), Kind::Pair(5, 6)];
        let outer = Outer { number: x as i32, kinds, last: Some(-5) };
        let outers = [None::<[Option<[Option<Outer>; 4]>; 2]>; 3].into_iter()
            .take_while(Option::is_some).flat_map(|x| [x, None, x]).flatten().last()
            .unwrap_or([None::<[Option<Outer>; 4]>; 2]).into_iter()
            .take_while(Option::is_some).flat_map(|x| [x, None, x]).flatten().last()
            .unwrap_or(pick(i % 3 == 0, [None::<Outer>; 4], [Some(outer), None, Some(outer), None])).into_iter()
            .map(|x| x.ok_or(1u8)).filter_map(Result::ok);
        record.put(outers.fold(i.into(), |sum, outer| mix(sum ^ outer.sum())));
    }
}
