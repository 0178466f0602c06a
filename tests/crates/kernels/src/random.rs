//! Generators of random numbers.

use crate::{Input, Record, cases};
use rand_core::{Rng, SeedableRng};
use rand_pcg::{Lcg128CmDxsm64, Mcg128Xsl64, Pcg32, Pcg64};
use rand_xoshiro::{
    Xoroshiro128PlusPlus, Xoshiro128StarStar, Xoshiro256PlusPlus, Xoshiro512StarStar,
};

fn put_numbers<R: Rng + SeedableRng>(input: &mut Input, record: &mut Record) -> R {
    let mut seed = R::Seed::default();
    input.fill(seed.as_mut());
    let mut generator = R::from_seed(seed);
    for _ in 0..10 {
        record.put((generator.next_u32(), generator.next_u64()));
    }
    let mut bytes = [0; 13];
    generator.fill_bytes(&mut bytes);
    record.put(&bytes[..]);
    record.put(R::seed_from_u64(input.integer()).next_u64());
    generator
}

cases! {
    "rand_xoshiro", 512;
    fn xoshiro_all(mut input, record) {
        let mut generator: Xoshiro256PlusPlus = put_numbers(&mut input, record);
        generator.jump();
        record.put(generator.next_u64());
        generator.long_jump();
        record.put(generator.next_u64());
        put_numbers::<Xoroshiro128PlusPlus>(&mut input, record);
        put_numbers::<Xoshiro128StarStar>(&mut input, record);
        put_numbers::<Xoshiro512StarStar>(&mut input, record);
    }

    "rand_pcg", 512;
    fn pcg_all(mut input, record) {
        let mut generator: Pcg32 = put_numbers(&mut input, record);
        generator.advance(input.integer());
        record.put(generator.next_u32());
        let mut generator: Pcg64 = put_numbers(&mut input, record);
        generator.advance(input.wide());
        record.put(generator.next_u64());
        put_numbers::<Mcg128Xsl64>(&mut input, record);
        put_numbers::<Lcg128CmDxsm64>(&mut input, record);
    }
}
