//! The layout of the report of a panic or a stack overflow, which `cuda_std` and the compiler write
//! and `cust` reads.
//!
//! A module whose kernels can panic has a variable named [`SYMBOL`], a [`Slot`]. The constants
//! describe the report that it points to: offsets in bytes, all numbers little-endian.
//!
//! # Examples
//!
//! ```
//! use cust_core::report::{COMPLETE, FILE_LEN, LINE, SIZE, STATE, TEXT};
//!
//! /// Returns the file and the line of a panic.
//! fn location(report: &[u8; SIZE]) -> Option<(String, u32)> {
//!     let number = |at: usize| {
//!         let bytes = report[at..at + 4].try_into().expect("4 bytes");
//!         u32::from_le_bytes(bytes)
//!     };
//!     let file = report.get(TEXT..TEXT + number(FILE_LEN) as usize)?;
//!     let file = String::from_utf8_lossy(file).into_owned();
//!     (number(STATE) == COMPLETE).then(|| (file, number(LINE)))
//! }
//!
//! let mut report = [0; SIZE];
//! assert_eq!(location(&report), None);
//! // A thread that panics writes:
//! report[TEXT..TEXT + 6].copy_from_slice(b"lib.rs");
//! report[FILE_LEN] = 6;
//! report[LINE] = 12;
//! report[STATE] = COMPLETE as u8;
//! assert_eq!(location(&report), Some(("lib.rs".to_owned(), 12)));
//! ```

use core::fmt;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The name of the variable of type [`Slot`], and of the static in `cuda_std`.
pub const SYMBOL: &core::ffi::CStr = c"__cuda_std_report_slot";

/// The destination of a module's panics: a global variable of the module, which the host sets once.
#[repr(C)]
#[derive(Debug)]
pub struct Slot {
    /// 0 until a thread claims the report, then the thread's number. Not part of the report,
    /// because a claim in device memory is cheap and reliable. At the start, because ptxas computes
    /// the address of an atomic operation elsewhere in a variable with five instructions.
    pub claim: AtomicU32,
    /// Padding; the struct's size is 16.
    pub pad: AtomicU32,
    /// The device address of a report in memory that the host can read, a multiple of 16, or 0
    /// without one.
    pub buffer: AtomicU64,
}

const _: () = {
    assert!(offset_of!(Slot, claim) == 0 && offset_of!(Slot, buffer) == 8);
    assert!(size_of::<Slot>() == 16);
};

/// The start of a report, which [`TEXT`] follows. Each constant is the offset of a field.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// One of the states below.
    pub state: u32,
    /// The number of the panic in the module's [`TABLE`], if the state is [`NUMBERED`].
    pub number: u32,
    /// The index of the panicking thread's block.
    pub block: [u32; 3],
    /// The panicking thread's index in its block.
    pub thread: [u32; 3],
    /// The line, from 1. For a stack overflow, `i32`: the remaining bytes of stack.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The length of the file name in bytes.
    pub file_len: u32,
    /// The length of the message as stored.
    pub message_len: u32,
    /// The length of the message before truncation.
    pub message_total: u32,
    /// One of the kinds below.
    pub kind: u32,
    /// The number of the panicking thread's launch.
    pub launch: u64,
    /// The numbers of a message that the host formats, see [`parts`].
    pub arguments: [u64; 3],
}

/// The size of the report in bytes.
pub const SIZE: usize = 4096;
/// The offset of [`Header::state`].
pub const STATE: usize = offset_of!(Header, state);
/// The offset of [`Header::number`].
pub const NUMBER: usize = offset_of!(Header, number);
/// The offset of [`Header::block`].
pub const BLOCK: usize = offset_of!(Header, block);
/// The offset of [`Header::thread`].
pub const THREAD: usize = offset_of!(Header, thread);
/// The offset of [`Header::line`].
pub const LINE: usize = offset_of!(Header, line);
/// The offset of [`Header::column`].
pub const COLUMN: usize = offset_of!(Header, column);
/// The offset of [`Header::file_len`].
pub const FILE_LEN: usize = offset_of!(Header, file_len);
/// The offset of [`Header::message_len`].
pub const MESSAGE_LEN: usize = offset_of!(Header, message_len);
/// The offset of [`Header::message_total`].
pub const MESSAGE_TOTAL: usize = offset_of!(Header, message_total);
/// The offset of [`Header::kind`].
pub const KIND: usize = offset_of!(Header, kind);
/// The offset of [`Header::launch`].
pub const LAUNCH: usize = offset_of!(Header, launch);
/// The offset of [`Header::arguments`].
pub const ARGUMENTS: usize = offset_of!(Header, arguments);
/// The file name followed by the message, in UTF-8. For a stack overflow: the function's name.
pub const TEXT: usize = size_of::<Header>();

