//! Random expressions. All are well-defined: no overflow, no out-of-bounds access, and no
//! dependence on a NaN's bits.

use crate::node::Node;
use crate::program::{By, Function, Generator, Kind, RECURSION_DEPTH};
use crate::types::{I64, INTS, Int, Ty, U32, USIZE, variant};

/// How many expressions a function may have before the rest become plain.
const NODES: usize = 60;

impl Generator {
    /// An expression of a type.
    pub fn expr(&mut self, ty: &Ty, depth: u32) -> Node {
        self.cost += self.times;
        self.nodes += 1;
        if depth == 0 || self.nodes > NODES || !self.affordable(4) {
            return self.leaf(ty);
        }
        for _ in 0..2 {
            if let Some(node) = self.of_any_type(ty, depth - 1) {
                return node;
            }
        }
        self.of_type(ty, depth - 1)
    }

    /// Generates the body of a closure, which may neither jump out of it nor modify its captures.
    pub fn in_closure(&mut self, make: impl FnOnce(&mut Self) -> Node) -> Node {
        let loops = std::mem::take(&mut self.loops);
        let fallible = std::mem::take(&mut self.fallible);
        self.depth += 10;
        let node = make(self);
        self.depth -= 10;
        (self.loops, self.fallible) = (loops, fallible);
        node
    }

    /// A variable or a literal.
    fn leaf(&mut self, ty: &Ty) -> Node {
        let places = self.places(ty, false);
        if !places.is_empty() && !self.random.once_in(4) {
            let place = self.random.pick(&places).clone();
            return Node::expr(ty, &place, vec![]);
        }
        match ty {
            Ty::Int(int) => {
                let text = self.integer(*int);
                Node::expr(ty, &text, vec![])
            }
            Ty::Bool => Node::expr(ty, self.random.pick(&["true", "false"]), vec![]),
            Ty::Char => Node::expr(
                ty,
                self.random
                    .pick(&["'\\0'", "'z'", "'é'", "'\\u{10ffff}'", "'Z'"]),
                vec![],
            ),
            Ty::F32 => {
                let text = *self.random.pick(&[
                    "0f32",
                    "(-0f32)",
                    "1f32",
                    "0.1f32",
                    "(-2.5f32)",
                    "1e30f32",
                    "1e-40f32",
                    "16777217f32",
                    "f32::INFINITY",
                    "f32::NAN",
                    "f32::MAX",
                    "3e9f32",
                    "(-129f32)",
                ]);
                Node::expr(ty, text, vec![])
            }
            Ty::F64 => {
                let text = *self.random.pick(&[
                    "0f64",
                    "(-0f64)",
                    "1f64",
                    "0.1f64",
                    "(-2.5f64)",
                    "1e300f64",
                    "5e-324f64",
                    "9007199254740993f64",
                    "f64::NEG_INFINITY",
                    "f64::NAN",
                    "f64::EPSILON",
                    "1e19f64",
                    "(-32769f64)",
                ]);
                Node::expr(ty, text, vec![])
            }
            Ty::Tuple(parts) => {
                let children: Vec<Node> = parts.iter().map(|part| self.leaf(part)).collect();
                Node::expr(
                    ty,
                    &format!("({})", vec!["§"; children.len()].join(", ")),
                    children,
                )
            }
            Ty::Array(of, n) => {
                let child = self.leaf(of);
                Node::expr(ty, &format!("[§; {n}]"), vec![child])
            }
            Ty::Option(of) if self.random.once_in(2) => {
                let child = self.leaf(of);
                Node::expr(ty, "Some(§)", vec![child])
            }
            Ty::Option(of) => {
                let text = format!("None::<{}>", self.types.name(of));
                Node::expr(ty, &text, vec![])
            }
            Ty::Struct(i) => {
                let fields = self.struct_fields(*i);
                let children: Vec<Node> = fields.iter().map(|field| self.leaf(field)).collect();
                self.structure(ty, *i, children)
            }
            Ty::Enum(i) => {
                let variants = self.enum_variants(*i);
                let k = self.random.below(variants.len());
                let children: Vec<Node> =
                    variants[k].iter().map(|field| self.leaf(field)).collect();
                enumeration(ty, *i, k, children)
            }
        }
    }

