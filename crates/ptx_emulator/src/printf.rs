//! `vprintf`: C's formatting of arguments that a kernel has packed into a buffer.

use crate::exec::{Context, Inst};

/// The maximum length of a string; a longer one is taken to be unterminated.
const MAX_TEXT: usize = 1 << 20;

/// Returns the bytes of a NUL-terminated string, or `None` after a fault.
///
/// # Safety
///
/// `at` is the instruction being executed.
pub(crate) unsafe fn read_string(
    context: &mut Context,
    at: *const Inst,
    address: u64,
) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < MAX_TEXT {
        // SAFETY: as the caller promises; the byte's address is checked.
        let byte = unsafe {
            let place = context.generic(at, address.wrapping_add(text.len() as u64), 1);
            if place.is_null() {
                return None;
            }
            place.read_volatile()
        };
        if byte == 0 {
            break;
        }
        text.push(byte);
    }
    Some(text)
}

/// Formats and prints. Returns the number of arguments used, or `None` after a fault.
///
/// # Safety
///
/// `at` is the instruction being executed.
pub(crate) unsafe fn print(
    context: &mut Context,
    at: *const Inst,
    format: u64,
    args: u64,
) -> Option<u64> {
    // SAFETY: as the caller promises.
    let format = unsafe { read_string(context, at, format)? };
    let mut source = Source {
        context,
        at,
        address: args,
        count: 0,
    };
    let mut output = Vec::with_capacity(format.len() + 32);
    format_into(&mut output, &format, &mut source)?;
    let count = source.count;
    context.launch.write_output(&output);
    Some(count)
}

/// A source of arguments.
trait Arguments {
    /// Returns the next argument of 4 or 8 bytes.
    fn next(&mut self, size: u64) -> Option<u64>;
    /// Returns the string at an address.
    fn string(&mut self, address: u64) -> Option<Vec<u8>>;
}

/// The buffer that a kernel passed, which contains the arguments with their natural alignment.
struct Source<'c, 'l> {
    context: &'c mut Context<'l>,
    at: *const Inst,
    address: u64,
    count: u64,
}

impl Arguments for Source<'_, '_> {
    fn next(&mut self, size: u64) -> Option<u64> {
        self.address = self.address.wrapping_add(size - 1) & !(size - 1);
        // SAFETY: the address is checked for the number of bytes that are read.
        let value = unsafe {
            let place = self.context.generic(self.at, self.address, size);
            if place.is_null() {
                return None;
            }
            if size == 4 {
                place.cast::<u32>().read_unaligned().into()
            } else {
                place.cast::<u64>().read_unaligned()
            }
        };
        self.address = self.address.wrapping_add(size);
        self.count += 1;
        Some(value)
    }

    fn string(&mut self, address: u64) -> Option<Vec<u8>> {
        // SAFETY: `at` is the instruction being executed.
        unsafe { read_string(self.context, self.at, address) }
    }
}

/// A conversion specification: the flags, width and precision between `%` and the letter.
#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

fn format_into(output: &mut Vec<u8>, format: &[u8], args: &mut impl Arguments) -> Option<()> {
    let mut rest = format.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            output.push(byte);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(flag) = rest.next_if(|b| b"-+ #0".contains(b)) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                _ => spec.zero = true,
            }
        }
        let width = number_or_argument(&mut rest, args)?;
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(MAX_TEXT);
        if rest.next_if_eq(&b'.').is_some() {
            spec.precision = usize::try_from(number_or_argument(&mut rest, args)?)
                .ok()
                .map(|p| p.min(MAX_TEXT));
        }
        let mut long = false;
        let mut short = 0;
        while let Some(modifier) = rest.next_if(|b| b"hlLqjzt".contains(b)) {
            match modifier {
                b'h' => short += 1,
                b'L' => {}
                _ => long = true,
            }
        }
        let Some(conversion) = rest.next() else {
            output.push(b'%');
            break;
        };
        format_one(output, conversion, spec, (long, short), args)?;
    }
    Some(())
}

fn number_or_argument(
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    args: &mut impl Arguments,
) -> Option<i32> {
    if rest.next_if_eq(&b'*').is_some() {
        return args.next(4).map(|value| value as u32 as i32);
    }
    let mut number = 0i32;
    while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
        number = number
            .saturating_mul(10)
            .saturating_add((digit - b'0').into());
    }
    Some(number)
}

