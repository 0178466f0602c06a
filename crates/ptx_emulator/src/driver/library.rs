//! Libraries, which are modules that belong to no context until they are used; and the linker,
//! which joins several modules.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use cust_raw::{
    CUdevice, CUdeviceptr, CUfunction, CUfunction_attribute, CUjit_option, CUjitInputType,
    CUkernel, CUlibrary, CUlibraryOption, CUlinkState, CUmodule, CUresult,
};

use super::module::{Logs, function_handle, image_text, load_text, name_text, names_in_order};
use super::state::{Link, Object, from_pointer, lock, state, to_pointer};
use super::{Outcome, api, put, put_optional};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Returns the name that an item declares without a definition: a symbol of another module, or
/// dynamic shared memory.
fn external<'a>(item: &ptx::Item<'a>) -> Option<&'a str> {
    let (linkage, name) = match item {
        ptx::Item::Function(one) => (one.linkage, one.name),
        ptx::Item::Variable(one) => (one.linkage, one.name),
        _ => return None,
    };
    (linkage == ptx::Linkage::Extern).then_some(name)
}

/// Joins several modules: the header of the first, all definitions, and one declaration of each
/// symbol without a definition.
fn join(texts: &[String]) -> Result<String, CUresult> {
    let [first, others @ ..] = texts else {
        return Err(INVALID);
    };
    if others.is_empty() {
        return Ok(first.clone());
    }
    let parse = |text| ptx::Module::parse(text).map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX);
    let mut modules = texts.iter().map(|text| parse(text.as_str()));
    let mut joined = modules.next().ok_or(INVALID)??;
    for module in modules {
        joined.items.extend(module?.items);
    }
    let defined: HashSet<&str> = (joined.items.iter())
        .filter(|item| external(item).is_none())
        .filter_map(|item| match item {
            ptx::Item::Function(one) => Some(one.name),
            ptx::Item::Variable(one) => Some(one.name),
            _ => None,
        })
        .collect();
    let mut declared = HashSet::new();
    (joined.items).retain(|item| match external(item) {
        Some(name) => !defined.contains(name) && declared.insert(name),
        None => true,
    });
    Ok(joined.to_string())
}

fn add_input(link: CUlinkState, kind: CUjitInputType, bytes: &[u8]) -> Outcome {
    let link = state()?.link(from_pointer(link))?;
    if kind != CUjitInputType::CU_JIT_INPUT_PTX {
        return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX)?;
    lock(&link.texts).push(text.to_owned());
    Ok(())
}