    fn structure(&self, ty: &Ty, i: usize, children: Vec<Node>) -> Node {
        let fields: Vec<String> = (0..children.len())
            .map(|k| format!("{}: §", crate::types::field(k)))
            .collect();
        Node::expr(ty, &format!("(S{i} {{ {} }})", fields.join(", ")), children)
    }

    /// A literal, often one at an edge.
    pub fn integer(&mut self, int: Int) -> String {
        let name = int.name;
        match self.random.below(6) {
            0 => format!("{name}::MAX"),
            1 => format!("{name}::MIN"),
            2 if int.signed => format!("(-{}{name})", 1 + self.random.below(100)),
            3 => {
                let value = u128::from(self.random.bits()) << 64 | u128::from(self.random.bits());
                format!("{}{name}", value >> (129 - int.bits))
            }
            _ => format!("{}{name}", self.random.below(100)),
        }
    }

    /// The variables of a type, and the parts of variables.
    pub fn places(&self, ty: &Ty, mutable: bool) -> Vec<String> {
        fn walk(
            g: &Generator,
            path: String,
            of: &Ty,
            ty: &Ty,
            depth: u32,
            mutable: bool,
            out: &mut Vec<String>,
        ) {
            if of == ty {
                out.push(path.clone());
            }
            if depth == 0 {
                return;
            }
            match of {
                Ty::Tuple(parts) => {
                    for (k, part) in parts.iter().enumerate() {
                        walk(g, format!("{path}.{k}"), part, ty, depth - 1, mutable, out);
                    }
                }
                Ty::Array(of, n) => walk(
                    g,
                    format!("{path}[{}]", n - 1),
                    of,
                    ty,
                    depth - 1,
                    mutable,
                    out,
                ),
                Ty::Struct(i) => {
                    let of = &g.types.structs[*i];
                    for (k, part) in of.fields.iter().enumerate() {
                        let mut path = format!("{path}.{}", crate::types::field(k));
                        if of.is_packed() && !mutable {
                            // A copy, which may be referred to.
                            path = format!("({{ {path} }})");
                        }
                        walk(g, path, part, ty, depth - 1, mutable, out);
                    }
                }
                _ => {}
            }
        }
        let mut out = vec![];
        for var in self.vars.iter().filter(|var| var.mutable || !mutable) {
            walk(self, var.name.clone(), &var.ty, ty, 2, mutable, &mut out);
        }
        out
    }

