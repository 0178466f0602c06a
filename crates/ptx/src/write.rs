//! Prints a [`Module`] as PTX that ptxas and the driver accept, and that parses to the same module.

use std::fmt::{Display, Formatter, Result, Write};

use crate::*;

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        writeln!(f, ".target {}", self.target.join(", "))?;
        writeln!(f, ".address_size {}\n", self.address_size)?;
        self.items.iter().try_for_each(|item| write_item(f, item))
    }
}

impl Display for Instruction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(guard) = self.guard {
            write!(
                f,
                "@{}{} ",
                if guard.negated { "!" } else { "" },
                guard.register
            )?;
        }
        f.write_str(self.opcode)?;
        for modifier in &self.modifiers {
            f.write_char('.')?;
            f.write_str(modifier)?;
        }
        for (index, operand) in self.operands.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write_operand(f, operand)?;
        }
        f.write_char(';')
    }
}

fn write_linkage(f: &mut Formatter<'_>, linkage: Linkage) -> Result {
    f.write_str(match linkage {
        Linkage::Internal => "",
        Linkage::Extern => ".extern ",
        Linkage::Visible => ".visible ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    })
}

fn write_item(f: &mut Formatter<'_>, item: &Item<'_>) -> Result {
    match item {
        Item::Variable(variable) => {
            write_variable(f, variable)?;
            f.write_str(";\n")
        }
        Item::Function(function) => write_function(f, function),
        Item::File(file) => {
            write!(f, ".file {} \"{}\"", file.index, file.name)?;
            if let Some((time, size)) = file.stamp {
                write!(f, ", {time}, {size}")?;
            }
            f.write_char('\n')
        }
        Item::Section(section) => write_section(f, section),
        Item::Alias { name, target } => writeln!(f, ".alias {name}, {target};"),
        Item::Pragma(texts) => write_pragma(f, texts),
    }
}

fn write_pragma(f: &mut Formatter<'_>, texts: &[&str]) -> Result {
    f.write_str(".pragma ")?;
    for (index, text) in texts.iter().enumerate() {
        write!(f, "{}\"{text}\"", if index == 0 { "" } else { ", " })?;
    }
    f.write_str(";\n")
}

fn write_section(f: &mut Formatter<'_>, section: &Section<'_>) -> Result {
    writeln!(f, ".section {}\n{{", section.name)?;
    for line in &section.lines {
        match line {
            SectionLine::Label(label) => writeln!(f, "{label}:")?,
            SectionLine::Data(ty, values) => {
                write!(f, ".{} ", ty.name())?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    match value {
                        SectionValue::Integer(value) => write!(f, "{value}")?,
                        SectionValue::Symbol(name, 0) => f.write_str(name)?,
                        SectionValue::Symbol(name, offset) => write!(f, "{name}+{offset}")?,
                        SectionValue::Difference(left, right) => write!(f, "{left}-{right}")?,
                    }
                }
                f.write_char('\n')?;
            }
        }
    }
    f.write_str("}\n")
}

fn write_variable(f: &mut Formatter<'_>, variable: &Variable<'_>) -> Result {
    write_linkage(f, variable.linkage)?;
    write!(f, ".{} ", variable.space.name())?;
    if !variable.attributes.is_empty() {
        write!(f, ".attribute({}) ", variable.attributes.join(", "))?;
    }
    // The alignment of a kernel parameter precedes its type; `.ptr` and its arguments follow it.
    if let Some(align) = variable.align {
        write!(f, ".align {align} ")?;
    }
    if let Some(length) = variable.vector {
        write!(f, ".v{length} ")?;
    }
    write!(f, ".{} ", variable.ty.name())?;
    if let Some(pointer) = variable.pointer {
        f.write_str(".ptr ")?;
        if let Some(space) = pointer.space {
            write!(f, ".{space} ")?;
        }
        if let Some(align) = pointer.align {
            write!(f, ".align {align} ")?;
        }
    }
    f.write_str(variable.name)?;
    for extent in &variable.extents {
        match extent {
            Some(extent) => write!(f, "[{extent}]")?,
            None => f.write_str("[]")?,
        }
    }
    if let Some(init) = &variable.init {
        f.write_str(" = ")?;
        write_init(f, init)?;
    }
    Ok(())
}

fn write_init(f: &mut Formatter<'_>, init: &Init<'_>) -> Result {
    match init {
        Init::Integer(value) => write!(f, "{value}"),
        Init::F32(bits) => write!(f, "0f{bits:08X}"),
        Init::F64(bits) => write!(f, "0d{bits:016X}"),
        Init::Symbol(symbol) => {
            if let Some(mask) = symbol.mask {
                write!(f, "0x{mask:X}(")?;
            }
            if symbol.generic {
                write!(f, "generic({})", symbol.name)?;
            } else {
                f.write_str(symbol.name)?;
            }
            if symbol.offset != 0 {
                write!(f, "+{}", symbol.offset)?;
            }
            f.write_str(if symbol.mask.is_some() { ")" } else { "" })
        }
        Init::List(values) => {
            f.write_char('{')?;
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                }
                write_init(f, value)?;
            }
            f.write_char('}')
        }
    }
}

fn write_params(f: &mut Formatter<'_>, params: &[Variable<'_>], separator: &str) -> Result {
    f.write_char('(')?;
    for (index, param) in params.iter().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        f.write_str(separator)?;
        write_variable(f, param)?;
    }
    f.write_char(')')
}

