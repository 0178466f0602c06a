//! Debug information nodes.

use super::Writer;
use crate::metadata::{Di, DiNode};

impl Writer<'_> {
    pub(super) fn di_text(&mut self, di: Di) {
        let m = self.m;
        match m.di(di) {
            DiNode::File { name, directory } => {
                self.s("!DIFile(");
                self.text("filename", name);
                self.text(", directory", directory);
            }
            DiNode::CompileUnit {
                file,
                producer,
                optimized,
                line_tables_only,
            } => {
                self.s("distinct !DICompileUnit(language: DW_LANG_Rust, file: ");
                self.di(*file);
                self.text(", producer", producer);
                self.flag(", isOptimized", *optimized);
                self.s(", runtimeVersion: 0, emissionKind: ");
                self.s(if *line_tables_only {
                    "LineTablesOnly"
                } else {
                    "FullDebug"
                });
            }
            DiNode::Subprogram {
                name,
                linkage_name,
                file,
                line,
                unit,
                local,
                optimized,
            } => {
                self.s("distinct !DISubprogram(");
                self.text("name", name);
                self.text(", linkageName", linkage_name);
                self.s(", scope: ");
                self.di(*file);
                self.node_field(", file", *file);
                self.number_field(", line", (*line).into());
                self.s(", type: ");
                self.subroutine_type();
                self.number_field(", scopeLine", (*line).into());
                if self.llvm7() {
                    self.flag(", isLocal", *local);
                    self.s(", isDefinition: true");
                    self.flag(", isOptimized", *optimized);
                } else {
                    self.s(", spFlags: ");
                    self.s(if *local { "DISPFlagLocalToUnit | " } else { "" });
                    self.s("DISPFlagDefinition");
                    self.s(if *optimized {
                        " | DISPFlagOptimized"
                    } else {
                        ""
                    });
                }
                self.node_field(", unit", *unit);
            }
            DiNode::LexicalBlock {
                scope,
                file,
                line,
                column,
            } => {
                self.s("distinct !DILexicalBlock(");
                self.node_field("scope", *scope);
                self.node_field(", file", *file);
                self.number_field(", line", (*line).into());
                self.number_field(", column", (*column).into());
            }
            DiNode::Location {
                line,
                column,
                scope,
                inlined_at,
            } => {
                self.s("!DILocation(");
                self.number_field("line", (*line).into());
                self.number_field(", column", (*column).into());
                self.node_field(", scope", *scope);
                if let Some(at) = inlined_at {
                    self.node_field(", inlinedAt", *at);
                }
            }
            DiNode::BasicType {
                name,
                bits,
                encoding,
            } => {
                self.s("!DIBasicType(");
                self.text("name", name);
                self.number_field(", size", *bits);
                self.number_field(", encoding", (*encoding).into());
            }
            DiNode::PointerType { name, to, bits } => {
                self.s("!DIDerivedType(tag: DW_TAG_pointer_type");
                self.text(", name", name);
                self.node_field(", baseType", *to);
                self.number_field(", size", *bits);
            }
            DiNode::ArrayType {
                element,
                count,
                bits,
            } => {
                self.s("!DICompositeType(tag: DW_TAG_array_type");
                self.node_field(", baseType", *element);
                self.number_field(", size", *bits);
                self.s(", elements: !{!DISubrange(");
                self.number_field("count", *count);
                self.s(")}");
            }
            DiNode::StructType {
                name,
                bits,
                members,
            } => {
                self.s("!DICompositeType(tag: DW_TAG_structure_type");
                self.text(", name", name);
                self.number_field(", size", *bits);
                self.s(", elements: !{");
                for (index, &member) in members.iter().enumerate() {
                    self.s(if index == 0 { "" } else { ", " });
                    self.di(member);
                }
                self.s("}");
            }
            DiNode::Member {
                name,
                ty,
                bits,
                offset,
            } => {
                self.s("!DIDerivedType(tag: DW_TAG_member");
                self.text(", name", name);
                self.node_field(", baseType", *ty);
                self.number_field(", size", *bits);
                self.number_field(", offset", *offset);
            }
            DiNode::LocalVariable {
                name,
                scope,
                file,
                line,
                ty,
                arg,
            } => {
                self.s("!DILocalVariable(");
                self.text("name", name);
                if *arg != 0 {
                    self.number_field(", arg", (*arg).into());
                }
                self.node_field(", scope", *scope);
                self.node_field(", file", *file);
                self.number_field(", line", (*line).into());
                self.node_field(", type", *ty);
            }
        }
        self.s(")");
    }

    fn text(&mut self, field: &str, text: &str) {
        self.s(field);
        self.s(": \"");
        super::escape(&mut self.out, text.as_bytes());
        self.s("\"");
    }

    fn flag(&mut self, field: &str, on: bool) {
        self.s(field);
        self.s(if on { ": true" } else { ": false" });
    }

    fn number_field(&mut self, field: &str, n: u64) {
        self.s(field);
        self.s(": ");
        self.num(n);
    }

    fn node_field(&mut self, field: &str, di: Di) {
        self.s(field);
        self.s(": ");
        self.di(di);
    }
}