    /// A call of a function, with all that its parameters need.
    pub fn call(&mut self, function: &Function, depth: u32) -> Node {
        self.cost += function.cost * self.times;
        let (mut before, mut after) = (String::new(), String::new());
        // All values come first: what makes one may change variables that others refer to.
        let (mut children, mut arguments) = (vec![], vec![]);
        for (i, param) in function.params.iter().enumerate() {
            let name = self.types.name(&param.ty);
            let local = self.name("m");
            if i == 0 && function.kind == Kind::Recursive {
                children.push(self.expr(&param.ty, depth.min(1)));
                before.push_str(&format!("let {local}: {name} = § % {RECURSION_DEPTH}; "));
                arguments.push(local);
                continue;
            }
            match param.by {
                By::Value => {
                    children.push(self.expr(&param.ty, depth));
                    before.push_str(&format!("let {local}: {name} = §; "));
                    arguments.push(local);
                }
                By::Reference => {
                    let value = self.expr(&param.ty, depth);
                    let text = value.text();
                    if self.vars.iter().any(|var| var.name == text) {
                        arguments.push(format!("&{text}"));
                        continue;
                    }
                    children.push(value);
                    before.push_str(&format!("let {local}: {name} = §; "));
                    arguments.push(format!("&{local}"));
                }
                By::Mutable => {
                    children.push(self.expr(&param.ty, depth));
                    before.push_str(&format!("let mut {local}: {name} = §; "));
                    arguments.push(format!("&mut {local}"));
                    after.push_str(&format!("h.put({local}); "));
                }
                By::MutableSlice => {
                    let n = 1 + self.random.below(6);
                    let array = Ty::Array(Box::new(param.ty.clone()), n);
                    children.push(self.expr(&array, depth));
                    before.push_str(&format!("let mut {local}: [{name}; {n}] = §; "));
                    arguments.push(format!("&mut {local}"));
                    after.push_str(&format!("h.put({local}); "));
                }
                By::Slice => {
                    let n = self.random.below(4);
                    let places: Vec<String> = (1..5)
                        .flat_map(|n| self.places(&Ty::Array(Box::new(param.ty.clone()), n), false))
                        // A copy's slice would outlive it.
                        .filter(|place| !place.contains('{'))
                        .collect();
                    if !places.is_empty() && self.random.once_in(2) {
                        let place = self.random.pick(&places).clone();
                        children.push(self.expr(&USIZE, depth.min(1)));
                        before.push_str(&format!("let {local} = § % {place}.len(); "));
                        arguments.push(format!("&{place}[{local}..]"));
                    } else {
                        let elements = (0..n).map(|_| self.expr(&param.ty, depth.min(1)));
                        children.extend(elements.collect::<Vec<_>>());
                        let holes = vec!["§"; n].join(", ");
                        before.push_str(&format!("let {local}: [{name}; {n}] = [{holes}]; "));
                        arguments.push(format!("&{local}"));
                    }
                }
            }
        }
        let result = match (function.kind, self.fallible) {
            (Kind::Fallible, true) if self.random.once_in(2) => "?".to_owned(),
            (Kind::Fallible, _) => {
                let default = self.types.plain(&function.ret);
                format!(".unwrap_or_else(|error| {{ h.put(error); {default} }})")
            }
            _ => String::new(),
        };
        let template = format!(
            "{{ {before}let r = {}({}, h){result}; {after}r }}",
            function.name,
            arguments.join(", ")
        );
        Node::expr(&function.ret, &template, children)
    }

    /// Expressions for any type, generated occasionally.
    fn of_any_type(&mut self, ty: &Ty, depth: u32) -> Option<Node> {
        let name = self.types.name(ty);
        match self.random.below(40) {
            0..5 => {
                let places = self.places(ty, false);
                let place = (!places.is_empty()).then(|| self.random.pick(&places).clone())?;
                Some(Node::expr(ty, &place, vec![]))
            }
            5 | 6 => {
                let children = vec![
                    self.expr(&Ty::Bool, depth),
                    self.expr(ty, depth),
                    self.expr(ty, depth),
                ];
                let template = *self
                    .random
                    .pick(&["if § { § } else { § }", "pick(§, §, §)"]);
                Some(Node::expr(ty, &format!("({template})"), children))
            }
            7..11 => {
                let fit: Vec<Function> = (self.functions.iter())
                    .filter(|function| function.ret == *ty && self.affordable(function.cost))
                    .cloned()
                    .collect();
                let function = (!fit.is_empty()).then(|| self.random.pick(&fit).clone())?;
                Some(self.call(&function, depth.min(2)))
            }
            11 => {
                let closures: Vec<_> = self
                    .closures
                    .iter()
                    .filter(|c| c.2 == *ty)
                    .cloned()
                    .collect();
                let (closure, param, _) =
                    (!closures.is_empty()).then(|| self.random.pick(&closures).clone())?;
                let argument = self.expr(&param, depth);
                Some(Node::expr(ty, &format!("{closure}(§)"), vec![argument]))
            }
            12 if self.depth < 2 => {
                let statements = 1 + self.random.below(3);
                let body = self.block(ty, statements);
                Some(Node::expr(ty, "{ § }", vec![body]))
            }
            13 => {
                let child = self.expr(&Ty::Option(Box::new(ty.clone())), depth);
                let other = self.in_closure(|g| g.expr(ty, depth));
                let template = *self.random.pick(&[
                    "§.unwrap_or(§)",
                    "(match § { Some(x) => x, None => § })",
                    "(if let Some(x) = § { x } else { § })",
                    "§.unwrap_or_else(|| §)",
                ]);
                Some(Node::expr(ty, template, vec![child, other]))
            }
            14 => {
                let n = 1 + self.random.below(4);
                let array = self.expr(&Ty::Array(Box::new(ty.clone()), n), depth);
                let index = self.expr(&USIZE, depth);
                Some(Node::expr(
                    ty,
                    &format!("§[(§ % {n}) as usize]"),
                    vec![array, index],
                ))
            }
            15 => self.match_integer(ty, depth),
            16 => self.match_enum(ty, depth),
            17 => {
                let child = self.expr(ty, depth);
                let template = *self.random.pick(&[
                    "core::hint::black_box(§)",
                    "(*Box::new(§))",
                    "core::convert::identity(§)",
                ]);
                Some(Node::expr(ty, template, vec![child]))
            }
            18 => {
                // A closure that changes what it captured.
                let (x, y) = (self.expr(ty, depth), self.expr(ty, depth));
                Some(Node::expr(
                    ty,
                    "{ let (mut old, mut n) = (§, 0u32); let mut c = |new: X| { n += 1; h.put(n); \
                     core::mem::replace(&mut old, new) }; let first = twice(&mut c, §); h.put(n); first }"
                        .replace('X', &name).as_str(),
                    vec![x, y],
                ))
            }
            19 => {
                let (x, y, c) = (
                    self.expr(ty, depth),
                    self.expr(ty, depth),
                    self.expr(&Ty::Bool, depth),
                );
                Some(Node::expr(
                    ty,
                    &format!(
                        "{{ let (x, y) = (§, §); let f: &dyn Fn(bool) -> {name} = &|c: bool| if c {{ x }} else {{ y }}; f(§) }}"
                    ),
                    vec![x, y, c],
                ))
            }
            20 => {
                let (x, y) = (self.expr(ty, depth), self.expr(&U32, depth));
                Some(Node::expr(
                    ty,
                    &format!(
                        "{{ let mut list: Vec<{name}> = Vec::new(); let x = §; for k in 0..(§ % 5) {{ list.push(x); h.put(k); }} \
                              h.put(list.len()); list.pop().unwrap_or(x) }}"
                    ),
                    vec![x, y],
                ))
            }
            21..24 => Some(self.iterated(ty, depth)),
            _ => None,
        }
    }

