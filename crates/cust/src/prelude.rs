//! The items that most programs use: `use cust::prelude::*;`.

pub use crate::backend::Backend;
pub use crate::context::{Context, ContextFlags, CurrentContext, ResourceLimit};
pub use crate::device::{Device, DeviceAttribute};
pub use crate::error::{CudaError, CudaResult};
pub use crate::event::{Event, EventFlags, EventStatus};
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
pub use crate::util::{DeviceCopyExt, SliceExt};
pub use crate::{CudaFlags, init_auto, quick_init};
