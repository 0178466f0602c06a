//! Text: `str`, `char`, `String`, formatting and parsing.

use crate::{cases, mix};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

fn shout(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_lowercase) {
        Cow::Owned(text.to_uppercase())
    } else {
        Cow::Borrowed(text)
    }
}

cases! {
    fn string_building(i, record) {
        let mut text = String::new();
        for k in 0..i % 6 + 1 {
            text.push_str("part");
            text.push(char::from(b'0' + k as u8));
            text += "/";
        }
        record.put(&text[..]);
        text.insert(2, 'é');
        text.truncate(9);
        record.put((text.pop(), text.len(), text.is_char_boundary(3)));
        text.retain(|c| c != 'r');
        record.put(&text.repeat(3)[..]);
        record.put(&text.replace('a', "<a>")[..]);
        text.clear();
        record.put(text.is_empty());
    }

    fn string_format(i, record) {
        let (name, width) = ("x", i as usize % 12);
        record.put(&format!("{name}={i:>width$} {0:?} {0:5}|{1:<8}|{1:^9}|", i, name)[..]);
        record.put(&format!("{:?} {:?}", "quo\"te\n\t\u{1}é", 'q')[..]);
        record.put(&format!("{:*^15}{:->8}{:#>4}", i, "ab", true)[..]);
        record.put(&format!("{:?} {:?} {:?}", [1, 2], Some(i), (1.5, "a", ()))[..]);
        record.put(&format!("{{}} {:#x} {:#010b} {:e}", i, i as u8, 1234.5)[..]);
        record.put(&format!("{:.2$} {:>1$.3}", 1.23456, 9, i as usize % 5)[..]);
    }

    fn string_utf8(i, record) {
        let text = "aé€😀z";
        for c in text.chars() {
            record.put((c, c.len_utf8(), c.is_alphabetic(), c.len_utf16()));
        }
        for (at, c) in text.char_indices().rev() {
            record.put((at, c));
        }
        record.put(text.bytes().map(u64::from).sum::<u64>());
        record.put(core::str::from_utf8(&text.as_bytes()[..3 + i as usize % 3]).is_ok());
        record.put(&String::from_utf8_lossy(&[b'a', 0xff, b'b', 0xe2, 0x82])[..]);
        record.put(text.encode_utf16().fold(0u32, |a, b| a * 3 % 65_537 + u32::from(b)));
        record.put((char::from_u32(0xd800), char::from_u32(0x1f600), char::from_digit(i % 16, 16)));
    }

    fn string_search(i, record) {
        let text = "one, two,three , four,,five";
        for part in text.split(',').map(str::trim) {
            record.put(part);
        }
        record.put((text.find("three"), text.rfind(','), text.find(|c: char| c == 'z')));
        record.put((text.starts_with("one"), text.ends_with("five"), text.contains("wo")));
        record.put(text.split_whitespace().count());
        record.put(text.splitn(3, ',').last());
        record.put(text.rsplit_once(',').map(|(_, last)| last));
        record.put(text.strip_prefix("one").map(str::len));
        record.put(text.matches('e').count());
        record.put("line one\nline two\r\n\nend".lines().nth(i as usize % 5));
        record.put("xxabcxx".trim_matches('x'));
        record.put(&text[i as usize % 20..]);
    }

    fn string_parse(i, record) {
        let text = format!("{} {} {}", i, i as i32 - 30, f64::from(i) / 8.0);
        let mut parts = text.split(' ');
        record.put(parts.next().and_then(|p| p.parse::<u32>().ok()));
        record.put(parts.next().and_then(|p| p.parse::<i8>().ok()));
        record.put(parts.next().and_then(|p| p.parse::<f32>().ok()));
        record.put(("true".parse::<bool>().ok(), "x".parse::<char>().ok(), "xy".parse::<char>().is_err()));
        record.put(&"300".parse::<u8>().unwrap_err().to_string()[..]);
        record.put(&"1.2.3".parse::<f32>().unwrap_err().to_string()[..]);
    }

    fn string_case(i, record) {
        record.put(&shout("Straße")[..]);
        record.put(matches!(shout("LOUD"), Cow::Borrowed(_)));
        record.put(&"ÀÉÎ Abc".to_lowercase()[..]);
        record.put(&"hello World".to_ascii_uppercase()[..]);
        record.put(("abc".eq_ignore_ascii_case("aBC"), 'ß'.is_uppercase(), 'Σ'.is_uppercase()));
        let c = char::from_u32(mix(i.into()) as u32 % 0x3000).unwrap_or('?');
        record.put((c.is_alphanumeric(), c.is_numeric(), c.is_whitespace(), c.is_control()));
        record.put((c.is_ascii_punctuation(), c.to_ascii_uppercase(), c.to_digit(16)));
    }

    fn string_compare(i, record) {
        let words = ["pear", "apple", "fig", "äpfel", "apples", ""];
        let mut sorted: Vec<&str> = words.to_vec();
        sorted.sort();
        for word in &sorted {
            record.put(*word);
        }
        let word = words[i as usize % 6];
        record.put((word < "b", word == String::from("fig"), word.cmp("apple")));
        let joined = sorted.join("-");
        record.put(&joined[..]);
        record.put(&joined.chars().rev().collect::<String>()[..]);
        record.put(&words.concat()[..]);
    }

    fn string_char_arithmetic(i, record) {
        let rotated: String = "The quick brown fox"
            .chars()
            .map(|c| match c {
                'a'..='z' => ((c as u8 - b'a' + i as u8 % 26) % 26 + b'a') as char,
                'A'..='Z' => ((c as u8 - b'A' + i as u8 % 26) % 26 + b'A') as char,
                _ => c,
            })
            .collect();
        record.put(&rotated[..]);
        record.put(("é".escape_unicode().to_string().len(), '\n'.escape_default().count()));
        record.put(u32::from('z') - u32::from('a'));
    }
}
