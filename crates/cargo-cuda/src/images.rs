//! Finds the device code in a file: a program, a library, PTX, a cubin or a fat binary.
//!
//! A program has PTX and cubins in its data: those that `cargo cuda` embeds, those of
//! `cust::include_module!`, and those of `include_str!` and `include_bytes!`. PTX starts with its
//! version. Rust strings have no terminator, so the length comes from the program's reference to
//! the string: an address, with the length in the next word.

use anyhow::{Context, Result, bail};
use object::elf::EM_CUDA;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

/// The first bytes of a fat binary.
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// Device code for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// PTX.
    Ptx(String),
    /// Machine code, an ELF file.
    Cubin(Vec<u8>),
}

/// Returns the device code in a file, in the order of the file, each image once.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is no file of a supported format.
pub fn read(path: &Path) -> Result<Vec<Image>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let found = find(&bytes).with_context(|| format!("cannot read `{}`", path.display()))?;
    let Some(mut images) = found else {
        bail!(
            "`{}` has an unknown format\n\
             help: pass a program, a library, PTX, a cubin or a fat binary",
            path.display()
        );
    };
    let mut seen: Vec<Image> = Vec::new();
    images.retain(|image| {
        let is_new = !seen.contains(image);
        if is_new {
            seen.push(image.clone());
        }
        is_new
    });
    Ok(images)
}

/// The images in a file; `None` if its format is unknown.
fn find(bytes: &[u8]) -> Result<Option<Vec<Image>>> {
    if bytes.starts_with(b"!<arch>\n") {
        let mut images = Vec::new();
        for member in ArchiveFile::parse(bytes)?.members() {
            // rlibs have members that are no object files.
            if let Ok(Some(found)) = find(member?.data(bytes)?) {
                images.extend(found);
            }
        }
        return Ok(Some(images));
    }
    if cubin_len(bytes).is_some() {
        return Ok(Some(vec![Image::Cubin(bytes.to_vec())]));
    }
    if bytes.starts_with(&FATBIN) {
        let images = scan(bytes, |_| Vec::new());
        if images.is_empty() {
            bail!(
                "the fat binary has no uncompressed image\nhelp: build it with `--compress=false`"
            );
        }
        return Ok(Some(images));
    }
    if let Ok(file) = object::File::parse(bytes) {
        return Ok(Some(in_object(&file)));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(None);
    };
    let text = text.trim_end_matches('\0');
    let is_ptx = ptx::header(text).version.is_some();
    Ok(is_ptx.then(|| vec![Image::Ptx(text.to_owned())]))
}

/// The images in the data of an object file or a program.
fn in_object(file: &object::File<'_>) -> Vec<Image> {
    let sections: Vec<_> = file
        .sections()
        .filter(|section| {
            let kind = section.kind();
            let no_data = [
                SectionKind::Text,
                SectionKind::Debug,
                SectionKind::DebugString,
                SectionKind::OtherString,
                SectionKind::UninitializedData,
                SectionKind::UninitializedTls,
            ];
            !no_data.contains(&kind)
        })
        .filter_map(|section| Some((section.index(), section.address(), section.data().ok()?)))
        .collect();
    // The addresses at which images may start.
    let mut starts = HashSet::new();
    for (_, address, data) in &sections {
        starts.extend(candidates(data).iter().map(|start| address + *start as u64));
    }
    if starts.is_empty() {
        return Vec::new();
    }
    let lengths = lengths(file, &starts);
    let mut images = Vec::new();
    for (index, address, data) in &sections {
        images.extend(scan(data, |offset| {
            let key = (file.kind() == object::ObjectKind::Relocatable).then_some(*index);
            let found = lengths.get(&(key, address + offset as u64));
            found.cloned().unwrap_or_default()
        }));
    }
    images
}

/// The place of data: in an object file that is to be linked, addresses start at 0 in each section.
type Place = (Option<object::SectionIndex>, u64);

