//! CUB's device-wide algorithms, from the library that `./x bench` builds next to the modules.

use cust::raw::CUstream;
use libloading::Library;
use std::path::Path;

/// The library.
pub struct Cub(Library);

/// A computation by CUB on a benchmark's buffers.
#[derive(Clone, Copy)]
pub struct Call {
    /// The function of `benches/cuda/cub/cub.cu`.
    pub function: &'static str,
    /// The address of the input.
    pub from: u64,
    /// The address of the output.
    pub to: u64,
    /// The number of elements.
    pub len: usize,
}

type Function = unsafe extern "C" fn(u64, u64, usize, u64, *mut usize, CUstream) -> i32;

impl Cub {
    /// Loads `libcub.so` from a directory, if it exists.
    pub fn load(directory: &Path) -> Option<Cub> {
        let file = directory.join("libcub.so");
        if !file.exists() {
            return None;
        }
        // SAFETY: `./x bench` built the library; loading it runs only the CUDA runtime's code.
        match unsafe { Library::new(&file) } {
            Ok(library) => Some(Cub(library)),
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                None
            }
        }
    }

    /// Enqueues the call, or returns the required size of the temporary storage if `room` is zero.
    ///
    /// # Safety
    /// The buffers must be live until the stream has completed the call, and `room` must have the
    /// required size.
    pub unsafe fn call(
        &self,
        call: &Call,
        room: u64,
        mut bytes: usize,
        stream: CUstream,
    ) -> Result<usize, String> {
        let Call { from, to, len, .. } = *call;
        // SAFETY: the library's functions have this type; the caller guarantees the rest.
        let code = unsafe {
            let function = self.0.get::<Function>(call.function.as_bytes());
            let function = function.map_err(|error| error.to_string())?;
            function(from, to, len, room, &mut bytes, stream)
        };
        match code {
            0 => Ok(bytes),
            code => Err(format!("{}: CUDA error {code}", call.function)),
        }
    }
}