fn write_directives(
    f: &mut Formatter<'_>,
    directives: &[Directive<'_>],
    separator: &str,
) -> Result {
    for directive in directives {
        write!(f, "{separator}.{}", directive.name)?;
        for (index, value) in directive.values.iter().enumerate() {
            write!(f, "{}{value}", if index == 0 { " " } else { ", " })?;
        }
        for (index, text) in directive.strings.iter().enumerate() {
            write!(f, "{}{text}", if index == 0 { " " } else { ", " })?;
        }
        if directive.name == "pragma" {
            f.write_char(';')?;
        }
    }
    Ok(())
}

fn write_function(f: &mut Formatter<'_>, function: &Function<'_>) -> Result {
    write_linkage(f, function.linkage)?;
    f.write_str(if function.entry { ".entry " } else { ".func " })?;
    if !function.attributes.is_empty() {
        write!(f, ".attribute({}) ", function.attributes.join(", "))?;
    }
    if !function.returns.is_empty() {
        write_params(f, &function.returns, "")?;
        f.write_char(' ')?;
    }
    f.write_str(function.name)?;
    write_params(f, &function.params, "\n\t")?;
    write_directives(f, &function.directives, "\n")?;
    match &function.body {
        None => f.write_str(";\n"),
        Some(body) => {
            f.write_char('\n')?;
            write_block(f, body, 0)?;
            f.write_char('\n')
        }
    }
}

fn write_indent(f: &mut Formatter<'_>, depth: usize) -> Result {
    (0..depth).try_for_each(|_| f.write_char('\t'))
}

fn write_block(f: &mut Formatter<'_>, statements: &[Statement<'_>], depth: usize) -> Result {
    write_indent(f, depth)?;
    f.write_str("{\n")?;
    for statement in statements {
        write_statement(f, statement, depth + 1)?;
    }
    write_indent(f, depth)?;
    f.write_str("}\n")
}

fn write_statement(f: &mut Formatter<'_>, statement: &Statement<'_>, depth: usize) -> Result {
    match statement {
        Statement::Label(label) => return writeln!(f, "{label}:"),
        Statement::Block(inner) => return write_block(f, inner, depth),
        _ => write_indent(f, depth)?,
    }
    match statement {
        Statement::Label(_) | Statement::Block(_) => Ok(()),
        Statement::Instruction(instruction) => writeln!(f, "{instruction}"),
        Statement::Registers(registers) => {
            f.write_str(".reg ")?;
            if let Some(length) = registers.vector {
                write!(f, ".v{length} ")?;
            }
            write!(f, ".{} ", registers.ty.name())?;
            for (index, (name, count)) in registers.names.iter().enumerate() {
                write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
                if let Some(count) = count {
                    write!(f, "<{count}>")?;
                }
            }
            f.write_str(";\n")
        }
        Statement::Variable(variable) => {
            write_variable(f, variable)?;
            f.write_str(";\n")
        }
        Statement::Loc(loc) => {
            write!(f, ".loc {} {} {}", loc.file, loc.line, loc.column)?;
            if let Some(Inlined {
                function: (label, offset),
                at: (file, line, column),
            }) = loc.inlined
            {
                write!(f, ", function_name {label}")?;
                if offset != 0 {
                    write!(f, "+{offset}")?;
                }
                write!(f, ", inlined_at {file} {line} {column}")?;
            }
            f.write_char('\n')
        }
        Statement::BranchTargets { label, targets } => {
            writeln!(f, "{label}: .branchtargets {};", targets.join(", "))
        }
        Statement::CallTargets { label, targets } => {
            writeln!(f, "{label}: .calltargets {};", targets.join(", "))
        }
        Statement::CallPrototype(prototype) => {
            write!(f, "{}: .callprototype ", prototype.label)?;
            if !prototype.returns.is_empty() {
                write_params(f, &prototype.returns, "")?;
                f.write_char(' ')?;
            }
            f.write_str("_ ")?;
            write_params(f, &prototype.params, "")?;
            write_directives(f, &prototype.directives, " ")?;
            f.write_str(";\n")
        }
        Statement::Pragma(texts) => write_pragma(f, texts),
    }
}

fn write_list(f: &mut Formatter<'_>, open: char, operands: &[Operand<'_>], close: char) -> Result {
    f.write_char(open)?;
    for (index, operand) in operands.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write_operand(f, operand)?;
    }
    f.write_char(close)
}

fn write_operand(f: &mut Formatter<'_>, operand: &Operand<'_>) -> Result {
    match operand {
        Operand::Name(name) => f.write_str(name),
        Operand::Part(name, part) => write!(f, "{name}.{part}"),
        Operand::NameOffset(name, offset) => write!(f, "{name}+{offset}"),
        Operand::Integer(value) => write!(f, "{value}"),
        Operand::F32(bits) => write!(f, "0f{bits:08X}"),
        Operand::F64(bits) => write!(f, "0d{bits:016X}"),
        Operand::Address(Base::Name(name), 0) => write!(f, "[{name}]"),
        Operand::Address(Base::Name(name), offset) => write!(f, "[{name}+{offset}]"),
        Operand::Address(Base::Absolute, offset) => write!(f, "[{offset}]"),
        Operand::Compound(parts) => write_list(f, '[', parts, ']'),
        Operand::Vector(parts) => write_list(f, '{', parts, '}'),
        Operand::List(parts) => write_list(f, '(', parts, ')'),
        Operand::Pair(pair) => {
            write_operand(f, &pair.0)?;
            f.write_char('|')?;
            write_operand(f, &pair.1)
        }
        Operand::Not(inner) => {
            f.write_char('!')?;
            write_operand(f, inner)
        }
    }
}
