//! Calls of methods of trait objects, which the compiler replaces with direct calls to the methods of
//! all types whose vtables the program has.

use crate::{Record, cases, mix};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;

trait Shape: Sync {
    fn area(&self, scale: u32) -> u32;
}

struct Square(u32);

struct Circle;

struct Nothing;

impl Shape for Square {
    fn area(&self, scale: u32) -> u32 {
        self.0 * self.0 * scale
    }
}

impl Shape for Circle {
    fn area(&self, scale: u32) -> u32 {
        3 * scale
    }
}

impl Shape for Nothing {
    fn area(&self, _: u32) -> u32 {
        0
    }
}

/// Vtables that only the initializer of a static refers to.
static SHAPES: [&(dyn Shape + Sync); 3] = [&Square(3), &Circle, &Nothing];

trait Value<T> {
    fn value(&self) -> T;
}

trait Named {
    type Name: Copy;

    fn name(&self) -> Self::Name;
}

/// Its supertraits have the same method, and one depends on an associated type.
trait Thing<K: Named>: Named<Name = u64> + Value<u32> + Value<i16> + Value<K::Name> {
    fn thing(&self) -> u32;
}

struct Key;

impl Named for Key {
    type Name = u64;

    fn name(&self) -> u64 {
        0
    }
}

struct A(u32);

struct B;

impl Value<u32> for A {
    fn value(&self) -> u32 {
        self.0 + 1
    }
}

impl Value<i16> for A {
    fn value(&self) -> i16 {
        self.0 as i16 - 2
    }
}

impl Value<u64> for A {
    fn value(&self) -> u64 {
        3 << 40
    }
}

impl Named for A {
    type Name = u64;

    fn name(&self) -> u64 {
        4
    }
}

impl Thing<Key> for A {
    fn thing(&self) -> u32 {
        5
    }
}

impl Value<u32> for B {
    fn value(&self) -> u32 {
        11
    }
}

impl Value<i16> for B {
    fn value(&self) -> i16 {
        12
    }
}

impl Value<u64> for B {
    fn value(&self) -> u64 {
        13
    }
}

impl Named for B {
    type Name = u64;

    fn name(&self) -> u64 {
        14
    }
}

impl Thing<Key> for B {
    fn thing(&self) -> u32 {
        15
    }
}

/// Only objects of the trait itself, and of no subtrait.
struct C;

impl Value<u32> for C {
    fn value(&self) -> u32 {
        21
    }
}

trait Counted<const N: u32> {
    fn count(&self) -> u32;
}

struct Nth<const N: u32>;

impl<const N: u32> Counted<0> for Nth<N> {
    fn count(&self) -> u32 {
        N * N + 1
    }
}

trait Consume {
    fn consume(self: Box<Self>, record: &mut Record);

    fn share(self: Rc<Self>) -> usize;
}

struct Loud<'a>(&'a core::cell::Cell<u32>);

impl Drop for Loud<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() * 10 + 1);
    }
}

struct Louder<'a>(Loud<'a>);

impl Drop for Louder<'_> {
    fn drop(&mut self) {
        let count = self.0.0;
        count.set(count.get() * 10 + 2);
    }
}

impl Consume for Loud<'_> {
    fn consume(self: Box<Self>, record: &mut Record) {
        record.put(self.0.get());
    }

    fn share(self: Rc<Self>) -> usize {
        Rc::strong_count(&self)
    }
}

impl Consume for Louder<'_> {
    fn consume(self: Box<Self>, record: &mut Record) {
        record.put(self.0.0.get() + 100);
    }

    fn share(self: Rc<Self>) -> usize {
        Rc::strong_count(&self) + 100
    }
}

impl Consume for u32 {
    fn consume(self: Box<Self>, record: &mut Record) {
        record.put(*self);
    }

    fn share(self: Rc<Self>) -> usize {
        *self as usize
    }
}

/// A tree whose nodes call each other.
trait Node {
    fn evaluate(&self, x: u32) -> u32;
}

struct Sum(Box<dyn Node>, Box<dyn Node>);

struct Product(Box<dyn Node>, Box<dyn Node>);

struct Variable;

impl Node for Sum {
    fn evaluate(&self, x: u32) -> u32 {
        self.0.evaluate(x).wrapping_add(self.1.evaluate(x + 1))
    }
}

impl Node for Product {
    fn evaluate(&self, x: u32) -> u32 {
        self.0.evaluate(x).wrapping_mul(self.1.evaluate(x + 2))
    }
}

impl Node for Variable {
    fn evaluate(&self, x: u32) -> u32 {
        x
    }
}

