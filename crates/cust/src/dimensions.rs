//! Grid and block dimensions.

macro_rules! dimensions {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The size in the x dimension.
            pub x: u32,
            /// The size in the y dimension.
            pub y: u32,
            /// The size in the z dimension.
            pub z: u32,
        }

        impl $name {
            /// Creates a one-dimensional size.
            #[inline]
            pub const fn x(x: u32) -> Self {
                Self::xyz(x, 1, 1)
            }

            /// Creates a two-dimensional size.
            #[inline]
            pub const fn xy(x: u32, y: u32) -> Self {
                Self::xyz(x, y, 1)
            }

            /// Creates a three-dimensional size.
            #[inline]
            pub const fn xyz(x: u32, y: u32, z: u32) -> Self {
                Self { x, y, z }
            }
        }

        impl From<u32> for $name {
            fn from(x: u32) -> Self {
                Self::x(x)
            }
        }

        impl From<(u32,)> for $name {
            fn from((x,): (u32,)) -> Self {
                Self::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> Self {
                Self::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> Self {
                Self::xyz(x, y, z)
            }
        }

        impl From<[u32; 3]> for $name {
            fn from([x, y, z]: [u32; 3]) -> Self {
                Self::xyz(x, y, z)
            }
        }

        impl From<&$name> for $name {
            fn from(size: &$name) -> Self {
                *size
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "({}, {}, {})", self.x, self.y, self.z)
            }
        }
    };
}

dimensions! {
    /// The dimensions of a grid in blocks. A `u32` or a tuple of up to three `u32`s converts to it.
    GridSize
}
dimensions! {
    /// The dimensions of a block in threads. A `u32` or a tuple of up to three `u32`s converts to
    /// it.
    BlockSize
}
