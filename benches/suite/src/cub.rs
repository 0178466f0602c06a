//! CUB's algorithms for the whole device, from the library that `./x bench` builds beside the modules.

use cust::raw::CUstream;
use libloading::Library;
use std::path::Path;

/// The library.
pub struct Cub(Library);

/// What CUB computes of a benchmark's buffers.
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
    /// Loads `libcub.so` of a directory, if it is there.
    pub fn load(directory: &Path) -> Option<Cub> {
        let file = directory.join("libcub.so");
        if !file.exists() {
            return None;
        }
        // SAFETY: `./x bench` made it; loading it runs no code but the CUDA runtime's.
        match unsafe { Library::new(&file) } {
            Ok(library) => Some(Cub(library)),
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                None
            }
        }
    }

    /// Enqueues the call, or with `room` zero returns how much memory it needs.
    ///
    /// # Safety
    /// The buffers are alive until the stream is done, and `room` has as many bytes as are needed.
    pub unsafe fn call(
        &self,
        call: &Call,
        room: u64,
        mut bytes: usize,
        stream: CUstream,
    ) -> Result<usize, String> {
        let Call { from, to, len, .. } = *call;
        // SAFETY: the library's functions have this type; the rest is the caller's promise.
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