    fn match_integer(&mut self, ty: &Ty, depth: u32) -> Option<Node> {
        let int = *self.random.pick(&INTS);
        let scrutinee = self.expr(&Ty::Int(int), depth);
        let (low, guard) = (self.random.below(50), self.expr(&Ty::Bool, depth.min(1)));
        let mut children = vec![scrutinee];
        children.push(self.expr(ty, depth));
        children.push(self.expr(ty, depth.min(1)));
        children.push(guard);
        children.push(self.expr(ty, depth.min(1)));
        let k = self.name("k");
        self.vars.push(crate::program::Var {
            name: k.clone(),
            ty: Ty::Int(int),
            mutable: false,
        });
        children.push(self.expr(ty, depth.min(1)));
        children.push(self.expr(ty, depth));
        self.vars.pop();
        let (a, b, c) = (low, low + 1 + self.random.below(20), low + 30);
        let template = format!(
            "(match {{ § }} {{ 0 | {} => §, {a}..={b} => §, {c}.. if § => §, {k} @ {}..={} => §, {k} => § }})",
            120 + self.random.below(6),
            c + 1,
            c + 9,
        );
        Some(Node::expr(ty, &template, children))
    }

    fn match_enum(&mut self, ty: &Ty, depth: u32) -> Option<Node> {
        let i = self.random.below(self.types.enums.len());
        let mut children = vec![self.expr(&Ty::Enum(i), depth)];
        let mut arms = String::new();
        for (k, fields) in self.enum_variants(i).iter().enumerate() {
            let before = self.vars.len();
            let mut bound = vec![];
            for field in fields {
                let name = self.name("x");
                bound.push(name.clone());
                self.vars.push(crate::program::Var {
                    name,
                    ty: field.clone(),
                    mutable: false,
                });
            }
            let bound = if bound.is_empty() {
                String::new()
            } else {
                format!("({})", bound.join(", "))
            };
            arms.push_str(&format!("E{i}::{}{bound} => §, ", variant(k)));
            children.push(self.expr(ty, depth.min(2)));
            self.vars.truncate(before);
        }
        Some(Node::expr(ty, &format!("(match § {{ {arms}}})"), children))
    }

