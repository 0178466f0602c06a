//! The items that most programs use.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let buffer = [1u32, 2, 3].as_dbuf()?;
//! stream.synchronize()?;
//! assert_eq!(buffer.as_host_vec()?, [1, 2, 3]);
//! # Ok::<(), cust::error::Error>(())
//! ```

pub use crate::backend::Backend;
pub use crate::context::{Context, ContextFlags, CurrentContext, ResourceLimit};
pub use crate::device::{Device, DeviceAttribute};
pub use crate::error::{CudaError, CudaResult};
pub use crate::event::{Event, EventFlags, EventStatus};
pub use crate::ext::{DeviceCopyExt, SliceExt};
pub use crate::function::{BlockSize, Function, FunctionAttribute, GridSize};
pub use crate::graph::{GraphBuffer, GraphBuilder, GraphExec};
pub use crate::kernel::{Kernel, LaunchConfig};
pub use crate::launch;
pub use crate::launch_cpu;
pub use crate::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, DeviceCopy, DevicePointer,
    DeviceSlice, DeviceSliceMut, LockedBuffer, UnifiedBox, UnifiedBuffer,
};
pub use crate::module::{Embedded, Module, ModuleJitOption};
pub use crate::stream::{Stream, StreamFlags, StreamWaitEventFlags};
pub use crate::{CudaFlags, init_auto, quick_init};
