//! Metadata: the numbered nodes at the end of the text.

use std::collections::HashMap;

use super::lexer::Tok;
use super::{Reader, Result};
use crate::metadata::{Di, DiNode};
use crate::module::KernelAttrs;
use crate::value::{Func, Value};

/// The nodes by number: their positions in the text, and the metadata read from them.
#[derive(Default)]
pub(super) struct Nodes {
    places: HashMap<u32, usize>,
    made: HashMap<u32, Di>,
    /// Nodes that are being made, for one may not refer to itself.
    open: Vec<u32>,
    annotations: Vec<u32>,
    pub(super) subprograms: Vec<(Func, u32)>,
}

/// A field's value.
enum Field {
    Node(u32),
    Number(u64),
    Text(String),
    Words(Vec<String>),
    Nodes(Vec<u32>),
    /// Of a subrange.
    Count(u64),
}

impl<'t> Reader<'t> {
    /// `!5`
    pub(super) fn node_ref(&mut self) -> Result<u32> {
        match self.peek() {
            Tok::Node(number) => {
                self.at += 1;
                Ok(number)
            }
            _ => self.expected("a node of metadata"),
        }
    }

    /// Notes where a node stands, and which are named.
    pub(super) fn metadata_line(&mut self) -> Result<()> {
        let start = self.at;
        match self.next() {
            Tok::Node(number) => {
                self.punct('=')?;
                if self.md.places.insert(number, self.at).is_some() {
                    return self.error_at(start, format!("`!{number}` is defined twice"));
                }
            }
            Tok::Meta("nvvm.annotations") => {
                self.punct('=')?;
                self.expect(Tok::Bang)?;
                self.punct('{')?;
                while !self.eat(Tok::Punct('}')) {
                    if !self.md.annotations.is_empty() {
                        self.punct(',')?;
                    }
                    let node = self.node_ref()?;
                    self.md.annotations.push(node);
                }
            }
            _ => {}
        }
        self.at = start;
        self.skip_line();
        Ok(())
    }

    /// Goes to a node's text, and back afterwards.
    fn at_node<T>(&mut self, number: u32, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(&place) = self.md.places.get(&number) else {
            return self.error_at(self.at - 1, format!("there is no `!{number}`"));
        };
        let back = std::mem::replace(&mut self.at, place);
        let result = f(self)?;
        self.at = back;
        Ok(result)
    }

    /// The bounds of a `!range`, the second made inclusive; none of one that consists of several.
    pub(super) fn range(&mut self) -> Result<Option<(u128, u128)>> {
        let node = self.node_ref()?;
        self.at_node(node, |r| {
            r.expect(Tok::Bang)?;
            r.punct('{')?;
            let ty = r.ty()?.ty;
            let start = r.int(ty)?;
            r.punct(',')?;
            let ty = r.ty()?.ty;
            let end = r.int(ty)?;
            if r.peek() == Tok::Punct(',') {
                return Ok(None);
            }
            r.punct('}')?;
            let mask = match r.m.types.int_bits(ty) {
                Some(bits @ 1..128) => (1 << bits) - 1,
                _ => u128::MAX,
            };
            Ok(Some((start, end.wrapping_sub(1) & mask)))
        })
    }

    /// A location, or that of the call which it was inlined at, if it has no line: LLVM gives code that it
    /// merges the line 0, between whose `.loc` lines libnvvm 13.0 breaks calls in PTX (tests/run,
    /// `program_tape_machine`).
    pub(super) fn with_line(&self, mut di: Di) -> Option<Di> {
        while let DiNode::Location {
            line: 0,
            inlined_at,
            ..
        } = *self.m.di(di)
        {
            di = inlined_at?;
        }
        Some(di)
    }

