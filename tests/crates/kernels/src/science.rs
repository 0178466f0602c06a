//! Arrays, random distributions, fractions, wide vectors, and search in space.

use crate::{Input, cases};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use ndarray::{Array1, Array2, Axis, Zip, concatenate, s};
use num_rational::Ratio;
use ordered_float::{NotNan, OrderedFloat};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rand_distr::{Binomial, Distribution, Exp1, Gamma, Poisson, StandardNormal, UnitSphere};
use rstar::{AABB, RTree};
use ruint::aliases::U256;
use wide::{f32x8, i16x8, i32x8};

fn u256(input: &mut Input) -> U256 {
    U256::from_limbs(core::array::from_fn(|_| input.integer()))
}

cases! {
    "ndarray", 100;
    fn ndarray_all(mut input, record) {
        let a = Array2::from_shape_fn((5, 4), |(i, j)| input.ordinary() + (i * j) as f64);
        let b = Array2::from_shape_fn((4, 3), |_| input.ordinary());
        a.dot(&b).iter().for_each(|x| record.put(*x));
        a.slice(s![1..;2, ..-1]).iter().for_each(|x| record.put(*x));
        record.put(&format!("{:.2}", a.t())[..]);
        let products = Zip::from(a.rows()).map_collect(|row| row.dot(&row));
        products.iter().for_each(|x| record.put(*x));
        let sum = &a + &Array1::from_elem(4, 2.0);
        record.put((sum[[4, 1]], sum.sum(), sum.mean()));
        if let Ok(all) = concatenate(Axis(0), &[a.view(), sum.view()]) {
            record.put(all.sum_axis(Axis(1)).fold(0.0f64, |max, x| max.max(*x)));
        }
    }

    "num-rational", 200;
    fn rational_all(mut input, record) {
        let a = Ratio::new(i64::from(input.integer() as i32), i64::from(input.integer() as i16 | 1));
        let b = Ratio::new(i64::from(input.integer() as i16), 77);
        record.put(&(a + b).to_string()[..]);
        record.put(&(a * b - a).to_string()[..]);
        record.put((a.cmp(&b) as i8, a.floor().to_integer(), a.round().to_integer()));
    }

    "ordered-float", 200;
    fn ordered_float_all(mut input, record) {
        let mut all: Vec<_> = (0..30).map(|_| OrderedFloat(input.double())).collect();
        all.sort_unstable();
        for x in all {
            record.put((x.0, NotNan::new(x.0).is_ok()));
        }
    }

    "rand", 200;
    fn rand_all(mut input, record) {
        let mut rng = ChaCha8Rng::seed_from_u64(input.bits());
        record.put((rng.random::<u64>(), rng.random::<f64>(), rng.random::<char>()));
        record.put((rng.random_range(3..17u8), rng.random_range(0..=u128::MAX / 3)));
        record.put((rng.random_range(-5.0..8.0), rng.random_bool(0.3)));
        let mut all: [u8; 20] = core::array::from_fn(|i| i as u8);
        all.shuffle(&mut rng);
        record.put(&all[..]);
        record.put(all.choose(&mut rng).copied());
    }

    "rand_chacha", 200;
    fn chacha_rng(mut input, record) {
        let mut rng = ChaCha20Rng::from_seed(input.array());
        rng.set_word_pos(u128::from(input.below(1 << 40)));
        let mut bytes = [0; 45];
        rng.fill(&mut bytes[..]);
        record.put(&bytes[..]);
        record.put(rng.get_word_pos());
    }

    "rand_distr", 200;
    fn distributions(mut input, record) {
        let mut rng = ChaCha8Rng::seed_from_u64(input.bits());
        let normal: f64 = StandardNormal.sample(&mut rng);
        let exponential: f64 = Exp1.sample(&mut rng);
        record.put((normal, exponential, UnitSphere.sample(&mut rng) as [f64; 3]));
        record.put(Gamma::new(2.0, 2.0).ok().map(|gamma| gamma.sample(&mut rng)));
        record.put(Poisson::new(20.0).ok().map(|poisson| poisson.sample(&mut rng)));
        record.put(Binomial::new(50, 0.3).ok().map(|binomial| binomial.sample(&mut rng)));
    }

    "rstar", 100;
    fn rstar_all(mut input, record) {
        let points: Vec<[f64; 2]> = (0..60).map(|_| [input.ordinary(), input.ordinary()]).collect();
        let mut tree = RTree::bulk_load(points.clone());
        points[..9].iter().for_each(|[x, y]| tree.insert([*y, *x]));
        record.put((tree.remove(&points[20]), tree.size()));
        record.put(tree.nearest_neighbor([1.0, 2.0]).copied());
        let part = AABB::from_corners([-20.0, -20.0], [30.0, 10.0]);
        tree.locate_in_envelope(part).for_each(|point| record.put(*point));
    }

    "ruint", 200;
    fn ruint_all(mut input, record) {
        let (a, b) = (u256(&mut input), u256(&mut input));
        let odd = u256(&mut input) | U256::from(1);
        let small = odd >> 250;
        for x in [a.wrapping_mul(b), a / odd, b % odd, a.wrapping_pow(small), a.pow_mod(b, odd)] {
            record.put(*x.as_limbs());
        }
        record.put(&format!("{a} {b:x}")[..]);
        record.put(a.to_string().parse() == Ok(a));
        record.put((a.checked_mul(b).is_some(), a.gcd(b).leading_zeros(), f64::from(a)));
    }

    "wide", 200;
    fn wide_all(mut input, record) {
        let a = f32x8::from(core::array::from_fn(|_| input.float()));
        let b = f32x8::from(core::array::from_fn(|_| input.float()));
        for x in [a * b + a, (a - b).round(), a.abs().sqrt(), a.simd_lt(b).select(a, b)] {
            record.put(x.to_array());
        }
        let a = i32x8::from(core::array::from_fn(|_| input.integer() as i32));
        let b = i32x8::from(core::array::from_fn(|_| input.integer() as i32));
        record.put((((a * b) ^ b).to_array(), a.min(b).to_array(), a.simd_lt(b).to_bitmask()));
        let a = i16x8::from(core::array::from_fn(|_| input.integer() as i16));
        record.put((a.saturating_sub(i16x8::splat(300)).to_array(), a.reduce_max()));
    }
}
