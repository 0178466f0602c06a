//! Random statements and blocks. Loops terminate after a few iterations.

use crate::node::Node;
use crate::program::{Generator, Var};
use crate::types::{INTS, Ty, U32, USIZE, variant};

impl Generator {
    /// Statements, and an expression that is the block's value; without braces.
    pub fn block(&mut self, ty: &Ty, statements: usize) -> Node {
        let (vars, closures) = (self.vars.len(), self.closures.len());
        let mut nodes = self.statements(statements);
        nodes.push(self.expr(ty, 2));
        self.vars.truncate(vars);
        self.closures.truncate(closures);
        Node::list(nodes)
    }

    /// Statements in a scope of their own, without braces.
    fn scope(&mut self, statements: usize) -> Node {
        let (vars, closures) = (self.vars.len(), self.closures.len());
        self.depth += 1;
        let nodes = self.statements(statements);
        self.depth -= 1;
        self.vars.truncate(vars);
        self.closures.truncate(closures);
        Node::list(nodes)
    }

    fn statements(&mut self, count: usize) -> Vec<Node> {
        (0..count).map(|_| self.statement()).collect()
    }

    pub fn bind(&mut self, name: &str, ty: &Ty, mutable: bool) {
        self.vars.push(Var {
            name: name.to_owned(),
            ty: ty.clone(),
            mutable,
        });
    }

    /// Makes something that runs several times.
    pub fn repeated<T>(&mut self, times: usize, make: impl FnOnce(&mut Self) -> T) -> T {
        self.times *= times;
        let made = make(self);
        self.times /= times;
        made
    }

    /// A loop's body.
    pub fn turns(&mut self, label: &str, times: usize, statements: usize) -> Node {
        self.loops.push(label.to_owned());
        let node = self.repeated(times, |g| g.scope(statements));
        self.loops.pop();
        node
    }

    fn statement(&mut self) -> Node {
        let nested = self.depth < 3 && self.affordable(60);
        match self.random.below(29) {
            0..6 => self.declaration(),
            6..11 => self.assignment(),
            11 | 12 => {
                let ty = self.types.any(&mut self.random, 2);
                let child = self.expr(&ty, 3);
                Node::stmt("    h.put(§);\n", vec![child])
            }
            13 | 14 if nested => {
                let condition = self.expr(&Ty::Bool, 3);
                let n = 1 + self.random.below(3);
                let (yes, no) = (self.scope(n), self.scope(n / 2));
                Node::stmt(
                    "    if § {\n§    } else {\n§    }\n",
                    vec![condition, yes, no],
                )
            }
            15..18 if nested => self.repetition(),
            18 if nested => self.matching(),
            19 => self.closure(),
            20 if self.shared && self.loops.is_empty() => self.atomic(),
            21 if !self.loops.is_empty() => {
                let label = self.random.pick(&self.loops.clone()).clone();
                let condition = self.expr(&Ty::Bool, 2);
                let what = *self.random.pick(&["break", "continue"]);
                Node::stmt(
                    &format!("    if § {{ {what} {label}; }}\n"),
                    vec![condition],
                )
            }
            22 if nested => self.borrow(),
            23 | 24 if nested => self.pairs(),
            25 if nested => self.captures(),
            26 | 27 if nested => self.owned(),
            _ => self.declaration(),
        }
    }

    fn declaration(&mut self) -> Node {
        let ty = self.types.any(&mut self.random, 2);
        let value = self.expr(&ty, 3);
        let name = self.name("v");
        let mutable = self.random.below(4) > 0;
        self.bind(&name, &ty, mutable);
        let template = format!(
            "    let {}{name}: {} = §;\n",
            if mutable { "mut " } else { "" },
            self.types.name(&ty)
        );
        Node::fixed(&template, vec![value])
    }

