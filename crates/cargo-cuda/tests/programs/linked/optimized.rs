//! Linked with link-time optimization: counts the images, of this crate and of the library
//! `kernels`.

#[repr(C)]
struct Record {
    image: *const u8,
    len: usize,
}

unsafe extern "C" {
    static __start_nvvm_modules: [Record; 0];
    static __stop_nvvm_modules: [Record; 0];
}

fn main() {
    let mut values = [1, 2, 3];
    let _instance = kernels::map::args(|x: u32| x + 1, &mut values);
    let start = (&raw const __start_nvvm_modules).cast::<Record>();
    let end = (&raw const __stop_nvvm_modules).cast::<Record>();
    // SAFETY: the linker defines them as the ends of one section.
    let records = unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) };
    let with_code = records
        .iter()
        .filter(|record| record.len > 0 && !record.image.is_null());
    println!("optimized: {} images", with_code.count());
}
