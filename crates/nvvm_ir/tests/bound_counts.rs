//! Runs random loops that count, within an outer loop, in 8 bits, and compares each check that the
//! pass `bound_counts` has replaced with its result in all iterations.

use nvvm_ir::{Dialect, passes, read_module, write_module};

/// A linear congruential generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    /// The first ones, which make a count, are more frequent.
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
    ("ne", |a, b| a != b),
    ("ult", |a, b| a < b),
    ("ugt", |a, b| a > b),
    ("ule", |a, b| a <= b),
    ("uge", |a, b| a >= b),
];

/// The values to check, and whether the check is in the inner loop.
const CHECKED: &[(&str, bool)] = &[
    ("%count", false),
    ("%counter", true),
    ("%next", true),
    ("%slow", true),
    ("%next.slow", true),
    ("%before", false),
    ("%chosen", false),
];

/// A loop in another loop.
#[derive(Clone, Copy)]
struct Count {
    first: u8,
    step: u8,
    /// How the slow counter goes on: by 0 or 1, or otherwise.
    slow: usize,
    first_slow: u8,
    /// The number, or `None` for one that each outer iteration receives.
    end: Option<u8>,
    guard: usize,
    goes_on: Relation,
    /// Whether the count is the end if the loop ends, and not the counter's next value.
    counts_end: bool,
    checked: (&'static str, bool),
    check: Relation,
    bound: Option<u8>,
}

/// Instructions, and whether the loop is entered: by the end, the outer counter, and a decision.
type Guard = (&'static str, fn(u8, u8, bool) -> bool);

const GUARDS: &[Guard] = &[
    ("%enters = icmp ne i8 %end, 0", |end, _, _| end != 0),
    ("%enters = icmp ugt i8 %end, %outer", |end, outer, _| {
        end > outer
    }),
    (
        "%some = icmp ne i8 %end, 0\n%odd = call i1 @decide()\n
         %enters = select i1 %some, i1 %odd, i1 false",
        |end, _, odd| end != 0 && odd,
    ),
    (
        "%some = icmp ne i8 %end, 0\n%odd = call i1 @decide()\n
         %enters = select i1 %some, i1 true, i1 %odd",
        |end, _, odd| end != 0 || odd,
    ),
    ("%enters = icmp uge i8 %end, %outer", |end, outer, _| {
        end >= outer
    }),
    ("%enters = icmp eq i8 %outer, %outer", |_, _, _| true),
];

impl Count {
    fn new(rng: &mut Rng) -> Count {
        let end = [None, None, Some(1), Some(31), Some(0)][rng.below(5)];
        Count {
            first: rng.pick(&[0, 1, 255]),
            step: rng.pick(&[1, 2, 255, 0]),
            slow: rng.pick(&[0, 1, 2, 3, 4]),
            first_slow: rng.pick(&[0, 1]),
            end,
            guard: rng.pick(&[0, 1, 2, 3, 4, 5]),
            goes_on: rng.pick(RELATIONS),
            counts_end: rng.below(2) == 0,
            checked: CHECKED[rng.below(CHECKED.len())],
            check: RELATIONS[1 + rng.below(4)],
            bound: end.map(|end| match rng.below(3) {
                0 => end,
                1 => end.saturating_add(1),
                _ => end.saturating_sub(1),
            }),
        }
    }

    fn text(&self) -> String {
        let end = match self.end {
            Some(end) => format!("%end = add i8 0, {end}"),
            None => "%end = call i8 @number()".to_owned(),
        };
        let bound = match self.bound {
            Some(bound) => (bound as i8).to_string(),
            None => "%end".to_owned(),
        };
        let check = format!(
            "%check = icmp {} i8 {}, {bound}\ncall void @use(i1 %check)",
            self.check.0, self.checked.0
        );
        let [inner, outer] = match self.checked.1 {
            true => [check.as_str(), ""],
            false => ["", check.as_str()],
        };
        let slow = [
            "%bit = zext i1 %takes to i8\n%next.slow = add i8 %slow, %bit",
            "%more.slow = add i8 %slow, 1\n
             %next.slow = select i1 %takes, i8 %more.slow, i8 %slow",
            "%bit = sext i1 %takes to i8\n%next.slow = add i8 %slow, %bit",
            "%more.slow = add i8 %slow, 2\n
             %next.slow = select i1 %takes, i8 %more.slow, i8 %slow",
            "%next.slow = select i1 %takes, i8 %before, i8 %slow",
        ][self.slow];
        let text = format!(
            "define void @count() {{
            start:
              br label %around
            around:
              %outer = phi i8 [ 0, %start ], [ %next.outer, %after ]
              %before = phi i8 [ 0, %start ], [ %count, %after ]
              {end}
              {}
              br i1 %enters, label %loop, label %after
            loop:
              %counter = phi i8 [ {}, %around ], [ %next, %latch ]
              %slow = phi i8 [ {}, %around ], [ %next.slow, %latch ]
              %stays = call i1 @decide()
              br i1 %stays, label %latch, label %after
            latch:
              %takes = call i1 @decide()
              %next = add i8 %counter, {}
              {slow}
              {inner}
              %more = icmp {} i8 %next, %end
              br i1 %more, label %loop, label %after
            after:
              %count = phi i8 [ 0, %around ], [ %counter, %loop ], [ {}, %latch ]
              %late = call i1 @decide()
              %chosen = select i1 %late, i8 %count, i8 0
              {outer}
              %next.outer = add i8 %outer, 1
              %again = icmp ult i8 %next.outer, 3
              br i1 %again, label %around, label %exit
            exit:
              ret void
            }}
            declare i1 @decide()
            declare i8 @number()
            declare void @use(i1)",
            GUARDS[self.guard].0,
            self.first as i8,
            self.first_slow,
            self.step as i8,
            self.goes_on.0,
            match self.counts_end {
                true => "%end",
                false => "%next",
            },
        );
        // A constant is an operand, not an instruction.
        match self.end {
            Some(end) => (text.replace(&format!("%end = add i8 0, {end}\n"), "\n"))
                .replace("%end", &(end as i8).to_string()),
            None => text,
        }
    }

