//! The value by which device code detects the emulator.

/// The value of the special register `%envreg29` on the emulator. Drivers do not set that register.
pub const MARK: u32 = 0x7074_7865;
