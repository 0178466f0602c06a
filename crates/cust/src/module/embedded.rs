//! Modules that a program carries: machine code and PTX for several architectures, of which the
//! one that fits the device is loaded.

use super::jit::ModuleJitOption;
use super::{Module, load};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::{CudaError, CudaResult, Error, WrongDevice};

/// Embeds the module that the package's build script made with
/// `CudaBuilder::new(…).embed("NAME")`: `include_module!("NAME")` is an
/// [`Embedded`](crate::module::Embedded).
///
/// ```text
/// static KERNELS: Embedded = cust::include_module!("kernels");
///
/// let module = KERNELS.load()?;
/// ```
///
/// The images become part of the program or library, so nothing has to be found when it runs.
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

/// What [`include_module!`](crate::include_module) and the file that it includes call. Not by `::core`,
/// as which a program may name another crate, even itself.
#[doc(hidden)]
pub mod macros {
    pub use core::{concat, env, include, include_bytes, include_str};
}

/// Refuses a name that leads out of the folder of the build script, whose files alone are trusted.
#[doc(hidden)]
pub const fn check_name(name: &str) {
    let (name, mut i) = (name.as_bytes(), 0);
    while i < name.len() {
        let plain = name[i] != b'/' && name[i] != b'\\';
        assert!(plain, "a module's name has no separators of directories");
        i += 1;
    }
}

/// One form of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// PTX, which the driver compiles.
    Ptx(&'static str),
    /// Machine code.
    Cubin(&'static [u8]),
}

/// The symbols of a module's kernels and statics, each with its signature.
type Signatures = &'static [(&'static str, &'static str)];

/// What `cuda_builder` writes of a module: its packages, its forms, and the signatures of each
/// architecture.
#[doc(hidden)]
pub type Parts = (
    &'static [&'static str],
    &'static [(&'static str, Image)],
    &'static [(&'static str, Signatures)],
);

/// A module that the program carries, in forms for one or more architectures. See
/// [`include_module!`](crate::include_module).
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    packages: &'static [&'static str],
    images: &'static [(&'static str, Image)],
    /// For each architecture; none if they are not known.
    signatures: Option<&'static [(&'static str, Signatures)]>,
}

impl Embedded {
    /// A module built from `packages`, in the forms given, each with its architecture such as
    /// `sm_90`.
    ///
    /// # Safety
    ///
    /// The images were built from these packages, in the versions and with the features that this
    /// program depends on: kernels have the parameters that the types made by `#[kernel]` say.
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

    /// As [`Embedded::new`], with the signatures of kernels and statics, which are compared with
    /// those of this program when they are looked up.
    ///
    /// # Safety
    ///
    /// The images were built from these packages, and have these signatures.
    #[doc(hidden)]
    pub const unsafe fn with_signatures((packages, images, signatures): Parts) -> Embedded {
        Embedded {
            packages,
            images,
            signatures: Some(signatures),
        }
    }

    /// Loads what fits the current context's device best: machine code for it, else the PTX of the
    /// newest architecture that it has.
    pub fn load(&self) -> CudaResult<Module> {
        self.load_with(&[])
    }

    /// As [`Embedded::load`], with options for the driver's compiler.
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
        // Machine code before PTX, and then the newest.
        fitting.sort_by_key(|(arch, _, image)| {
            (
                matches!(image, Image::Ptx(_)),
                std::cmp::Reverse((arch.number, arch.suffix)),
            )
        });
        let mut refused = None;
        for (_, name, image) in fitting {
            let loaded = match image {
                // SAFETY: the images were built, as whoever made this promised.
                Image::Cubin(cubin) => unsafe { Module::from_cubin(cubin, options) },
                Image::Ptx(ptx) => Module::from_ptx(ptx, options),
            };
            match loaded {
                // A driver may be too old for one form and take another.
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

    /// The packages that it was built from.
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
                "the device is sm_{major}{minor}, and there is only {}. Build for an architecture \
                 that is not newer than the device's",
                images.join(", ")
            ),
            code: CudaError::NoBinaryForGpu,
        }))
    }
}

/// An architecture by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arch {
    number: (u32, u32),
    suffix: Suffix,
}

/// What an architecture's name ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Suffix {
    /// Nothing: later ones run it, too.
    None,
    /// `f`: later ones of the same family run it.
    Family,
    /// `a`: only this one runs it.
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