    /// An expression that suits the type.
    fn of_type(&mut self, ty: &Ty, depth: u32) -> Node {
        match ty {
            Ty::Int(int) => self.integral(ty, *int, depth),
            Ty::Bool => self.boolean(depth),
            Ty::Char => {
                if self.random.once_in(2) {
                    let child = self.expr(&Ty::Int(INTS[1]), depth);
                    return Node::expr(ty, "(§ as char)", vec![child]);
                }
                let children = vec![self.expr(&U32, depth), self.expr(ty, depth)];
                let template = *self.random.pick(&[
                    "char::from_u32(§ % 0x11_0000).unwrap_or(§)",
                    "char::from_digit(§ % 40, 36).unwrap_or(§)",
                    "(if § > 9 { §.to_ascii_uppercase() } else { 'q' })",
                ]);
                Node::expr(ty, template, children)
            }
            Ty::F32 | Ty::F64 => self.float(ty, depth),
            Ty::Tuple(parts) => {
                let children: Vec<Node> = parts.iter().map(|part| self.expr(part, depth)).collect();
                Node::expr(
                    ty,
                    &format!("({})", vec!["§"; children.len()].join(", ")),
                    children,
                )
            }
            Ty::Array(of, n) => self.array(ty, of, *n, depth),
            Ty::Option(of) => self.option(ty, of, depth),
            Ty::Struct(i) => {
                let fields = self.struct_fields(*i);
                if self.traits && self.random.once_in(3) {
                    // Changed through a trait object.
                    let children = vec![self.expr(ty, depth), self.expr(&U32, depth)];
                    return Node::expr(ty, "{ let mut o = §; change(&mut o, §, h); o }", children);
                }
                let children: Vec<Node> =
                    fields.iter().map(|field| self.expr(field, depth)).collect();
                self.structure(ty, *i, children)
            }
            Ty::Enum(i) => {
                let variants = self.enum_variants(*i);
                let k = self.random.below(variants.len());
                let children: Vec<Node> = variants[k]
                    .iter()
                    .map(|field| self.expr(field, depth))
                    .collect();
                enumeration(ty, *i, k, children)
            }
        }
    }

    fn boolean(&mut self, depth: u32) -> Node {
        let ty = Ty::Bool;
        match self.random.below(7) {
            0 | 1 => {
                let children = vec![self.expr(&ty, depth), self.expr(&ty, depth)];
                let template =
                    *self
                        .random
                        .pick(&["(§ && §)", "(§ || §)", "(§ ^ §)", "(§ == §)", "(§ & !§)"]);
                Node::expr(&ty, template, children)
            }
            2 => {
                let of = self.types.any(&mut self.random, 2);
                let children = vec![self.expr(&of, depth), self.expr(&of, depth)];
                let template = *self.random.pick(&["same(&§, &§)", "less(&§, &§)"]);
                Node::expr(&ty, template, children)
            }
            3 => {
                let of = self.types.scalar(&mut self.random);
                let children = vec![self.expr(&Ty::Option(Box::new(of)), depth)];
                let template = *self.random.pick(&["§.is_some()", "matches!(§, None)"]);
                Node::expr(&ty, template, children)
            }
            _ => {
                let of = self.types.scalar(&mut self.random);
                let children = vec![self.expr(&of, depth), self.expr(&of, depth)];
                let template = *self.random.pick(&[
                    "(§ < §)",
                    "(§ <= §)",
                    "(§ == §)",
                    "(§ != §)",
                    "(§ >= §)",
                    "(§ > §)",
                ]);
                Node::expr(&ty, template, children)
            }
        }
    }

