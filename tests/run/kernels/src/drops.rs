//! Drop: its order, temporaries, moves out, replaced values, unwinding-free early exits.

use crate::cases;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem::ManuallyDrop;

type Log = Rc<RefCell<Vec<u32>>>;

struct Noisy(u32, Log);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
    }
}

struct Pair {
    first: Noisy,
    second: Noisy,
}

enum Either {
    One(Noisy),
    Two(Noisy, Noisy),
}

trait Owner {
    fn number(&self) -> u32;
}

impl Owner for Noisy {
    fn number(&self) -> u32 {
        self.0
    }
}

/// Runs code with a log and records what was dropped, in order.
fn logged(record: &mut crate::Record, f: impl FnOnce(&dyn Fn(u32) -> Noisy, &Log)) {
    let log: Log = Default::default();
    let noisy = |n| Noisy(n, Rc::clone(&log));
    f(&noisy, &log);
    record.put(&log.borrow()[..]);
    record.put(Rc::strong_count(&log));
}

cases! {
    fn drop_order(i, record) {
        logged(record, |noisy, _| {
            let _a = noisy(i);
            let _b = noisy(i + 1);
            let _ = noisy(i + 2);
            {
                let _c = noisy(i + 3);
            }
            let pair = Pair { second: noisy(i + 4), first: noisy(i + 5) };
            let Pair { first, .. } = pair;
            drop(first);
            noisy(i + 6).number();
        });
    }

    fn drop_moves(i, record) {
        logged(record, |noisy, log| {
            let a = noisy(1);
            let b = if i % 2 == 0 { a } else { noisy(2) };
            log.borrow_mut().push(100);
            let c;
            if i % 3 == 0 {
                c = noisy(3);
                log.borrow_mut().push(c.0 + 100);
            }
            drop(b);
            let moved = move || log.borrow_mut().push(200);
            moved();
        });
    }

    fn drop_collections(i, record) {
        logged(record, |noisy, log| {
            let mut v: Vec<Noisy> = (0..6).map(noisy).collect();
            v.remove(2);
            v.truncate(4);
            log.borrow_mut().push(50);
            v[0] = noisy(10);
            let rest = v.split_off(2);
            drop(v);
            log.borrow_mut().push(51);
            for (k, x) in rest.into_iter().enumerate() {
                if k as u32 == i % 2 {
                    break;
                }
                log.borrow_mut().push(x.0 + 60);
            }
            let _array = [noisy(20), noisy(21)];
            let mut slot = Some(noisy(30));
            slot = None;
            log.borrow_mut().push(52);
            slot.replace(noisy(31));
        });
    }

    fn drop_enums(i, record) {
        logged(record, |noisy, _| {
            let either = if i % 2 == 0 {
                Either::One(noisy(1))
            } else {
                Either::Two(noisy(2), noisy(3))
            };
            match either {
                Either::One(x) if i % 4 == 0 => drop(x),
                Either::Two(_, y) => drop(y),
                Either::One(_) => {}
            }
            let result: Result<Noisy, Noisy> = if i % 3 == 0 { Ok(noisy(4)) } else { Err(noisy(5)) };
            let _ = result.map(|x| x.0);
        });
    }

    fn drop_trait_objects(i, record) {
        logged(record, |noisy, log| {
            let mut owners: Vec<Box<dyn Owner>> = Vec::new();
            owners.push(Box::new(noisy(i)));
            owners.push(Box::new(noisy(i + 1)));
            log.borrow_mut().push(owners.iter().map(|o| o.number()).sum());
            let shared: Rc<dyn Owner> = Rc::new(noisy(i + 2));
            let again = Rc::clone(&shared);
            drop(shared);
            log.borrow_mut().push(again.number() + 1000);
        });
    }

    fn drop_early_exit(i, record) {
        fn steps(n: u32, noisy: &dyn Fn(u32) -> Noisy) -> Option<u32> {
            let _guard = noisy(n);
            let half = n.checked_sub(10)?;
            let _second = noisy(n + 100);
            for k in 0..3 {
                let _inner = noisy(k);
                if half > 20 && k == 1 {
                    return Some(k);
                }
            }
            Some(half)
        }
        logged(record, |noisy, log| {
            let result = steps(i, noisy);
            log.borrow_mut().push(result.unwrap_or(999));
        });
    }

    fn drop_prevented(i, record) {
        logged(record, |noisy, log| {
            let kept = ManuallyDrop::new(noisy(i));
            core::mem::forget(noisy(i + 1));
            let mut taken = ManuallyDrop::new(noisy(i + 2));
            unsafe { ManuallyDrop::drop(&mut taken) };
            // Give back what the two hold, so that the count at the end is one.
            unsafe {
                let log_of_kept = core::ptr::read(&kept.1);
                drop(log_of_kept);
                Rc::decrement_strong_count(Rc::as_ptr(log));
            }
        });
    }
}