api! {
    fn cuLinkCreate_v2(
        _count: c_uint,
        _options: *mut CUjit_option,
        _values: *mut *mut c_void,
        link: *mut CUlinkState,
    ) {
        let state = state()?;
        let context = state.usable()?;
        let handle = state.add(Object::Link(Arc::new(Link {
            context: context.handle,
            texts: Mutex::default(),
            output: Mutex::default(),
        })));
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(link, to_pointer(handle)) }
    }

    fn cuLinkAddData_v2(
        link: CUlinkState,
        kind: CUjitInputType,
        data: *mut c_void,
        size: usize,
        _name: *const c_char,
        _count: c_uint,
        _options: *mut CUjit_option,
        _values: *mut *mut c_void,
    ) {
        if data.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's memory has `size` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        add_input(link, kind, bytes)
    }

    fn cuLinkAddFile_v2(
        link: CUlinkState,
        kind: CUjitInputType,
        path: *const c_char,
        _count: c_uint,
        _options: *mut CUjit_option,
        _values: *mut *mut c_void,
    ) {
        // SAFETY: as above.
        let path = unsafe { name_text(path)? };
        let bytes = std::fs::read(path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        add_input(link, kind, &bytes)
    }

    fn cuLinkComplete(link: CUlinkState, image: *mut *mut c_void, size: *mut usize) {
        let link = state()?.link(from_pointer(link))?;
        let text = CString::new(join(&lock(&link.texts))?).map_err(|_| INVALID)?;
        let len = text.as_bytes_with_nul().len();
        let mut output = lock(&link.output);
        // The output lives as long as the link state.
        let output = output.insert(text);
        // SAFETY: as above.
        unsafe {
            put(image, output.as_ptr().cast_mut().cast())?;
            put_optional(size, len);
        }
        Ok(())
    }

    fn cuLinkDestroy(link: CUlinkState) {
        let state = state()?;
        let handle = from_pointer(link);
        state.link(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuLibraryLoadData(
        library: *mut CUlibrary,
        code: *const c_void,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        // SAFETY: as above.
        let (text, logs) = unsafe {
            (image_text(code)?, Logs::from_options(count, options, values))
        };
        // There is only one device: its context is the library's.
        let handle = load_text(text, &logs)?;
        // SAFETY: as above.
        unsafe { put(library, to_pointer(handle)) }
    }

    fn cuLibraryLoadFromFile(
        library: *mut CUlibrary,
        path: *const c_char,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        // SAFETY: as above.
        let (path, logs) = unsafe {
            (name_text(path)?, Logs::from_options(count, options, values))
        };
        let bytes = std::fs::read(path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        let text = CString::new(bytes).map_err(|_| CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)?;
        // SAFETY: a C string.
        let text = unsafe { image_text(text.as_ptr().cast())? };
        let handle = load_text(text, &logs)?;
        // SAFETY: as above.
        unsafe { put(library, to_pointer(handle)) }
    }

    fn cuLibraryUnload(library: CUlibrary) {
        state()?.remove_module(from_pointer(library))
    }

    fn cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary) {
        let handle = from_pointer(library);
        state()?.module(handle)?;
        // SAFETY: as above.
        unsafe { put(module, to_pointer(handle)) }
    }

    fn cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char) {
        let state = state()?;
        let handle = from_pointer(library);
        let module = state.module(handle)?;
        // SAFETY: as above.
        unsafe {
            let name = name_text(name)?;
            put(kernel, to_pointer(function_handle(state, handle, &module, name)?))
        }
    }

    fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) {
        let module = state()?.module(from_pointer(library))?;
        // SAFETY: as above.
        unsafe { put(count, module.program.kernel_names().count() as c_uint) }
    }

    fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary) {
        let state = state()?;
        let handle = from_pointer(library);
        let module = state.module(handle)?;
        if kernels.is_null() && count > 0 {
            return Err(INVALID);
        }
        let names = names_in_order(&module.program).into_iter().take(count as usize);
        for (i, name) in names.enumerate() {
            let kernel = function_handle(state, handle, &module, name)?;
            // SAFETY: the caller's list has `count` entries.
            unsafe { kernels.add(i).write(to_pointer(kernel)) };
        }
        Ok(())
    }

    fn cuLibraryGetGlobal(
        address: *mut CUdeviceptr,
        size: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        let module = state()?.module(from_pointer(library))?;
        // SAFETY: as above.
        unsafe {
            let found = module.program.global(name_text(name)?);
            let (found, bytes) = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            put_optional(address, found);
            put_optional(size, bytes);
        }
        Ok(())
    }

    fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) {
        // With only one device, a kernel is its function.
        let handle = from_pointer(kernel);
        state()?.function(handle)?;
        // SAFETY: as above.
        unsafe { put(function, to_pointer(handle)) }
    }

    fn cuKernelGetLibrary(library: *mut CUlibrary, kernel: CUkernel) {
        let function = state()?.function(from_pointer(kernel))?;
        // SAFETY: as above.
        unsafe { put(library, to_pointer(function.module)) }
    }

    fn cuKernelGetName(name: *mut *const c_char, kernel: CUkernel) {
        let function = state()?.function(from_pointer(kernel))?;
        let text: &CStr = &function.name;
        // The name lives as long as the library. SAFETY: as above.
        unsafe { put(name, text.as_ptr()) }
    }

    fn cuKernelGetAttribute(
        value: *mut c_int,
        which: CUfunction_attribute,
        kernel: CUkernel,
        _device: CUdevice,
    ) {
        let function = state()?.function(from_pointer(kernel))?;
        let found = function.attribute(which).ok_or(INVALID)?;
        // SAFETY: as above.
        unsafe { put(value, found) }
    }

    fn cuKernelGetParamInfo(
        kernel: CUkernel,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) {
        let function = state()?.function(from_pointer(kernel))?;
        let info = function.program.kernel_info(function.kernel);
        let parameter = info.params.get(index).ok_or(INVALID)?;
        // SAFETY: as above.
        unsafe {
            put(offset, parameter.offset)?;
            put_optional(size, parameter.size);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller and its callee, as the writer of `ptx` prints them: the parameters and the
    /// semicolon of a declaration are on separate lines.
    #[test]
    fn a_definition_replaces_a_declaration_of_several_lines() {
        let of = |items: &str| {
            let text = format!(".version 7.0\n.target sm_70\n.address_size 64\n{items}");
            ptx::Module::parse(&text).unwrap().to_string()
        };
        let caller = of(".extern .func (.param .b32 r) twice(.param .b32 a);\n\
             .extern .func (.param .b32 r) missing(.param .b32 a);\n\
             .extern .shared .align 4 .b8 room[];\n.visible .entry k() { ret; }");
        assert!(caller.contains("twice(\n"), "{caller}");
        let callee = of(".extern .func (.param .b32 r) missing(.param .b32 a);\n\
             .extern .shared .align 4 .b8 room[];\n\
             .visible .func (.param .b32 r) twice(.param .b32 a) { ret; }");
        let joined = join(&[caller, callee]).unwrap();
        let count = |text: &str| joined.matches(text).count();
        assert_eq!(count(".version"), 1, "{joined}");
        assert_eq!(count("twice"), 1, "{joined}");
        assert_eq!(count("missing"), 1, "{joined}");
        assert_eq!(count("room"), 1, "{joined}");
        assert_eq!(count(".entry k"), 1, "{joined}");
        ptx::Module::parse(&joined).unwrap();
    }

    #[test]
    fn a_module_that_cannot_be_read_is_an_error() {
        let texts = [
            ".version 7.0\n.target sm_70\n".to_owned(),
            "nonsense".to_owned(),
        ];
        assert_eq!(join(&texts), Err(CUresult::CUDA_ERROR_INVALID_PTX));
    }
}
