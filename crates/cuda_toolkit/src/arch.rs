//! GPU architectures by name, and the NVVM IR dialect of each.

use std::fmt;
use std::str::FromStr;

/// A GPU architecture, such as compute capability 9.0.
///
/// `sm_90` and `compute_90` name the same value: CUDA uses the first for cubins and the second for
/// PTX; [`Arch::sm`] and [`Arch::compute`] print them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    number: u16,
    variant: Variant,
}

/// The instructions that an architecture's code may use in addition to the common ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// Instructions that every later architecture also has.
    Base,
    /// Instructions of the architecture's family (`f`): the code runs only within the family.
    Family,
    /// Instructions of this architecture only (`a`).
    Specific,
}

/// The two dialects of NVVM IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The dialect of LLVM 7, with typed pointers; accepted for every architecture.
    Llvm7,
    /// The dialect of a recent LLVM, with opaque pointers; accepted for compute_100 and later.
    Modern,
}

/// An unknown architecture name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownArch {
    /// The name.
    pub given: String,
}

impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown GPU architecture `{}`; known are", self.given)?;
        for (i, arch) in Arch::KNOWN.iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, arch.sm())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownArch {}

/// Builds [`Arch::KNOWN`] and the named constants from one list.
macro_rules! known {
    ($($name:ident = $number:literal $variant:ident,)*) => {
        impl Arch {
            $(
                #[doc = concat!("Compute capability ", stringify!($number), ", ", stringify!($variant), " variant.")]
                pub const $name: Arch = Arch { number: $number, variant: Variant::$variant };
            )*

            /// Every known architecture, oldest first. A libnvvm supports a subset of them:
            /// `nvvm::Library::supported_archs`.
            pub const KNOWN: &[Arch] = &[$(Arch::$name),*];
        }
    };
}

known! {
    SM_50 = 50 Base, SM_52 = 52 Base, SM_53 = 53 Base,
    SM_60 = 60 Base, SM_61 = 61 Base, SM_62 = 62 Base,
    SM_70 = 70 Base, SM_72 = 72 Base, SM_75 = 75 Base,
    SM_80 = 80 Base, SM_86 = 86 Base, SM_87 = 87 Base, SM_88 = 88 Base, SM_89 = 89 Base,
    SM_90 = 90 Base, SM_90A = 90 Specific,
    SM_100 = 100 Base, SM_100F = 100 Family, SM_100A = 100 Specific,
    SM_101 = 101 Base, SM_101F = 101 Family, SM_101A = 101 Specific,
    SM_103 = 103 Base, SM_103F = 103 Family, SM_103A = 103 Specific,
    SM_110 = 110 Base, SM_110F = 110 Family, SM_110A = 110 Specific,
    SM_120 = 120 Base, SM_120F = 120 Family, SM_120A = 120 Specific,
    SM_121 = 121 Base, SM_121F = 121 Family, SM_121A = 121 Specific,
}

impl Arch {
    /// Returns the number in the name: 90 for `sm_90a`.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// Returns the additional instructions that its code may use.
    pub const fn variant(self) -> Variant {
        self.variant
    }

    /// Returns the name for ptxas and rustc's `-Ctarget-cpu`: `sm_90a`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.number, self.suffix())
    }

    /// Returns the name for libnvvm: `compute_90a`.
    pub fn compute(self) -> String {
        format!("compute_{}{}", self.number, self.suffix())
    }

    /// Returns the dialect of its modules.
    pub const fn dialect(self) -> Dialect {
        if self.number >= 100 {
            Dialect::Modern
        } else {
            Dialect::Llvm7
        }
    }

    /// Returns whether code for this architecture may use the features of `needed`: a later
    /// architecture has all features of an earlier one, later members of a family have the family's
    /// features, and architecture-specific features exist on that architecture alone.
    pub fn has(self, needed: Arch) -> bool {
        match needed.variant {
            Variant::Base => self.number >= needed.number,
            Variant::Family => {
                self.variant != Variant::Base
                    && self.family() == needed.family()
                    && self.number >= needed.number
            }
            Variant::Specific => self == needed,
        }
    }

    /// Returns the number of the first member of the family.
    const fn family(self) -> u16 {
        match self.number {
            100 | 103 => 100,
            // 11.0 was originally named 10.1.
            101 | 110 => 101,
            120 | 121 => 120,
            other => other,
        }
    }

    const fn suffix(self) -> &'static str {
        match self.variant {
            Variant::Base => "",
            Variant::Family => "f",
            Variant::Specific => "a",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.sm())
    }
}

/// Parses names such as `sm_90`, `compute_90` and `sm_90a`.
impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Arch, UnknownArch> {
        let digits = name
            .strip_prefix("sm_")
            .or_else(|| name.strip_prefix("compute_"));
        digits
            .and_then(|digits| {
                Arch::KNOWN.iter().copied().find(|arch| {
                    digits.strip_suffix(arch.suffix()) == Some(&arch.number.to_string())
                })
            })
            .ok_or_else(|| UnknownArch {
                given: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for &arch in Arch::KNOWN {
            assert_eq!(arch.sm().parse(), Ok(arch));
            assert_eq!(arch.compute().parse(), Ok(arch));
        }
        assert_eq!("sm_90a".parse(), Ok(Arch::SM_90A));
        assert_eq!("compute_100f".parse(), Ok(Arch::SM_100F));
        assert_eq!(Arch::SM_90A.compute(), "compute_90a");
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        for name in [
            "",
            "90",
            "sm_",
            "sm_90b",
            "sm_090",
            "sm_33",
            "SM_90",
            "compute_90 ",
            "sm_75a",
        ] {
            let error = name.parse::<Arch>().unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(&format!("unknown GPU architecture `{name}`")),
                "{text}"
            );
            assert!(text.contains("sm_75") && text.contains("sm_90a"), "{text}");
        }
    }

    #[test]
    fn known_is_sorted_and_dialects_split_at_100() {
        assert!(Arch::KNOWN.is_sorted());
        assert_eq!(Arch::SM_90A.dialect(), Dialect::Llvm7);
        assert_eq!(Arch::SM_100.dialect(), Dialect::Modern);
        assert_eq!(Arch::SM_121A.dialect(), Dialect::Modern);
    }

    #[test]
    fn later_architectures_have_what_earlier_ones_have() {
        assert!(Arch::SM_90A.has(Arch::SM_90));
        assert!(Arch::SM_120.has(Arch::SM_75));
        assert!(!Arch::SM_89.has(Arch::SM_90));
        assert!(Arch::SM_90A.has(Arch::SM_90A));
        assert!(!Arch::SM_100A.has(Arch::SM_90A));
        assert!(Arch::SM_103A.has(Arch::SM_100F));
        assert!(Arch::SM_100A.has(Arch::SM_100F));
        assert!(!Arch::SM_103.has(Arch::SM_100F));
        assert!(!Arch::SM_120F.has(Arch::SM_100F));
        assert!(!Arch::SM_100F.has(Arch::SM_103F));
    }
}