fn tree(seed: u32, depth: u32) -> Box<dyn Node> {
    if depth == 0 {
        return Box::new(Variable);
    }
    let bits = mix(seed.into()) as u32;
    let child = |k: u32| {
        tree(
            seed.wrapping_mul(2).wrapping_add(k),
            depth - 1 - (bits >> k) % depth.min(2),
        )
    };
    match bits % 3 {
        0 => Box::new(Sum(child(1), child(2))),
        _ => Box::new(Product(child(2), child(1))),
    }
}

/// Reads an object behind a call that is not inlined.
#[inline(never)]
fn read<T>(object: &dyn Value<T>) -> T {
    object.value()
}

cases! {
    fn virtual_from_static(i, record) {
        let shape = SHAPES[i as usize % 3];
        record.put(shape.area(i));
        let large = Square(i % 100);
        let local: [&dyn Shape; 4] = [&large, &Nothing, &Circle, shape];
        for k in 0..4 {
            record.put(local[(i as usize + k) % 4].area(k as u32 + 1));
        }
    }

    fn virtual_upcast(i, record) {
        let thing: Box<dyn Thing<Key>> = if i % 2 == 0 { Box::new(A(i % 1000)) } else { Box::new(B) };
        record.put(thing.thing());
        record.put(thing.name());
        let small: &dyn Value<i16> = &*thing;
        record.put(small.value());
        let named: &dyn Named<Name = u64> = &*thing;
        record.put(named.name());
        record.put(read::<u32>(&*thing));
        record.put(read::<u64>(&*thing));
        let (c, a) = (C, A(7));
        let plain: [&dyn Value<u32>; 3] = [&c, &a, &*thing];
        record.put(plain[i as usize % 3].value());
    }

    fn virtual_associated_types(i, record) {
        let mut numbers: [Box<dyn Iterator<Item = u32>>; 2] =
            [Box::new(0..i % 5), Box::new((0..4).map(|x| x * x))];
        let mut floats: Box<dyn Iterator<Item = f64>> = match i % 2 {
            0 => Box::new(core::iter::once(2.5)),
            _ => Box::new([1.0, 2.0].into_iter()),
        };
        record.put(numbers[i as usize % 2].by_ref().sum::<u32>());
        record.put(numbers.iter_mut().map(|it| it.count() as u32).sum::<u32>());
        record.put(floats.next());
        record.put(floats.next());
    }

    fn virtual_closures(i, record) {
        let mut calls = 0;
        {
            let mut add = |by: u32| calls += by;
            let mut nothing = |_: u32| {};
            let closures: [&mut dyn FnMut(u32); 2] = [&mut add, &mut nothing];
            for (k, closure) in closures.into_iter().enumerate() {
                closure(i % 7 + k as u32);
            }
        }
        record.put(calls);
        let text = [i, i + 1];
        let choose: Box<dyn for<'a> Fn(&'a [u32; 2]) -> &'a u32> = match i % 3 {
            0 => Box::new(|it| &it[0]),
            1 => Box::new(|it| &it[1]),
            _ => Box::new(|it| it.iter().max().unwrap_or(&it[0])),
        };
        record.put(*choose(&text));
        let owned = Vec::from([i; 3]);
        let once: Box<dyn FnOnce() -> usize> = match i % 2 {
            0 => Box::new(move || owned.len()),
            _ => Box::new(move || owned[2] as usize),
        };
        record.put(once());
    }

    fn virtual_drops(i, record) {
        let count = core::cell::Cell::new(0);
        {
            let all: [Box<dyn Consume + '_>; 3] =
                [Box::new(Loud(&count)), Box::new(Louder(Loud(&count))), Box::new(i)];
            for (k, object) in all.into_iter().enumerate() {
                match (k as u32 + i) % 3 {
                    0 => object.consume(record),
                    _ => drop(object),
                }
            }
        }
        record.put(count.get());
        let shared: [Rc<dyn Consume + '_>; 3] =
            [Rc::new(Loud(&count)), Rc::new(5u32), Rc::new(Louder(Loud(&count)))];
        record.put(shared[i as usize % 3].clone().share());
        drop(shared);
        record.put(count.get());
    }

    fn virtual_many(i, record) {
        let all: [&dyn Counted<0>; 10] = [
            &Nth::<0>, &Nth::<1>, &Nth::<2>, &Nth::<3>, &Nth::<4>,
            &Nth::<5>, &Nth::<6>, &Nth::<7>, &Nth::<8>, &Nth::<9>,
        ];
        record.put(all[i as usize % 10].count());
        record.put(all[(i as usize + 7) % 10].count());
    }

    fn virtual_recursion(i, record) {
        record.put(tree(i, 5).evaluate(i % 10));
    }
}
