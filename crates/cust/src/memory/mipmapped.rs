//! Mipmapped arrays: an array with mip levels, each half the size of the previous one, for
//! textures.

use std::sync::Arc;

use cust_raw::CUmipmappedArray;

use super::pitched::{Array, ArrayElement, ArrayFlags, ArrayMut, Extent, array_description};
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// A mipmapped array, whose mip levels are [`Array`]s.
///
/// # Examples
///
/// ```
/// use cust::memory::{ArrayFlags, MipmappedArray};
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut array = MipmappedArray::<f32>::new((4, 2), 3, ArrayFlags::empty())?;
/// array.level_mut(1).unwrap().copy_from(&[1.0, 2.0])?; // 2 by 1
/// assert_eq!(array.level(1).unwrap().as_host_vec()?, [1.0, 2.0]);
/// assert!(array.level(3).is_none());
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct MipmappedArray<T> {
    levels: Vec<Arc<Array<T>>>,
    raw: Arc<Raw>,
}

struct Raw {
    handle: CUmipmappedArray,
    context: Context,
    /// The owner of the memory, if the array does not own it.
    _memory: Option<Arc<dyn Send + Sync>>,
}

// SAFETY: the driver's arrays may be used from any thread.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl<T: ArrayElement> MipmappedArray<T> {
    /// Allocates an array with `levels` mip levels, of which the first has the given extent. The
    /// initial contents are unspecified, but valid: all bit patterns are elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Extent`] for an extent that contradicts itself, and for zero levels or more
    /// levels than halvings down to one element; and the driver's error if the device does not
    /// support the extent or the flags.
    pub fn new(extent: impl Into<Extent>, levels: u32, flags: ArrayFlags) -> CudaResult<Self> {
        let (context, extent) = (Context::current("creating an array")?, extent.into());
        let doing = || format!("creating an array of {extent:?} with {levels} levels");
        let api = context.bind()?;
        let descriptor = array_description::<T>(extent, flags)?;
        check_levels(extent, levels)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuMipmappedArrayCreate(&mut handle, &descriptor, levels)
        };
        api.check(result, doing)?;
        let raw = Raw {
            handle,
            context,
            _memory: None,
        };
        Self::of(raw, extent, levels, flags)
    }

    /// Wraps a mipmapped array in memory that `memory` owns.
    #[cfg(unix)]
    pub(crate) fn of_raw(
        context: Context,
        handle: CUmipmappedArray,
        extent: Extent,
        levels: u32,
        flags: ArrayFlags,
        memory: Arc<dyn Send + Sync>,
    ) -> CudaResult<Self> {
        let raw = Raw {
            handle,
            context,
            _memory: Some(memory),
        };
        Self::of(raw, extent, levels, flags)
    }

    fn of(raw: Raw, extent: Extent, levels: u32, flags: ArrayFlags) -> CudaResult<Self> {
        let raw = Arc::new(raw);
        let api = raw.context.bind()?;
        let mut made = Vec::new();
        for level in 0..levels {
            let mut array = std::ptr::null_mut();
            // SAFETY: the array is alive, and the pointer is valid for the call.
            let result = unsafe {
                api.driver
                    .cuMipmappedArrayGetLevel(&mut array, raw.handle, level)
            };
            api.check(result, || format!("looking up level {level} of an array"))?;
            let half = |size: usize| (size >> level).max(1);
            // All mip levels have all layers, and all faces of a cube.
            let layers = flags.intersects(ArrayFlags::LAYERED | ArrayFlags::CUBEMAP);
            let extent = Extent {
                width: half(extent.width),
                height: half(extent.height),
                depth: if layers {
                    extent.depth
                } else {
                    half(extent.depth)
                },
                ..extent
            };
            let level = Array::of_level(raw.context.clone(), array, extent, raw.clone());
            made.push(Arc::new(level));
        }
        Ok(MipmappedArray { levels: made, raw })
    }

    /// Returns the number of mip levels.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns a mip level as an array, from which textures and surfaces can be created. Level 0 is
    /// the largest.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::{ArrayFlags, MipmappedArray};
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut array = MipmappedArray::<f32>::new((4, 4), 2, ArrayFlags::empty())?;
    /// array.level_mut(1).expect("nothing else uses it").copy_from(&[1.0; 4])?;
    /// assert_eq!(array.level(1).expect("there are 2 levels").as_host_vec()?, [1.0; 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn level(&self, level: usize) -> Option<&Arc<Array<T>>> {
        self.levels.get(level)
    }

    /// Borrows a mip level mutably. Returns `None` if another reference to the level exists, such
    /// as that of a texture.
    ///
    /// The borrow gives access to the elements, but cannot replace the level with another array: a
    /// texture of the mipmapped array depends on the work that uses its own levels.
    ///
    /// ```compile_fail,E0596
    /// use cust::memory::MipmappedArray;
    ///
    /// fn exchange(a: &mut MipmappedArray<f32>, b: &mut MipmappedArray<f32>) {
    ///     let (mut a, mut b) = (a.level_mut(0).unwrap(), b.level_mut(0).unwrap());
    ///     std::mem::swap(&mut *a, &mut *b);
    /// }
    /// ```
    pub fn level_mut(&mut self, level: usize) -> Option<ArrayMut<'_, T>> {
        let level = self.levels.get_mut(level).and_then(Arc::get_mut)?;
        Some(ArrayMut::new(level))
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUmipmappedArray {
        self.raw.handle
    }

    /// Returns the context that the array belongs to.
    pub fn context(&self) -> &Context {
        &self.raw.context
    }
}

/// Returns an error if an array of this extent cannot have this number of mip levels. The driver
/// would clamp the number, so that the array had other levels than this crate assumes.
pub(crate) fn check_levels(extent: Extent, levels: u32) -> CudaResult<()> {
    let Extent {
        width,
        height,
        depth,
        ..
    } = extent;
    let most = usize::BITS - width.max(height).max(depth).leading_zeros();
    if (1..=most).contains(&levels) {
        return Ok(());
    }
    Err(Error::Extent {
        doing: "creating a mipmapped array",
        sizes: [width, height, depth],
        reason: format!("it has 1 to {most} mip levels, not {levels}"),
    })
}

impl Drop for Raw {
    fn drop(&mut self) {
        // An error means that the context is gone, and the array with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created once, destroyed once; the levels are dropped already.
            let _ = unsafe { api.driver.cuMipmappedArrayDestroy(self.handle) };
        }
    }
}

impl<T> std::fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.levels).finish()
    }
}