// Modules that were compiled earlier write these offsets.
const _: () = {
    assert!(STATE == 0 && NUMBER == 4 && BLOCK == 8 && THREAD == 20 && LINE == 32 && COLUMN == 36);
    assert!(FILE_LEN == 40 && MESSAGE_LEN == 44 && MESSAGE_TOTAL == 48 && KIND == 52);
    assert!(LAUNCH == 56 && ARGUMENTS == 64 && TEXT == 88);
};

/// State: no thread has panicked.
pub const EMPTY: u32 = 0;
/// State: a thread is writing the report.
pub const WRITING: u32 = 1;
/// State: the report is complete.
pub const COMPLETE: u32 = 2;
/// State: the report is complete, and has the number of an entry of [`TABLE`] in place of the kind,
/// the location and the message.
pub const NUMBERED: u32 = 3;

/// Kind: a panic with a message.
pub const PANIC: u32 = 0;
/// Kind: a stack overflow, which the compiler's check of recursive functions reports.
pub const OVERFLOW: u32 = 1;
/// Kind: an index out of bounds: index, length.
pub const INDEX: u32 = 2;
/// Kind: a range out of bounds: start, end, length.
pub const RANGE: u32 = 3;
/// Kind: a copy between slices of different lengths: the destination's length, the source's.
pub const LENGTHS: u32 = 4;
/// Kind: a failed allocation: the size in bytes.
pub const ALLOCATION: u32 = 5;

/// Kind: a panic whose message the host formats: see [`write_message`].
pub const VALUES: u32 = 6;

/// The name of the variable with the panics that reports give by their number. A module without such
/// panics has no table.
///
/// An entry has seven `u32`: the kind, the line, the column, and of the file's name and the message
/// the offset from the start of the table and the length. The strings follow the entries.
pub const TABLE: &core::ffi::CStr = c"__cuda_std_panics";
/// The size of an entry of [`TABLE`] in bytes.
pub const SITE: usize = 7 * size_of::<u32>();

/// An entry of [`TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'t> {
    /// One of the kinds.
    pub kind: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The file's name, in UTF-8.
    pub file: &'t [u8],
    /// The message, in UTF-8, if the kind is [`PANIC`].
    pub message: &'t [u8],
}

/// Returns an entry of a table, or `None` if the table has no valid entry with this number.
///
/// ```
/// use cust_core::report::{PANIC, site};
///
/// let words = [PANIC, 12, 5, 28, 6, 34, 4u32];
/// let mut table: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
/// table.extend(b"lib.rsfull");
/// let entry = site(&table, 0).unwrap();
/// assert_eq!((entry.line, entry.file, entry.message), (12, &b"lib.rs"[..], &b"full"[..]));
/// ```
pub fn site(table: &[u8], number: u32) -> Option<Site<'_>> {
    let start = (number as usize).checked_mul(SITE)?;
    let entry = table.get(start..start.checked_add(SITE)?)?;
    let (words, _) = entry.as_chunks();
    let &[kind, line, column, file, file_len, message, message_len] = words else {
        return None;
    };
    let [kind, line, column, file, file_len, message, message_len] =
        [kind, line, column, file, file_len, message, message_len].map(u32::from_le_bytes);
    let string = |at: u32, len: u32| {
        let end = (at as usize).checked_add(len as usize)?;
        table.get(at as usize..end)
    };
    Some(Site {
        kind,
        line,
        column,
        file: string(file, file_len)?,
        message: string(message, message_len)?,
    })
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A string.
    Text(&'static str),
    /// A number, printed in decimal.
    Number(u64),
}

