//! A library with a kernel, which launches those of a dependency as well.

use cuda_std::prelude::*;
use cust::prelude::*;

/// Adds one.
#[kernel]
pub fn increment(mut values: PerThread<u32>) {
    for (_, value) in values.own() {
        *value += 1;
    }
}

/// Twice each value, and seven more.
///
/// ```
/// assert_eq!(linked::changed([1, 2, 3])?, [9, 11, 13]);
///
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// fn of_doctest(mut values: PerThread<u32>) {
///     for (i, value) in values.own() {
///         *value = i as u32;
///     }
/// }
/// let mut values = [5; 3];
/// cust::launch((1, 32), of_doctest::args(&mut values))?;
/// assert_eq!(values, [0, 1, 2]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn changed(mut values: [u32; 3]) -> CudaResult<[u32; 3]> {
    cust::init_auto()?;
    let more = 6;
    cust::launch((1, 32), kernels::double::args(&mut values))?;
    cust::launch((1, 32), increment::args(&mut values))?;
    cust::launch(
        (1, 32),
        kernels::map::args(move |x: u32| x + more, &mut values),
    )?;
    Ok(values)
}

/// For other languages: the sum of the elements that [`changed`] returns.
#[unsafe(no_mangle)]
pub extern "C" fn sum_of_changed(a: u32, b: u32, c: u32) -> u32 {
    changed([a, b, c]).map_or(0, |values| values.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[kernel]
    fn of_unit_test(mut values: PerThread<u32>) {
        for (_, value) in values.own() {
            *value *= 10;
        }
    }

    #[test]
    fn a_unit_test_has_kernels() {
        let mut values = changed([1, 2, 3]).unwrap();
        cust::launch((1, 32), of_unit_test::args(&mut values)).unwrap();
        assert_eq!(values, [90, 110, 130]);
    }
}
