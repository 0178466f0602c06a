//! Metadata attached to instructions and functions, and the module's metadata, which is printed at
//! the end of the text.

use std::collections::HashMap;

use super::{NONE, Writer};
use crate::inst::{Callee, InstData, InstKind};
use crate::metadata::{Di, DiNode, DwarfOp};
use crate::module::{KernelAttrs, Module};
use crate::types::{AddrSpace, Type};
use crate::value::{Func, Value, ValueKind};

/// A numbered node.
enum Node {
    Empty,
    Di(Di),
    /// A location at the line of a subprogram.
    LineOf(Di),
    /// The range `start..end` of a load.
    Range(Type, u128, u128),
    /// The type of all subprograms.
    Subroutine,
    Version {
        debug: bool,
    },
    /// The flag with the version of debug information.
    DebugFlag,
    Annotation(Func, &'static str, u32),
    /// An annotation whose value is a list of numbers.
    AnnotationList(Func, &'static str, u32),
    Numbers(Vec<u32>),
    /// A loop, with its own number and that of [`Node::NoUnroll`] or [`Node::UnrollCount`].
    Loop(u32, u32),
    NoUnroll,
    UnrollCount(u32),
}

/// The nodes numbered so far. Nodes are numbered by their first use in the text.
pub(super) struct Metadata {
    nodes: Vec<Node>,
    di: Vec<u32>,
    ranges: HashMap<(Type, u128, u128), u32>,
    empty: u32,
    subroutine: u32,
    no_unroll: u32,
}

impl Metadata {
    pub(super) fn new(module: &Module) -> Self {
        Metadata {
            nodes: Vec::new(),
            di: vec![NONE; module.di.len()],
            ranges: HashMap::new(),
            empty: NONE,
            subroutine: NONE,
            no_unroll: NONE,
        }
    }

    /// Forgets all nodes.
    pub(super) fn restart(&mut self) {
        for node in self.nodes.drain(..) {
            if let Node::Di(di) = node {
                self.di[di.0 as usize] = NONE;
            }
        }
        self.ranges.clear();
        self.empty = NONE;
        self.subroutine = NONE;
        self.no_unroll = NONE;
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
}

impl Writer<'_> {
    pub(super) fn node(&mut self, id: u32) {
        self.s("!");
        self.num(id);
    }

    /// Prints `!N` for a debug information node.
    pub(super) fn di(&mut self, di: Di) {
        let id = self.di_id(di);
        self.node(id);
    }

    fn di_id(&mut self, di: Di) -> u32 {
        let index = di.0 as usize;
        if self.md.di[index] == NONE {
            self.md.di[index] = self.md.push(Node::Di(di));
        }
        self.md.di[index]
    }

    /// Prints `!N` for the type that all subprograms share.
    pub(super) fn subroutine_type(&mut self) {
        if self.md.subroutine == NONE {
            self.md.subroutine = self.md.push(Node::Subroutine);
        }
        self.node(self.md.subroutine);
    }

    /// Prints an instruction's location. In a function with debug information, each call that may
    /// be inlined must have a location, so calls without one get the function's line.
    pub(super) fn loc(&mut self, inst: &InstData) {
        let Some(subprogram) = self.subprogram else {
            return;
        };
        if let Some(loc) = inst.loc {
            self.s(", !dbg ");
            self.di(loc);
        } else if let InstKind::Call(call) = &inst.kind
            && let Callee::Value(_) = call.callee
        {
            self.s(", !dbg ");
            self.fallback_loc(subprogram);
        }
    }

    fn fallback_loc(&mut self, subprogram: Di) {
        let id = match self.fallback_loc {
            Some(id) => id,
            None => self.line_of(subprogram),
        };
        self.fallback_loc = Some(id);
        self.node(id);
    }

    fn line_of(&mut self, subprogram: Di) -> u32 {
        let DiNode::Subprogram { line, .. } = *self.m.di(subprogram) else {
            return self.md.push(Node::LineOf(subprogram));
        };
        let node = DiNode::Location {
            line,
            column: 0,
            scope: subprogram,
            inlined_at: None,
        };
        match self.m.di_ids.get(&node) {
            Some(&di) => self.di_id(di),
            None => self.md.push(Node::LineOf(subprogram)),
        }
    }

    /// Prints a load's range, unless it is the full range.
    pub(super) fn range(&mut self, ty: Type, start: u128, end: u128) {
        let mask = match self.m.types.int_bits(ty) {
            Some(bits @ 1..128) => (1 << bits) - 1,
            Some(128) => u128::MAX,
            _ => return,
        };
        let (start, end) = (start & mask, end.wrapping_add(1) & mask);
        if start == end {
            return;
        }
        let id = match self.md.ranges.get(&(ty, start, end)) {
            Some(&id) => id,
            None => {
                let id = self.md.push(Node::Range(ty, start, end));
                self.md.ranges.insert((ty, start, end), id);
                id
            }
        };
        self.s(", !range ");
        self.node(id);
    }

    /// Prints that the loop whose back edge the terminator is must not be unrolled.
    pub(super) fn no_unroll(&mut self) {
        if self.md.no_unroll == NONE {
            self.md.no_unroll = self.md.push(Node::NoUnroll);
        }
        self.loop_with(self.md.no_unroll);
    }

    /// Prints how many iterations of the loop whose back edge the terminator is become one.
    pub(super) fn unroll_count(&mut self, count: u32) {
        let property = self.md.push(Node::UnrollCount(count));
        self.loop_with(property);
    }

    fn loop_with(&mut self, property: u32) {
        let own = self.md.nodes.len() as u32;
        self.md.push(Node::Loop(own, property));
        self.s(", !llvm.loop ");
        self.node(own);
    }

    pub(super) fn invariant(&mut self) {
        self.empty_node(", !invariant.load ");
    }

    pub(super) fn nonnull(&mut self) {
        self.empty_node(", !nonnull ");
        self.empty_node(", !noundef ");
    }

    fn empty_node(&mut self, name: &str) {
        if self.md.empty == NONE {
            self.md.empty = self.md.push(Node::Empty);
        }
        self.s(name);
        self.node(self.md.empty);
    }

    /// Prints the addresses of a function's variables, after the entry block's allocas.
    pub(super) fn variables(&mut self, func: Func) {
        let m = self.m;
        let Some(subprogram) = self.subprogram else {
            return;
        };
        for (ptr, declare) in &m.func(func).variables {
            if !self.is_entry_address(*ptr) || !self.generic(*ptr) {
                continue;
            }
            self.declares_variables = true;
            self.s("  call void @llvm.dbg.declare(metadata ");
            self.typed(*ptr);
            self.s(", metadata ");
            self.di(declare.variable);
            self.s(", metadata !DIExpression(");
            for (index, op) in declare.expression.iter().enumerate() {
                self.s(if index == 0 { "" } else { ", " });
                match *op {
                    DwarfOp::Plus(bytes) => {
                        self.s("DW_OP_plus_uconst, ");
                        self.num(bytes);
                    }
                    DwarfOp::Deref => self.s("DW_OP_deref"),
                }
            }
            self.s(")), !dbg ");
            self.fallback_loc(subprogram);
            self.s("\n");
        }
    }

    /// Returns whether an address is defined after the entry block's allocas.
    fn is_entry_address(&self, value: Value) -> bool {
        match &self.m.value(value).kind {
            ValueKind::Param(..) => true,
            ValueKind::Inst(data) => matches!(data.kind, InstKind::Alloca { .. }),
            _ => false,
        }
    }

    fn generic(&self, value: Value) -> bool {
        self.space_of(value) == AddrSpace::Generic
    }

    /// Prints all metadata of the module.
    pub(super) fn module_metadata(&mut self) {
        let m = self.m;
        let mut units = Vec::new();
        for func in m
            .funcs()
            .map(|f| m.func(f))
            .filter(|f| !f.blocks.is_empty())
        {
            if let Some(&DiNode::Subprogram { unit, .. }) = func.subprogram.map(|di| m.di(di))
                && !units.contains(&unit)
            {
                units.push(unit);
            }
        }
        let debug = !units.is_empty();
        self.s("\n");
        let version = self.md.push(Node::Version { debug });
        self.named("nvvmir.version", &[version]);
        if !self.for_llvm {
            let annotations = self.annotations();
            self.named("nvvm.annotations", &annotations);
        }
        if debug {
            let flag = self.md.push(Node::DebugFlag);
            self.named("llvm.module.flags", &[flag]);
            self.s("!llvm.dbg.cu = !{");
            for (i, &unit) in units.iter().enumerate() {
                self.s(if i == 0 { "" } else { ", " });
                self.di(unit);
            }
            self.s("}\n");
        }
        self.s("\n");
        self.nodes();
    }

    /// Prints all numbered nodes, which may number further ones.
    pub(super) fn nodes(&mut self) {
        let mut at = 0;
        while at < self.md.nodes.len() {
            self.node(at as u32);
            self.s(" = ");
            let node = std::mem::replace(&mut self.md.nodes[at], Node::Empty);
            self.node_text(&node);
            self.md.nodes[at] = node;
            self.s("\n");
            at += 1;
        }
    }

    fn named(&mut self, name: &str, nodes: &[u32]) {
        if nodes.is_empty() {
            return;
        }
        self.s("!");
        self.s(name);
        self.s(" = !{");
        for (i, &node) in nodes.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.node(node);
        }
        self.s("}\n");
    }

    fn annotations(&mut self) -> Vec<u32> {
        let funcs = self.m.funcs();
        funcs.flat_map(|func| self.annotations_of(func)).collect()
    }

    /// Numbers the annotations of a function, which has some if it is a kernel.
    pub(super) fn annotations_of(&mut self, func: Func) -> Vec<u32> {
        let m = self.m;
        let Some(kernel) = &m.func(func).kernel else {
            return Vec::new();
        };
        let mut ids = Vec::new();
        for (name, value) in kernel_annotations(kernel) {
            ids.push(self.md.push(Node::Annotation(func, name, value)));
        }
        // Parameters are numbered from 1.
        let constants: Vec<u32> = (1..)
            .zip(&m.func(func).param_attrs)
            .filter(|(_, attrs)| attrs.grid_constant)
            .map(|(number, _)| number)
            .collect();
        if !constants.is_empty() {
            let list = self.md.push(Node::Numbers(constants));
            let annotation = Node::AnnotationList(func, "grid_constant", list);
            ids.push(self.md.push(annotation));
        }
        ids
    }

    fn node_text(&mut self, node: &Node) {
        match *node {
            Node::Empty => self.s("!{}"),
            Node::NoUnroll => self.s("!{!\"llvm.loop.unroll.disable\"}"),
            Node::UnrollCount(count) => {
                self.s("!{!\"llvm.loop.unroll.count\", i32 ");
                self.num(count);
                self.s("}");
            }
            Node::Loop(own, properties) => {
                self.s("distinct !{");
                self.node(own);
                self.s(", ");
                self.node(properties);
                self.s("}");
            }
            Node::Di(di) => self.di_text(di),
            Node::LineOf(subprogram) => {
                let line = match self.m.di(subprogram) {
                    DiNode::Subprogram { line, .. } => *line,
                    _ => 0,
                };
                self.s("!DILocation(line: ");
                self.num(line);
                self.s(", column: 0, scope: ");
                self.di(subprogram);
                self.s(")");
            }
            Node::Range(ty, start, end) => {
                self.s("!{");
                for (i, bound) in [start, end].into_iter().enumerate() {
                    self.s(if i == 0 { "" } else { ", " });
                    self.ty(ty);
                    self.s(" ");
                    self.int(ty, bound);
                }
                self.s("}");
            }
            Node::Subroutine => self.s("!DISubroutineType(types: !{null})"),
            Node::Version { debug } => self.s(match (debug, self.llvm7()) {
                (false, _) => "!{i32 2, i32 0}",
                (true, true) => "!{i32 2, i32 0, i32 3, i32 1}",
                (true, false) => "!{i32 2, i32 0, i32 3, i32 2}",
            }),
            Node::DebugFlag => self.s("!{i32 2, !\"Debug Info Version\", i32 3}"),
            Node::Annotation(func, name, value) => {
                self.annotated(func, name);
                self.s("i32 ");
                self.num(value);
                self.s("}");
            }
            Node::AnnotationList(func, name, list) => {
                self.annotated(func, name);
                self.node(list);
                self.s("}");
            }
            Node::Numbers(ref numbers) => {
                self.s("!{");
                for (i, &number) in numbers.iter().enumerate() {
                    self.s(if i == 0 { "i32 " } else { ", i32 " });
                    self.num(number);
                }
                self.s("}");
            }
        }
    }

    /// Prints an annotation up to its value.
    fn annotated(&mut self, func: Func, name: &str) {
        self.s("!{");
        if self.llvm7() {
            self.func_ptr_type(func);
        } else {
            self.s("ptr");
        }
        self.s(" ");
        self.symbol(self.func_value(func));
        self.s(", !\"");
        self.s(name);
        self.s("\", ");
    }

    fn func_value(&self, func: Func) -> Value {
        self.m.func(func).value
    }
}

/// Returns the annotations of a kernel (NVVM IR specification, "Supported Properties").
fn kernel_annotations(kernel: &KernelAttrs) -> Vec<(&'static str, u32)> {
    let mut list = vec![("kernel", 1)];
    let axes = |names: [&'static str; 3], values: Option<[u32; 3]>| {
        values
            .into_iter()
            .flat_map(move |values| names.into_iter().zip(values))
    };
    list.extend(axes(
        ["maxntidx", "maxntidy", "maxntidz"],
        kernel.max_threads,
    ));
    list.extend(axes(
        ["reqntidx", "reqntidy", "reqntidz"],
        kernel.required_threads,
    ));
    list.extend(kernel.min_blocks.map(|n| ("minctasm", n)));
    list.extend(kernel.max_registers.map(|n| ("maxnreg", n)));
    list.extend(axes(
        ["cluster_dim_x", "cluster_dim_y", "cluster_dim_z"],
        kernel.cluster,
    ));
    list.extend(kernel.max_cluster.map(|n| ("cluster_max_blocks", n)));
    list
}
