//! Embedded modules: machine code and PTX for several architectures, from which the best image for
//! the device is loaded.

use super::jit::ModuleJitOption;
use super::{Module, load};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::{CudaError, CudaResult, Error, WrongDevice};

/// Embeds the module that the package's build script built with
/// `CudaBuilder::new(…).embed("NAME")`.
///
/// `include_module!("NAME")` is an expression of type [`Embedded`](crate::module::Embedded), which
/// can initialize a `static`.
///
/// ```text
/// static KERNELS: Embedded = cust::include_module!("kernels");
///
/// let module = KERNELS.load()?;
/// ```
///
/// The images become part of the program or library, so no files are needed at run time.
#[macro_export]
macro_rules! include_module {
    ($name:literal) => {{
        const { $crate::module::check_name($name) };
        const PARTS: $crate::module::Parts = {
            #[allow(unused_imports)]
            use $crate::module::{Image, macros};
            macros::include!(macros::concat!(
                macros::env!("OUT_DIR"),
                "/",
                $name,
                ".module.rs"
            ))
        };
        // SAFETY: the build script that wrote this file built the images from these packages.
        unsafe { $crate::module::Embedded::with_signatures(PARTS) }
    }};
}

/// The macros that [`include_module!`](crate::include_module) and the file that it includes use.
/// They do not use `::core`, because a program may have another crate of that name.
#[doc(hidden)]
pub mod macros {
    pub use core::{concat, env, include, include_bytes, include_str};
}

/// Panics if a name contains path separators: only files in the build script's output directory are
/// trusted.
#[doc(hidden)]
pub const fn check_name(name: &str) {
    let (name, mut i) = (name.as_bytes(), 0);
    while i < name.len() {
        let plain = name[i] != b'/' && name[i] != b'\\';
        assert!(plain, "a module's name cannot contain path separators");
        i += 1;
    }
}

/// An image of an embedded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// PTX, which the driver compiles.
    Ptx(&'static str),
    /// Machine code.
    Cubin(&'static [u8]),
}

/// The symbols of a module's kernels and statics, each with its signature.
type Signatures = &'static [(&'static str, &'static str)];

/// The description of a module that `cuda_builder` generates: packages, images by architecture, and
/// signatures by architecture.
#[doc(hidden)]
pub type Parts = (
    &'static [&'static str],
    &'static [(&'static str, Image)],
    &'static [(&'static str, Signatures)],
);

/// A module embedded in the program, with images for one or more architectures. See
/// [`include_module!`](crate::include_module).
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    packages: &'static [&'static str],
    images: &'static [(&'static str, Image)],
    /// The signatures by architecture, if known.
    signatures: Option<&'static [(&'static str, Signatures)]>,
}