/// Returns the message of a kind of panic that only has [`ARGUMENTS`], or `None` for other kinds.
/// The host formats these messages, so kernels contain no formatting code for them.
///
/// ```
/// use cust_core::report::{INDEX, Part, parts};
///
/// let parts = parts(INDEX, [7, 5, 0]).unwrap();
/// assert_eq!(parts[1], Part::Number(5));
/// ```
pub const fn parts(kind: u32, arguments: [u64; 3]) -> Option<[Part; 5]> {
    use Part::{Number, Text};
    const OF_LENGTH: Part = Text(" out of range for slice of length ");
    let none = Text("");
    Some(match (kind, arguments) {
        (INDEX, [index, len, _]) => [
            Text("index out of bounds: the len is "),
            Number(len),
            Text(" but the index is "),
            Number(index),
            none,
        ],
        (RANGE, [start, _, len]) if start > len => [
            Text("range start index "),
            Number(start),
            OF_LENGTH,
            Number(len),
            none,
        ],
        (RANGE, [start, end, len]) if end <= len && start > end => [
            Text("slice index starts at "),
            Number(start),
            Text(" but ends at "),
            Number(end),
            none,
        ],
        // Also an inclusive range that ends at the largest number.
        (RANGE, [_, end, len]) => [
            Text("range end index "),
            Number(end),
            OF_LENGTH,
            Number(len),
            none,
        ],
        (LENGTHS, [destination, source, _]) => [
            Text("copy_from_slice: source slice length ("),
            Number(source),
            Text(") does not match destination slice length ("),
            Number(destination),
            Text(")"),
        ],
        (ALLOCATION, [size, ..]) => [
            Text("memory allocation of "),
            Number(size),
            Text(" bytes failed: the device's heap is used up"),
            none,
            none,
        ],
        _ => return None,
    })
}

/// The character that announces a value in the text of a report of the kind [`VALUES`].
pub const MARK: char = '\u{1A}';

