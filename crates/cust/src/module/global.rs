//! Global variables of a module by their types: statics of a crate that the program depends on.
//!
//! ```text
//! use kernels::{FACTORS, HITS};       // `#[address_space(constant)] pub static mut FACTORS: [f32; 4]`
//!                                     // `#[address_space(global)] pub static HITS: AtomicU32`
//! module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;
//! println!("{}", module.global::<HITS>()?.load()?);
//! ```
//!
//! Kernels of a module can be launched through a shared reference, also from other threads. While
//! the host has only a shared reference to the module, it can therefore access only atomics, and
//! read values of types that accept any bit pattern. With a mutable reference, which excludes
//! launches, it can access values of all types. Every access waits for pending kernels of the
//! module.

use std::marker::PhantomData;

use bytemuck::AnyBitPattern;
use cust_core::global::{Global as GlobalType, GlobalMut as GlobalMutType};
use cust_core::kernel::Atomic;

use super::Module;
use super::symbol::Symbol;
use crate::error::{CudaResult, Error, signature_mismatch};
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer};

/// The variable of a module that corresponds to the static `G`.
pub struct Global<'m, G: GlobalType> {
    module: &'m Module,
    address: u64,
    global: PhantomData<fn() -> G>,
}

/// Like [`Global`], with a mutable borrow of the module, which excludes launches of its kernels.
pub struct GlobalMut<'m, G: GlobalType>(Global<'m, G>);

impl Module {
    /// Returns the variable of this module that corresponds to the static `G`.
    ///
    /// The module must be an embedded module that was built from `G`'s crate; see
    /// [`include_module!`](crate::include_module) and [`Module::own`]. The [documentation of
    /// `module`](crate::module#typed-global-variables) has an example.
    ///
    /// # Errors
    ///
    /// Returns [`Error::ForeignGlobal`] if the module was not built from `G`'s crate,
    /// [`Error::GlobalNotFound`] for a static that no kernel of the module uses, and
    /// [`Error::GlobalSize`] or [`Error::Signature`] if the static has another type in the module.
    pub fn global<G: GlobalType>(&self) -> CudaResult<Global<'_, G>> {
        if let Some(own) = self.own {
            if !own.has::<G>() {
                return Err(Error::GlobalNotFound {
                    name: G::NAME.to_owned(),
                });
            }
            // SAFETY: the image contains the static with this signature.
            return unsafe { self.global_unchecked() };
        }
        if !self.has_package(G::PACKAGE) {
            return Err(Error::ForeignGlobal {
                global: G::NAME,
                package: G::PACKAGE,
            });
        }
        // SAFETY: the embedded module was built from `G`'s package, and the signatures, which
        // describe the type on both sides, are compared below.
        let global = unsafe { self.global_unchecked()? };
        match self.signature(G::SYMBOL) {
            Some(device) if device != G::SIGNATURE => {
                Err(signature_mismatch(G::NAME, G::SIGNATURE, device))
            }
            _ => Ok(global),
        }
    }

    /// Returns the variable that corresponds to the static `G` mutably.
    ///
    /// The mutable borrow of the module excludes launches of its kernels, so values of all types
    /// can be read and written.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::global`].
    pub fn global_mut<G: GlobalType>(&mut self) -> CudaResult<GlobalMut<'_, G>> {
        Ok(GlobalMut(self.global()?))
    }

    /// Returns the variable that corresponds to the static `G`, without comparing signatures.
    ///
    /// This is [`Module::global`] for modules that are not embedded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GlobalNotFound`] for a static that no kernel of the module uses, and
    /// [`Error::GlobalSize`] if its size differs.
    ///
    /// # Safety
    ///
    /// The module must have been built from the same version of `G`'s crate, with the same features
    /// and, unless Rust guarantees the layout of the static's type, with the same compiler.
    pub unsafe fn global_unchecked<G: GlobalType>(&self) -> CudaResult<Global<'_, G>> {
        let address = self.locate(G::SYMBOL, size_of::<G::Value>());
        // Report the static's name instead of its symbol.
        let address = address.map_err(|error| match error {
            Error::GlobalNotFound { .. } => Error::GlobalNotFound {
                name: G::NAME.to_owned(),
            },
            Error::GlobalSize {
                expected, found, ..
            } => Error::GlobalSize {
                name: G::NAME.to_owned(),
                expected,
                found,
            },
            error => error,
        })?;
        Ok(Global {
            module: self,
            address,
            global: PhantomData,
        })
    }
}

impl<'m, G: GlobalType> Global<'m, G> {
    /// Returns the static's name.
    pub fn name(&self) -> &'static str {
        G::NAME
    }

    fn symbol<T: DeviceCopy>(&self) -> Symbol<'m, T> {
        Symbol::new(self.module, G::NAME.to_owned(), self.address)
    }

    /// Returns the variable's device address.
    pub fn as_device_ptr(&self) -> DevicePointer<G::Value> {
        DevicePointer::from_raw(self.address)
    }

    fn read<T: DeviceCopy>(&self) -> CudaResult<T> {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        // SAFETY: `MaybeUninit` has the same layout, and the variable has the size of `T`. The
        // callers ensure that the variable contains a valid `T`.
        unsafe {
            let symbol = self.symbol::<std::mem::MaybeUninit<T>>();
            symbol.copy_to(&mut value)?;
            Ok(value.assume_init())
        }
    }

    /// Returns the value, after all pending kernels of the module.
    ///
    /// The type must accept any bit pattern, because another thread may launch a kernel that writes
    /// the variable concurrently.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// copy fails.
    pub fn get(&self) -> CudaResult<G::Value>
    where
        G::Value: DeviceCopy + AnyBitPattern,
    {
        self.read()
    }

    /// Returns the value of an atomic, or the values of an array of atomics, after all pending
    /// kernels of the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Global::get`].
    pub fn load(&self) -> CudaResult<<G::Value as Atomic>::Value>
    where
        G::Value: Atomic,
        <G::Value as Atomic>::Value: AnyBitPattern,
    {
        self.read()
    }

    /// Sets an atomic, or an array of atomics, after all pending kernels of the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Global::get`].
    pub fn store(&self, value: &<G::Value as Atomic>::Value) -> CudaResult<()>
    where
        G::Value: Atomic,
    {
        self.symbol().copy_from(value)
    }

    /// Sets the value of a `static mut`, after all pending kernels of the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Global::get`].
    ///
    /// # Safety
    ///
    /// No thread may launch a kernel that uses the variable during the call.
    pub unsafe fn set_unchecked(&self, value: &G::Value) -> CudaResult<()>
    where
        G: GlobalMutType,
        G::Value: DeviceCopy,
    {
        self.symbol().copy_from(value)
    }
}

impl<G: GlobalType> GlobalMut<'_, G> {
    /// Returns the static's name.
    pub fn name(&self) -> &'static str {
        G::NAME
    }

    /// Returns the value, after all pending kernels of the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Global::get`].
    pub fn get(&self) -> CudaResult<G::Value>
    where
        G::Value: DeviceCopy,
    {
        self.0.read()
    }

    /// Sets the value of a `static mut`, after all pending kernels of the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Global::get`].
    pub fn set(&mut self, value: &G::Value) -> CudaResult<()>
    where
        G: GlobalMutType,
        G::Value: DeviceCopy,
    {
        // SAFETY: a launch requires a reference to the module, which is borrowed mutably.
        unsafe { self.0.set_unchecked(value) }
    }
}

impl<G: GlobalType> std::fmt::Debug for Global<'_, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the global variable `{}`", G::NAME)
    }
}

impl<G: GlobalType> std::fmt::Debug for GlobalMut<'_, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
