//! Selection between device and host code.
//!
//! This crate is compiled in one of three ways: for the device (nvptx64), for a host, or for both
//! at once, in a single-source session (`cfg(nvvm_single_source)`). A single-source session
//! compiles the code of both sides in one compilation for the host; the backend compiles the code
//! that kernels reach for the device, controlled by the tool attributes `nvvm::…`.

/// Rebuild when this variable, which the backend reads, changes. Cargo then also rebuilds all
/// crates that depend on this one: those that may contain kernels.
#[cfg(nvvm_single_source)]
const _: Option<&str> = option_env!("NVVM_OPTIONS");

/// Returns whether this code runs on the device.
///
/// The result is known at compile time, so the branch costs nothing. Device code may call host-only
/// functions in the branch that is not taken.
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
/// It is not a `const fn`, because a constant has one value for both sides.
#[cfg_attr(nvvm_single_source, nvvm::is_device, rustc_no_mir_inline)]
#[inline(always)]
#[must_use]
pub fn is_device() -> bool {
    cfg!(target_arch = "nvptx64")
}

/// Evaluates the device's or the host's expression. Only a single-source session compiles both.
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

/// Evaluates one of three expressions: for devices with the instructions of `$arch`, for older
/// devices, and for the host.
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

/// Evaluates one of two expressions: the first on devices with the instructions of `$arch` and on
/// the host, the second on older devices.
macro_rules! on_newer {
    ($arch:literal, $device:expr, $older:expr $(,)?) => {
        $crate::session::on_arch!($arch, $device, $older, $device)
    };
}
pub(crate) use on_newer;

/// Evaluates to whether this code runs on a device with the instructions of an architecture, for
/// example `device_has!("sm_90")`. It is `false` on older devices and on the host. Like
/// [`is_device`], the result is known at compile time.
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
        $crate::with_tool_attributes! {
            [#[nvvm::has_feature($feature)]]
            #[inline]
            fn device_has() -> bool {
                false
            }
        }
        device_has()
    }};
}

/// Evaluates to whether this code runs on a device with the instructions of an architecture, for
/// example `device_has!("sm_90")`. It is `false` on older devices and on the host. Like
/// [`is_device`], the result is known at compile time.
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

/// Adds attributes for the backend to an item, only in a single-source session. Expansions in other
/// crates cannot use `cfg(nvvm_tool)`: rustc would warn about an unexpected `cfg` there.
///
/// rust-analyzer does not see `nvvm_tool`, because it does not know that the tool is registered.
#[cfg(nvvm_tool)]
#[doc(hidden)]
#[macro_export]
macro_rules! with_tool_attributes {
    ([$($attributes:tt)*] $($item:tt)*) => { $($attributes)* $($item)* };
}

/// Drops the attributes for the backend: the tool `nvvm` is not registered.
#[cfg(not(nvvm_tool))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_tool_attributes {
    ([$($attributes:tt)*] $($item:tt)*) => { $($item)* };
}

/// Expands to items that only device code has: for nvptx64, and in a single-source session.
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! device_items {
    ($($item:tt)*) => { $($item)* };
}

/// Expands to nothing: this is a plain host compilation.
#[cfg(not(any(target_arch = "nvptx64", nvvm_single_source)))]
#[doc(hidden)]
#[macro_export]
macro_rules! device_items {
    ($($item:tt)*) => {};
}

/// Called by every device-only function when it runs on the host.
#[doc(hidden)]
#[cold]
#[inline(never)]
#[track_caller]
pub fn only_on_device(name: &str) -> ! {
    // In a kernel that runs on the CPU, the thread exits, and the launch returns an error with
    // `name`.
    #[cfg(not(target_arch = "nvptx64"))]
    crate::cpu::unsupported(name);
    panic!("`{name}` works only in a kernel, and was called on the host")
}

/// Returns a pointer to a static in shared memory. On the CPU, this is the block's memory that
/// corresponds to the static.
macro_rules! of_block {
    ($static:ident) => {
        $crate::session::on_device!(&raw mut $static, $crate::cpu::of_static(&raw mut $static))
    };
}
pub(crate) use of_block;

/// Evaluates an expression while other threads of the block may be in the same phase. If it unwinds
/// on the CPU, the thread exits.
macro_rules! guarded {
    ($expression:expr) => {
        $crate::session::on_device!($expression, $crate::cpu::guarded(|| $expression))
    };
}
pub(crate) use guarded;
