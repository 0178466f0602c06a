//! Monthly payments of loans in decimal arithmetic.
use bytemuck::TransparentWrapper;
use cuda_std::prelude::*;
use cust::memory::{DeviceCopy, Plain};
use rust_decimal::{Decimal, MathematicalOps};

#[derive(Clone, Copy, DeviceCopy)]
struct Loan {
    sum: Plain<Decimal>,
    /// In percent, each year.
    rate: Plain<Decimal>,
    months: u32,
}

fn payment(loan: &Loan) -> Decimal {
    let rate = loan.rate.0 / Decimal::from(1200);
    let growth = (Decimal::ONE + rate).powu(loan.months.into());
    (loan.sum.0 * rate * growth / (growth - Decimal::ONE)).round_dp(2)
}

#[kernel]
fn calculate(loans: &[Loan], mut payments: PerThread<Plain<Decimal>>) {
    payments.each_with(loans, |_, to, loan| to.0 = payment(loan));
}

fn main() {
    cust::init_auto().unwrap();
    let loans: Vec<Loan> = (1..=8)
        .map(|i| Loan {
            sum: Plain(Decimal::from(10_000 * i)),
            rate: Plain(Decimal::new(325 + 25 * i, 2)),
            months: 12 * i as u32,
        })
        .collect();
    let mut payments = vec![Decimal::ZERO; loans.len()];
    let to = Plain::wrap_slice_mut(&mut payments);
    cust::launch((1, 32), calculate::args(&loans, to)).unwrap();
    for (loan, of_device) in loans.iter().zip(&payments) {
        assert_eq!(*of_device, payment(loan));
    }
    println!("{payments:?}");
}
