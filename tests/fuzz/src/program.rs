//! One random program: its types, its functions, and the code that its threads run.

use crate::node::Node;
use crate::random::Random;
use crate::types::{Enum, I64, Struct, Ty, Types, U32, field};

/// A random program, as text that may be reduced.
#[derive(Clone, Debug)]
pub struct Program {
    /// The seed it comes from.
    pub seed: u64,
    /// Its types, which have to stay.
    pub types: Types,
    /// Its items, the functions first; the last is `run`.
    pub items: Vec<Item>,
}

/// An item of a program.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name. It may go where no other item has the name in it.
    pub name: String,
    /// Its text.
    pub node: Node,
}

/// A variable in reach.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub ty: Ty,
    pub mutable: bool,
}

/// A function that may be called.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub params: Vec<Param>,
    pub ret: Ty,
    /// About how many operations a call takes.
    pub cost: usize,
    pub kind: Kind,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    pub ty: Ty,
    pub by: By,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Value,
    Reference,
    Mutable,
    /// A slice of the type.
    Slice,
    /// A slice of the type that the function changes.
    MutableSlice,
}

/// The kind of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Its first argument says how often it calls itself.
    Recursive,
    /// It returns a `Result<_, u8>`.
    Fallible,
}

/// The maximum number of nested calls of a recursive function.
pub const RECURSION_DEPTH: u32 = 7;

/// A program in the making.
pub struct Generator {
    pub random: Random,
    pub types: Types,
    pub functions: Vec<Function>,
    pub vars: Vec<Var>,
    /// The closures in reach: name, parameter, result.
    pub closures: Vec<(String, Ty, Ty)>,
    /// How many names were given.
    pub names: usize,
    /// How often the code being generated runs.
    pub times: usize,
    /// The cost so far of the function being generated.
    pub cost: usize,
    /// How many expressions it has so far.
    pub nodes: usize,
    /// The labels of the loops around, innermost last.
    pub loops: Vec<String>,
    /// How many statements are around the one being made.
    pub depth: usize,
    /// Whether `?` may stand here.
    pub fallible: bool,
    /// Whether the trait's methods may be called: not in themselves.
    pub traits: bool,
    /// Whether the threads' shared memory is in reach.
    pub shared: bool,
}

/// The cost limit of a function.
const COST: usize = 3000;

impl Program {
    /// The program of a seed; all its structs are packed if that is asked for.
    pub fn random(seed: u64, all_packed: bool) -> Program {
        let mut random = Random::new(seed);
        let types = Types::random(&mut random, all_packed);
        let mut generator = Generator {
            random,
            types,
            functions: vec![],
            vars: vec![],
            closures: vec![],
            names: 0,
            times: 1,
            cost: 0,
            nodes: 0,
            loops: vec![],
            depth: 0,
            fallible: false,
            shared: false,
            traits: true,
        };
        let mut items = vec![];
        for i in 0..generator.types.structs.len() {
            items.push(generator.implementation(i));
        }
        items.push(generator.generic());
        for _ in 0..2 + generator.random.below(4) {
            items.push(generator.function());
        }
        items.push(generator.run());
        Program {
            seed,
            types: generator.types,
            items,
        }
    }

    /// The program's module.
    pub fn text(&self) -> String {
        let mut out = self.types.declarations();
        for item in &self.items {
            item.node.write(&mut out);
            out.push('\n');
        }
        out
    }

    /// Removes the items that no other mentions.
    pub fn remove_unused(&mut self) {
        let mut i = self.items.len();
        while i > 0 {
            i -= 1;
            let name = &self.items[i].name;
            let used = name == "run"
                || name.starts_with("impl ")
                || (self.items[i + 1..].iter())
                    .any(|item| item.node.text().contains(&format!("{name}(")));
            if !used {
                self.items.remove(i);
            }
        }
    }

    /// How large it is.
    pub fn size(&self) -> usize {
        self.items.iter().map(|item| item.node.text().len()).sum()
    }
}

impl Generator {
    /// A name that no other thing has.
    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Whether something that costs as much may still be added here.
    pub fn affordable(&self, cost: usize) -> bool {
        self.cost + cost * self.times <= COST
    }

