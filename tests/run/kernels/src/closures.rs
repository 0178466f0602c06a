//! Closures and function pointers.

use crate::{cases, mix};
use alloc::boxed::Box;
use alloc::vec::Vec;

fn apply<F: Fn(u32) -> u32>(f: F, x: u32) -> u32 {
    f(f(x))
}

fn apply_mut(mut f: impl FnMut(u32), times: u32) {
    for k in 0..times {
        f(k);
    }
}

fn apply_once<T>(f: impl FnOnce() -> T) -> T {
    f()
}

fn adder(n: u32) -> impl Fn(u32) -> u32 + Clone {
    move |x| x.wrapping_add(n)
}

fn compose<A, B, C>(f: impl Fn(A) -> B, g: impl Fn(B) -> C) -> impl Fn(A) -> C {
    move |x| g(f(x))
}

fn boxed(kind: u32) -> Box<dyn Fn(u32) -> u32> {
    match kind % 3 {
        0 => Box::new(|x| x + 1),
        1 => Box::new(move |x| x * (kind + 2)),
        _ => Box::new(adder(kind)),
    }
}

fn double(x: u32) -> u32 {
    x.wrapping_mul(2)
}

fn triple(x: u32) -> u32 {
    x.wrapping_mul(3)
}

fn halve(x: u32) -> u32 {
    x / 2
}

static OPERATIONS: [fn(u32) -> u32; 4] = [double, triple, halve, u32::swap_bytes];

struct Machine {
    step: fn(&mut Machine, u32) -> u32,
    state: u32,
}

impl Machine {
    fn up(&mut self, x: u32) -> u32 {
        self.state += x;
        if self.state > 20 {
            self.step = Self::down;
        }
        self.state
    }

    fn down(&mut self, x: u32) -> u32 {
        self.state = self.state.saturating_sub(x * 2);
        if self.state == 0 {
            self.step = Self::up;
        }
        self.state
    }
}

cases! {
    fn closure_kinds(i, record) {
        let base = i * 3;
        record.put(apply(|x| x ^ base, 17));
        let mut sum = 0;
        apply_mut(|k| sum += k * base, i % 9 + 1);
        record.put(sum);
        let owned = alloc::vec![i, 2, 3];
        record.put(apply_once(move || owned.into_iter().sum::<u32>()));
        record.put(apply_once(|| (i, base)).1);
    }

    fn closure_returned(i, record) {
        let add = adder(i);
        let both = compose(add.clone(), |x: u32| u64::from(x) << 33);
        record.put((add(5), both(1), compose(both, |x| x as u8)(7)));
        record.put((0..5).map(adder(100)).sum::<u32>());
    }

    fn closure_boxed(i, record) {
        let steps: Vec<Box<dyn Fn(u32) -> u32>> = (0..6).map(|k| boxed(i + k)).collect();
        record.put(steps.iter().fold(i, |x, f| f(x) % 10_007));
        let mut log = Vec::new();
        let mut note: Box<dyn FnMut(u32) -> usize + '_> = Box::new(|x| {
            log.push(x);
            log.len()
        });
        record.put(note(4) + note(i as u32));
        drop(note);
        record.put(&log[..]);
        let once: Box<dyn FnOnce(u32) -> u32> = Box::new(move |x| x + i);
        record.put(once(1));
    }

    fn closure_captures(i, record) {
        let mut array = [i; 4];
        let text = alloc::string::String::from("captured");
        let (a, b) = (i, mix(i.into()));
        {
            let mut change = |k: usize| {
                array[k] += a;
                text.len() as u64 + b
            };
            record.put(change(1) ^ change(2));
        }
        record.put(array);
        let nested = |x: u32| move |y: u32| move |z: u32| x * 100 + y * 10 + z + a;
        record.put(nested(1)(2)(3));
    }

    fn function_pointers(i, record) {
        let mut x = mix(i.into()) as u32;
        for k in 0..12 {
            x = OPERATIONS[(x as usize + k) % 4](x) ^ k as u32;
            record.put(x);
        }
        let chosen: fn(u32) -> u32 = if i % 2 == 0 { double } else { |x| x + 40 };
        record.put(chosen(i));
        record.put([3, 1, 2].map(chosen));
        record.put(Some(i).map(triple));
    }

    fn function_pointers_in_structs(i, record) {
        let mut machine = Machine { step: Machine::up, state: 0 };
        for k in 0..15 {
            let step = machine.step;
            record.put(step(&mut machine, k + i % 4));
        }
    }

    fn function_pointers_compared(i, record) {
        let f: fn(u32) -> u32 = if i % 3 == 0 { double } else { triple };
        let optional: Option<fn(u32) -> u32> = (i % 2 == 0).then_some(f);
        record.put(optional.map(|f| f(i)));
        record.put(size_of::<Option<fn(u32) -> u32>>());
        let constructors: [fn(u32) -> Option<u32>; 2] = [Some, |_| None];
        record.put(constructors[i as usize % 2](i));
    }
}
