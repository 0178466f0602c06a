//! Interior mutability and uninitialized memory: `Cell`, `RefCell`, `OnceCell`, `MaybeUninit`,
//! and atomics of all widths.

use crate::{cases, mix};
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use core::mem::MaybeUninit;
use cuda_std::atomic::*;

struct Account {
    balance: Cell<i64>,
    history: RefCell<Vec<i64>>,
}

impl Account {
    fn pay(&self, amount: i64) {
        self.balance.set(self.balance.get() + amount);
        self.history.borrow_mut().push(amount);
    }
}

macro_rules! atomic_operations {
    ($ty:ty, $int:ty, $i:expr, $record:expr) => {{
        let start = mix($i.into()) as $int;
        let x = <$ty>::new(start);
        let by = mix(u64::from($i) + 1) as $int;
        $record.put(x.fetch_add(by, Ordering::Relaxed));
        $record.put(x.fetch_sub(3, Ordering::SeqCst));
        $record.put(x.fetch_and(by | 0x3c, Ordering::AcqRel));
        $record.put(x.fetch_or(0x11, Ordering::Acquire));
        $record.put(x.fetch_xor(by, Ordering::Release));
        $record.put(x.fetch_nand(by, Ordering::Relaxed));
        $record.put(x.fetch_max(by, Ordering::SeqCst));
        $record.put(x.fetch_min(77, Ordering::SeqCst));
        $record.put(x.swap(by, Ordering::AcqRel));
        $record.put(x.compare_exchange(by, 5, Ordering::SeqCst, Ordering::Relaxed));
        $record.put(x.compare_exchange(by ^ 1, 6, Ordering::AcqRel, Ordering::Acquire));
        x.store(9, Ordering::Release);
        $record.put(x.load(Ordering::Acquire));
        $record.put(x.try_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_mul(2)));
        let mut x = x;
        *x.get_mut() += 1;
        $record.put(x.into_inner());
    }};
}

cases! {
    fn cell_values(i, record) {
        let account = Account { balance: Cell::new(i.into()), history: Default::default() };
        for k in 0..5 {
            account.pay(k * 10 - 15);
        }
        record.put(account.balance.get());
        record.put(&account.history.borrow()[..]);
        record.put(account.balance.replace(4));
        let cells = [Cell::new(1), Cell::new(i)];
        cells[0].swap(&cells[1]);
        record.put((cells[0].take(), cells[1].get()));
    }

    fn cell_borrows(i, record) {
        let cell = RefCell::new(alloc::vec![i]);
        {
            let a = cell.borrow();
            let b = cell.borrow();
            record.put((a.len() + b.len(), cell.try_borrow_mut().is_err()));
        }
        {
            let mut writer = cell.borrow_mut();
            writer.push(3);
            record.put(cell.try_borrow().is_err());
        }
        record.put(cell.replace(alloc::vec![]).len());
        let once = OnceCell::new();
        record.put(*once.get_or_init(|| i * 2));
        record.put((once.set(1).is_err(), once.get().copied()));
        let unsafe_cell = UnsafeCell::new(i);
        unsafe { *unsafe_cell.get() += 1 };
        record.put(unsafe_cell.into_inner());
    }

    fn uninitialized(i, record) {
        let mut array: [MaybeUninit<u32>; 8] = [const { MaybeUninit::uninit() }; 8];
        for (k, slot) in array.iter_mut().enumerate() {
            slot.write(k as u32 * i);
        }
        let array = unsafe { core::mem::transmute::<_, [u32; 8]>(array) };
        record.put(array);
        let mut pair = MaybeUninit::<(u8, u64)>::uninit();
        unsafe {
            (&raw mut (*pair.as_mut_ptr()).0).write(7);
            (&raw mut (*pair.as_mut_ptr()).1).write(i.into());
            record.put(pair.assume_init());
        }
        record.put(unsafe { MaybeUninit::<[u16; 5]>::zeroed().assume_init() });
    }

    fn atomic_u8(i, record) {
        atomic_operations!(AtomicU8, u8, i, record);
    }

    fn atomic_i8(i, record) {
        atomic_operations!(AtomicI8, i8, i, record);
    }

    fn atomic_u16(i, record) {
        atomic_operations!(AtomicU16, u16, i, record);
    }

    fn atomic_i16(i, record) {
        atomic_operations!(AtomicI16, i16, i, record);
    }

    fn atomic_u32(i, record) {
        atomic_operations!(AtomicU32, u32, i, record);
    }

    fn atomic_i32(i, record) {
        atomic_operations!(AtomicI32, i32, i, record);
    }

    fn atomic_u64(i, record) {
        atomic_operations!(AtomicU64, u64, i, record);
    }

    fn atomic_i64(i, record) {
        atomic_operations!(AtomicI64, i64, i, record);
    }

    fn atomic_usize(i, record) {
        atomic_operations!(AtomicUsize, usize, i, record);
    }

    fn atomic_bool_and_pointer(i, record) {
        let flag = AtomicBool::new(i % 2 == 0);
        record.put((flag.fetch_or(true, Ordering::AcqRel), flag.fetch_not(Ordering::SeqCst)));
        record.put((flag.swap(i % 3 == 0, Ordering::Relaxed), flag.load(Ordering::SeqCst)));
        record.put(flag.compare_exchange(true, false, Ordering::SeqCst, Ordering::Relaxed));
        let (mut a, mut b) = (i, 7);
        let pointer = AtomicPtr::new(&raw mut a);
        let old = pointer.swap(&raw mut b, Ordering::AcqRel);
        record.put(unsafe { (*old, *pointer.load(Ordering::Acquire)) });
        fence(Ordering::SeqCst);
        fence(Ordering::AcqRel);
        compiler_fence(Ordering::SeqCst);
    }
}
