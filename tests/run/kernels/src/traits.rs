//! Traits: static and dynamic dispatch, default methods, supertraits, upcasting, associated items.

use crate::{Record, cases, mix};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::{self, Debug, Display, Write};
use core::ops::{AddAssign, Deref, Index, Neg};

trait Animal {
    fn legs(&self) -> u32;

    fn noise(&self) -> &'static str {
        "silence"
    }

    fn describe(&self, record: &mut Record) {
        record.put(self.noise());
        record.put(self.legs());
    }
}

#[derive(Clone)]
struct Dog {
    tricks: u32,
}

struct Snake;

struct Spider([u8; 40]);

impl Animal for Dog {
    fn legs(&self) -> u32 {
        4
    }

    fn noise(&self) -> &'static str {
        if self.tricks > 3 { "Woof!" } else { "woof" }
    }
}

impl Animal for Snake {
    fn legs(&self) -> u32 {
        0
    }
}

impl Animal for Spider {
    fn legs(&self) -> u32 {
        self.0.iter().map(|x| u32::from(*x)).sum()
    }

    fn describe(&self, record: &mut Record) {
        record.put(self.0[39]);
    }
}

fn animal(i: u32) -> Box<dyn Animal> {
    match i % 3 {
        0 => Box::new(Dog { tricks: i }),
        1 => Box::new(Snake),
        _ => Box::new(Spider([i as u8; 40])),
    }
}

trait Named {
    fn name(&self) -> &str;
}

trait Counted: Named + Debug {
    const STEP: u32;
    type Count: Copy + Into<u64>;

    fn count(&mut self) -> Self::Count;
    fn make(name: &'static str) -> Self
    where
        Self: Sized;
}

#[derive(Debug)]
struct Counter<const STEP: u32> {
    name: &'static str,
    at: u32,
}

impl<const STEP: u32> Named for Counter<STEP> {
    fn name(&self) -> &str {
        self.name
    }
}

impl<const S: u32> Counted for Counter<S> {
    const STEP: u32 = S;
    type Count = u32;

    fn count(&mut self) -> u32 {
        self.at += Self::STEP;
        self.at
    }

    fn make(name: &'static str) -> Self {
        Self { name, at: 0 }
    }
}

fn count_to<C: Counted>(limit: u64) -> (u32, u64) {
    let mut counter = C::make("counter");
    let mut steps = counter.name().len() as u32;
    loop {
        let at = counter.count().into();
        steps += 1;
        if at >= limit {
            return (steps, at);
        }
    }
}

trait Base {
    fn base(&self) -> u32;
}

trait Left: Base {
    fn left(&self) -> u32 {
        self.base() + 1
    }
}

trait Right: Base {
    fn right(&self) -> u32 {
        self.base() * 2
    }
}

trait Both: Left + Right + Any {
    fn both(&self) -> u32 {
        self.left() + self.right()
    }
}

struct Diamond(u32);

impl Base for Diamond {
    fn base(&self) -> u32 {
        self.0
    }
}
impl Left for Diamond {}
impl Right for Diamond {
    fn right(&self) -> u32 {
        self.0 * 3
    }
}
impl Both for Diamond {}

trait Visitor {
    fn visit(&mut self, n: i64);
    fn result(self: Box<Self>) -> i64;
}

struct Sum(i64);
struct Largest(Option<i64>);

impl Visitor for Sum {
    fn visit(&mut self, n: i64) {
        self.0 += n;
    }
    fn result(self: Box<Self>) -> i64 {
        self.0
    }
}

impl Visitor for Largest {
    fn visit(&mut self, n: i64) {
        self.0 = self.0.max(Some(n));
    }
    fn result(self: Box<Self>) -> i64 {
        self.0.unwrap_or(-1)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Vector(f32, f32);

impl Neg for Vector {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl AddAssign<f32> for Vector {
    fn add_assign(&mut self, other: f32) {
        self.0 += other;
        self.1 += other;
    }
}

impl Index<usize> for Vector {
    type Output = f32;
    fn index(&self, i: usize) -> &f32 {
        [&self.0, &self.1][i]
    }
}

impl Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}>", self.0, self.1)
    }
}

struct Wrapper<T>(T);

impl<T> Deref for Wrapper<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

cases! {
    fn trait_objects(i, record) {
        let animals: Vec<Box<dyn Animal>> = (0..4).map(|k| animal(i + k)).collect();
        for animal in &animals {
            animal.describe(record);
        }
        record.put(animals.iter().map(|a| a.legs()).sum::<u32>());
        let dog = Dog { tricks: i };
        let by_reference: [&dyn Animal; 2] = [&dog, &Snake];
        record.put(by_reference[i as usize % 2].noise());
        let shared: Rc<dyn Animal> = Rc::new(Spider([2; 40]));
        record.put(Rc::clone(&shared).legs());
        record.put((size_of_val(&*animals[0]), align_of_val(&*shared)));
    }

    fn trait_constants_and_types(i, record) {
        record.put(count_to::<Counter<3>>(i.into()));
        record.put(count_to::<Counter<10>>(i.into()));
        record.put(<Counter<7> as Counted>::STEP);
    }

    fn trait_upcasting(i, record) {
        let both: Box<dyn Both> = Box::new(Diamond(i));
        record.put(both.both());
        let left: &dyn Left = &*both;
        record.put(left.left());
        let base: &dyn Base = left;
        record.put(base.base());
        let right: &dyn Right = &*both;
        record.put((right.right(), (right as &dyn Base).base()));
        let any: Box<dyn Any> = both;
        record.put(any.downcast_ref::<Diamond>().map(|d| d.0));
        record.put(any.is::<u32>());
    }

    fn trait_by_box(i, record) {
        let visitors: [Box<dyn Visitor>; 2] = [Box::new(Sum(0)), Box::new(Largest(None))];
        for mut visitor in visitors {
            for k in 0..i % 10 {
                visitor.visit((mix(k.into()) % 1000) as i64 - 300);
            }
            record.put(visitor.result());
        }
    }

    fn trait_operators(i, record) {
        let mut v = Vector(i as f32, 2.5);
        v += 0.5;
        record.put((-v)[0] + v[1]);
        record.put(v == Vector(i as f32 + 0.5, 3.0));
        let _ = write!(record, "{v} {v:?}");
        let wrapped = Wrapper(Wrapper(v));
        record.put(wrapped[1] + wrapped.0.1);
    }

    fn trait_any(i, record) {
        let values: [&dyn Any; 4] = [&i, &"text", &2.5f64, &Diamond(4)];
        for value in values {
            if let Some(n) = value.downcast_ref::<u32>() {
                record.put(*n);
            } else if let Some(s) = value.downcast_ref::<&str>() {
                record.put(*s);
            } else {
                record.put(value.is::<Diamond>());
            }
        }
    }

    fn trait_debug(i, record) {
        let _ = write!(record, "{:?}", Counter::<4> { name: "c\n", at: i });
        let _ = write!(record, "{:#?}", (i, Some("x"), [1.5, 2.0]));
        let values: [&dyn Display; 3] = [&i, &'c', &"str"];
        for value in values {
            let _ = write!(record, "{value:>5}");
        }
    }
}