/// The lengths that a program has for data that starts at these addresses.
fn lengths(file: &object::File<'_>, starts: &HashSet<u64>) -> HashMap<Place, Vec<usize>> {
    let mut lengths: HashMap<Place, Vec<usize>> = HashMap::new();
    if file.kind() == object::ObjectKind::Relocatable {
        for symbol in file.symbols().filter(|symbol| symbol.size() > 0) {
            let place = (symbol.section_index(), symbol.address());
            lengths
                .entry(place)
                .or_default()
                .push(symbol.size() as usize);
        }
        return lengths;
    }
    let word = |data: &[u8], at: usize| {
        let bytes = data.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut add = |address: u64, length: u64| {
        if let Ok(length) = usize::try_from(length) {
            lengths.entry((None, address)).or_default().push(length);
        }
    };
    let data: Vec<_> = file
        .sections()
        .filter_map(|section| Some((section.address(), section.data().ok()?)))
        .filter(|(_, data)| !data.is_empty())
        .collect();
    // Addresses that the loader computes.
    for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let target = relocation.addend() as u64;
        if relocation.target() == RelocationTarget::Absolute && starts.contains(&target) {
            let section = data
                .iter()
                .find(|(start, data)| (*start..start + data.len() as u64).contains(&at));
            if let Some((start, data)) = section
                && let Some(length) = word(data, (at - start) as usize + 8)
            {
                add(target, length);
            }
        }
    }
    // Addresses in a program for a fixed address, or with packed relocations.
    for (start, data) in &data {
        let first = (start.wrapping_neg() % 8) as usize;
        for at in (first..data.len()).step_by(8) {
            if let Some(value) = word(data, at)
                && starts.contains(&value)
                && let Some(length) = word(data, at + 8)
            {
                add(value, length);
            }
        }
    }
    lengths
}

/// The offsets at which images may start.
fn candidates(data: &[u8]) -> Vec<usize> {
    let cubins = memchr::memmem::find_iter(data, ELF);
    let mut all: Vec<usize> = cubins
        .filter(|&at| cubin_len(&data[at..]).is_some())
        .collect();
    for version in memchr::memmem::find_iter(data, b".version ") {
        if starts_ptx(&data[version..]) {
            all.extend(ptx_starts(data, version));
        }
    }
    all.sort_unstable();
    all
}

/// Whether bytes start with a version and a target, as every module does.
fn starts_ptx(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(64)];
    let head = String::from_utf8_lossy(head);
    let mut words = head.split_ascii_whitespace();
    let is_version = |word: &str| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        word.split_once('.')
            .is_some_and(|(major, minor)| digits(major) && digits(minor))
    };
    words.next() == Some(".version")
        && words.next().is_some_and(is_version)
        && words.next() == Some(".target")
}

/// Where PTX may start whose version is at `version`: there, or at a line of comments before.
fn ptx_starts(data: &[u8], version: usize) -> Vec<usize> {
    let mut starts = vec![version];
    let mut at = version;
    while at > 0 && data[at - 1] == b'\n' {
        let line = data[..at - 1]
            .iter()
            .rposition(|&byte| byte == b'\n' || byte == 0)
            .map_or(0, |end| end + 1);
        let text = &data[line..at - 1];
        match text.iter().rposition(|&byte| byte == b'/') {
            _ if text.trim_ascii().is_empty() => starts.push(line),
            Some(_) if text.starts_with(b"//") => starts.push(line),
            // The first line may follow other data.
            Some(_) => {
                if let Some(comment) = memchr::memmem::rfind(text, b"//") {
                    starts.push(line + comment);
                }
                break;
            }
            None => break,
        }
        at = line;
    }
    starts
}

/// The images in data. `lengths` returns the lengths that are known for an offset.
fn scan(data: &[u8], lengths: impl Fn(usize) -> Vec<usize>) -> Vec<Image> {
    let mut images = Vec::new();
    let mut end = 0;
    let all = candidates(data);
    for (number, &start) in all.iter().enumerate() {
        if start < end {
            continue;
        }
        if let Some(len) = cubin_len(&data[start..]) {
            end = start + len;
            images.push(Image::Cubin(data[start..end].to_vec()));
            continue;
        }
        let known = lengths(start)
            .into_iter()
            .filter_map(|len| start.checked_add(len).filter(|&end| end <= data.len()))
            .filter_map(|end| Some((end, ptx_in(data, start..end)?)))
            .max_by_key(|(end, _)| *end);
        // A comment before the version starts a module only if the program says so.
        let is_version = data[start..].starts_with(b".version");
        let found = known.or_else(|| {
            let next = all[number + 1..]
                .iter()
                .find(|&&next| starts_ptx(&data[next..]));
            let limit = next.map_or(data.len(), |&next| next);
            is_version.then(|| whole_modules(data, start..limit))?
        });
        if let Some((found, text)) = found {
            end = found;
            images.push(Image::Ptx(text));
        }
    }
    images
}

/// The PTX in a range, if it is text that has a version.
fn ptx_in(data: &[u8], range: Range<usize>) -> Option<String> {
    let text = std::str::from_utf8(&data[range]).ok()?;
    let text = text.trim_end_matches('\0');
    ptx::header(text).version?;
    Some(text.to_owned())
}

