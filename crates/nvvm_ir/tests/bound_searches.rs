//! Runs random loops that resemble binary searches, in 8 bits, and compares each check that the pass
//! `bound_searches` has replaced with its result in all iterations.

use nvvm_ir::{Dialect, passes, read_module, write_module};

/// A linear congruential generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    /// The first ones, which make a search, are more frequent.
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        match self.below(3) {
            0 => all[self.below(all.len())],
            _ => all[0],
        }
    }
}

/// A relation of unsigned numbers, and its result.
type Relation = (&'static str, fn(u8, u8) -> bool);

const RELATIONS: &[Relation] = &[
    ("ult", |a, b| a < b),
    ("ugt", |a, b| a > b),
    ("ule", |a, b| a <= b),
    ("uge", |a, b| a >= b),
    ("ne", |a, b| a != b),
];

/// A loop. Numbers are `None` if they are parameters.
struct Search {
    first: Option<u8>,
    end: Option<u8>,
    /// The relation of the first limits under which the loop is entered.
    guard: Option<Relation>,
    middle: usize,
    low_step: u8,
    high_step: u8,
    /// Whether `high` stays if `low` changes.
    exclusive: bool,
    goes_on: Relation,
    checked: &'static str,
    check: Relation,
    /// The number of the comparison, or `None` for the end.
    bound: Option<u8>,
}

impl Search {
    fn new(rng: &mut Rng) -> Search {
        let zero = ("ne", (|_, high| high != 0) as fn(u8, u8) -> bool);
        let guards = [Some(zero), Some(RELATIONS[0]), Some(RELATIONS[2]), None];
        let end = [None, Some(31), Some(127), Some(128), Some(200)][rng.below(5)];
        let near = end.map(|end: u8| match rng.below(4) {
            0 => end,
            1 => end.saturating_add(1),
            2 => end.saturating_mul(2),
            _ => end - 1,
        });
        Search {
            first: rng.pick(&[Some(0), Some(3), None]),
            end,
            guard: rng.pick(&guards),
            middle: rng.pick(&[0, 1, 2, 3, 4]),
            low_step: rng.pick(&[1, 0, 2, 255]),
            high_step: rng.pick(&[0, 255, 1]),
            exclusive: rng.pick(&[true, false]),
            goes_on: rng.pick(RELATIONS),
            checked: ["%middle", "%sum", "%low", "%new.low", "%first"][rng.below(5)],
            check: RELATIONS[rng.below(4)],
            bound: near,
        }
    }

    fn text(&self) -> String {
        let number = |number: Option<u8>, name: &str| match number {
            Some(number) => format!("{}", number as i8),
            None => name.to_owned(),
        };
        let (first, end) = (number(self.first, "%first"), number(self.end, "%end"));
        let guard = match self.guard {
            Some(("ne", _)) => format!("%enters = icmp ne i8 {end}, 0"),
            Some((relation, _)) => format!("%enters = icmp {relation} i8 {first}, {end}"),
            None => "%enters = icmp eq i8 %first, %first".to_owned(),
        };
        let middle = [
            "%middle = lshr i8 %sum, 1",
            "%half = lshr i8 %distance, 1\n%middle = add i8 %low, %half",
            "%half = lshr i8 %distance, 1\n%middle = add i8 %high, %half",
            "%middle = lshr i8 %distance, 1",
            "%middle = lshr i8 %sum, 2",
        ][self.middle];
        let bound = number(self.bound, "%end");
        let checked = match self.first {
            Some(number) if self.checked == "%first" => format!("{number}"),
            _ => self.checked.to_owned(),
        };
        let check = format!("%check = icmp {} i8 {checked}, {bound}", self.check.0);
        let [early, late] = match self.checked {
            "%first" => [check.as_str(), ""],
            _ => ["", check.as_str()],
        };
        let high = match self.exclusive {
            true => "%high",
            false => "%new.middle",
        };
        format!(
            "define void @search(i8 %first, i8 %end) {{
            start:
              {early}
              {guard}
              br i1 %enters, label %loop, label %exit
            loop:
              %low = phi i8 [ {first}, %start ], [ %new.low, %loop ]
              %high = phi i8 [ {end}, %start ], [ %new.high, %loop ]
              %sum = add i8 %low, %high
              %distance = sub i8 %high, %low
              {middle}
              %right = call i1 @decide(i8 %middle)
              %next = add i8 %middle, {}
              %new.middle = add i8 %middle, {}
              %new.low = select i1 %right, i8 %next, i8 %low
              %new.high = select i1 %right, i8 {high}, i8 {}
              {late}
              call void @use(i1 %check)
              %more = icmp {} i8 %new.low, %new.high
              br i1 %more, label %loop, label %exit
            exit:
              ret void
            }}
            declare i1 @decide(i8)
            declare void @use(i1)",
            self.low_step as i8,
            self.high_step as i8,
            match self.high_step {
                0 => "%middle",
                _ => "%new.middle",
            },
            self.goes_on.0
        )
    }

    /// Calls a function with the results of the check.
    fn run(&self, first: u8, end: u8, rng: &mut Rng, f: &mut dyn FnMut(bool)) {
        let given = first;
        let (first, end) = (self.first.unwrap_or(first), self.end.unwrap_or(end));
        let bound = self.bound.unwrap_or(end);
        if self.checked == "%first" {
            f((self.check.1)(self.first.unwrap_or(given), bound));
        }
        if !self.guard.is_none_or(|(_, holds)| holds(first, end)) {
            return;
        }
        let (mut low, mut high) = (first, end);
        for _ in 0..12 {
            let (sum, distance) = (low.wrapping_add(high), high.wrapping_sub(low));
            let middle = [
                sum >> 1,
                low.wrapping_add(distance >> 1),
                high.wrapping_add(distance >> 1),
                distance >> 1,
                sum >> 2,
            ][self.middle];
            let old_low = low;
            let new_middle = middle.wrapping_add(self.high_step);
            match rng.below(2) {
                0 => high = new_middle,
                _ => {
                    low = middle.wrapping_add(self.low_step);
                    if !self.exclusive {
                        high = new_middle;
                    }
                }
            }
            match self.checked {
                "%middle" => f((self.check.1)(middle, bound)),
                "%sum" => f((self.check.1)(sum, bound)),
                "%low" => f((self.check.1)(old_low, bound)),
                "%new.low" => f((self.check.1)(low, bound)),
                _ => {}
            }
            if !(self.goes_on.1)(low, high) {
                return;
            }
        }
    }
}

#[test]
fn removed_checks_hold() {
    let mut rng = Rng(7);
    let mut removed = 0;
    for _ in 0..4000 {
        let search = Search::new(&mut rng);
        let text = search.text();
        let mut module = read_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        passes::bound_searches(&mut module);
        let after = write_module(&module, Dialect::Modern);
        let expected = match (
            after.contains("@use(i1 true)"),
            after.contains("@use(i1 false)"),
        ) {
            (false, false) => continue,
            (holds, _) => holds,
        };
        removed += 1;
        for end in 0..=u8::MAX {
            for first in [
                0,
                1,
                end.wrapping_sub(1),
                end,
                end.wrapping_add(1),
                rng.below(256) as u8,
            ] {
                search.run(first, end, &mut rng, &mut |holds| {
                    assert_eq!(holds, expected, "{first} {end}\n{text}\n{after}");
                });
            }
        }
    }
    assert!(removed > 100, "{removed} checks are removed");
}