    fn start(&mut self) {
        self.vars.clear();
        self.closures.clear();
        self.loops.clear();
        (self.times, self.cost, self.nodes, self.depth) = (1, 0, 0, 0);
        (self.fallible, self.shared) = (false, false);
    }

    fn var(&mut self, name: impl Into<String>, ty: &Ty, mutable: bool) {
        self.vars.push(Var {
            name: name.into(),
            ty: ty.clone(),
            mutable,
        });
    }

    /// The trait's implementation for a struct.
    fn implementation(&mut self, i: usize) -> Item {
        self.start();
        self.traits = false;
        let ty = Ty::Struct(i);
        let fields = self.types.structs[i].fields.clone();
        self.var("(*self)", &ty, false);
        self.var("arg", &U32, false);
        let read = self.block(&I64, 3);
        self.start();
        // The assigned part of `self` is a field.
        let k = self.random.below(fields.len());
        self.var("arg", &U32, false);
        if !self.types.structs[i].is_packed() {
            for (k, ty) in fields.iter().enumerate() {
                self.var(format!("self.{}", field(k)), ty, true);
            }
        }
        let value = self.expr(&fields[k], 3);
        let own = if self.random.once_in(2) {
            let hint = self.random.below(1000);
            Node::fixed(&format!("    fn hint(&self) -> u32 {{ {hint} }}\n"), vec![])
        } else {
            Node::fixed("", vec![])
        };
        self.traits = true;
        let template = format!(
            "impl Tr for S{i} {{\n    fn read(&self, arg: u32, h: &H) -> i64 {{ § }}\n    fn change(&mut self, arg: u32, \
             h: &H) {{ self.{} = §; h.word(arg as u64); }}\n§}}\n",
            field(k)
        );
        // `self` is a reference there, and `*self` a copy of it.
        Item {
            name: format!("impl {i}"),
            node: Node::fixed(&template, vec![read, value, own]),
        }
    }

    /// A generic function over all integers.
    fn generic(&mut self) -> Item {
        self.start();
        fn tree(g: &mut Generator, depth: u32) -> Node {
            if depth == 0 {
                let leaf = *g
                    .random
                    .pick(&["a", "b", "a", "b", "T::ONE", "T::LOW", "T::HIGH"]);
                return Node::fixed(leaf, vec![]);
            }
            let mut next = || tree(g, depth - 1);
            let (x, y, z, w) = (next(), next(), next(), next());
            let template = *g.random.pick(&[
                "§.add(§)",
                "§.sub(§)",
                "§.mul(§)",
                "§.xor(§)",
                "§.shr(§)",
                "§.rem(§)",
                "if § < § { § } else { § }",
            ]);
            let children = if template.starts_with("if") {
                vec![x, y, z, w]
            } else {
                vec![x, y]
            };
            Node::fixed(&format!("({template})"), children)
        }
        let (first, second) = (tree(self, 2), tree(self, 3));
        Item {
            name: "generic".to_owned(),
            node: Node::fixed(
                "fn generic<T: Num>(a: T, b: T) -> T { let a = §; § }\n",
                vec![first, second],
            ),
        }
    }

