//! Random uses of owning iterators, of `Option`s and `Result`s as iterators and as collection
//! targets, and of arrays of arrays by value. After inlining, small arrays are promoted to
//! registers, and the iterators over them are structs of ranges and `Option`s that optimizers
//! split: both have been miscompiled.

use crate::node::Node;
use crate::program::Generator;
use crate::types::{Ty, USIZE};

impl Generator {
    /// A value of a type that an iterator of such values gives.
    pub fn iterated(&mut self, ty: &Ty, depth: u32) -> Node {
        let depth = depth.min(2);
        let n = 1 + self.random.below(4);
        let array = Ty::Array(Box::new(ty.clone()), n);
        let option = Ty::Option(Box::new(ty.clone()));
        let options = Ty::Array(Box::new(option.clone()), n);
        // It gives one option, or none.
        let once = Ty::Option(Box::new(option.clone()));
        let name = self.types.name(ty);
        let (template, holes): (&str, Vec<&Ty>) = match self.random.below(14) {
            0 => (
                "§.into_iter().rev().nth(§ as usize % 5).unwrap_or(§)",
                vec![&array, &USIZE, ty],
            ),
            1 => (
                "{ let mut it = §.into_iter().chain(§).skip(§ as usize % 3); let first = it.next(); \
                 h.put(it.size_hint().0); it.last().or(first).unwrap_or(§) }",
                vec![&array, &array, &USIZE, ty],
            ),
            2 => (
                "§.into_iter().flatten().fold(§, |old, x| { h.put(old); x })",
                vec![&options, ty],
            ),
            3 => (
                "§.iter().flatten().copied().last().unwrap_or(§)",
                vec![&options, ty],
            ),
            4 => (
                "§.into_iter().collect::<Option<Vec<T>>>().and_then(|mut v| { h.put(v.len()); v.pop() }).unwrap_or(§)",
                vec![&options, ty],
            ),
            5 => (
                "(match §.into_iter().enumerate().map(|(i, x)| x.ok_or(i)).collect::<Result<Vec<T>, usize>>() \
                 { Ok(v) => v[v.len() / 2], Err(i) => { h.put(i); § } })",
                vec![&options, ty],
            ),
            6 => (
                "§.into_iter().try_fold(§, |old, x| { h.put(old); x }).unwrap_or(§)",
                vec![&options, ty, ty],
            ),
            7 => (
                "{ let mut it = §.into_iter().peekable(); let mut r = §; \
                 while let Some(Some(x)) = it.next_if(|x| x.is_some()) { h.put(r); r = x; } h.put(it.count()); r }",
                vec![&options, ty],
            ),
            8 => (
                "§.into_iter().chain(§).chain(§).find_map(|x| { h.put(x); x }).unwrap_or(§)",
                vec![&once, &options, &once, ty],
            ),
            9 => (
                "§.into_iter().zip(§).map(|(a, b)| { h.put(a); b }).last().unwrap_or(§)",
                vec![&array, &array, ty],
            ),
            10 => (
                "§.into_iter().take_while(Option::is_some).flat_map(|x| [x, None, x]).flatten().last().unwrap_or(§)",
                vec![&options, ty],
            ),
            11 => (
                "{ let (a, b): (Vec<T>, Vec<T>) = §.into_iter().chain(§).partition(|x| same(x, x) && less(x, &§)); \
                 h.put(a.len()); *a.last().or(b.first()).unwrap_or(&§) }",
                vec![&array, &array, ty, ty],
            ),
            12 => (
                "§.into_iter().scan(§, |old, x| { let y = core::mem::replace(old, x); Some(y) }).last().unwrap_or(§)",
                vec![&array, ty, ty],
            ),
            _ => return self.of_arrays(ty, depth),
        };
        // The body of a closure may not jump out of it.
        let in_closure = template.contains("less(");
        let children = holes
            .into_iter()
            .map(|of| match in_closure {
                true => self.in_closure(|g| g.expr(of, depth.min(1))),
                false => self.expr(of, depth.min(1)),
            })
            .collect();
        let template = template.replace("T>", &format!("{name}>"));
        Node::expr(ty, &template, children)
    }