    fn integral(&mut self, ty: &Ty, int: Int, depth: u32) -> Node {
        let n = int.name;
        let mask = int.bits - 1;
        match self.random.below(20) {
            0..9 => {
                const TWO: [&str; 38] = [
                    "§.wrapping_add(§)",
                    "§.wrapping_sub(§)",
                    "§.wrapping_mul(§)",
                    "(§ & §)",
                    "(§ | §)",
                    "(§ ^ §)",
                    "§.wrapping_div(§ | 1)",
                    "§.wrapping_rem(§ | 1)",
                    "§.wrapping_rem_euclid(§ | 1)",
                    "§.wrapping_div_euclid(§ | 1)",
                    "§.saturating_add(§)",
                    "§.saturating_sub(§)",
                    "§.saturating_mul(§)",
                    "§.checked_add(§).unwrap_or(7)",
                    "§.checked_sub(§).unwrap_or(8)",
                    "§.checked_mul(§).unwrap_or(9)",
                    "§.checked_div(§).unwrap_or(10)",
                    "§.checked_rem(§).unwrap_or(11)",
                    "over(§.overflowing_add(§))",
                    "over(§.overflowing_sub(§))",
                    "over(§.overflowing_mul(§))",
                    "§.min(§)",
                    "§.max(§)",
                    "(§.abs_diff(§) as N)",
                    "generic(§, §)",
                    "generic(§, §)",
                    "§.midpoint(§)",
                    "(Wrapping(§) * Wrapping(§)).0",
                    "(Wrapping(§) - Wrapping(§)).0",
                    "({ § }.cmp(&§) as i8 as N)",
                    "§.clamp(0, §.max(0))",
                    "§.checked_rem_euclid(§).unwrap_or(3)",
                    "§.wrapping_add(§.swap_bytes())",
                    "§.wrapping_sub(§.reverse_bits())",
                    "(§ & !§)",
                    "§.checked_next_multiple(§)",
                    "§.unsigned_mul_high(§)",
                    "§.saturating_div(§ | 1)",
                ];
                let mut template = *self.random.pick(&TWO);
                if template.contains("multiple") || template.contains("high") {
                    // Only some types have it; this one all have.
                    template = "§.checked_pow((§ & 7) as u32).unwrap_or(5)";
                }
                let children = vec![self.expr(ty, depth), self.expr(ty, depth)];
                Node::expr(ty, &template.replace('N', n), children)
            }
            9 | 10 => {
                let template = *self.random.pick(&[
                    "(§ << (§ & M))",
                    "(§ >> (§ & M))",
                    "§.wrapping_shl(§)",
                    "§.wrapping_shr(§)",
                    "§.rotate_left(§)",
                    "§.rotate_right(§)",
                    "§.checked_shl(§).unwrap_or(1)",
                    "§.wrapping_pow(§ & 15)",
                    "§.overflowing_shr(§).0",
                    "§.saturating_pow(§ & 15)",
                    "§.unbounded_shl(§)",
                    "§.unbounded_shr(§)",
                ]);
                let children = vec![self.expr(ty, depth), self.expr(&U32, depth)];
                Node::expr(ty, &template.replace('M', &mask.to_string()), children)
            }
            11 | 12 => {
                let template = *self.random.pick(&[
                    "(!§)",
                    "§.wrapping_neg()",
                    "§.swap_bytes()",
                    "§.reverse_bits()",
                    "(§.count_ones() as N)",
                    "(§.leading_zeros() as N)",
                    "(§.trailing_zeros() as N)",
                    "(§.leading_ones() as N)",
                    "N::from_le_bytes(§.to_be_bytes())",
                    "(§.max(0).isqrt())",
                    "§.max(1).ilog2() as N",
                    "(§.max(1).ilog10() as N)",
                    "N::from_be(§)",
                    "(§ as f64 as N)",
                    "(§ as f32 as N)",
                ]);
                let child = self.expr(ty, depth);
                Node::expr(ty, &format!("({})", template.replace('N', n)), vec![child])
            }
            13..16 => {
                let of = self.types.scalar(&mut self.random);
                let child = self.expr(&of, depth);
                let template = match of {
                    Ty::Bool if self.random.once_in(2) => format!("{n}::from(§)"),
                    Ty::Char => format!("(§ as u32 as {n})"),
                    _ => format!("(§ as {n})"),
                };
                Node::expr(ty, &template, vec![child])
            }
            16 | 17 => {
                let count = 1 + self.random.below(6);
                let child = self.expr(&Ty::Array(Box::new(ty.clone()), count), depth);
                let template = *self.random.pick(&[
                    "§.iter().fold(1N, |a, x| a.wrapping_mul(3).wrapping_add(*x))",
                    "(§.iter().copied().max().unwrap_or(2))",
                    "(§.into_iter().rev().filter(|x| x % 2 == 0).count() as N)",
                    "§.iter().step_by(2).zip([1N, 2, 3].iter()).fold(0N, |a, (x, y)| a ^ x.wrapping_mul(*y))",
                    "(§.windows(2).filter(|w| w[0] < w[1]).count() as N)",
                    "§.chunks(2).map(|c| c[c.len() - 1]).fold(5N, N::wrapping_sub)",
                    "(§.iter().position(|x| *x > 9).unwrap_or(77) as N)",
                    "§.iter().skip(1).chain([4N].iter()).take_while(|x| **x != 0).fold(0N, |a, x| a.rotate_left(1) ^ x)",
                    "slices(&§)", "§.iter().enumerate().map(|(i, x)| x.wrapping_shr(i as u32)).fold(0N, N::wrapping_add)",
                    "(match §[..] { [] => 1N, [x] => x, [x, .., y] => x ^ y.wrapping_mul(5) })",
                ]);
                Node::expr(ty, &template.replace('N', n), vec![child])
            }
            18 if self.traits && (n == "i64" || self.random.once_in(2)) => {
                let (a, b) = (
                    Ty::Struct(0),
                    Ty::Struct(self.random.below(self.types.structs.len())),
                );
                let children = vec![
                    self.expr(&a, depth),
                    self.expr(&b, depth),
                    self.expr(&Ty::Bool, depth),
                    self.expr(&U32, depth),
                ];
                let template = *self.random.pick(&[
                    "{ let (a, b) = (§, §); let d: &dyn Tr = if § { &a } else { &b }; d.read(§, h) as N }",
                    "{ let (a, b) = (§, §); let d: Box<dyn Tr> = if § { Box::new(a) } else { Box::new(b) }; \
                     let x = §; (d.read(x, h) ^ d.hint() as i64) as N }",
                    "{ let (a, b) = (§, §); let c = §; let d: [&dyn Tr; 2] = [&b, &a]; d[c as usize].read(§, h) as N }",
                ]);
                debug_assert_eq!(I64, Ty::Int(INTS[6]));
                Node::expr(ty, &template.replace('N', n), children)
            }
            _ => {
                let child = self.expr(&Ty::F64, depth);
                Node::expr(ty, &format!("(§ as {n})"), vec![child])
            }
        }
    }

