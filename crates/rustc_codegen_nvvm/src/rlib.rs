//! Excludes a crate's image from link-time optimization.
//!
//! rustc lists a crate's object files in the rlib's member `lib.rmeta-link`. Link-time optimization
//! looks for the bitcode of each listed object and does not link the object itself; the image has
//! no bitcode and would be lost. So the image's name in the list is replaced by a name that no
//! member has: rustc then treats the image as an object file of another language and links it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;
/// The name of the member in its header.
const LIST: &[u8] = b"lib.rmeta-link/";

/// Renames an object file in an rlib's list. Returns whether the list contained it.
pub(crate) fn hide_object(rlib: &Path, name: &str) -> io::Result<bool> {
    let mut file = File::options().read(true).write(true).open(rlib)?;
    let Some(list) = find_list(&mut file)? else {
        return Ok(false);
    };
    let mut bytes = vec![0; (list.end - list.start) as usize];
    file.seek(SeekFrom::Start(list.start))?;
    file.read_exact(&mut bytes)?;
    let is_name = |window: &[u8]| window == name.as_bytes();
    let Some(at) = bytes.windows(name.len()).position(is_name) else {
        return Ok(false);
    };
    // The new name has the same length, because the list stores the length before the name.
    let last = list.start + (at + name.len() - 1) as u64;
    file.seek(SeekFrom::Start(last))?;
    file.write_all(b"-")?;
    Ok(true)
}

/// Returns the position of the list in an rlib.
fn find_list(file: &mut File) -> io::Result<Option<Range<u64>>> {
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic)?;
    let end = file.metadata()?.len();
    let mut at = MAGIC.len() as u64;
    while magic == MAGIC && at + HEADER as u64 <= end {
        let mut header = [0; HEADER];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut header)?;
        let size = std::str::from_utf8(&header[48..58]).ok();
        let Some(size) = size.and_then(|size| size.trim().parse::<u64>().ok()) else {
            break;
        };
        at += HEADER as u64;
        if header.starts_with(LIST) {
            return Ok(Some(at..at + size));
        }
        at += size + size % 2;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_list_is_changed() {
        let member = |name: &str, data: &str| {
            let padding = &"\n"[..data.len() % 2];
            let len = data.len();
            format!("{name:16}{:32}{len:<10}`\n{data}{padding}", "")
        };
        let names = member("//", "a-long-name.nvvm.o/\n");
        let rlib = |listed: &str| {
            let list = member("lib.rmeta-link/", &format!("x\u{12}{listed}\u{1}"));
            format!(
                "!<arch>\n{names}{}{list}{names}",
                member("lib.rmeta/", "odd")
            )
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.rlib");
        std::fs::write(&path, rlib("a-long-name.nvvm.o")).unwrap();
        assert!(!hide_object(&path, "another.nvvm.o").unwrap());
        assert!(hide_object(&path, "a-long-name.nvvm.o").unwrap());
        let changed = std::fs::read_to_string(&path).unwrap();
        assert_eq!(changed, rlib("a-long-name.nvvm.-"));
        assert!(!hide_object(&path, "a-long-name.nvvm.o").unwrap());
        std::fs::write(&path, "!<arch>\n").unwrap();
        assert!(!hide_object(&path, "a.o").unwrap());
    }
}
