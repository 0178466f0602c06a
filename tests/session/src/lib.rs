//! The device that all tests of a program share: its context, a stream, and modules that are loaded
//! when the first test needs them.
//!
//! A program of device tests has a type for its session, which contains a [`Device`] and its
//! [`Modules`] and dereferences to the device, and a static [`Shared`] that holds the session.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cust::prelude::*;
use libtest_mimic::Failed;

/// The environment variable with the directory of a bundle's cubins.
const CUBINS: &str = "DEVICE_TESTS_CUBINS";

/// The device that the tests run on: the GPU if there is one, otherwise the emulator.
pub struct Device {
    /// The stream of all launches.
    pub stream: Stream,
    /// The device's name, printed before the tests.
    pub name: String,
    /// The device's compute capability.
    pub capability: (u32, u32),
    /// The context that owns the modules.
    pub context: Context,
}

impl Device {
    /// Creates a context and a stream.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device cannot be used.
    pub fn new() -> CudaResult<Device> {
        let chosen = cust::init_auto()?;
        let name = chosen.to_string();
        let context = chosen.into_context();
        Ok(Device {
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            name,
            capability: context.device().compute_capability()?,
            context,
        })
    }

    /// Returns whether the device is a GPU.
    pub fn on_gpu(&self) -> bool {
        self.context.backend() == Backend::Gpu
    }

    /// Loads the cubin `NAME.sm_XY.cubin` of a bundle for this device, which saves the driver
    /// minutes of compilation. If there is none, returns the module that `compile` returns.
    ///
    /// # Errors
    ///
    /// Returns the message of the error.
    pub fn load(
        &self,
        name: &str,
        compile: impl FnOnce() -> Result<Module, String>,
    ) -> Result<Module, String> {
        let directory = std::env::var_os(CUBINS).filter(|_| self.on_gpu());
        let cubin = directory.and_then(|directory| {
            let (major, minor) = self.capability;
            let file = format!("{name}.sm_{major}{minor}.cubin");
            std::fs::read(PathBuf::from(directory).join(file)).ok()
        });
        match cubin {
            // SAFETY: the bundle was built from the same sources.
            Some(cubin) => {
                unsafe { Module::from_cubin(&cubin, &[]) }.map_err(|error| error.to_string())
            }
            None => compile(),
        }
    }
}

/// Up to `N` modules, each of which is loaded when the first test needs it.
pub struct Modules<const N: usize>([OnceLock<Result<Module, String>>; N]);

impl<const N: usize> Modules<N> {
    /// Creates the list, without loading a module.
    #[expect(clippy::new_without_default, reason = "sessions call it by this name")]
    pub const fn new() -> Modules<N> {
        Modules([const { OnceLock::new() }; N])
    }

    /// Returns the module at an index, which the first call loads.
    ///
    /// # Errors
    ///
    /// Returns the error of `load`, from every call.
    pub fn get(
        &self,
        index: usize,
        load: impl FnOnce() -> Result<Module, String>,
    ) -> Result<&Module, Failed> {
        self.0[index]
            .get_or_init(load)
            .as_ref()
            .map_err(Failed::from)
    }
}

/// The session of a program, which one test at a time borrows: a panic in a kernel is returned by
/// the next `synchronize`, which must be that of the same test.
pub struct Shared<S>(Mutex<Option<S>>);

impl<S> Shared<S> {
    /// Creates a place for the session.
    #[expect(clippy::new_without_default, reason = "statics need a `const fn`")]
    pub const fn new() -> Shared<S> {
        Shared(Mutex::new(None))
    }

    /// Borrows the session, which `create` creates if there is none.
    ///
    /// # Errors
    ///
    /// Returns the error of `create`.
    pub fn borrow(
        &'static self,
        create: impl FnOnce() -> CudaResult<S>,
    ) -> Result<Held<S>, Failed> {
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if session.is_none() {
            *session = Some(create()?);
        }
        Ok(Held(session))
    }
}

/// The session, borrowed by one test.
pub struct Held<S: 'static>(MutexGuard<'static, Option<S>>);

impl<S> Deref for Held<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.0.as_ref().expect("`borrow` creates the session")
    }
}

impl<S: Deref<Target = Device>> Held<S> {
    /// After a fault on the emulator, drops the session, so that the next test gets a new context.
    /// After a fault on a GPU, the process cannot use the device again: the bundle's runner starts
    /// new processes.
    pub fn reset_if_lost(mut self) {
        if self.on_gpu() || self.context.synchronize().is_ok() {
            return;
        }
        let device = self.context.device();
        *self.0 = None;
        // SAFETY: everything that was created in the context belonged to the session.
        if let Err(error) = unsafe { Context::reset(&device) } {
            eprintln!("the context cannot be reset: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const PTX: &str = "
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry fail() {
            trap;
        }
        ";

    struct Session {
        modules: Modules<2>,
        device: Device,
    }

    impl Deref for Session {
        type Target = Device;

        fn deref(&self) -> &Device {
            &self.device
        }
    }

    #[test]
    fn modules_are_loaded_once_and_sessions_are_replaced_after_a_fault() {
        static SESSION: Shared<Session> = Shared::new();
        let created = Cell::new(0);
        let create = || {
            created.set(created.get() + 1);
            Ok(Session {
                modules: Modules::new(),
                device: Device::new()?,
            })
        };
        let loaded = Cell::new(0);
        for _ in 0..2 {
            let session = SESSION.borrow(create).unwrap();
            let module = session.modules.get(1, || {
                loaded.set(loaded.get() + 1);
                session.load("absent", || {
                    Module::from_ptx(PTX, &[]).map_err(|error| error.to_string())
                })
            });
            assert_eq!(module.unwrap().kernel_names(), ["fail"]);
            let refused = session.modules.get(0, || Err("refused".to_owned()));
            assert_eq!(refused.unwrap_err().message(), Some("refused"));
        }
        assert_eq!((created.get(), loaded.get()), (1, 1));

        let session = SESSION.borrow(create).unwrap();
        if session.on_gpu() {
            // The process could not use the GPU any more.
            return;
        }
        let module = session.modules.get(1, || Err("loaded before".to_owned()));
        let (module, stream) = (module.unwrap(), &session.stream);
        // SAFETY: the kernel has no parameters.
        unsafe { launch!(module.fail<<<1, 1, 0, stream>>>()).unwrap() };
        assert!(stream.synchronize().is_err());
        session.reset_if_lost();
        let session = SESSION.borrow(create).unwrap();
        assert_eq!(created.get(), 2);
        session.stream.synchronize().unwrap();
    }
}
