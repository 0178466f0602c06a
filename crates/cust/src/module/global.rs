//! Global variables of a module by their types: statics of a crate that the program depends on.
//!
//! ```text
//! use kernels::{FACTORS, HITS};       // `#[address_space(constant)] pub static mut FACTORS: [f32; 4]`
//!                                     // `#[address_space(global)] pub static HITS: AtomicU32`
//! module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;
//! println!("{}", module.global::<HITS>()?.load()?);
//! ```
//!
//! What the host may do with a variable follows from who else may do what meanwhile. Kernels of a
//! module can be launched through a shared reference, also by other threads. So a shared reference
//! gives atomics, and values of types that any bytes make; and a mutable one, which nobody can
//! launch beside, gives all. Kernels launched before are waited for in both cases.

use std::marker::PhantomData;

use bytemuck::AnyBitPattern;
use cust_core::global::{Global as GlobalType, GlobalMut as GlobalMutType};
use cust_core::kernel::Atomic;

use super::Module;
use super::symbol::Symbol;
use crate::error::{CudaResult, Error, signature_mismatch};
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer};

/// The variable of a module that the static `G` is there.
pub struct Global<'m, G: GlobalType> {
    module: &'m Module,
    address: u64,
    global: PhantomData<fn() -> G>,
}

/// As [`Global`], while no kernel of the module can be launched.
pub struct GlobalMut<'m, G: GlobalType>(Global<'m, G>);

impl Module {
    /// The variable that the static `G` is in this module. The module has to be an embedded one,
    /// built from the crate that `G` is of; see [`include_module!`](crate::include_module) and
    /// [`Module::own`].
    ///
    /// # Errors
    ///
    /// [`Error::ForeignGlobal`] for other modules, [`Error::GlobalNotFound`] for a static that no
    /// kernel of the module uses, and [`Error::GlobalSize`] or [`Error::Signature`] if it has another
    /// type there.
    ///
    /// The [documentation of `module`](crate::module#typed-global-variables) has an example.
    pub fn global<G: GlobalType>(&self) -> CudaResult<Global<'_, G>> {
        if let Some(own) = self.own {
            if !own.has::<G>() {
                return Err(Error::GlobalNotFound {
                    name: G::NAME.to_owned(),
                });
            }
            // SAFETY: the image was made of the crate that has the static, with this type.
            return unsafe { self.global_unchecked() };
        }
        if !self.has_package(G::PACKAGE) {
            return Err(Error::ForeignGlobal {
                global: G::NAME,
                package: G::PACKAGE,
            });
        }
        // SAFETY: what was embedded was built from the package that `G` is of, and the signatures,
        // which describe the type on both sides, are compared below.
        let global = unsafe { self.global_unchecked()? };
        match self.signature(G::SYMBOL) {
            Some(device) if device != G::SIGNATURE => {
                Err(signature_mismatch(G::NAME, G::SIGNATURE, device))
            }
            _ => Ok(global),
        }
    }

    /// As [`Module::global`]; the mutable reference says that no kernel of the module is launched
    /// meanwhile, so that values of all types can be read and written.
    ///
    /// # Errors
    ///
    /// As of [`Module::global`].
    pub fn global_mut<G: GlobalType>(&mut self) -> CudaResult<GlobalMut<'_, G>> {
        Ok(GlobalMut(self.global()?))
    }

    /// As [`Module::global`], for modules loaded by other means.
    ///
    /// # Errors
    ///
    /// As of [`Module::global`], but for the first.
    ///
    /// # Safety
    ///
    /// The module was built from the very crate that `G` is of, with the same features and, unless
    /// the static's type has a layout that Rust promises, with the same compiler.
    pub unsafe fn global_unchecked<G: GlobalType>(&self) -> CudaResult<Global<'_, G>> {
        let address = self.locate(G::SYMBOL, size_of::<G::Value>());
        // The symbol's name says nothing to whoever wrote the static.
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
    /// The static's name.
    pub fn name(&self) -> &'static str {
        G::NAME
    }

    fn symbol<T: DeviceCopy>(&self) -> Symbol<'m, T> {
        Symbol::new(self.module, G::NAME.to_owned(), self.address)
    }

    /// The variable's address on the device.
    pub fn as_device_ptr(&self) -> DevicePointer<G::Value> {
        DevicePointer::from_raw(self.address)
    }

    fn read<T: DeviceCopy>(&self) -> CudaResult<T> {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        // SAFETY: `MaybeUninit` has the same layout, and the variable has the size of `T`. The
        // callers see to it that what is there is a `T`.
        unsafe {
            let symbol = self.symbol::<std::mem::MaybeUninit<T>>();
            symbol.copy_to(&mut value)?;
            Ok(value.assume_init())
        }
    }

    /// The value, of a type that any bytes make: another thread may be launching a kernel that
    /// writes it. Waits for the module's kernels in flight.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    pub fn get(&self) -> CudaResult<G::Value>
    where
        G::Value: DeviceCopy + AnyBitPattern,
    {
        self.read()
    }

    /// The value of an atomic, or the values of an array of atomics. Waits for the module's
    /// kernels in flight.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    pub fn load(&self) -> CudaResult<<G::Value as Atomic>::Value>
    where
        G::Value: Atomic,
        <G::Value as Atomic>::Value: AnyBitPattern,
    {
        self.read()
    }

    /// Changes an atomic, or an array of atomics. Waits for the module's kernels in flight.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    pub fn store(&self, value: &<G::Value as Atomic>::Value) -> CudaResult<()>
    where
        G::Value: Atomic,
    {
        self.symbol().copy_from(value)
    }

    /// Changes the value of a `static mut`.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    ///
    /// # Safety
    ///
    /// No thread launches a kernel that uses the variable meanwhile.
    pub unsafe fn set_unchecked(&self, value: &G::Value) -> CudaResult<()>
    where
        G: GlobalMutType,
        G::Value: DeviceCopy,
    {
        self.symbol().copy_from(value)
    }
}

impl<G: GlobalType> GlobalMut<'_, G> {
    /// The static's name.
    pub fn name(&self) -> &'static str {
        G::NAME
    }

    /// The value. Waits for the module's kernels in flight.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    pub fn get(&self) -> CudaResult<G::Value>
    where
        G::Value: DeviceCopy,
    {
        self.0.read()
    }

    /// Changes the value of a `static mut`. Waits for the module's kernels in flight.
    ///
    /// # Errors
    ///
    /// What the kernels failed with, and errors of the copy.
    pub fn set(&mut self, value: &G::Value) -> CudaResult<()>
    where
        G: GlobalMutType,
        G::Value: DeviceCopy,
    {
        // SAFETY: launching takes a reference to the module, which is borrowed mutably.
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
