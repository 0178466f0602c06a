//! Signatures of kernels and statics as text, equal on host and device if both are compiled from
//! the same source.
//!
//! `#[kernel]`, `#[constant]` and `#[address_space]` write a [`Record`] into the device program,
//! from which the compiler takes the signatures; `cuda_builder` embeds them next to the images. On
//! the host, the types of kernels and statics have the signature as a constant. `cust` compares the
//! two when it looks up a kernel or a static.

use core::marker::PhantomData;

use crate::kernel::{
    Atomic, ImageNumbers, ImageShape, Output, OutputRows, OutputValue, OutputVolume, SetsCondition,
    SurfaceParam, TextureParam,
};
use crate::layout::{Layout, Writer};
use crate::traits::DeviceCopy;

/// Properties of the type of a parameter or static: each constant is `Some` if the type implements
/// the trait that the host's arguments require.
///
/// Inherent constants take precedence over those of [`Unknown`], and exist if their bounds hold.
#[derive(Debug)]
pub struct Probe<P: ?Sized>(PhantomData<P>);

/// The constants of [`Probe`] for other types.
#[allow(missing_docs, reason = "the names are those of `Parameter`'s fields")]
pub trait Unknown {
    const SIZE: usize = 0;
    const ALIGN: usize = 1;
    const VALUE: Option<&'static Layout> = None;
    const SLICE: Option<&'static Layout> = None;
    const REFERENCE: Option<&'static Layout> = None;
    const OUTPUT: Option<(bool, &'static Layout)> = None;
    const OUTPUT_VALUE: Option<&'static Layout> = None;
    const ROWS: Option<&'static Layout> = None;
    const VOLUME: Option<&'static Layout> = None;
    const ATOMIC: Option<&'static Layout> = None;
    const CONDITION: bool = false;
    const TEXTURE: Option<(ImageShape, ImageNumbers, u32)> = None;
    const SURFACE: Option<(ImageShape, usize)> = None;
}

impl<P: ?Sized> Unknown for Probe<P> {}

#[allow(missing_docs, reason = "as above")]
impl<P> Probe<P> {
    pub const SIZE: usize = size_of::<P>();
    pub const ALIGN: usize = align_of::<P>();
}

#[allow(missing_docs, reason = "as above")]
impl<P: DeviceCopy> Probe<P> {
    pub const VALUE: Option<&'static Layout> = Some(&P::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<T: DeviceCopy> Probe<&[T]> {
    pub const SLICE: Option<&'static Layout> = Some(&T::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<T: DeviceCopy> Probe<&T> {
    pub const REFERENCE: Option<&'static Layout> = Some(&T::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<P: Output<Element: DeviceCopy>> Probe<P> {
    pub const OUTPUT: Option<(bool, &'static Layout)> = Some((P::WIDE, &P::Element::LAYOUT));
}

#[allow(missing_docs, reason = "as above")]
impl<P: OutputValue<Element: DeviceCopy>> Probe<P> {
    pub const OUTPUT_VALUE: Option<&'static Layout> = Some(&P::Element::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<P: OutputRows<Element: DeviceCopy>> Probe<P> {
    pub const ROWS: Option<&'static Layout> = Some(&P::Element::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<P: OutputVolume<Element: DeviceCopy>> Probe<P> {
    pub const VOLUME: Option<&'static Layout> = Some(&P::Element::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<P: Atomic> Probe<P> {
    pub const ATOMIC: Option<&'static Layout> = Some(&P::Value::LAYOUT);
}

#[allow(missing_docs, reason = "as above")]
impl<P: SetsCondition> Probe<P> {
    pub const CONDITION: bool = true;
}

#[allow(missing_docs, reason = "as above")]
impl<P: TextureParam> Probe<P> {
    pub const TEXTURE: Option<(ImageShape, ImageNumbers, u32)> =
        Some((P::SHAPE, P::NUMBERS, P::CHANNELS));
}

#[allow(missing_docs, reason = "as above")]
impl<P: SurfaceParam> Probe<P> {
    pub const SURFACE: Option<(ImageShape, usize)> = Some((P::SHAPE, P::ELEMENT));
}

/// A parameter of a kernel, or a static.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Whether the host passes a value to which the kernel has a reference.
    pub grid_constant: bool,
    /// The size of the type.
    pub size: usize,
    /// The alignment of the type.
    pub align: usize,
    /// The value's layout, if the value is copied as bytes.
    pub value: Option<&'static Layout>,
    /// The elements' layout, for a slice that the kernel reads.
    pub slice: Option<&'static Layout>,
    /// The value's layout, for a value that the kernel reads through a reference.
    pub reference: Option<&'static Layout>,
    /// For elements that the kernel writes: whether they are passed like a slice, and their layout.
    pub output: Option<(bool, &'static Layout)>,
    /// The value's layout, for a value that the kernel writes.
    pub output_value: Option<&'static Layout>,
    /// The elements' layout, for a matrix that the kernel writes.
    pub rows: Option<&'static Layout>,
    /// The elements' layout, for a volume that the kernel writes.
    pub volume: Option<&'static Layout>,
    /// The value's layout, for an atomic.
    pub atomic: Option<&'static Layout>,
    /// Whether it is a condition of a graph.
    pub condition: bool,
    /// The shape, the component type and the number of components of a texture.
    pub texture: Option<(ImageShape, ImageNumbers, u32)>,
    /// The shape of a surface, and the size of an element in bytes.
    pub surface: Option<(ImageShape, usize)>,
}

/// Creates the [`Parameter`](crate::signature::Parameter) of a type.
#[doc(hidden)]
#[macro_export]
macro_rules! parameter {
    ($ty:ty, $grid_constant:literal) => {{
        #[allow(unused_imports)]
        use $crate::signature::Unknown as _;
        $crate::signature::Parameter {
            grid_constant: $grid_constant,
            size: $crate::signature::Probe::<$ty>::SIZE,
            align: $crate::signature::Probe::<$ty>::ALIGN,
            value: $crate::signature::Probe::<$ty>::VALUE,
            slice: $crate::signature::Probe::<$ty>::SLICE,
            reference: $crate::signature::Probe::<$ty>::REFERENCE,
            output: $crate::signature::Probe::<$ty>::OUTPUT,
            output_value: $crate::signature::Probe::<$ty>::OUTPUT_VALUE,
            rows: $crate::signature::Probe::<$ty>::ROWS,
            volume: $crate::signature::Probe::<$ty>::VOLUME,
            atomic: $crate::signature::Probe::<$ty>::ATOMIC,
            condition: $crate::signature::Probe::<$ty>::CONDITION,
            texture: $crate::signature::Probe::<$ty>::TEXTURE,
            surface: $crate::signature::Probe::<$ty>::SURFACE,
        }
    }};
}
pub use crate::parameter;

/// The signature of a kernel or a static.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// The package, with its version.
    pub package: &'static str,
    /// The words before the name, such as `unsafe fn`.
    pub kind: &'static str,
    /// The name.
    pub name: &'static str,
    /// The parameters of a kernel, or the type of a static.
    pub parameters: &'static [Parameter],
    /// Other properties that both sides must agree on, such as a kernel's options.
    pub options: &'static str,
}

impl Signature {
    /// Writes the signature.
    pub const fn write(self) -> Written {
        let mut bytes = [0; SHORT];
        let mut writer = Writer::new(&mut bytes);
        writer.signature(&self);
        let len = writer.len;
        Written {
            signature: self,
            bytes,
            len,
        }
    }
}

/// The length in bytes up to which a signature is written only once: to determine its length.
const SHORT: usize = 512;

/// A signature that has been written.
#[derive(Debug)]
pub struct Written {
    signature: Signature,
    /// The string, if it fits.
    bytes: [u8; SHORT],
    len: usize,
}

impl Written {
    /// Returns the length of the string.
    #[allow(clippy::len_without_is_empty, reason = "no signature is empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the string.
    ///
    /// # Panics
    ///
    /// Panics if `N` is not [`len`](Written::len).
    pub const fn text<const N: usize>(&self) -> Text<N> {
        assert!(N == self.len);
        let mut bytes = [0; N];
        if N > SHORT {
            Writer::new(&mut bytes).signature(&self.signature);
        } else {
            let mut i = 0;
            while i < N {
                bytes[i] = self.bytes[i];
                i += 1;
            }
        }
        Text(bytes)
    }
}

/// A string of `N` bytes.
#[derive(Debug)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// Returns the string.
    pub const fn as_str(&self) -> &str {
        // SAFETY: the bytes are those of strings, one after the other. The compiler would interpret
        // a check of each byte.
        unsafe { core::str::from_utf8_unchecked(&self.0) }
    }
}