    /// Calls a function with the results of the check.
    fn run(&self, rng: &mut Rng, f: &mut dyn FnMut(bool)) {
        let mut before = 0;
        for outer in 0..3 {
            let end = self.end.unwrap_or_else(|| match rng.below(3) {
                0 => rng.below(256) as u8,
                _ => rng.below(4) as u8,
            });
            let bound = self.bound.unwrap_or(end);
            let mut check = |value: u8| f((self.check.1)(value, bound));
            let (mut counter, mut slow, mut count) = (self.first, self.first_slow, 0);
            if (GUARDS[self.guard].1)(end, outer, rng.below(2) == 0) {
                for _ in 0..600 {
                    count = counter;
                    if rng.below(40) == 0 {
                        break;
                    }
                    let takes = rng.below(4) != 0;
                    let next = counter.wrapping_add(self.step);
                    let by = u8::from(takes);
                    let next_slow = match self.slow {
                        0 | 1 => slow.wrapping_add(by),
                        2 => slow.wrapping_sub(by),
                        3 => slow.wrapping_add(2 * by),
                        _ if takes => before,
                        _ => slow,
                    };
                    match self.checked.0 {
                        "%counter" => check(counter),
                        "%next" => check(next),
                        "%slow" => check(slow),
                        "%next.slow" => check(next_slow),
                        _ => {}
                    }
                    if !(self.goes_on.1)(next, end) {
                        count = if self.counts_end { end } else { next };
                        break;
                    }
                    (counter, slow) = (next, next_slow);
                }
            }
            let chosen = if rng.below(2) == 0 { count } else { 0 };
            match self.checked.0 {
                "%count" => check(count),
                "%chosen" => check(chosen),
                "%before" => check(before),
                _ => {}
            }
            before = count;
        }
    }
}

#[test]
fn removed_checks_hold() {
    let mut rng = Rng(7);
    let mut removed = [0; CHECKED.len()];
    for _ in 0..20_000 {
        let count = Count::new(&mut rng);
        let text = count.text();
        let mut module = read_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        passes::bound_counts(&mut module);
        let after = write_module(&module, Dialect::Modern);
        let expected = match (
            after.contains("@use(i1 true)"),
            after.contains("@use(i1 false)"),
        ) {
            (false, false) => continue,
            (holds, _) => holds,
        };
        let checked = CHECKED.iter().position(|&it| it.0 == count.checked.0);
        removed[checked.expect("it is one of them")] += 1;
        for _ in 0..200 {
            count.run(&mut rng, &mut |holds| {
                assert_eq!(holds, expected, "{text}\n{after}");
            });
        }
    }
    // The count of the last outer iteration may exceed the end of this one.
    let is_stale = |index: usize| CHECKED[index].0 == "%before";
    for (index, &removed) in removed.iter().enumerate() {
        assert!(
            is_stale(index) || removed > 20,
            "{removed} of {:?}",
            CHECKED[index]
        );
    }
}
