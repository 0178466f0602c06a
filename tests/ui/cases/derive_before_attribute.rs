//! An attribute that follows a derive changes the fields that the derive has checked.
#![no_std]
#![feature(macro_attr)]
#![allow(dead_code)]

use cuda_std::AnyBits;

macro_rules! one_more {
    attr() ($(#[$meta:meta])* struct $name:ident { $($field:ident: $ty:ty),* }) => {
        $(#[$meta])*
        struct $name {
            $($field: $ty,)*
            more: bool,
        }
    };
}

macro_rules! others {
    attr() ($(#[$meta:meta])* struct $name:ident { $($field:ident: $ty:ty),* }) => {
        $(#[$meta])*
        struct $name {
            $($field: Option<$ty>,)*
        }
    };
}

#[derive(AnyBits)] //~ ERROR pattern requires `..` due to inaccessible fields
#[one_more]
struct More {
    x: u32
}

#[derive(AnyBits)] //~ ERROR mismatched types
#[others]
struct Others {
    x: u32
}