    fn function(&mut self) -> Item {
        self.start();
        let name = self.name("f");
        let ret = self.types.any(&mut self.random, 2);
        let kind = *self.random.pick(&[
            Kind::Plain,
            Kind::Plain,
            Kind::Plain,
            Kind::Recursive,
            Kind::Fallible,
        ]);
        let mut params = vec![];
        if kind == Kind::Recursive {
            params.push(Param {
                ty: U32,
                by: By::Value,
            });
        }
        for _ in 0..1 + self.random.below(4) {
            let ty = self.types.any(&mut self.random, 2);
            let by = *self.random.pick(&[
                By::Value,
                By::Value,
                By::Reference,
                By::Mutable,
                By::Slice,
                By::MutableSlice,
            ]);
            params.push(Param { ty, by });
        }
        let mut head = String::new();
        let mut reborrowed = String::new();
        let mut prologue = vec![];
        for (i, Param { ty, by }) in params.iter().enumerate() {
            let (param, text) = (format!("p{i}"), self.types.name(ty));
            match by {
                By::Value => head.push_str(&format!("{param}: {text}, ")),
                By::Reference => head.push_str(&format!("{param}: &{text}, ")),
                By::Mutable => head.push_str(&format!("{param}: &mut {text}, ")),
                By::Slice => head.push_str(&format!("{param}: &[{text}], ")),
                By::MutableSlice => head.push_str(&format!("{param}: &mut [{text}], ")),
            }
            match by {
                By::MutableSlice => {
                    let x = self.name("x");
                    prologue.push(self.change_all(&params, i, &x));
                }
                By::Value => self.var(param.clone(), ty, false),
                By::Reference => self.var(format!("(*{param})"), ty, false),
                By::Mutable => self.var(format!("(*{param})"), ty, true),
                By::Slice => {
                    // The slice's elements, as far as there are some.
                    let local = self.name("v");
                    let default = self.types.plain(ty);
                    prologue.push(Node::fixed(
                        &format!("    let {local} = {param}.iter().rev().nth(1).copied().unwrap_or({default});\n    \
                                  h.word({param}.len() as u64);\n    for x in {param} {{ x.put(h); }}\n"),
                        vec![],
                    ));
                    self.var(local, ty, false);
                }
            }
            reborrowed.push_str(&format!("{param}, "));
        }
        let attribute = *self.random.pick(&[
            "#[inline(never)]\n",
            "#[inline(never)]\n",
            "",
            "#[inline]\n",
            "#[inline(always)]\n",
        ]);
        self.fallible = kind == Kind::Fallible;
        if kind == Kind::Recursive {
            self.times = RECURSION_DEPTH as usize;
        }
        let statements = 1 + self.random.below(6);
        let body = self.block(&ret, statements);
        let ret_text = self.types.name(&ret);
        prologue.push(body);
        let body = Node::list(prologue);
        let (attribute, ret_text, body) = match kind {
            Kind::Plain => (attribute, ret_text, body),
            Kind::Fallible => (
                attribute,
                format!("Result<{ret_text}, u8>"),
                Node::fixed("Ok({ § })", vec![body]),
            ),
            Kind::Recursive => {
                let rest = reborrowed.trim_start_matches("p0, ");
                let mut template =
                    format!("if p0 > 0 {{ let y = {name}(p0 - 1, {rest}h); h.put(y); }}\n    §");
                if self.random.once_in(2) {
                    template = format!(
                        "let y = {{ § }};\n    if p0 > 0 {{ h.put({name}(p0 - 1, {rest}h)); }}\n    y"
                    );
                }
                (
                    "#[inline(never)]\n",
                    ret_text,
                    Node::fixed(&template, vec![body]),
                )
            }
        };
        let node = Node::fixed(
            &format!("{attribute}fn {name}({head}h: &H) -> {ret_text} {{\n    §\n}}\n"),
            vec![body],
        );
        let cost = self.cost.max(10);
        self.functions.push(Function {
            name: name.clone(),
            params,
            ret,
            cost,
            kind,
        });
        Item { name, node }
    }

    /// The function that each thread runs.
    fn run(&mut self) -> Item {
        self.start();
        self.var("t", &U32, false);
        self.shared = true;
        let statements = 6 + self.random.below(10);
        let ty = self.types.any(&mut self.random, 2);
        let body = self.block(&ty, statements);
        Item {
            name: "run".to_owned(),
            node: Node::fixed(
                "pub fn run(t: u32, s: &Shared) -> u64 {\n    let h = &H::default();\n    let result = { § };\n    \
                 h.put(result);\n    h.get()\n}\n",
                vec![body],
            ),
        }
    }

    /// The fields of a struct or a variant.
    pub fn struct_fields(&self, i: usize) -> Vec<Ty> {
        let Struct { fields, .. } = &self.types.structs[i];
        fields.clone()
    }

    /// The variants of an enum.
    pub fn enum_variants(&self, i: usize) -> Vec<Vec<Ty>> {
        let Enum { variants, .. } = &self.types.enums[i];
        variants.clone()
    }
}