fn format_one(
    output: &mut Vec<u8>,
    conversion: u8,
    mut spec: Spec,
    (long, short): (bool, u32),
    args: &mut impl Arguments,
) -> Option<()> {
    let size = if long { 8 } else { 4 };
    match conversion {
        b'%' => output.push(b'%'),
        b'd' | b'i' => {
            let raw = args.next(size)?;
            let value = match (long, short) {
                (true, _) => raw as i64,
                (_, 0) => (raw as i32).into(),
                (_, 1) => (raw as i16).into(),
                _ => (raw as i8).into(),
            };
            let digits = value.unsigned_abs().to_string();
            integer(output, spec, sign(value < 0, spec), &digits);
        }
        b'u' | b'x' | b'X' | b'o' => {
            let raw = args.next(size)?;
            let value = match (long, short) {
                (true, _) => raw,
                (_, 0) => raw & 0xffff_ffff,
                (_, 1) => raw & 0xffff,
                _ => raw & 0xff,
            };
            let digits = match conversion {
                b'u' => value.to_string(),
                b'x' => format!("{value:x}"),
                b'X' => format!("{value:X}"),
                _ => format!(
                    "{}{value:o}",
                    if spec.alternate && value != 0 {
                        "0"
                    } else {
                        ""
                    }
                ),
            };
            let prefix = match conversion {
                b'x' if spec.alternate && value != 0 => "0x",
                b'X' if spec.alternate && value != 0 => "0X",
                _ => "",
            };
            integer(output, spec, prefix, &digits);
        }
        b'p' => {
            let value = args.next(8)?;
            integer(
                output,
                Spec {
                    zero: false,
                    ..spec
                },
                "0x",
                &format!("{value:x}"),
            );
        }
        b'c' => {
            let value = args.next(4)? as u8;
            pad(
                output,
                Spec {
                    zero: false,
                    ..spec
                },
                b"",
                &[value],
            );
        }
        b's' => {
            let address = args.next(8)?;
            let mut text = if address == 0 {
                b"(null)".to_vec()
            } else {
                args.string(address)?
            };
            text.truncate(spec.precision.unwrap_or(usize::MAX));
            pad(
                output,
                Spec {
                    zero: false,
                    ..spec
                },
                b"",
                &text,
            );
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(args.next(8)?);
            let lower = conversion.to_ascii_lowercase();
            let magnitude = value.abs();
            let mut text = if !value.is_finite() {
                spec.zero = false;
                (if value.is_nan() { "nan" } else { "inf" }).to_string()
            } else {
                match lower {
                    b'f' => fixed(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                    b'e' => exponential(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                    b'g' => general(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                    _ => hexadecimal(magnitude, spec.precision),
                }
            };
            if conversion != lower {
                text.make_ascii_uppercase();
            }
            let mut prefix = sign(value.is_sign_negative() && !value.is_nan(), spec).to_string();
            if lower == b'a' && value.is_finite() {
                prefix.push_str(if conversion == b'a' { "0x" } else { "0X" });
            }
            pad(output, spec, prefix.as_bytes(), text.as_bytes());
        }
        // As in most C libraries, an unknown conversion is printed unchanged.
        other => output.extend([b'%', other]),
    }
    Some(())
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match negative {
        true => "-",
        false if spec.plus => "+",
        false if spec.space => " ",
        false => "",
    }
}

fn integer(output: &mut Vec<u8>, spec: Spec, prefix: &str, digits: &str) {
    let Some(precision) = spec.precision else {
        return pad(output, spec, prefix.as_bytes(), digits.as_bytes());
    };
    let digits = if precision == 0 && digits == "0" {
        ""
    } else {
        digits
    };
    let filled = format!("{digits:0>precision$}");
    pad(
        output,
        Spec {
            zero: false,
            ..spec
        },
        prefix.as_bytes(),
        filled.as_bytes(),
    );
}

fn pad(output: &mut Vec<u8>, spec: Spec, prefix: &[u8], text: &[u8]) {
    let missing = spec.width.saturating_sub(prefix.len() + text.len());
    let fill = |output: &mut Vec<u8>, byte: u8| output.resize(output.len() + missing, byte);
    if !spec.left && !spec.zero {
        fill(output, b' ');
    }
    output.extend_from_slice(prefix);
    if !spec.left && spec.zero {
        fill(output, b'0');
    }
    output.extend_from_slice(text);
    if spec.left {
        fill(output, b' ');
    }
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && point {
        text.push('.');
    }
    text
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if precision == 0 && point { "." } else { "" };
    format!(
        "{mantissa}{point}e{}{:02}",
        if exponent < 0 { '-' } else { '+' },
        exponent.abs()
    )
}

fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let rounded = exponential(value, precision - 1, false);
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let small = exponent >= -4 && exponent < precision as i32;
    let text = if small {
        fixed(value, (precision as i32 - 1 - exponent) as usize, alternate)
    } else {
        rounded
    };
    if alternate {
        return text;
    }
    let (digits, tail) = match text.split_once('e') {
        Some((digits, tail)) => (digits, format!("e{tail}")),
        None => (text.as_str(), String::new()),
    };
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{digits}{tail}")
}

/// Formats `%a`, without the sign and `0x`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let mut fraction = bits & ((1 << 52) - 1);
    let field = (bits >> 52 & 0x7ff) as i32;
    let mut lead = u64::from(field != 0);
    let exponent = if value == 0.0 { 0 } else { field.max(1) - 1023 };
    let mut digits = 13;
    if let Some(precision) = precision.filter(|&precision| precision < 13) {
        let cut = (13 - precision as u32) * 4;
        let whole = lead << 52 | fraction;
        let (kept, rest, half) = (whole >> cut, whole & ((1 << cut) - 1), 1u64 << (cut - 1));
        let kept = kept + u64::from(rest > half || rest == half && kept & 1 != 0);
        lead = kept >> (precision * 4);
        fraction = kept & ((1 << (precision * 4)) - 1);
        digits = precision;
    }
    let mut text = if digits == 0 {
        String::new()
    } else {
        format!("{fraction:0digits$x}")
    };
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(precision) => text.extend(std::iter::repeat_n('0', precision.saturating_sub(digits))),
    }
    let point = if text.is_empty() { "" } else { "." };
    format!("{lead}{point}{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>);

    impl Arguments for List {
        fn next(&mut self, _: u64) -> Option<u64> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
        fn string(&mut self, address: u64) -> Option<Vec<u8>> {
            Some(format!("string{address}").into_bytes())
        }
    }

    fn text(format: &str, args: &[u64]) -> String {
        let mut output = Vec::new();
        format_into(&mut output, format.as_bytes(), &mut List(args.to_vec())).unwrap();
        String::from_utf8(output).unwrap()
    }

    /// The expected strings are glibc's output.
    #[test]
    fn formats_as_c_does() {
        let d = f64::to_bits;
        assert_eq!(
            text(
                "%d|%5d|%-5d|%05d|%+d|% d",
                &[-1i64 as u64, 42, 42, 42, 42, 42]
            ),
            "-1|   42|42   |00042|+42| 42"
        );
        assert_eq!(
            text(
                "%lld %llu %zu %hhd %hx",
                &[-5i64 as u64, u64::MAX, 7, 0x1ff, 0x12345]
            ),
            "-5 18446744073709551615 7 -1 2345"
        );
        assert_eq!(
            text(
                "%x %X %#x %o %#o %.4x %8.3d|",
                &[255, 255, 255, 8, 8, 0xab, 7]
            ),
            "ff FF 0xff 10 010 00ab      007|"
        );
        assert_eq!(
            text("%c%c %s %10s|%-10s|%.3s %%", &[65, 66, 1, 2, 3, 4]),
            "AB string1    string2|string3   |str %"
        );
        assert_eq!(
            text(
                "%f %.2f %8.3f|%-8.1f|%08.2f %+.0f",
                &[d(1.5), d(-2.345), d(3.14286), d(2.5), d(-1.0), d(2.5)]
            ),
            "1.500000 -2.35    3.143|2.5     |-0001.00 +2"
        );
        assert_eq!(
            text("%e %.0e %E", &[d(12345.678), d(5.0), d(1e-10)]),
            "1.234568e+04 5e+00 1.000000E-10"
        );
        assert_eq!(
            text(
                "%g %g %g %g %g %#g",
                &[d(0.0001), d(1e-5), d(1e6), d(123456.0), d(100.0), d(1.0)]
            ),
            "0.0001 1e-05 1e+06 123456 100 1.00000"
        );
        assert_eq!(
            text(
                "%f %F %5.1f|%e",
                &[d(f64::INFINITY), d(f64::NEG_INFINITY), d(f64::NAN), d(0.0)]
            ),
            "inf -INF   nan|0.000000e+00"
        );
        assert_eq!(
            text("%a %.2a %a", &[d(1.0), d(1.999), d(-0.15625)]),
            "0x1p+0 0x2.00p+0 -0x1.4p-3"
        );
        assert_eq!(
            text("%p %*d %.*f %y", &[0xdead, 6, 42, 1, d(2.25)]),
            "0xdead     42 2.2 %y"
        );
    }
}
