//! The three ways in which this crate is compiled, and the macros that choose code among them:
//! for the device (nvptx64), for a host, and for both at once, in a single-source session
//! (`cfg(nvvm_single_source)`). There one compilation for the host has the code of both sides. The
//! backend makes device code of what kernels reach, by the tool attributes `nvvm::…`.

/// Returns whether this code runs on the device.
///
/// The answer is known when the code is compiled: the other branch costs nothing, and on the device
/// it may call what only a host has.
///
/// ```
/// fn root(x: f64) -> f64 {
///     if cuda_std::is_device() {
///         cuda_std::GpuFloat::sqrt(x)
///     } else {
///         x.sqrt()
///     }
/// }
/// assert_eq!(root(4.0), 2.0);
/// ```
///
/// It is no `const fn`: a constant has one value for both sides.
#[cfg_attr(nvvm_single_source, nvvm::is_device, rustc_no_mir_inline)]
#[inline(always)]
#[must_use]
pub fn is_device() -> bool {
    cfg!(target_arch = "nvptx64")
}

/// One of two expressions, the device's or the host's. Only a single-source session compiles both.
macro_rules! on_device {
    ($device:expr, $host:expr $(,)?) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            $device
        }
        #[cfg(all(not(target_arch = "nvptx64"), not(nvvm_single_source)))]
        {
            $host
        }
        #[cfg(nvvm_single_source)]
        {
            if $crate::is_device() { $device } else { $host }
        }
    }};
}
pub(crate) use on_device;

/// One of three expressions: for devices that have an architecture's instructions, for older devices,
/// and for the host.
macro_rules! on_arch {
    ($arch:literal, $device:expr, $older:expr, $host:expr $(,)?) => {{
        #[cfg(all(target_arch = "nvptx64", target_feature = $arch))]
        {
            $device
        }
        #[cfg(all(target_arch = "nvptx64", not(target_feature = $arch)))]
        {
            $older
        }
        #[cfg(all(not(target_arch = "nvptx64"), not(nvvm_single_source)))]
        {
            $host
        }
        #[cfg(nvvm_single_source)]
        {
            if !$crate::is_device() {
                $host
            } else if $crate::session::device_has!($arch) {
                $device
            } else {
                $older
            }
        }
    }};
}
pub(crate) use on_arch;

/// One of two expressions: for devices that have an architecture's instructions and for the host, or
/// for older devices.
macro_rules! on_newer {
    ($arch:literal, $device:expr, $older:expr $(,)?) => {
        $crate::session::on_arch!($arch, $device, $older, $device)
    };
}
pub(crate) use on_newer;

/// Whether the device has an architecture's instructions. A backend that does not know of the
/// attribute leaves it at `false`, with which the code runs on all devices.
#[cfg(nvvm_single_source)]
macro_rules! device_has {
    ("sm_75") => {
        // The oldest that there is.
        true
    };
    ($arch:literal) => {{
        #[nvvm::has_feature($arch)]
        #[rustc_no_mir_inline]
        #[inline]
        fn device_has() -> bool {
            false
        }
        device_has()
    }};
}
#[cfg(nvvm_single_source)]
pub(crate) use device_has;

/// An item with attributes for the backend, in a single-source session alone. Expansions in other
/// crates cannot say `cfg(nvvm_single_source)`, which rustc would warn of there.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[macro_export]
macro_rules! with_tool_attributes {
    ([$($attributes:tt)*] $($item:tt)*) => { $($attributes)* $($item)* };
}

/// An item with attributes for the backend, in a single-source session alone.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_tool_attributes {
    ([$($attributes:tt)*] $($item:tt)*) => { $($item)* };
}

/// Items that only device code has: on nvptx64, and in a single-source session.
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! device_items {
    ($($item:tt)*) => { $($item)* };
}

/// Items that only device code has: not on a plain host.
#[cfg(not(any(target_arch = "nvptx64", nvvm_single_source)))]
#[doc(hidden)]
#[macro_export]
macro_rules! device_items {
    ($($item:tt)*) => {};
}

/// The end of every function that only a GPU has, when the host calls it.
#[doc(hidden)]
#[cold]
#[inline(never)]
#[track_caller]
pub fn only_on_device(name: &str) -> ! {
    panic!("`{name}` works only in a kernel, and was called on the host")
}