    /// Returns whether a node, a loop's, says that it is not to be unrolled, and how often it is to be
    /// unrolled.
    pub(super) fn unrolling(&mut self, number: u32) -> Result<(bool, Option<u32>)> {
        let properties = self.at_node(number, |r| {
            let mut nodes = Vec::new();
            r.eat_word("distinct");
            r.expect(Tok::Bang)?;
            r.punct('{')?;
            while !r.eat(Tok::Punct('}')) {
                match r.next() {
                    Tok::Node(node) if node != number => nodes.push(node),
                    Tok::End => return r.expected("`}`"),
                    _ => {}
                }
            }
            Ok(nodes)
        })?;
        let (mut disabled, mut count) = (false, None);
        for node in properties {
            self.at_node(node, |r| {
                let token = |index: usize| r.tokens.get(r.at + index).map(|token| token.tok);
                match (token(3), token(6)) {
                    (Some(Tok::Str("llvm.loop.unroll.disable")), _) => disabled = true,
                    (Some(Tok::Str("llvm.loop.unroll.count")), Some(Tok::Number(text))) => {
                        count = text.parse().ok();
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok((disabled, count))
    }

    pub(super) fn attach_subprograms(&mut self) -> Result<()> {
        for (func, node) in std::mem::take(&mut self.md.subprograms) {
            let subprogram = self.di(node)?;
            self.m.func_mut(func).subprogram = Some(subprogram);
        }
        Ok(())
    }

    /// Makes kernels of the functions that the annotations name.
    pub(super) fn annotations(&mut self) -> Result<()> {
        for node in std::mem::take(&mut self.md.annotations) {
            self.at_node(node, |r| r.annotation())?;
        }
        Ok(())
    }

    fn annotation(&mut self) -> Result<()> {
        self.expect(Tok::Bang)?;
        self.punct('{')?;
        let at = self.at;
        let symbol: Value = self.typed()?;
        let Some(func) = self.m.as_func(symbol) else {
            return self.error_at(at, "only functions are annotated");
        };
        self.punct(',')?;
        self.expect(Tok::Bang)?;
        let name_at = self.at;
        let name = self.text()?;
        self.punct(',')?;
        if name == "grid_constant" {
            let node = self.node_ref()?;
            let numbers = self.at_node(node, Self::numbers)?;
            self.punct('}')?;
            for number in numbers {
                let attrs = &mut self.m.func_mut(func).param_attrs;
                match attrs.get_mut((number as usize).wrapping_sub(1)) {
                    Some(attrs) => attrs.grid_constant = true,
                    None => return self.error_at(at, format!("there is no parameter {number}")),
                }
            }
            return Ok(());
        }
        let ty = self.ty()?.ty;
        let value = self.int(ty)? as u32;
        self.punct('}')?;
        let kernel = self
            .m
            .func_mut(func)
            .kernel
            .get_or_insert_with(KernelAttrs::default);
        let axis = |list: &mut Option<[u32; 3]>, axis: usize| {
            list.get_or_insert([1; 3])[axis] = value;
        };
        match name.as_str() {
            "kernel" => {}
            "maxntidx" => axis(&mut kernel.max_threads, 0),
            "maxntidy" => axis(&mut kernel.max_threads, 1),
            "maxntidz" => axis(&mut kernel.max_threads, 2),
            "reqntidx" => axis(&mut kernel.required_threads, 0),
            "reqntidy" => axis(&mut kernel.required_threads, 1),
            "reqntidz" => axis(&mut kernel.required_threads, 2),
            "minctasm" => kernel.min_blocks = Some(value),
            "maxnreg" => kernel.max_registers = Some(value),
            "cluster_dim_x" => axis(&mut kernel.cluster, 0),
            "cluster_dim_y" => axis(&mut kernel.cluster, 1),
            "cluster_dim_z" => axis(&mut kernel.cluster, 2),
            "cluster_max_blocks" => kernel.max_cluster = Some(value),
            _ => return self.error_at(name_at, format!("there is no annotation `{name}`")),
        }
        Ok(())
    }

    /// A list of numbers.
    fn numbers(&mut self) -> Result<Vec<u32>> {
        self.expect(Tok::Bang)?;
        self.punct('{')?;
        let mut numbers = Vec::new();
        loop {
            let ty = self.ty()?.ty;
            numbers.push(self.int(ty)? as u32);
            if !self.eat(Tok::Punct(',')) {
                break;
            }
        }
        self.punct('}')?;
        Ok(numbers)
    }

    /// The node of debug information with that number.
    pub(super) fn di(&mut self, number: u32) -> Result<Di> {
        if let Some(&di) = self.md.made.get(&number) {
            return Ok(di);
        }
        if self.md.open.contains(&number) {
            return self.error_at(self.at - 1, format!("`!{number}` refers to itself"));
        }
        self.md.open.push(number);
        let node = self.at_node(number, |r| r.di_node())?;
        self.md.open.pop();
        let di = self.m.add_di(node);
        self.md.made.insert(number, di);
        Ok(di)
    }

    fn di_node(&mut self) -> Result<DiNode> {
        self.eat_word("distinct");
        let start = self.at;
        let Tok::Meta(kind) = self.next() else {
            self.at = start;
            return self.expected("a node of debug information");
        };
        let mut fields = self.fields_of_node()?;
        let mut fields = Fields {
            reader: self,
            fields: &mut fields,
            start,
        };
        Ok(match kind {
            "DIFile" => DiNode::File {
                name: fields.text("filename")?,
                directory: fields.text("directory")?,
            },
            "DICompileUnit" => DiNode::CompileUnit {
                file: fields.node("file")?,
                producer: fields.text("producer")?,
                optimized: fields.flag("isOptimized"),
                line_tables_only: fields
                    .words("emissionKind")
                    .iter()
                    .any(|w| w == "LineTablesOnly"),
            },
            "DISubprogram" => {
                let flags = fields.words("spFlags");
                let flag = |name: &str| flags.iter().any(|flag| flag == name);
                DiNode::Subprogram {
                    name: fields.text("name")?,
                    linkage_name: fields.text("linkageName")?,
                    file: fields.node("file")?,
                    line: fields.number("line")?,
                    unit: fields.node("unit")?,
                    local: flag("DISPFlagLocalToUnit") || fields.flag("isLocal"),
                    optimized: flag("DISPFlagOptimized") || fields.flag("isOptimized"),
                }
            }
            "DILexicalBlock" => DiNode::LexicalBlock {
                scope: fields.node("scope")?,
                file: fields.node("file")?,
                line: fields.number("line")?,
                column: fields.number("column")?,
            },
            "DILocation" => DiNode::Location {
                line: fields.number("line")?,
                column: fields.number("column")?,
                scope: fields.node("scope")?,
                inlined_at: fields.node_if_there("inlinedAt")?,
            },
            "DIBasicType" => DiNode::BasicType {
                name: fields.text("name")?,
                bits: fields.number("size")?,
                encoding: fields.number("encoding")?,
            },
            "DIDerivedType" => {
                let tag = fields.words("tag");
                let (name, bits) = (fields.text("name")?, fields.number("size")?);
                let ty = fields.node("baseType")?;
                match tag.first().map(String::as_str) {
                    Some("DW_TAG_pointer_type") => DiNode::PointerType { name, to: ty, bits },
                    Some("DW_TAG_member") => DiNode::Member {
                        name,
                        ty,
                        bits,
                        offset: fields.number("offset")?,
                    },
                    _ => return self.error_at(start, "types with this tag are not read here"),
                }
            }
            "DICompositeType" => {
                let tag = fields.words("tag");
                let bits = fields.number("size")?;
                match tag.first().map(String::as_str) {
                    Some("DW_TAG_array_type") => DiNode::ArrayType {
                        element: fields.node("baseType")?,
                        count: fields.count()?,
                        bits,
                    },
                    Some("DW_TAG_structure_type") => DiNode::StructType {
                        name: fields.text("name")?,
                        bits,
                        members: fields.nodes("elements")?,
                    },
                    _ => return self.error_at(start, "types with this tag are not read here"),
                }
            }
            "DILocalVariable" => DiNode::LocalVariable {
                name: fields.text("name")?,
                scope: fields.node("scope")?,
                file: fields.node("file")?,
                line: fields.number("line")?,
                ty: fields.node("type")?,
                arg: fields.number("arg")?,
            },
            _ => return self.error_at(start, format!("nodes `!{kind}` are not read here")),
        })
    }

    /// `(name: value, …)`
    fn fields_of_node(&mut self) -> Result<HashMap<&'t str, Field>> {
        let mut fields = HashMap::new();
        self.punct('(')?;
        while !self.eat(Tok::Punct(')')) {
            if !fields.is_empty() {
                self.punct(',')?;
            }
            let Tok::Label(name) = self.peek() else {
                return self.expected("a field");
            };
            self.at += 1;
            let field = match self.peek() {
                Tok::Node(number) => {
                    self.at += 1;
                    Field::Node(number)
                }
                Tok::Number(_) => Field::Number(self.unsigned()?),
                Tok::Str(_) => Field::Text(self.text()?),
                Tok::Word(_) => {
                    let mut words = vec![self.word("a word")?.to_owned()];
                    while self.eat(Tok::Punct('|')) {
                        words.push(self.word("a word")?.to_owned());
                    }
                    Field::Words(words)
                }
                Tok::Bang => {
                    self.at += 1;
                    self.list()?
                }
                _ => return self.expected("a field's value"),
            };
            fields.insert(name, field);
        }
        Ok(fields)
    }
}

impl<'t> Reader<'t> {
    /// `{!1, !2}`, or `{!DISubrange(count: 4)}`.
    fn list(&mut self) -> Result<Field> {
        let mut nodes = Vec::new();
        self.punct('{')?;
        while !self.eat(Tok::Punct('}')) {
            if !nodes.is_empty() {
                self.punct(',')?;
            }
            if self.eat(Tok::Meta("DISubrange")) {
                let mut fields = self.fields_of_node()?;
                self.punct('}')?;
                return match fields.remove("count") {
                    Some(Field::Number(count)) => Ok(Field::Count(count)),
                    _ => self.expected("a count"),
                };
            }
            nodes.push(self.node_ref()?);
        }
        Ok(Field::Nodes(nodes))
    }
}

/// The fields of a node, taken one by one.
struct Fields<'a, 't> {
    reader: &'a mut Reader<'t>,
    fields: &'a mut HashMap<&'t str, Field>,
    start: usize,
}

impl Fields<'_, '_> {
    fn missing<T>(&self, name: &str) -> Result<T> {
        self.reader.error_at(
            self.start,
            format!("the field `{name}` is missing or of another kind"),
        )
    }

    fn text(&mut self, name: &str) -> Result<String> {
        match self.fields.remove(name) {
            Some(Field::Text(text)) => Ok(text),
            _ => self.missing(name),
        }
    }

    /// A number, 0 if it is not there.
    fn number<T: TryFrom<u64> + Default>(&mut self, name: &str) -> Result<T> {
        match self.fields.remove(name) {
            None => Ok(T::default()),
            Some(Field::Number(number)) => match T::try_from(number) {
                Ok(number) => Ok(number),
                Err(_) => self.missing(name),
            },
            _ => self.missing(name),
        }
    }

    fn words(&mut self, name: &str) -> Vec<String> {
        match self.fields.remove(name) {
            Some(Field::Words(words)) => words,
            _ => Vec::new(),
        }
    }

    /// The number of elements of an array.
    fn count(&mut self) -> Result<u64> {
        match self.fields.remove("elements") {
            Some(Field::Count(count)) => Ok(count),
            _ => self.missing("elements"),
        }
    }

    fn nodes(&mut self, name: &str) -> Result<Vec<Di>> {
        match self.fields.remove(name) {
            Some(Field::Nodes(nodes)) => nodes.into_iter().map(|n| self.reader.di(n)).collect(),
            _ => self.missing(name),
        }
    }

    fn flag(&mut self, name: &str) -> bool {
        self.words(name).iter().any(|word| word == "true")
    }

    fn node_if_there(&mut self, name: &str) -> Result<Option<Di>> {
        match self.fields.remove(name) {
            None => Ok(None),
            Some(Field::Node(number)) => self.reader.di(number).map(Some),
            _ => self.missing(name),
        }
    }

    fn node(&mut self, name: &str) -> Result<Di> {
        match self.node_if_there(name)? {
            Some(di) => Ok(di),
            None => self.missing(name),
        }
    }
}