impl Embedded {
    /// Creates an embedded module that was built from `packages`, with its images. Each image has
    /// the name of its architecture, such as `sm_90`.
    ///
    /// # Safety
    ///
    /// The images must have been built from these packages, in the versions and with the features
    /// that this program depends on: kernels must have the parameters that their kernel types
    /// declare.
    pub const unsafe fn new(
        packages: &'static [&'static str],
        images: &'static [(&'static str, Image)],
    ) -> Embedded {
        Embedded {
            packages,
            images,
            signatures: None,
        }
    }

    /// Like [`Embedded::new`], with the signatures of kernels and statics, which lookups compare
    /// with those of this program.
    ///
    /// # Safety
    ///
    /// The images must have been built from these packages, and have these signatures.
    #[doc(hidden)]
    pub const unsafe fn with_signatures((packages, images, signatures): Parts) -> Embedded {
        Embedded {
            packages,
            images,
            signatures: Some(signatures),
        }
    }

    /// Loads the image that fits the current context's device best: machine code for the device,
    /// otherwise PTX for the newest architecture that the device supports.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::WrongDevice`] if no image fits the
    /// device, and the errors of [`Module::from_ptx`].
    pub fn load(&self) -> CudaResult<Module> {
        self.load_with(&[])
    }

    /// Loads the module like [`Embedded::load`], with options for the driver's compiler.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Embedded::load`].
    pub fn load_with(&self, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let context = Context::current("loading an embedded module")?;
        let device = context.device();
        let device_arch = device.compute_capability()?;
        let emulated = context.backend() == Backend::Emulator;
        let mut fitting: Vec<(Arch, &str, Image)> = Vec::new();
        for (name, image) in self.images {
            let Some(arch) = Arch::parse(name) else {
                continue;
            };
            let fits = match image {
                Image::Ptx(_) => arch.runs_ptx_on(device_arch),
                Image::Cubin(_) => !emulated && arch.runs_cubin_on(device_arch),
            };
            if fits {
                fitting.push((arch, name, *image));
            }
        }
        // Prefer machine code to PTX, then newer architectures.
        fitting.sort_by_key(|(arch, _, image)| {
            (
                matches!(image, Image::Ptx(_)),
                std::cmp::Reverse((arch.number, arch.suffix)),
            )
        });
        let mut refused = None;
        for (_, name, image) in fitting {
            let loaded = match image {
                // SAFETY: the creator of this value guarantees that a compiler built the images.
                Image::Cubin(cubin) => unsafe { Module::from_cubin(cubin, options) },
                Image::Ptx(ptx) => Module::from_ptx(ptx, options),
            };
            match loaded {
                // The driver may be too old for one image, but not for another.
                Err(error @ (Error::WrongDevice(_) | Error::PtxTooNew(_))) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
                Ok(module) => {
                    let of_arch = |all: &'static [(&str, Signatures)]| {
                        let found = all.iter().find(|(arch, _)| *arch == name);
                        found.map_or(&[][..], |&(_, signatures)| signatures)
                    };
                    let signatures = self.signatures.map(of_arch);
                    return Ok(load::of_packages(module, self.packages, signatures));
                }
            }
        }
        Err(refused.unwrap_or_else(|| self.nothing_fits(device_arch)))
    }

    /// Returns the packages that the module was built from.
    pub fn packages(&self) -> &'static [&'static str] {
        self.packages
    }

    fn nothing_fits(&self, (major, minor): (u32, u32)) -> Error {
        let images = self.images.iter().map(|(arch, image)| match image {
            Image::Ptx(_) => format!("PTX for {arch}"),
            Image::Cubin(_) => format!("machine code for {arch}"),
        });
        let images: Vec<String> = images.collect();
        Error::WrongDevice(Box::new(WrongDevice {
            doing: "loading an embedded module".to_owned(),
            reason: format!(
                "the device is sm_{major}{minor}, but the module has only {}\nhelp: build for an \
                 architecture that is not newer than the device's",
                images.join(", ")
            ),
            code: CudaError::NoBinaryForGpu,
        }))
    }
}

/// An architecture, parsed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arch {
    number: (u32, u32),
    suffix: Suffix,
}

/// The suffix of an architecture's name, which determines the devices that run its PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Suffix {
    /// No suffix: this and all later architectures.
    None,
    /// `f`: this and later architectures of the same family.
    Family,
    /// `a`: only this architecture.
    Specific,
}

impl Arch {
    pub(super) fn parse(name: &str) -> Option<Arch> {
        let rest = name.strip_prefix("sm_").or(name.strip_prefix("compute_"))?;
        let (digits, suffix) = match rest.as_bytes().last()? {
            b'a' => (&rest[..rest.len() - 1], Suffix::Specific),
            b'f' => (&rest[..rest.len() - 1], Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let number: u32 = digits.parse().ok()?;
        Some(Arch {
            number: (number / 10, number % 10),
            suffix,
        })
    }

    pub(super) fn runs_ptx_on(self, device: (u32, u32)) -> bool {
        match self.suffix {
            Suffix::None => self.number <= device,
            Suffix::Family => self.number.0 == device.0 && self.number.1 <= device.1,
            Suffix::Specific => self.number == device,
        }
    }

    pub(super) fn runs_cubin_on(self, device: (u32, u32)) -> bool {
        match self.suffix {
            Suffix::Specific => self.number == device,
            _ => self.number.0 == device.0 && self.number.1 <= device.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_run_what_cuda_says() {
        let arch = |name| Arch::parse(name).unwrap();
        assert!(arch("sm_75").runs_ptx_on((9, 0)));
        assert!(!arch("sm_90").runs_ptx_on((8, 9)));
        assert!(arch("sm_90a").runs_ptx_on((9, 0)));
        assert!(!arch("sm_90a").runs_ptx_on((10, 0)));
        assert!(arch("sm_100f").runs_ptx_on((10, 3)));
        assert!(!arch("sm_100f").runs_ptx_on((12, 0)));
        assert!(arch("sm_80").runs_cubin_on((8, 6)));
        assert!(!arch("sm_86").runs_cubin_on((8, 0)));
        assert!(!arch("sm_80").runs_cubin_on((9, 0)));
        assert_eq!(Arch::parse("sm_"), None);
        assert_eq!(arch("compute_120").number, (12, 0));
    }
}
