//! Random statements that modify memory through references: disjoint parts of an array, adjacent
//! elements, closures that modify their environment. Optimizers rely on mutable references not
//! aliasing, and these statements test that.

use crate::node::Node;
use crate::program::{By, Generator, Param};
use crate::types::{Ty, USIZE};

impl Generator {
    /// Two halves of an array, or two arrays, changed in one loop.
    pub fn pairs(&mut self) -> Node {
        let of = self.types.any(&mut self.random, 1);
        let n = 2 + self.random.below(9);
        let array = |n| Ty::Array(Box::new(of.clone()), n);
        let local = self.name("v");
        let (x, y) = (self.name("x"), self.name("y"));
        let label = self.name("'l");
        let first = self.expr(&array(n), 2);
        let vars = self.vars.len();
        let (source, mut children) = match self.random.below(6) {
            0 => {
                let at = self.expr(&USIZE, 1);
                (
                    format!(
                        "{{ let (a, b) = {local}.split_at_mut(§ % {}); a.iter_mut().zip(b) }}",
                        n + 1
                    ),
                    vec![at],
                )
            }
            1 => (
                format!(
                    "{local}.chunks_exact_mut(2).filter_map(|c| {{ let (a, b) = c.split_first_mut()?; Some((a, b.first_mut()?)) }})"
                ),
                vec![],
            ),
            2 => {
                let other = self.expr(&array(n), 2);
                ("{ let mut other = §; core::hint::black_box(&mut other); other }.iter_mut().zip(V.iter_mut().rev())".replace('V', &local), vec![other])
            }
            3 => (
                format!(
                    "{local}.iter_mut().enumerate().map(|(i, a)| (a, i)).map(|(a, i)| (a, Box::new(i))).filter(|(_, i)| **i % 3 != 1).map(|(a, _)| a).zip([§; 4].iter_mut())"
                ),
                vec![self.expr(&of, 2)],
            ),
            4 => (
                format!(
                    "{{ let (a, b) = {local}.split_at_mut({}); a.iter_mut().rev().zip(b.iter_mut().step_by(2)) }}",
                    n / 2
                ),
                vec![],
            ),
            _ => (
                format!("match &mut {local}[..] {{ [a, .., b] => [(a, b)], _ => unreachable!() }}"),
                vec![],
            ),
        };
        self.bind(&format!("(*{x})"), &of, true);
        self.bind(&format!("(*{y})"), &of, true);
        let statements = 1 + self.random.below(3);
        let body = self.turns(&label, n, statements);
        // Each takes something from the other.
        let swap = *self.random.pick(&[
            "core::mem::swap(X, Y);",
            "*X = *Y;",
            "let old = *X; *X = *Y; *Y = old;",
            "h.put(*X); *Y = *X;",
            "",
        ]);
        let swap = swap.replace('X', &x).replace('Y', &y);
        self.vars.truncate(vars);
        let template = format!(
            "    {{ let mut {local} = §;\n    {label}: for ({x}, {y}) in {source} {{\n§    {swap}\n    }}\n    h.put({local}); }}\n"
        );
        children.insert(0, first);
        children.push(body);
        Node::stmt(&template, children)
    }

    /// What a function does first with a slice that it may change: each element becomes something
    /// made of it and of the parameters before, among which are other slices.
    pub fn change_all(&mut self, params: &[Param], i: usize, x: &str) -> Node {
        let ty = params[i].ty.clone();
        let before = (0..i)
            .find(|&k| params[k].ty == ty && matches!(params[k].by, By::Slice | By::MutableSlice));
        let vars = self.vars.len();
        self.bind(&format!("(*{x})"), &ty, true);
        let (pattern, source) = match before {
            Some(k) if params[k].by == By::Slice => {
                let y = self.name("y");
                self.bind(&format!("(*{y})"), &ty, false);
                (format!("({x}, {y})"), format!("p{i}.iter_mut().zip(p{k})"))
            }
            Some(k) => {
                let y = self.name("y");
                self.bind(&format!("(*{y})"), &ty, true);
                (
                    format!("({x}, {y})"),
                    format!("p{i}.iter_mut().zip(p{k}.iter_mut())"),
                )
            }
            None => (x.to_owned(), format!("&mut *p{i}")),
        };
        let label = self.name("'l");
        let body = self.turns(&label, 6, 1);
        let value = self.repeated(6, |g| g.expr(&ty, 2));
        self.vars.truncate(vars);
        Node::fixed(
            &format!(
                "    {label}: for {pattern} in {source} {{\n§    let new = §; *{x} = new;\n    }}\n    for x in &*p{i} {{ x.put(h); }}\n"
            ),
            vec![body, value],
        )
    }

    /// A closure that changes variables around it, called several times.
    pub fn captures(&mut self) -> Node {
        let param = self.types.any(&mut self.random, 1);
        let result = self.types.any(&mut self.random, 1);
        let (x, name) = (self.name("x"), self.name("c"));
        let (own, owned) = (self.name("v"), self.types.any(&mut self.random, 1));
        let start = self.expr(&owned, 2);
        let arguments = [self.expr(&param, 2), self.expr(&param, 2)];
        let n = 1 + self.random.below(5);
        let (vars, closures) = (self.vars.len(), self.closures.len());
        self.bind(&own, &owned, true);
        self.bind(&x, &param, true);
        let (loops, fallible) = (
            std::mem::take(&mut self.loops),
            std::mem::take(&mut self.fallible),
        );
        self.depth += 1;
        let statements = 1 + self.random.below(3);
        let body = self.repeated(2 * n, |g| g.block(&result, statements));
        self.depth -= 1;
        (self.loops, self.fallible) = (loops, fallible);
        self.vars.truncate(vars);
        self.closures.truncate(closures);
        let (param, result) = (self.types.name(&param), self.types.name(&result));
        let form = *self.random.pick(&[
            "let mut C = |mut X: P| -> R { § };",
            "let mut C: Box<dyn FnMut(P) -> R + '_> = Box::new(|mut X: P| -> R { § });",
            "let C: &mut dyn FnMut(P) -> R = &mut |mut X: P| -> R { § };",
        ]);
        let form = form
            .replace('C', &name)
            .replace('X', &x)
            .replace('P', &param)
            .replace("-> R", &format!("-> {result}"));
        let [first, second] = arguments;
        Node::stmt(
            &format!(
                "    {{ let mut {own} = §;\n    {{ let (p, q) = (§, §);\n    {form}\n    for k in 0..{n} {{ h.put({name}(if k % 2 == 0 {{ p }} else {{ q }})); }} }}\n    h.put({own}); }}\n"
            ),
            vec![start, first, second, body],
        )
    }
}
