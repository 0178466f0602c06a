//! Functions: headers, bodies, and the directives inside bodies.

use super::{MAX_DEPTH, Parser, Result, variable};
use crate::lexer::Kind;
use crate::{
    Directive, Function, Guard, Inlined, Instruction, Linkage, Loc, Prototype, Registers, Space,
    Statement, Variable,
};

impl<'a> Parser<'a> {
    /// Parses a function after `.func` or `.entry`.
    pub(super) fn function(&mut self, linkage: Linkage, entry: bool) -> Result<Function<'a>> {
        let mut attributes = Vec::new();
        if self.take_dotted("attribute")? {
            attributes = self.attributes()?;
        }
        let returns = self.params()?;
        let line = self.token.line;
        let name = self.name("a function's name")?;
        let params = self.params()?;
        let directives = self.directives()?;
        let body = if self.at(b'{') {
            self.bump()?;
            Some(self.body(0)?)
        } else {
            self.expect(b';')?;
            None
        };
        Ok(Function {
            linkage,
            entry,
            attributes,
            name,
            returns,
            params,
            directives,
            body,
            line,
        })
    }

    /// Parses an optional parenthesized list of parameters.
    fn params(&mut self) -> Result<Vec<Variable<'a>>> {
        let mut params = Vec::new();
        if !self.take(b'(')? {
            return Ok(params);
        }
        while !self.at(b')') {
            let space = match self.dotted() {
                Some("param") => Space::Param,
                Some("reg") => Space::Reg,
                _ => return self.expected("`.param` or `.reg`"),
            };
            self.bump()?;
            params.push(self.variable(Linkage::Internal, space)?);
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b')')?;
        Ok(params)
    }

    /// Parses directives such as `.maxntid 256, 1, 1 .minnctapersm 2`.
    fn directives(&mut self) -> Result<Vec<Directive<'a>>> {
        let mut directives = Vec::new();
        while let Some(name) = self.dotted() {
            self.bump()?;
            let mut directive = Directive {
                name,
                values: Vec::new(),
                strings: Vec::new(),
            };
            loop {
                match self.token.kind {
                    Kind::Int(value) => {
                        directive.values.push(value);
                        self.bump()?;
                    }
                    Kind::Str => {
                        directive.strings.push(self.text());
                        self.bump()?;
                    }
                    _ => break,
                }
                if !self.take(b',')? {
                    break;
                }
            }
            // Only `.pragma` ends in a semicolon.
            if name == "pragma" {
                self.take(b';')?;
            }
            directives.push(directive);
        }
        Ok(directives)
    }

    /// Parses statements up to the closing brace.
    fn body(&mut self, depth: u32) -> Result<Vec<Statement<'a>>> {
        if depth >= MAX_DEPTH {
            return self.error("blocks nest too deeply here");
        }
        let mut statements = Vec::new();
        loop {
            match self.token.kind {
                Kind::Punct(b'}') => {
                    self.bump()?;
                    return Ok(statements);
                }
                Kind::Punct(b'{') => {
                    self.bump()?;
                    let inner = self.body(depth + 1)?;
                    statements.push(Statement::Block(inner));
                }
                Kind::Punct(b';') => {
                    self.bump()?;
                }
                Kind::Punct(b'@') => {
                    let line = self.bump()?.line;
                    let negated = self.take(b'!')?;
                    let register = self.name("a predicate register")?;
                    let mut instruction = self.instruction()?;
                    instruction.guard = Some(Guard { negated, register });
                    instruction.line = line;
                    statements.push(Statement::Instruction(instruction));
                }
                Kind::Dotted => self.body_directive(&mut statements)?,
                Kind::Ident => {
                    if self.lexer.colon_follows()? {
                        let label = self.name("a label")?;
                        self.bump()?;
                        let statement = self.labeled(label)?;
                        statements.push(statement);
                    } else {
                        let instruction = self.instruction()?;
                        statements.push(Statement::Instruction(instruction));
                    }
                }
                _ => return self.expected("an instruction, a label, a directive or `}`"),
            }
        }
    }

    /// Parses what follows `label:`. Some directives use the label as their name.
    fn labeled(&mut self, label: &'a str) -> Result<Statement<'a>> {
        match self.dotted() {
            Some("branchtargets") => Ok(Statement::BranchTargets {
                label,
                targets: self.names()?,
            }),
            Some("calltargets") => Ok(Statement::CallTargets {
                label,
                targets: self.names()?,
            }),
            Some("callprototype") => {
                self.bump()?;
                let returns = self.params()?;
                if !matches!(self.token.kind, Kind::Ident) {
                    return self.expected("`_`");
                }
                self.bump()?;
                let params = self.params()?;
                let directives = self.directives()?;
                self.expect(b';')?;
                Ok(Statement::CallPrototype(Box::new(Prototype {
                    label,
                    returns,
                    params,
                    directives,
                })))
            }
            _ => Ok(Statement::Label(label)),
        }
    }

    /// Parses the names after the directive at the current token.
    fn names(&mut self) -> Result<Vec<&'a str>> {
        self.bump()?;
        let mut names = vec![self.name("a name")?];
        while self.take(b',')? {
            names.push(self.name("a name")?);
        }
        self.expect(b';')?;
        Ok(names)
    }

    fn body_directive(&mut self, statements: &mut Vec<Statement<'a>>) -> Result<()> {
        let word = self.dotted().unwrap_or_default();
        let linkage = match word {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            _ => Linkage::Internal,
        };
        match word {
            "reg" => {
                self.bump()?;
                let registers = self.registers()?;
                statements.push(Statement::Registers(Box::new(registers)));
            }
            "loc" => {
                self.bump()?;
                let loc = self.loc()?;
                statements.push(Statement::Loc(Box::new(loc)));
            }
            "pragma" => {
                self.bump()?;
                let texts = self.pragma()?;
                statements.push(Statement::Pragma(texts));
            }
            _ => {
                if linkage != Linkage::Internal {
                    self.bump()?;
                }
                let Some(space) = self.dotted().and_then(variable::space) else {
                    return self.error(format!("unknown directive `.{word}` in a function"));
                };
                self.bump()?;
                for variable in self.variables(linkage, space)? {
                    statements.push(Statement::Variable(Box::new(variable)));
                }
            }
        }
        Ok(())
    }

    fn registers(&mut self) -> Result<Registers<'a>> {
        let line = self.token.line;
        let mut vector = None;
        if let Some(word @ ("v2" | "v4")) = self.dotted() {
            vector = Some(u32::from(word.as_bytes()[1] - b'0'));
            self.bump()?;
        }
        let ty = self.ty()?;
        let mut names = Vec::with_capacity(1);
        loop {
            let name = self.name("a register's name")?;
            let mut count = None;
            if self.take(b'<')? {
                count = Some(self.unsigned_32("a number of registers")?);
                self.expect(b'>')?;
            }
            names.push((name, count));
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(Registers {
            ty,
            vector,
            names,
            line,
        })
    }

    fn place(&mut self) -> Result<(u32, u32, u32)> {
        let file = self.unsigned_32("a file's number")?;
        let line = self.unsigned_32("a line")?;
        let mut column = 0;
        if let Kind::Int(_) = self.token.kind {
            column = self.unsigned_32("a column")?;
        }
        Ok((file, line, column))
    }

    fn loc(&mut self) -> Result<Loc<'a>> {
        let (file, line, column) = self.place()?;
        let mut function = None;
        let mut at = None;
        while self.take(b',')? {
            match self.name("`function_name` or `inlined_at`")? {
                "function_name" => {
                    let label = self.name("a label")?;
                    function = Some((label, self.offset()?));
                }
                "inlined_at" => at = Some(self.place()?),
                other => return self.error(format!("unknown attribute `{other}` of `.loc`")),
            }
        }
        let inlined = match (function, at) {
            (Some(function), Some(at)) => Some(Inlined { function, at }),
            (None, None) => None,
            _ => return self.error("`function_name` and `inlined_at` must be used together"),
        };
        self.take(b';')?;
        Ok(Loc {
            file,
            line,
            column,
            inlined,
        })
    }

    /// Parses an instruction up to its semicolon. Its guard has already been parsed.
    fn instruction(&mut self) -> Result<Instruction<'a>> {
        let line = self.token.line;
        let opcode = self.name("an opcode")?;
        let mut modifiers = Vec::new();
        while let Some(word) = self.dotted() {
            modifiers.push(word);
            self.bump()?;
        }
        let mut operands = Vec::new();
        if !self.at(b';') {
            operands.reserve(3);
            loop {
                operands.push(self.operand(0)?);
                if !self.take(b',')? {
                    break;
                }
            }
        }
        if !self.at(b';') {
            return self.expected("`,` or `;` in this instruction");
        }
        self.bump()?;
        Ok(Instruction {
            guard: None,
            opcode,
            modifiers,
            operands,
            line,
        })
    }
}