/// Converts the result of [`symbol`] to a string.
///
/// # Panics
///
/// Panics if the bytes are not UTF-8. The bytes of a symbol are.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("identifiers and numbers are UTF-8"),
    }
}

/// Returns the symbol of a static: its name and a hash of its package and source position.
pub const fn symbol<const N: usize>(
    name: &str,
    package: &str,
    module: &str,
    place: &str,
) -> [u8; N] {
    // The crate's name is omitted, because a binary may contain the same modules.
    let module = module.as_bytes();
    let mut start = 0;
    while start < module.len() && module[start] != b':' {
        start += 1;
    }
    let hash = fnv(FNV, package.as_bytes(), 0);
    let hash = fnv(hash, b" ", 0);
    let hash = fnv(hash, module, start);
    let hash = fnv(hash, b" ", 0);
    let hash = fnv(hash, place.as_bytes(), 0);
    let mut symbol = [b'_'; N];
    let mut i = 0;
    while i < name.len() {
        symbol[i] = name.as_bytes()[i];
        i += 1;
    }
    while i + 1 < N {
        i += 1;
        symbol[i] = b"0123456789abcdef"[(hash >> (4 * (N - 1 - i)) & 15) as usize];
    }
    symbol
}

/// Returns the length of the [`symbol`] of a static of this name.
pub const fn symbol_len(name: &str) -> usize {
    name.len() + 17
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Computes FNV-1a of the bytes from `i` on.
const fn fnv(mut hash: u64, bytes: &[u8], mut i: usize) -> u64 {
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}

/// The signature of a kernel or a static as text.
#[doc(hidden)]
#[macro_export]
macro_rules! signature_text {
    ($signature:ident $bytes:ident $($field:ident: $value:expr,)*) => {{
        const $signature: $crate::signature::Written =
            $crate::signature::Signature { $($field: $value,)* }.write();
        const $bytes: $crate::signature::Text<{ $signature.len() }> = $signature.text();
        $bytes.as_str()
    }};
}
pub use crate::signature_text;

/// The symbol of a static as text.
#[doc(hidden)]
#[macro_export]
macro_rules! symbol_text {
    ($name:literal, $package:literal, $place:expr) => {{
        const SYMBOL: [::core::primitive::u8; $crate::signature::symbol_len($name)] =
            $crate::signature::symbol($name, $package, ::core::module_path!(), $place);
        $crate::signature::text(&SYMBOL)
    }};
}
pub use crate::symbol_text;

/// A record about a kernel or a static in the device program, which the compiler reads and removes:
/// a static with `#[link_section = "nvvm.record"]`.
#[derive(Debug)]
#[repr(C)]
pub struct Record {
    symbol: &'static str,
    text: &'static str,
    item: *const (),
    /// In a single-source session, the type that represents the kernel.
    #[cfg(nvvm_single_source)]
    handle: core::any::TypeId,
}

// SAFETY: the pointer is never dereferenced.
unsafe impl Sync for Record {}

impl Record {
    /// Creates the record of the kernel with this symbol.
    #[cfg(not(nvvm_single_source))]
    pub const fn of_kernel(symbol: &'static str, text: &'static str) -> Record {
        Record {
            symbol,
            text,
            item: core::ptr::null(),
        }
    }

    /// Creates the record of the kernel with this name, which the type `K` represents.
    #[cfg(nvvm_single_source)]
    pub const fn of_kernel_named<K: 'static>(name: &'static str, text: &'static str) -> Record {
        Record {
            symbol: name,
            text,
            item: core::ptr::null(),
            handle: core::any::TypeId::of::<K>(),
        }
    }

    /// Creates the record of the static at `item`, which gets this symbol.
    pub const fn of_static<T>(symbol: &'static str, text: &'static str, item: *const T) -> Record {
        Record {
            symbol,
            text,
            item: item.cast(),
            #[cfg(nvvm_single_source)]
            handle: core::any::TypeId::of::<()>(),
        }
    }
}

