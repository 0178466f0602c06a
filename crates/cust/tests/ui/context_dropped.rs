//! The context goes with what `init_auto` returns, and what comes after would have none.
#![deny(unused_must_use)]

fn main() -> Result<(), cust::error::Error> {
    cust::init_auto()?;
    cust::quick_init()?;
    Ok(())
}
