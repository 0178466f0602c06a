//! Pointers: arithmetic, casts, volatile and unaligned access, comparison, slices from parts.

use crate::{cases, mix};
use core::ptr::{self, NonNull};

cases! {
    fn pointer_arithmetic(i, record) {
        let array: [u32; 10] = core::array::from_fn(|k| k as u32 * i);
        let start = array.as_ptr();
        unsafe {
            let fifth = start.add(5);
            record.put((*fifth, *fifth.sub(2), *fifth.offset(-1), fifth.offset_from(start)));
            record.put(fifth.byte_add(4).read());
            let slice = core::slice::from_raw_parts(start.add(2), 4);
            record.put(slice);
        }
        record.put((start < start.wrapping_add(1), start == array.as_ptr(), start.is_null()));
    }

    fn pointer_writes(i, record) {
        let mut array = [0u64; 6];
        let start = array.as_mut_ptr();
        unsafe {
            start.write(1);
            start.add(1).write_volatile(mix(i.into()));
            ptr::copy_nonoverlapping(start, start.add(3), 2);
            ptr::copy(start, start.add(1), 4);
            ptr::write_bytes(start.add(5), 0xab, 1);
            ptr::swap(start, start.add(5));
            record.put((start.read(), start.add(2).read_volatile()));
        }
        record.put(array);
    }

    fn pointer_unaligned(i, record) {
        let bytes: [u8; 24] = core::array::from_fn(|k| (mix(u64::from(i)) >> (k % 8)) as u8);
        unsafe {
            let at = bytes.as_ptr().add(i as usize % 7 + 1);
            record.put(at.cast::<u64>().read_unaligned());
            record.put(at.cast::<u128>().read_unaligned());
            record.put(at.cast::<[u16; 3]>().read_unaligned());
            record.put(at.cast::<f32>().read_unaligned());
        }
        let mut copy = bytes;
        unsafe { copy.as_mut_ptr().add(3).cast::<u64>().write_unaligned(0x0102_0304_0506_0708) };
        record.put(copy);
    }

    fn pointer_to_fields(i, record) {
        let mut pair = (i, [1u8, 2, 3], 4u64);
        let p = &raw mut pair;
        unsafe {
            (*p).1[1] = 9;
            let field = &raw mut (*p).2;
            *field += u64::from((*p).0);
            let reference = &mut *p;
            reference.0 += 1;
        }
        record.put((pair.0, pair.1, pair.2));
        let mut a = [i, 2];
        let [x, y] = &mut a;
        core::mem::swap(x, y);
        record.put(a);
    }

    fn pointer_linked(i, record) {
        struct Node {
            value: u32,
            next: Option<NonNull<Node>>,
        }
        let mut nodes: [Node; 5] = core::array::from_fn(|k| Node { value: k as u32 + i, next: None });
        for k in 0..4 {
            nodes[k].next = Some(NonNull::from(&nodes[(k * 3 + 1) % 5]));
        }
        let mut at = Some(NonNull::from(&nodes[0]));
        let mut steps = 0;
        while let Some(node) = at && steps < 10 {
            let node = unsafe { node.as_ref() };
            record.put(node.value);
            at = node.next;
            steps += 1;
        }
    }

    fn pointer_wide(i, record) {
        let array = [1u16, 2, i as u16];
        let slice: *const [u16] = &array[..2];
        record.put((slice.len(), unsafe { (&*slice)[1] }));
        let built = ptr::slice_from_raw_parts(array.as_ptr(), 3);
        record.put(unsafe { (*built)[2] });
        let text: *const str = "wide";
        record.put(unsafe { &*text });
        let object: *const dyn Fn(u32) -> u32 = &|x| x + 3;
        record.put(unsafe { (*object)(i) });
        record.put(ptr::eq(slice, &raw const array[..2]));
    }

    fn pointer_integers(i, record) {
        let x = [i, 5];
        let address = x.as_ptr().expose_provenance();
        let again = ptr::with_exposed_provenance::<u32>(address + 4);
        record.put((unsafe { *again }, address % 4));
        let null: *const u64 = ptr::null();
        record.put((null.is_null(), unsafe { null.as_ref() }.is_none()));
        record.put(NonNull::<u64>::dangling().addr().get());
        let tagged = x.as_ptr().map_addr(|a| a | 1);
        record.put((tagged.addr() & 1, unsafe { *tagged.map_addr(|a| a & !1) }));
    }
}