impl Writer<'_> {
    const fn signature(&mut self, signature: &Signature) {
        self.text(signature.kind);
        self.text(" ");
        self.text(signature.name);
        self.text(" of ");
        self.text(signature.package);
        self.text(" (");
        let mut i = 0;
        while i < signature.parameters.len() {
            if i > 0 {
                self.text(", ");
            }
            self.parameter(&signature.parameters[i]);
            i += 1;
        }
        self.text(")");
        if !signature.options.is_empty() {
            self.text(" ");
            self.text(signature.options);
        }
    }

    const fn parameter(&mut self, parameter: &Parameter) {
        let start = self.len;
        if let Some(layout) = parameter.value {
            self.layout(layout);
        }
        if let Some(layout) = parameter.slice {
            self.element(start, "&[", layout, "]");
        }
        if let Some(layout) = parameter.reference {
            self.element(start, "&", layout, "");
        }
        if let Some((wide, layout)) = parameter.output {
            let words = if wide {
                "output as a slice of "
            } else {
                "output of "
            };
            self.element(start, words, layout, "");
        }
        if let Some(layout) = parameter.output_value {
            self.element(start, "output value ", layout, "");
        }
        if let Some(layout) = parameter.rows {
            self.element(start, "rows of ", layout, "");
        }
        if let Some(layout) = parameter.volume {
            self.element(start, "volume of ", layout, "");
        }
        if let Some(layout) = parameter.atomic {
            self.element(start, "atomic ", layout, "");
        }
        if parameter.condition {
            self.word(start, "graph condition");
        }
        if let Some((shape, numbers, channels)) = parameter.texture {
            self.word(start, "texture of ");
            self.shape(shape);
            self.text(match numbers {
                ImageNumbers::Float => ", float",
                ImageNumbers::Signed => ", signed",
                ImageNumbers::Unsigned => ", unsigned",
            });
            self.text(" x ");
            self.number(channels as i128);
        }
        if let Some((shape, bytes)) = parameter.surface {
            self.word(start, "surface of ");
            self.shape(shape);
            self.text(", ");
            self.number(bytes as i128);
            self.text(" bytes");
        }
        if self.len == start {
            self.text("a type that is not `DeviceCopy` (");
            self.size(parameter.size, parameter.align);
            self.text(")");
        }
        if parameter.grid_constant {
            self.text(" as grid constant");
        }
    }

    const fn shape(&mut self, shape: ImageShape) {
        match shape {
            ImageShape::Plain(n) => self.number(n as i128),
            ImageShape::Layered(n) => {
                self.text("layered ");
                self.number(n as i128);
            }
            ImageShape::Cube => self.text("cube"),
            ImageShape::LayeredCube => self.text("layered cube"),
        }
    }

    /// Writes the first word of another form in which the parameter can be passed.
    const fn word(&mut self, start: usize, word: &str) {
        if self.len > start {
            self.text(" or ");
        }
        self.text(word);
    }

    const fn element(&mut self, start: usize, before: &str, layout: &Layout, after: &str) {
        self.word(start, before);
        self.layout(layout);
        self.text(after);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::sync::atomic::AtomicU32;

    fn text_of(parameter: Parameter) -> std::string::String {
        let mut bytes = [0; 4096];
        let mut writer = Writer::new(&mut bytes);
        writer.parameter(&parameter);
        let len = writer.len;
        std::str::from_utf8(&bytes[..len]).unwrap().into()
    }

    #[derive(Clone, Copy)]
    struct ByHand(#[allow(dead_code)] u64);
    // SAFETY: a number.
    unsafe impl DeviceCopy for ByHand {}

    #[derive(Clone, Copy)]
    struct Not(#[allow(dead_code)] u64);

    #[test]
    fn parameters_are_told_apart() {
        let texts = [
            (text_of(parameter!(u64, false)), "u64"),
            (text_of(parameter!(f32, true)), "f32 as grid constant"),
            (text_of(parameter!(&'_ [f32], false)), "&[f32]"),
            (text_of(parameter!(&'_ f32, false)), "&f32"),
            (text_of(parameter!(&AtomicU32, false)), "output value u32"),
            (
                text_of(parameter!(&[AtomicU32], false)),
                "output as a slice of u32",
            ),
            (text_of(parameter!(AtomicU32, false)), "atomic u32"),
            (text_of(parameter!([[i8; 3]; 2], false)), "[[i8; 3]; 2]"),
            (
                text_of(parameter!(ByHand, false)),
                "a type described by hand (8 bytes, align 8)",
            ),
            (
                text_of(parameter!(Not, false)),
                "a type that is not `DeviceCopy` (8 bytes, align 8)",
            ),
            (
                text_of(parameter!((u8, u8), false)),
                "tuple { 0: u8 at 0, 1: u8 at 1, 2 bytes, align 1 }",
            ),
            (
                text_of(parameter!(*mut f64, false)),
                "*mut (to 8 bytes, align 8)",
            ),
        ];
        for (text, expected) in texts {
            assert_eq!(text, expected);
        }
        assert!(text_of(parameter!(Option<u32>, false)).contains("laid out by rustc"));
        assert!(!text_of(parameter!(Option<core::num::NonZeroU8>, false)).contains("laid out"));
    }

    #[test]
    fn the_length_is_that_of_the_text() {
        const SIGNATURE: Signature = Signature {
            package: "kernels 0.1.0",
            kind: "unsafe fn",
            name: "f",
            parameters: &[parameter!(u8, false), parameter!(Option<f32>, false)],
            options: "[reqntid=32]",
        };
        const WRITTEN: Written = SIGNATURE.write();
        const TEXT: &str = WRITTEN.text::<{ WRITTEN.len() }>().as_str();
        assert!(
            TEXT.starts_with("unsafe fn f of kernels 0.1.0 (u8, Option {"),
            "{TEXT}"
        );
        assert!(TEXT.ends_with(") [reqntid=32]"), "{TEXT}");
    }

    #[test]
    fn long_signatures_are_complete() {
        const WRITTEN: Written = Signature {
            package: "kernels 0.1.0",
            kind: "fn",
            name: "f",
            parameters: &[parameter!([(u8, u16); 2], true); 20],
            options: "",
        }
        .write();
        const TEXT: Text<{ WRITTEN.len() }> = WRITTEN.text();
        let text = TEXT.as_str();
        assert!(text.len() > SHORT);
        assert!(text.starts_with("fn f of kernels 0.1.0 ([tuple { 0: u8 at "));
        assert!(text.ends_with(" as grid constant)"));
        assert_eq!(text.matches("tuple").count(), 20);
    }

    #[test]
    fn symbols_differ_by_module_and_place() {
        let make = |module, place| symbol::<{ symbol_len("X") }>("X", "k 0.1.0", module, place);
        let one = make("k::left", "mod.rs 1 1");
        assert_eq!(one, make("main::left", "mod.rs 1 1"));
        assert_ne!(one, make("k::right", "mod.rs 1 1"));
        assert_ne!(one, make("k::left", "mod.rs 2 1"));
        assert_eq!(&one[..2], b"X_");
        assert!(one[2..].iter().all(u8::is_ascii_hexdigit));
    }
}