    /// A value of a type that stands in an array of arrays.
    fn of_arrays(&mut self, ty: &Ty, depth: u32) -> Node {
        let (n, m) = (1 + self.random.below(4), 1 + self.random.below(4));
        let row = Ty::Array(Box::new(ty.clone()), m);
        let rows = Ty::Array(Box::new(row.clone()), n);
        let (i, j) = (self.name("k"), self.name("k"));
        let children = vec![
            self.expr(&rows, depth),
            self.expr(&USIZE, 1),
            self.expr(&USIZE, 1),
        ];
        match self.random.below(5) {
            0 => Node::expr(
                ty,
                &format!("transpose(§)[(§ % {m}) as usize][(§ % {n}) as usize]"),
                children,
            ),
            1 => Node::expr(
                ty,
                &format!("turn(§, (§ % {n}) as usize)[0][(§ % {m}) as usize]"),
                children,
            ),
            2 => Node::expr(
                ty,
                &format!(
                    "{{ let a = §; let mut b = a; b[(§ % {n}) as usize] = a[0]; core::mem::swap(&mut b[0], &mut {{ a[{n} - 1] }}); \
                     h.put(a); h.put(b); b[{n} - 1][(§ % {m}) as usize] }}"
                ),
                children,
            ),
            3 => Node::expr(
                ty,
                &format!(
                    "§.into_iter().rev().skip((§ % 2) as usize).flatten().nth((§ % {}) as usize).unwrap_or({})",
                    n * m,
                    self.types.plain(ty)
                ),
                children,
            ),
            _ => {
                // Made in two closures, one in the other.
                for k in [&i, &j] {
                    self.bind(k, &USIZE, false);
                }
                let element = self.repeated(n * m, |g| g.in_closure(|g| g.expr(ty, depth)));
                self.vars.truncate(self.vars.len() - 2);
                let [rows, at, column] = children.try_into().unwrap_or_else(|_| unreachable!());
                Node::expr(
                    ty,
                    &format!(
                        "{{ let old = §; let new: {} = core::array::from_fn(|{i}| core::array::from_fn(|{j}| \
                         if ({i} ^ {j}) & 1 == 0 {{ old[{i}][{j}] }} else {{ § }})); h.put(new); \
                         new[(§ % {n}) as usize][(§ % {m}) as usize] }}",
                        self.types.name(&Ty::Array(Box::new(row), n))
                    ),
                    vec![rows, element, at, column],
                )
            }
        }
    }

    /// An array that is made of others.
    pub fn remade(&mut self, ty: &Ty, of: &Ty, n: usize, depth: u32) -> Node {
        let depth = depth.min(1);
        let name = self.types.name(of);
        let array = |n| Ty::Array(Box::new(of.clone()), n);
        let m = 1 + self.random.below(4);
        match self.random.below(5) {
            0 => {
                let children = vec![self.expr(&array(m), depth), self.expr(ty, depth)];
                Node::expr(
                    ty,
                    &format!(
                        "{{ let mut it = §.into_iter().chain(§); core::array::from_fn::<{name}, {n}, _>(|_| it.next().unwrap_or({})) }}",
                        self.types.plain(of)
                    ),
                    children,
                )
            }
            1 => {
                let rows = Ty::Array(Box::new(array(m)), n);
                let children = vec![self.expr(&rows, depth), self.expr(&USIZE, depth)];
                Node::expr(ty, &format!("transpose(§)[(§ % {m}) as usize]"), children)
            }
            2 => {
                let children = vec![self.expr(&array(n + m), depth), self.expr(&USIZE, depth)];
                Node::expr(
                    ty,
                    &format!(
                        "{{ let (a, from) = (§, (§ % {}) as usize); <[{name}; {n}]>::try_from(&a[from..from + {n}]).unwrap() }}",
                        m + 1
                    ),
                    children,
                )
            }
            3 => {
                let from = self.types.scalar(&mut self.random);
                let k = self.name("k");
                let child = self.expr(&Ty::Array(Box::new(from.clone()), n), depth);
                self.bind(&k, &from, false);
                let made = self.repeated(n, |g| g.in_closure(|g| g.expr(of, depth)));
                self.vars.pop();
                Node::expr(ty, &format!("§.map(|{k}| §)"), vec![child, made])
            }
            _ => {
                let children = vec![self.expr(ty, depth), self.expr(&array(m), depth)];
                Node::expr(
                    ty,
                    "{ let mut a = §; for (x, y) in a.iter_mut().zip(§) { *x = y; } a }",
                    children,
                )
            }
        }
    }

    /// A loop over values that an iterator owns.
    pub fn owned(&mut self) -> Node {
        let of = self.types.any(&mut self.random, 1);
        let n = 1 + self.random.below(5);
        let option = Ty::Option(Box::new(of.clone()));
        let (source, array) = match self.random.below(6) {
            0 => ("§.into_iter().flatten()", Ty::Array(Box::new(option), n)),
            1 => ("§", option),
            2 => (
                "§.into_iter().flatten().collect::<Vec<_>>()",
                Ty::Array(Box::new(Ty::Array(Box::new(of.clone()), 1 + n % 2)), n),
            ),
            3 => (
                "§.into_iter().map(|x| x.ok_or(1u8)).filter_map(Result::ok)",
                Ty::Array(Box::new(option), n),
            ),
            4 => (
                "§.into_iter().map_while(|x| x)",
                Ty::Array(Box::new(option), n),
            ),
            _ => (
                "Vec::from(§).into_iter().rev()",
                Ty::Array(Box::new(of.clone()), n),
            ),
        };
        let array = self.expr(&array, 2);
        let (label, x) = (self.name("'l"), self.name("x"));
        let vars = self.vars.len();
        self.bind(&x, &of, true);
        let statements = 1 + self.random.below(3);
        let body = self.turns(&label, 2 * n, statements);
        self.vars.truncate(vars);
        Node::stmt(
            &format!("    {label}: for mut {x} in {source} {{\n§    h.put({x});\n    }}\n"),
            vec![array, body],
        )
    }
}
