//! Descriptions of types: what host and device must agree on to exchange a value.
//!
//! Both sides compile the same source, but possibly with different compilers, features, versions of
//! a dependency, or `cfg`s. `#[derive(DeviceCopy)]` describes a type identically on both sides, and
//! [`signature`](crate::signature) writes the descriptions as text, which `cust` compares when it
//! looks up a kernel or a static.

use crate::traits::DeviceCopy;

pub use core::mem::offset_of;

/// The compiler of this crate, and so of the crates that depend on it.
const COMPILER: &str = env!("CUST_CORE_COMPILER");

/// A description of a type.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The type's size in bytes.
    pub size: usize,
    /// The type's alignment in bytes.
    pub align: usize,
    /// The kind of the type.
    pub kind: Kind,
}

/// The kind of a type.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A type that name, size and alignment describe: a number.
    Scalar(&'static str),
    /// Like [`Kind::Scalar`], but never all zeros, which `Option` uses for `None` in every version
    /// of Rust.
    NonZero(&'static str),
    /// A type whose author implemented `DeviceCopy` by hand.
    Opaque,
    /// A raw pointer to a type of this size and alignment.
    Pointer(&'static str, usize, usize),
    /// An array.
    Array(&'static Layout, usize),
    /// A compound type.
    Composite(Composite),
}

/// A compound type.
#[derive(Debug, Clone, Copy)]
pub struct Composite {
    /// The kind and the name, such as `struct Particle`.
    pub name: &'static str,
    /// The package that declares it, with its version; empty for the standard library.
    pub package: &'static str,
    /// Its `repr` attributes.
    pub repr: &'static str,
    /// Whether the compiler chooses the layout, because the parts do not determine it.
    pub chosen: bool,
    /// The parts, in the order of the source.
    pub parts: &'static [Part],
}

/// A part of a compound type.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// A field at an offset.
    Field(&'static str, usize, &'static Layout),
    /// A variant of an enum, with its discriminant; its fields follow.
    Variant(&'static str, i128),
    /// A field of a variant.
    Inner(&'static str, &'static Layout),
}

impl Layout {
    /// Describes a type by its size and alignment.
    pub const fn new<T>(kind: Kind) -> Layout {
        Layout {
            size: size_of::<T>(),
            align: align_of::<T>(),
            kind,
        }
    }

    /// Returns whether `Option` of the type has the type's size in every version of Rust.
    const fn is_nonzero(&self) -> bool {
        matches!(self.kind, Kind::NonZero(_))
    }

    /// Describes a type of the standard library with these parts.
    pub(crate) const fn core<T>(name: &'static str, parts: &'static [Part]) -> Layout {
        Layout::new::<T>(Kind::Composite(Composite {
            name,
            package: "",
            repr: "",
            chosen: false,
            parts,
        }))
    }

    /// Like [`Layout::core`], for a type whose layout the compiler chooses.
    pub(crate) const fn chosen<T>(name: &'static str, parts: &'static [Part]) -> Layout {
        Layout::new::<T>(Kind::Composite(Composite {
            name,
            package: "",
            repr: "",
            chosen: true,
            parts,
        }))
    }

    /// Describes an `Option<T>`.
    pub(crate) const fn option<T: DeviceCopy>() -> Layout {
        let mut layout =
            const { Layout::chosen::<Option<T>>("Option", &[Part::Inner("Some", &T::LAYOUT)]) };
        if T::LAYOUT.is_nonzero()
            && let Kind::Composite(composite) = &mut layout.kind
        {
            composite.chosen = false;
        }
        layout
    }
}

/// A string that is written to `bytes` as far as it fits. `len` counts all its bytes.
///
/// The compiler interprets this code for each kernel, in each build: calls are slow there, and calls
/// of generic functions slower.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(bytes: &'a mut [u8]) -> Self {
        Writer { bytes, len: 0 }
    }

    pub(crate) const fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        let (count, start) = (text.len(), self.len);
        self.len += count;
        if self.len <= self.bytes.len() {
            let mut i = 0;
            while i < count {
                self.bytes[start + i] = text[i];
                i += 1;
            }
        }
    }

    pub(crate) const fn number(&mut self, number: i128) {
        if number < 0 {
            self.text("-");
        }
        let number = number.unsigned_abs();
        let mut power = 1;
        while number / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            let digit = (number / power % 10) as usize;
            self.text("0123456789".split_at(digit).1.split_at(1).0);
            power /= 10;
        }
    }

    /// Writes a size and an alignment: `4 bytes, align 4`.
    pub(crate) const fn size(&mut self, size: usize, align: usize) {
        self.number(size as i128);
        self.text(" bytes, align ");
        self.number(align as i128);
    }

    pub(crate) const fn layout(&mut self, layout: &Layout) {
        match &layout.kind {
            Kind::Scalar(name) | Kind::NonZero(name) => {
                self.text(name);
                // Primitive numbers have the same size on all targets, but not the same alignment.
                if layout.size != layout.align {
                    self.text(" (");
                    self.size(layout.size, layout.align);
                    self.text(")");
                }
            }
            Kind::Opaque => {
                self.text("a type described by hand (");
                self.size(layout.size, layout.align);
                self.text(")");
            }
            Kind::Pointer(name, size, align) => {
                self.text(name);
                self.text(" (to ");
                self.size(*size, *align);
                self.text(")");
            }
            Kind::Array(element, len) => {
                self.text("[");
                self.layout(element);
                self.text("; ");
                self.number(*len as i128);
                self.text("]");
            }
            Kind::Composite(composite) => self.composite(layout, composite),
        }
    }

    const fn composite(&mut self, layout: &Layout, composite: &Composite) {
        self.text(composite.name);
        if !composite.package.is_empty() {
            self.text(" of ");
            self.text(composite.package);
        }
        if !composite.repr.is_empty() {
            self.text(" ");
            self.text(composite.repr);
        }
        self.text(" { ");
        let mut i = 0;
        while i < composite.parts.len() {
            match &composite.parts[i] {
                Part::Field(name, offset, layout) => {
                    self.text(name);
                    self.text(": ");
                    self.layout(layout);
                    self.text(" at ");
                    self.number(*offset as i128);
                }
                Part::Variant(name, discriminant) => {
                    self.text(name);
                    self.text(" = ");
                    self.number(*discriminant);
                }
                Part::Inner(name, layout) => {
                    self.text(".");
                    self.text(name);
                    self.text(": ");
                    self.layout(layout);
                }
            }
            self.text(", ");
            i += 1;
        }
        self.size(layout.size, layout.align);
        if composite.chosen {
            self.text(", laid out by ");
            self.text(COMPILER);
        }
        self.text(" }");
    }
}
