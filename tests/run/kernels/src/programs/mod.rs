//! Small whole programs of the kinds that people write: parsers, interpreters, searches, codecs,
//! simulations. Other modules hold one feature of the language each; here they meet.

pub mod codecs;
pub mod interpreters;
pub mod numerics;
pub mod searches;