    fn float(&mut self, ty: &Ty, depth: u32) -> Node {
        let name = self.types.name(ty);
        let template = match self.random.below(10) {
            0..5 => *self
                .random
                .pick(&["(§ + §)", "(§ - §)", "(§ * §)", "(§ / §)", "(§ % §)"]),
            5 => *self.random.pick(&[
                "(§.max(§) + 0.0)",
                "(§.min(§) + 0.0)",
                "§.copysign(plain(§))",
                "(§ - plain(§))",
            ]),
            6 => *self
                .random
                .pick(&["(-§)", "§.abs()", "§.recip()", "plain(§)"]),
            7 => {
                let (from, bits) = if name == "f32" {
                    (&Ty::F64, "u32")
                } else {
                    (&Ty::F32, "u64")
                };
                if self.random.once_in(2) {
                    let child = self.expr(from, depth);
                    return Node::expr(ty, &format!("(§ as {name})"), vec![child]);
                }
                let bits_ty =
                    Ty::Int(*INTS.iter().find(|int| int.name == bits).unwrap_or(&INTS[5]));
                let child = self.expr(&bits_ty, depth);
                return Node::expr(ty, &format!("plain({name}::from_bits(§))"), vec![child]);
            }
            _ => {
                let from = Ty::Int(*self.random.pick(&INTS));
                let child = self.expr(&from, depth);
                return Node::expr(ty, &format!("(§ as {name})"), vec![child]);
            }
        };
        let count = template.matches('§').count();
        let children = (0..count).map(|_| self.expr(ty, depth)).collect();
        Node::expr(ty, template, children)
    }

