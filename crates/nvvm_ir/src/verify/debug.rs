//! Rules about debug information.

use std::collections::HashMap;

use super::{Rule, Verifier};
use crate::inst::InstKind;
use crate::metadata::{Di, DiNode};
use crate::module::Module;
use crate::types::AddrSpace;
use crate::value::{Func, Value, ValueKind};

/// The debug information seen so far.
pub(super) struct Scopes {
    /// For each location, the subprogram whose code it is in after inlining, or `Err` with what is
    /// wrong with the location.
    roots: HashMap<Di, Result<Di, &'static str>>,
    /// The function of each subprogram.
    owners: HashMap<Di, Func>,
}

impl Scopes {
    pub(super) fn new(_: &Module) -> Self {
        Scopes {
            roots: HashMap::new(),
            owners: HashMap::new(),
        }
    }
}

impl Verifier<'_> {
    fn node(&self, di: Di) -> Option<&DiNode> {
        self.m.di.get(di.0 as usize)
    }

    pub(super) fn check_debug(&mut self, func: Func) {
        let m = self.m;
        let data = m.func(func);
        let Some(subprogram) = data.subprogram else {
            return;
        };
        let name = Some(data.name.as_str());
        if let Err(message) = self.check_subprogram(subprogram) {
            return self.error(Rule::DebugInformation, name, message);
        }
        if let Some(other) = self.debug.owners.insert(subprogram, func)
            && other != func
        {
            let message = format!("its subprogram also belongs to `{}`", m.func(other).name);
            self.error(Rule::DebugInformation, name, message);
        }
        for &block in &data.blocks {
            for &inst in &m.block(block).insts {
                let Some(loc) = m.inst(inst).and_then(|data| data.loc) else {
                    continue;
                };
                let root = match self.debug.roots.get(&loc) {
                    Some(root) => *root,
                    None => {
                        let root = self.root_of(loc);
                        self.debug.roots.insert(loc, root);
                        root
                    }
                };
                match root {
                    Ok(root) if root == subprogram => {}
                    Ok(_) => {
                        let message = "the location belongs to the subprogram of another function";
                        self.inst_error(Rule::DebugInformation, inst, message);
                    }
                    Err(message) => self.inst_error(Rule::DebugInformation, inst, message),
                }
            }
        }
        for (ptr, declare) in &data.variables {
            if let Err(message) = self.check_variable(func, *ptr, declare.variable) {
                self.error(Rule::DebugInformation, name, message);
            }
        }
    }

    /// Returns the subprogram whose code a location is in: its own, or the one it was inlined into.
    fn root_of(&self, mut loc: Di) -> Result<Di, &'static str> {
        // A node only refers to older nodes, so the walk terminates.
        loop {
            match self.node(loc) {
                Some(DiNode::Location {
                    scope, inlined_at, ..
                }) => {
                    let root = self.subprogram_of(*scope)?;
                    match inlined_at {
                        Some(at) if at.0 < loc.0 => loc = *at,
                        Some(_) => return Err("a location is inlined into itself"),
                        None => return Ok(root),
                    }
                }
                _ => return Err("a node used as a location is not one"),
            }
        }
    }

    fn subprogram_of(&self, mut scope: Di) -> Result<Di, &'static str> {
        loop {
            match self.node(scope) {
                Some(DiNode::Subprogram { .. }) => return Ok(scope),
                Some(DiNode::LexicalBlock {
                    scope: outer, file, ..
                }) if outer.0 < scope.0 => {
                    self.check_file(*file)?;
                    scope = *outer;
                }
                _ => return Err("a scope is neither a subprogram nor a block of one"),
            }
        }
    }

    fn check_file(&self, di: Di) -> Result<(), &'static str> {
        match self.node(di) {
            Some(DiNode::File { .. }) => Ok(()),
            _ => Err("a node used as a file is not one"),
        }
    }

    fn check_subprogram(&self, di: Di) -> Result<(), &'static str> {
        let Some(DiNode::Subprogram { file, unit, .. }) = self.node(di) else {
            return Err("a node used as a subprogram is not one");
        };
        self.check_file(*file)?;
        match self.node(*unit) {
            Some(DiNode::CompileUnit { file, .. }) => self.check_file(*file),
            _ => Err("a node used as a compile unit is not one"),
        }
    }

    /// Checks that `ty` is a type and older than `user`, and so are the types that it consists of.
    fn check_type(&self, user: Di, ty: Di) -> Result<(), &'static str> {
        if ty.0 >= user.0 {
            return Err("a type refers to a later node");
        }
        match self.node(ty) {
            Some(DiNode::BasicType { .. }) => Ok(()),
            Some(
                DiNode::PointerType { to: inner, .. } | DiNode::ArrayType { element: inner, .. },
            ) => self.check_type(ty, *inner),
            Some(DiNode::StructType { members, .. }) => {
                for &member in members {
                    match self.node(member) {
                        Some(DiNode::Member { ty: inner, .. }) if member.0 < ty.0 => {
                            self.check_type(member, *inner)?;
                        }
                        _ => return Err("a node used as a member is not one"),
                    }
                }
                Ok(())
            }
            _ => Err("a node used as a type is not one"),
        }
    }

    fn check_variable(&self, func: Func, ptr: Value, variable: Di) -> Result<(), &'static str> {
        let m = self.m;
        let Some(DiNode::LocalVariable {
            scope, file, ty, ..
        }) = self.node(variable)
        else {
            return Err("a node used as a variable is not one");
        };
        self.check_file(*file)?;
        self.check_type(variable, *ty)?;
        if Some(self.subprogram_of(*scope)?) != m.func(func).subprogram {
            return Err("a variable belongs to the subprogram of another function");
        }
        let entry = m.func(func).blocks[0];
        let there = match &m.value(ptr).kind {
            ValueKind::Param(owner, _) => *owner == func,
            // Only allocas at the block's start: the declarations follow directly after them.
            ValueKind::Inst(data) => {
                data.block == entry
                    && m.block(entry)
                        .insts
                        .iter()
                        .take_while(|&&i| {
                            matches!(m.inst(i).map(|d| &d.kind), Some(InstKind::Alloca { .. }))
                        })
                        .any(|&i| i == ptr)
            }
            _ => false,
        };
        if there && m.types.addr_space(m.ty(ptr)) == Some(AddrSpace::Generic) {
            Ok(())
        } else {
            Err("a variable's address is neither a parameter nor an alloca in the entry block")
        }
    }
}
