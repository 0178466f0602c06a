//! The three ways in which this crate is compiled, and the macros that choose code among them:
//! for the device (nvptx64), for a host, and for both at once, in a single-source session
//! (`cfg(nvvm_single_source)`). There one compilation for the host has the code of both sides. The
//! backend makes device code of what kernels reach, by the tool attributes `nvvm::…`.

/// The backend reads this variable. Cargo compiles all crates that depend on this one again when it
/// changes: those that may have kernels.
#[cfg(nvvm_single_source)]
const _: Option<&str> = option_env!("NVVM_OPTIONS");

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
            if $crate::is_device() {
                if $crate::device_has!($arch) {
                    $device
                } else {
                    $older
                }
            } else {
                $host
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

/// Whether this code runs on a device with an architecture's instructions, for example
/// `device_has!("sm_90")`: the condition of an `if` whose other branch is for older devices and for the
/// host. It is known when the code is compiled, as [`is_device`] is.
///
/// ```
/// fn copies_at_once() -> bool {
///     if cuda_std::device_has!("sm_80") { false } else { true }
/// }
/// assert!(copies_at_once());
/// ```
#[cfg(nvvm_single_source)]
#[macro_export]
macro_rules! device_has {
    ($feature:literal) => {{
        #[nvvm::has_feature($feature)]
        #[inline]
        fn device_has() -> bool {
            false
        }
        device_has()
    }};
}

/// Whether this code runs on a device with an architecture's instructions, for example
/// `device_has!("sm_90")`: the condition of an `if` whose other branch is for older devices and for the
/// host. It is known when the code is compiled, as [`is_device`] is.
///
/// ```
/// fn copies_at_once() -> bool {
///     if cuda_std::device_has!("sm_80") { false } else { true }
/// }
/// assert!(copies_at_once());
/// ```
#[cfg(not(nvvm_single_source))]
#[macro_export]
macro_rules! device_has {
    ($feature:literal) => {
        cfg!(all(target_arch = "nvptx64", target_feature = $feature))
    };
}

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
    // A thread of a kernel on the CPU ends, and the launch returns an error with the name.
    #[cfg(not(target_arch = "nvptx64"))]
    crate::cpu::unsupported(name);
    panic!("`{name}` works only in a kernel, and was called on the host")
}

/// A pointer to a static in shared memory; on the CPU to the block's memory that it stands for.
macro_rules! of_block {
    ($static:ident) => {
        $crate::session::on_device!(&raw mut $static, $crate::cpu::of_static(&raw mut $static))
    };
}
pub(crate) use of_block;

/// An expression during which other threads of the block are in the same phase. On the CPU it may unwind:
/// then the thread ends.
macro_rules! guarded {
    ($expression:expr) => {
        $crate::session::on_device!($expression, $crate::cpu::guarded(|| $expression))
    };
}
pub(crate) use guarded;