/// The PTX at the start of a range, up to the first byte that is not PTX, and the end of the PTX.
fn whole_modules(data: &[u8], range: Range<usize>) -> Option<(usize, String)> {
    let bytes = &data[range.clone()];
    let bytes = &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
    };
    let mut text = text;
    // Each round removes lines that are no PTX.
    for _ in 0..100 {
        let error = match ptx::Module::parse(text) {
            Ok(module) if module.items.is_empty() => return None,
            Ok(_) => return Some((range.start + text.len(), text.to_owned())),
            Err(error) => error,
        };
        let kept = text
            .split_inclusive('\n')
            .take(error.line.saturating_sub(1) as usize)
            .map(str::len)
            .sum();
        let shorter = &text[..kept];
        text = match shorter.len() < text.len() {
            true => shorter,
            false => return None,
        };
    }
    None
}

/// The size of the cubin that bytes start with.
fn cubin_len(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize, len: usize| -> Option<u64> {
        let mut word = [0; 8];
        word[..len].copy_from_slice(bytes.get(at..at + len)?);
        Some(u64::from_le_bytes(word))
    };
    // A 64-bit little-endian ELF file for a GPU.
    let is_cubin = bytes.starts_with(ELF)
        && bytes.get(4..6) == Some(&[2, 1])
        && number(18, 2) == Some(u64::from(EM_CUDA));
    if !is_cubin {
        return None;
    }
    let table = |offset: usize, size: usize, count: usize| -> Option<(u64, u64, u64)> {
        Some((number(offset, 8)?, number(size, 2)?, number(count, 2)?))
    };
    let mut end = 64;
    for (offset, size, count) in [table(32, 54, 56)?, table(40, 58, 60)?] {
        if count > 0 {
            end = end.max(offset.checked_add(size * count)?);
        }
    }
    let (sections, size, count) = table(40, 58, 60)?;
    for index in 0..count {
        let header = usize::try_from(sections.checked_add(index * size)?).ok()?;
        const NOBITS: u64 = 8;
        if number(header.checked_add(4)?, 4)? != NOBITS {
            let offset = number(header + 24, 8)?;
            end = end.max(offset.checked_add(number(header + 32, 8)?)?);
        }
    }
    let end = usize::try_from(end).ok()?;
    (end <= bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\n\
                          .visible .entry k() { ret; }\n// end\n";

    #[test]
    fn ptx_ends_where_the_program_says() {
        let other = MODULE.replace("k()", "other()");
        let data = [
            b"before",
            MODULE.as_bytes(),
            b"behind it;\n",
            other.as_bytes(),
        ]
        .concat();
        let known = |offset: usize| match offset {
            6 => vec![3, MODULE.len(), 1 << 40],
            _ => vec![other.len()],
        };
        let expected = [Image::Ptx(MODULE.to_owned()), Image::Ptx(other.clone())];
        assert_eq!(scan(&data, known), expected);
        // Without the lengths, anything that is not PTX is left out.
        assert_eq!(scan(&data, |_| Vec::new()), expected);
    }

    #[test]
    fn comments_before_the_version_belong_to_it_if_the_program_says_so() {
        let text = format!("//\n// Generated\n//\n\n{MODULE}");
        let data = [b"x//", text.as_bytes(), b"\0rest"].concat();
        let found = scan(&data, |offset| match offset {
            3 => vec![text.len()],
            _ => Vec::new(),
        });
        assert_eq!(found, [Image::Ptx(text.clone())]);
        let found = scan(&data, |_| Vec::new());
        assert_eq!(found, [Image::Ptx(MODULE.to_owned())]);
    }

    #[test]
    fn what_only_mentions_ptx_is_none() {
        for text in [
            ".version 8.0\n.target",
            ".version {}.{}\n.target sm_75\n.visible .entry k() { ret; }",
            "the directive .version 8.0 comes before .target sm_75",
            ".version 8.0\n.target sm_75\nand so on",
        ] {
            assert_eq!(scan(text.as_bytes(), |_| Vec::new()), [], "{text}");
        }
    }

    #[test]
    fn a_truncated_cubin_is_none() {
        let mut cubin = vec![0; 64];
        cubin[..6].copy_from_slice(b"\x7fELF\x02\x01");
        cubin[18] = 190;
        assert_eq!(cubin_len(&cubin), Some(64));
        assert_eq!(cubin_len(&cubin[..63]), None);
        // One section header behind the end.
        cubin[40] = 64;
        cubin[58] = 64;
        cubin[60] = 1;
        assert_eq!(cubin_len(&cubin), None);
        cubin[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(cubin_len(&cubin), None);
    }

    #[test]
    fn other_files_are_errors() {
        assert!(find(b"\x89PNG\r\n").unwrap().is_none());
        assert!(find(b"fn main() {}").unwrap().is_none());
        assert!(find(&FATBIN).is_err());
    }
}
