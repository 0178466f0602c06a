//! Monthly payments of loans in decimal arithmetic.
use rayon::prelude::*;
use rust_decimal::{Decimal, MathematicalOps};

#[derive(Clone, Copy)]
struct Loan {
    sum: Decimal,
    /// In percent, each year.
    rate: Decimal,
    months: u32,
}

fn payment(loan: &Loan) -> Decimal {
    let rate = loan.rate / Decimal::from(1200);
    let growth = (Decimal::ONE + rate).powu(loan.months.into());
    (loan.sum * rate * growth / (growth - Decimal::ONE)).round_dp(2)
}

fn main() {
    let loans: Vec<Loan> = (1..=8)
        .map(|i| Loan {
            sum: Decimal::from(10_000 * i),
            rate: Decimal::new(325 + 25 * i, 2),
            months: 12 * i as u32,
        })
        .collect();
    let payments: Vec<Decimal> = loans.par_iter().map(payment).collect();
    println!("{payments:?}");
}