/// Writes the message of a report of the kind [`VALUES`].
///
/// The text has [`MARK`] and a letter for each value. The values are in `arguments`, as little-endian
/// bytes: each one at the next multiple of its size, or of 8 bytes.
///
/// | letter | type |
/// |---|---|
/// | `h`, `t`, `m`, `y`, `o` | `u8`, `u16`, `u32`, `u64`, `u128` |
/// | `a`, `s`, `l`, `x`, `n` | `i8`, `i16`, `i32`, `i64`, `i128` |
/// | `f`, `d` | `f32`, `f64`, as `{}` formats it |
/// | `F`, `D` | `f32`, `f64`, as `{:?}` formats it |
/// | `b` | `bool` |
/// | `c`, `C` | `char`, as `{}` and `{:?}` format it |
/// | `e` | `u8`, of which the text has the name: behind the letter, up to another [`MARK`], are numbers and names, as in `0=Less,1=Equal` |
///
/// # Errors
/// Returns the error of `to`. A text that does not have this form is written as far as possible.
///
/// ```
/// use cust_core::report::{MARK, write_message};
///
/// let mut message = String::new();
/// let arguments = [7 | u64::from(1.5f32.to_bits()) << 32, 0, 0];
/// write_message(&mut message, &format!("{MARK}m > {MARK}F"), arguments).unwrap();
/// assert_eq!(message, "7 > 1.5");
/// ```
pub fn write_message(to: &mut dyn fmt::Write, text: &str, arguments: [u64; 3]) -> fmt::Result {
    let mut bytes = [0; 24];
    for (to, argument) in bytes.as_chunks_mut().0.iter_mut().zip(arguments) {
        *to = argument.to_le_bytes();
    }
    let mut offset = 0usize;
    let mut value = |size: usize| -> u128 {
        offset = offset.next_multiple_of(size.min(8)) + size;
        let value = bytes.get(offset - size..offset).unwrap_or_default();
        (value.iter().rev()).fold(0, |value, &byte| value << 8 | u128::from(byte))
    };
    let mut parts = text.split(MARK);
    to.write_str(parts.next().unwrap_or_default())?;
    while let Some(part) = parts.next() {
        let mut letters = part.chars();
        let letter = letters.next();
        match letter {
            Some('h') => write!(to, "{}", value(1) as u8)?,
            Some('t') => write!(to, "{}", value(2) as u16)?,
            Some('m') => write!(to, "{}", value(4) as u32)?,
            Some('y') => write!(to, "{}", value(8) as u64)?,
            Some('o') => write!(to, "{}", value(16))?,
            Some('a') => write!(to, "{}", value(1) as i8)?,
            Some('s') => write!(to, "{}", value(2) as i16)?,
            Some('l') => write!(to, "{}", value(4) as i32)?,
            Some('x') => write!(to, "{}", value(8) as i64)?,
            Some('n') => write!(to, "{}", value(16) as i128)?,
            Some('f') => write!(to, "{}", f32::from_bits(value(4) as u32))?,
            Some('d') => write!(to, "{}", f64::from_bits(value(8) as u64))?,
            Some('F') => write!(to, "{:?}", f32::from_bits(value(4) as u32))?,
            Some('D') => write!(to, "{:?}", f64::from_bits(value(8) as u64))?,
            Some('b') => write!(to, "{}", value(1) != 0)?,
            Some(letter @ ('c' | 'C')) => {
                let value = char::from_u32(value(4) as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                match letter {
                    'c' => write!(to, "{value}")?,
                    _ => write!(to, "{value:?}")?,
                }
            }
            Some('e') => {
                let number = value(1);
                let mut names = letters
                    .as_str()
                    .split(',')
                    .filter_map(|it| it.split_once('='));
                let name = names.find(|(own, _)| own.parse() == Ok(number));
                to.write_str(name.map_or("?", |(_, name)| name))?;
                letters = parts.next().unwrap_or_default().chars();
            }
            _ => {}
        }
        to.write_str(letters.as_str())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MARK, write_message};
    use std::format;
    use std::string::String;

    fn message(text: &str, bytes: &[u8]) -> String {
        let mut all = [0; 24];
        all[..bytes.len()].copy_from_slice(bytes);
        let (words, _) = all.as_chunks();
        let arguments = [words[0], words[1], words[2]].map(u64::from_le_bytes);
        let mut message = String::new();
        let text = text.replace('$', &format!("{MARK}"));
        write_message(&mut message, &text, arguments).unwrap();
        message
    }

    #[test]
    fn values_are_aligned() {
        let bytes = [
            &[0xFF, 0, 0xFE, 0xFF, 3, 0, 0, 0][..],
            &u64::MAX.to_le_bytes(),
            &[1, 0xFF],
        ];
        let text = "$a $s $m, $x $b$h.";
        assert_eq!(message(text, &bytes.concat()), "-1 -2 3, -1 true255.");
        let wide = (i128::MIN + 5).to_le_bytes();
        assert_eq!(
            message("$h$n", &[&[7; 8][..], &wide].concat()),
            format!("7{}", i128::MIN + 5)
        );
    }

    #[test]
    fn values_have_their_type() {
        for value in [0.1f32, -0.0, 1e30, 1e-7, f32::NAN, f32::INFINITY] {
            assert_eq!(message("$f", &value.to_le_bytes()), format!("{value}"));
            assert_eq!(message("$F", &value.to_le_bytes()), format!("{value:?}"));
            let value = f64::from(value);
            assert_eq!(message("$d", &value.to_le_bytes()), format!("{value}"));
            assert_eq!(message("$D", &value.to_le_bytes()), format!("{value:?}"));
        }
        for value in ['a', '\'', '\n', '\u{10FFFF}'] {
            let bytes = u32::from(value).to_le_bytes();
            assert_eq!(message("$c", &bytes), format!("{value}"));
            assert_eq!(message("$C", &bytes), format!("{value:?}"));
        }
        assert_eq!(message("$c", &[0xFF; 4]), "\u{FFFD}");
        assert_eq!(
            message("$e255=Less,0=Equal$ or $e0=A$", &[255]),
            "Less or A"
        );
        assert_eq!(message("$e1=B$.", &[2]), "?.");
    }

    /// The report may be truncated, or have more values than fit.
    #[test]
    fn other_texts_are_written_as_far_as_possible() {
        assert_eq!(message("a$", &[1]), "a");
        assert_eq!(message("a$zb", &[1]), "ab");
        assert_eq!(message("$e1=B", &[1]), "B");
        assert_eq!(message("$x$x$x$x$h!", &[1]), "10000!");
    }
}
