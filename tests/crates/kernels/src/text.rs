//! Numbers as text, and serialization.

use crate::{Input, Record, cases};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, PartialEq, Clone)]
enum Shape {
    Nothing,
    Circle(f64),
    Box { width: u16, height: i64 },
    Many(Vec<Shape>),
}

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Message<'a> {
    id: u128,
    name: String,
    borrowed: &'a str,
    shape: Shape,
    optional: Option<(char, bool)>,
    map: BTreeMap<u8, i32>,
    fixed: [i16; 4],
}

fn shape(input: &mut Input, depth: u32) -> Shape {
    match input.below(if depth == 0 { 3 } else { 4 }) {
        0 => Shape::Nothing,
        1 => Shape::Circle(input.ordinary()),
        2 => Shape::Box {
            width: input.integer() as u16,
            height: input.integer() as i64,
        },
        _ => Shape::Many(
            (0..input.below(4))
                .map(|_| shape(input, depth - 1))
                .collect(),
        ),
    }
}

cases! {
    "itoa", 1000;
    fn itoa_all(mut input, record) {
        let mut buffer = itoa::Buffer::new();
        record.put(buffer.format(input.integer()));
        record.put(buffer.format(input.integer() as i64));
        record.put(buffer.format(input.integer() as u16));
        record.put(buffer.format(input.integer() as i8));
        record.put(buffer.format(input.integer() as i32));
        record.put(buffer.format(input.wide()));
        record.put(buffer.format(input.wide() as i128));
    }

    "ryu", 1000;
    fn ryu_all(mut input, record) {
        let mut buffer = ryu::Buffer::new();
        record.put(buffer.format(input.double()));
        record.put(buffer.format(input.float()));
        record.put(buffer.format(f64::from_bits(input.bits())));
        record.put(buffer.format(f32::from_bits(input.bits() as u32)));
        record.put(buffer.format(input.below(100_000) as f64 / 1000.0));
    }

    "postcard", 300;
    fn postcard_all(mut input, record) {
        let borrowed = input.words();
        let message = Message {
            id: input.wide(),
            name: input.words(),
            borrowed: &borrowed,
            shape: shape(&mut input, 3),
            optional: (input.below(2) == 0).then_some(('é', true)),
            map: (0..input.below(6)).map(|n| (n as u8, input.integer() as i32)).collect(),
            fixed: core::array::from_fn(|_| input.integer() as i16),
        };
        let bytes = postcard::to_allocvec(&message);
        record.put(bytes.is_ok());
        let Ok(mut bytes) = bytes else { return };
        record.put(&bytes[..]);
        record.put(postcard::from_bytes::<Message>(&bytes).is_ok_and(|other| other == message));
        // Spoilt bytes are refused, or mean something else.
        let at = input.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << input.below(8);
        match postcard::from_bytes::<Message>(&bytes) {
            Ok(other) => record.put(&postcard::to_allocvec(&other).unwrap_or_default()[..]),
            Err(error) => record.put(&alloc::format!("{error:?}")[..]),
        }
        record.put(postcard::to_allocvec_cobs(&message.shape).ok().as_deref());
    }
}