    fn array(&mut self, ty: &Ty, of: &Ty, n: usize, depth: u32) -> Node {
        match self.random.below(7) {
            5 | 6 => self.remade(ty, of, n, depth),
            0 => {
                let child = self.expr(of, depth);
                Node::expr(ty, &format!("[§; {n}]"), vec![child])
            }
            1 => {
                let k = self.name("k");
                self.vars.push(crate::program::Var {
                    name: k.clone(),
                    ty: USIZE,
                    mutable: false,
                });
                self.times *= n;
                let child = self.in_closure(|g| g.expr(of, depth.min(2)));
                self.times /= n;
                self.vars.pop();
                Node::expr(
                    ty,
                    &format!("core::array::from_fn::<_, {n}, _>(|{k}| §)"),
                    vec![child],
                )
            }
            2 if matches!(of, Ty::Int(_)) => {
                let child = self.expr(ty, depth);
                let template = *self.random.pick(&[
                    "{ let mut a = §; a.reverse(); a }", "{ let mut a = §; a.sort_unstable(); a }",
                    "{ let mut a = §; a.rotate_left(1); a }", "§.map(|x| x.wrapping_mul(x))",
                    "{ let mut a = §; for x in a.iter_mut() { *x ^= 1; } a }",
                    "{ let mut a = §; let n = a.len(); a.swap(0, n - 1); a.copy_within(..n / 2, n - n / 2); a }",
                    "{ let mut a = §; let (x, y) = a.split_at_mut(1); if let Some(y) = y.last_mut() { core::mem::swap(&mut x[0], y); } a }",
                ]);
                Node::expr(ty, template, vec![child])
            }
            _ => {
                let children: Vec<Node> = (0..n).map(|_| self.expr(of, depth.min(2))).collect();
                Node::expr(ty, &format!("[{}]", vec!["§"; n].join(", ")), children)
            }
        }
    }

    fn option(&mut self, ty: &Ty, of: &Ty, depth: u32) -> Node {
        let name = self.types.name(of);
        match (self.random.below(6), of) {
            (0, Ty::Int(_)) => {
                let children = vec![self.expr(of, depth), self.expr(of, depth)];
                let template = *self.random.pick(&[
                    "§.checked_add(§)",
                    "§.checked_sub(§)",
                    "§.checked_mul(§)",
                    "§.checked_div(§)",
                    "§.checked_rem(§)",
                ]);
                Node::expr(ty, template, children)
            }
            (1, _) => {
                let children = vec![
                    self.expr(ty, depth),
                    self.in_closure(|g| g.expr(&Ty::Bool, depth)),
                ];
                Node::expr(ty, "§.filter(|_| §)", children)
            }
            (2, _) => {
                let n = 1 + self.random.below(4);
                let children = vec![
                    self.expr(&Ty::Array(Box::new(of.clone()), n), depth),
                    self.expr(&USIZE, depth),
                ];
                Node::expr(
                    ty,
                    &format!("§.get((§ % {}) as usize).copied()", n + 2),
                    children,
                )
            }
            (3, _) => {
                let from = self.types.scalar(&mut self.random);
                let child = self.expr(&Ty::Option(Box::new(from.clone())), depth);
                let k = self.name("k");
                self.vars.push(crate::program::Var {
                    name: k.clone(),
                    ty: from,
                    mutable: false,
                });
                let result = self.in_closure(|g| g.expr(of, depth));
                self.vars.pop();
                Node::expr(ty, &format!("§.map(|{k}| §)"), vec![child, result])
            }
            (4, _) => {
                let children = vec![self.expr(ty, depth), self.expr(ty, depth)];
                let template = *self.random.pick(&["§.or(§)", "§.xor(§)", "§.and(§)"]);
                Node::expr(ty, template, children)
            }
            _ => {
                let child = self.expr(of, depth);
                let template = if self.random.once_in(4) {
                    format!("None::<{name}>.or(Some(§))")
                } else {
                    "Some(§)".to_owned()
                };
                Node::expr(ty, &template, vec![child])
            }
        }
    }
}

fn enumeration(ty: &Ty, i: usize, k: usize, children: Vec<Node>) -> Node {
    let name = format!("E{i}::{}", variant(k));
    if children.is_empty() {
        return Node::expr(ty, &name, vec![]);
    }
    Node::expr(
        ty,
        &format!("{name}({})", vec!["§"; children.len()].join(", ")),
        children,
    )
}