    fn assignment(&mut self) -> Node {
        let mutable: Vec<Var> = self
            .vars
            .iter()
            .filter(|var| var.mutable)
            .cloned()
            .collect();
        if mutable.is_empty() {
            return self.declaration();
        }
        let var = self.random.pick(&mutable).clone();
        if let Ty::Array(of, n) = &var.ty
            && self.random.once_in(2)
        {
            let children = vec![self.expr(&USIZE, 2), self.expr(of, 3)];
            // The value first: it may read the array.
            return Node::stmt(
                &format!(
                    "    {{ let (i, x) = (§ % {n}, §); {}[i as usize] = x; }}\n",
                    var.name
                ),
                children,
            );
        }
        let ty = if self.random.once_in(2) {
            self.types.scalar(&mut self.random)
        } else {
            var.ty.clone()
        };
        let places = self.places(&ty, true);
        let (place, ty) = match places.is_empty() {
            true => (var.name, var.ty),
            false => (self.random.pick(&places).clone(), ty),
        };
        let value = self.expr(&ty, 3);
        let template = match ty {
            Ty::Int(_) if self.random.once_in(2) => match self.random.below(4) {
                0 => format!("    {place} ^= §;\n"),
                1 => format!("    {place} = {place}.wrapping_add(§);\n"),
                2 => format!("    {place} |= §;\n"),
                _ => format!("    {place} = {place}.wrapping_mul(§ | 1);\n"),
            },
            _ => format!("    {place} = §;\n"),
        };
        Node::stmt(&template, vec![value])
    }

    fn repetition(&mut self) -> Node {
        let label = self.name("'l");
        let n = 1 + self.random.below(7);
        let body = 1 + self.random.below(3);
        let index = self.name("i");
        let vars = self.vars.len();
        let node = match self.random.below(6) {
            0 | 1 => {
                let int = *self.random.pick(&INTS);
                self.bind(&index, &Ty::Int(int), false);
                let body = self.turns(&label, n, body);
                let name = int.name;
                let range = match self.random.below(5) {
                    0 => format!("0{name}..{n}"),
                    1 => format!("(1{name}..={n}).rev()"),
                    2 => format!("(0{name}..{}).step_by(3)", n * 3),
                    3 => format!("({name}::MAX - {}..={name}::MAX)", n - 1),
                    _ => format!("(0{name}..{n}).filter(|x| x % 3 != 1)"),
                };
                Node::stmt(
                    &format!("    {label}: for {index} in {range} {{\n§    }}\n"),
                    vec![body],
                )
            }
            2 => {
                let condition = self.repeated(n, |g| g.expr(&Ty::Bool, 2));
                self.bind(&index, &U32, false);
                let body = self.turns(&label, n, body);
                Node::stmt(
                    &format!(
                        "    let mut {index} = 0u32;\n    {label}: while {index} < {n} && § {{\n    {index} += 1;\n§    }}\n"
                    ),
                    vec![condition, body],
                )
            }
            3 => {
                self.bind(&index, &U32, false);
                let body = self.turns(&label, n, body);
                let condition = self.repeated(n, |g| g.expr(&Ty::Bool, 2));
                Node::stmt(
                    &format!(
                        "    let mut {index} = 0u32;\n    {label}: loop {{\n    {index} += 1; if {index} > {n} {{ break; }}\n§    \
                              if § {{ break; }}\n    }}\n"
                    ),
                    vec![body, condition],
                )
            }
            4 => {
                let of = self.types.any(&mut self.random, 1);
                let array = self.expr(&Ty::Array(Box::new(of.clone()), n), 3);
                self.bind(&index, &of, false);
                let body = self.turns(&label, n, body);
                let pattern = *self.random.pick(&[
                    "§",
                    // The body may assign to what a place would still lend.
                    "{ § }.iter().copied()",
                    "{ § }.iter().rev().cloned()",
                    "§.into_iter().skip(1)",
                ]);
                Node::stmt(
                    &format!("    {label}: for {index} in {pattern} {{\n§    }}\n"),
                    vec![array, body],
                )
            }
            _ => {
                // Over the elements of an array that nobody else sees.
                let of = self.types.any(&mut self.random, 1);
                let array = self.expr(&Ty::Array(Box::new(of.clone()), n), 3);
                let local = self.name("v");
                self.bind(&format!("(*{index})"), &of, true);
                let body = self.turns(&label, n, body);
                Node::stmt(
                    &format!(
                        "    {{ let mut {local} = §;\n    {label}: for {index} in {local}.iter_mut() {{\n§    }}\n    h.put({local}); }}\n"
                    ),
                    vec![array, body],
                )
            }
        };
        self.vars.truncate(vars);
        node
    }

    fn matching(&mut self) -> Node {
        let i = self.random.below(self.types.enums.len());
        let vars = self.vars.len();
        let mut children = vec![self.expr(&Ty::Enum(i), 3)];
        let mut arms = String::new();
        for (k, fields) in self.enum_variants(i).iter().enumerate() {
            let mut bound = vec![];
            for field in fields {
                let name = self.name("x");
                self.bind(&name, field, true);
                bound.push(format!("mut {name}"));
            }
            let bound = if bound.is_empty() {
                String::new()
            } else {
                format!("({})", bound.join(", "))
            };
            let n = self.random.below(3);
            children.push(self.scope(n));
            arms.push_str(&format!(
                "        E{i}::{}{bound} => {{\n§        }}\n",
                variant(k)
            ));
            self.vars.truncate(vars);
        }
        Node::stmt(&format!("    match § {{\n{arms}    }}\n"), children)
    }

    fn closure(&mut self) -> Node {
        let param = self.types.any(&mut self.random, 1);
        let result = self.types.any(&mut self.random, 1);
        let x = self.name("x");
        let name = self.name("c");
        // A value behind a mutable reference would be moved into it.
        let by_value =
            |var: &&Var| !(var.mutable && (var.name.starts_with("(*") || var.name.contains('.')));
        let inside = self.vars.iter().filter(by_value).cloned().collect();
        let outside = std::mem::replace(&mut self.vars, inside);
        self.bind(&x, &param, false);
        let body = self.in_closure(|g| g.expr(&result, 2));
        self.vars = outside;
        let template = format!(
            "    let {name} = move |{x}: {}| -> {} {{ § }};\n",
            self.types.name(&param),
            self.types.name(&result)
        );
        self.closures.push((name, param, result));
        Node::fixed(&template, vec![body])
    }

    /// Each place in shared memory has one operation, and its order does not matter.
    fn atomic(&mut self) -> Node {
        let (place, ty) = *self.random.pick(&[
            ("s.add32.fetch_add", "u32"),
            ("s.xor64.fetch_xor", "u64"),
            ("s.max64.fetch_max", "i64"),
            ("s.min32.fetch_min", "i32"),
            ("s.or16.fetch_or", "u16"),
            ("s.and8.fetch_and", "u8"),
            ("s.sub16.fetch_sub", "i16"),
            ("s.add8.fetch_add", "u8"),
        ]);
        let ordering = *self
            .random
            .pick(&["Relaxed", "AcqRel", "SeqCst", "Release", "Acquire"]);
        let int = *INTS.iter().find(|int| int.name == ty).unwrap_or(&INTS[0]);
        let child = self.expr(&Ty::Int(int), 3);
        Node::stmt(
            &format!("    {place}(§, Ordering::{ordering});\n"),
            vec![child],
        )
    }

    /// A variable changed through a reference.
    fn borrow(&mut self) -> Node {
        let mutable: Vec<usize> = (0..self.vars.len())
            .filter(|i| self.vars[*i].mutable && !self.vars[*i].name.contains('.'))
            .collect();
        if mutable.is_empty() {
            return self.declaration();
        }
        let at = *self.random.pick(&mutable);
        let var = self.vars[at].clone();
        // Nothing else may see the variable meanwhile.
        let hidden = std::mem::take(&mut self.vars[at].name);
        let hidden_ty = std::mem::replace(&mut self.vars[at].ty, Ty::Tuple(vec![]));
        self.vars[at].mutable = false;
        let name = self.name("r");
        let vars = self.vars.len();
        self.bind(&format!("(*{name})"), &var.ty, true);
        let n = 1 + self.random.below(3);
        let body = self.scope(n);
        self.vars.truncate(vars);
        self.vars[at] = Var {
            name: hidden,
            ty: hidden_ty,
            mutable: true,
        };
        let through = *self.random.pick(&[
            "&mut X",
            "core::hint::black_box(&mut X)",
            "unsafe { &mut *(&raw mut X) }",
        ]);
        Node::stmt(
            &format!(
                "    {{ let {name} = {};\n§    }}\n",
                through.replace('X', &var.name)
            ),
            vec![body],
        )
    }
}
