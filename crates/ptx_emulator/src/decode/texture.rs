//! Decodes textures and surfaces, whose handles are in registers.

use ptx::{Base, Operand, Type};

use super::modifiers::Modifiers;
use super::transfer::{OPERATIONS, reduction};
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::texture::{Edge, Kind, Level, Shape, TextureAccess, access};

const GEOMETRIES: &[(&str, Shape)] = &[
    ("1d", shape(1, false, false)),
    ("2d", shape(2, false, false)),
    ("3d", shape(3, false, false)),
    ("a1d", shape(1, true, false)),
    ("a2d", shape(2, true, false)),
    ("cube", shape(3, false, true)),
    ("acube", shape(3, true, true)),
];

const fn shape(dimensions: u8, layered: bool, cube: bool) -> Shape {
    Shape {
        dimensions,
        layered,
        cube,
    }
}

/// The properties that can be queried through handles. The others require references to textures
/// and surfaces, with which drivers do not load kernels.
const PROPERTIES: &[(&str, u8)] = &[("width", 0), ("height", 1), ("depth", 2)];
const EDGES: &[(&str, Edge)] = &[
    ("trap", Edge::Trap),
    ("clamp", Edge::Clamp),
    ("zero", Edge::Zero),
];

impl<'a> Decoder<'_, 'a> {
    pub(super) fn texture(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "txq" | "suq" => {
                let of_level = words.opcode == "txq" && words.has("level");
                let Some(property) = words.one_of(PROPERTIES) else {
                    return unsupported_form(format!(
                        "this form of `{}`, as on a GPU,",
                        words.opcode
                    ));
                };
                let _ = words.ty()?;
                let [d, Operand::Address(Base::Name(handle), 0), rest @ ..] = words.operands()
                else {
                    return invalid(format!("`{}` with these operands", words.opcode));
                };
                let mut sources = vec![self.source(&Operand::Name(handle), Type::U64)?];
                let level = match (of_level, rest) {
                    (false, []) => Level::First,
                    (true, [level]) => {
                        sources.push(self.source(level, Type::U32)?);
                        Level::Number
                    }
                    _ => return invalid(format!("`{}` with these operands", words.opcode)),
                };
                let d = self.target(d, Type::U32)?;
                let query = TextureAccess {
                    kind: Kind::Query(property),
                    shape: Shape::default(),
                    level,
                };
                self.texture_access(query, &[d], &sources);
            }
            "tex" => {
                let levels = [("level", Level::Number), ("grad", Level::Gradients)];
                let level = words.one_of(&levels).unwrap_or_default();
                let shape = self.geometry(words)?;
                if !words.has("v4") {
                    return unsupported_form("this form of `tex`");
                }
                let (ty, coordinates) = (words.ty()?, words.ty()?);
                let [d, place, rest @ ..] = words.operands() else {
                    return invalid("`tex` with these operands");
                };
                let kind = if coordinates == Type::F32 {
                    Kind::Sample
                } else {
                    Kind::Fetch
                };
                let mut slots = self.place(place, shape, coordinates)?;
                match (level, rest) {
                    (Level::First, []) => {}
                    (Level::Number, [number]) => slots.push(self.source(number, Type::F32)?),
                    (Level::Gradients, [dx, dy]) => {
                        slots.extend(self.coordinates(dx, 0, shape, Type::F32)?);
                        slots.extend(self.coordinates(dy, 0, shape, Type::F32)?);
                    }
                    _ => return unsupported_form("`tex` with these operands"),
                }
                let targets = self.vector_targets(d, ty)?;
                if targets.len() != 4 {
                    return invalid("a vector of the wrong length");
                }
                let fetch = TextureAccess { kind, shape, level };
                self.texture_access(fetch, &targets, &slots);
            }
            "tld4" => {
                let components = [("r", 0), ("g", 1), ("b", 2), ("a", 3)];
                let Some(component) = words.one_of(&components) else {
                    return invalid("`tld4` without a component");
                };
                let shape = self.geometry(words)?;
                words.ignore(|word| word == "v4");
                let (ty, _) = (words.ty()?, words.ty()?);
                let [d, place] = words.exactly()?;
                let slots = self.place(place, shape, Type::F32)?;
                let targets = self.vector_targets(d, ty)?;
                if targets.len() != 4 {
                    return invalid("a vector of the wrong length");
                }
                let gather = TextureAccess {
                    kind: Kind::Gather(component),
                    shape,
                    level: Level::First,
                };
                self.texture_access(gather, &targets, &slots);
            }
            "suld" | "sust" | "sured" => self.surface(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn surface(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if !words.has("b") {
            return unsupported_form(format!("`{}` with a format", words.opcode));
        }
        let operation = if words.opcode == "sured" {
            words.one_of(OPERATIONS)
        } else {
            None
        };
        let shape = self.geometry(words)?;
        let count = words.one_of(&[("v2", 2u8), ("v4", 4)]);
        let ty = words.ty()?;
        let Some(edge) = words.one_of(EDGES) else {
            return invalid(format!("`{}` without a clamp mode", words.opcode));
        };
        let [first, second] = words.exactly()?;
        let load = words.opcode == "suld";
        let (place, values) = if load {
            (second, first)
        } else {
            (first, second)
        };
        let mut slots = self.place(place, shape, Type::S32)?;
        let bytes = ty.bytes() as u8;
        let mut targets = Vec::new();
        if load {
            targets = match count {
                Some(_) => self.vector_targets(values, ty)?,
                None => vec![self.target(values, ty)?],
            };
        } else {
            slots.extend(match count {
                Some(_) => self.vector_sources(values, ty)?,
                None => vec![self.source(values, ty)?],
            });
        }
        let found = if load { targets.len() } else { slots.len() - 5 };
        let count = count.unwrap_or(1);
        if found != usize::from(count) {
            return invalid("a vector of the wrong length");
        }
        let kind = match (load, operation) {
            (true, _) => Kind::Load { count, bytes, edge },
            (_, Some(operation)) => Kind::Reduce {
                reduce: reduction(operation, ty),
                edge,
            },
            _ => Kind::Store { count, bytes, edge },
        };
        let surface = TextureAccess {
            kind,
            shape,
            level: Level::First,
        };
        self.texture_access(surface, &targets, &slots);
        Ok(())
    }

    fn geometry(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<Shape> {
        match words.one_of(GEOMETRIES) {
            Some(shape) if !shape.cube || words.opcode == "tex" => Ok(shape),
            _ => unsupported_form(format!("this geometry of `{}`", words.opcode)),
        }
    }

    /// Resolves `[handle, {coordinates}]` to the handle, three coordinates and the layer.
    fn place(&mut self, operand: &Operand<'a>, shape: Shape, ty: Type) -> Result<Vec<u32>> {
        let Operand::Compound(parts) = operand else {
            return invalid("an operand that is not a texture coordinate");
        };
        let [handle, coordinates] = &parts[..] else {
            return unsupported_form("independent samplers");
        };
        let mut slots = vec![self.source(handle, Type::U64)?];
        slots.extend(self.coordinates(coordinates, shape.layered.into(), shape, ty)?);
        slots.push(match (shape.layered, coordinates) {
            (true, Operand::Vector(list)) => self.source(&list[0], Type::U32)?,
            _ => self.constant(0),
        });
        Ok(slots)
    }

    /// Resolves three coordinates, starting with the element `first` of a vector; missing ones are
    /// zero.
    fn coordinates(
        &mut self,
        operand: &Operand<'a>,
        first: usize,
        shape: Shape,
        ty: Type,
    ) -> Result<Vec<u32>> {
        let list: Vec<&Operand<'a>> = match operand {
            Operand::Vector(list) => list.iter().collect(),
            one => vec![one],
        };
        let dimensions = usize::from(shape.dimensions);
        if list.len() < first + dimensions {
            return invalid("too few coordinates");
        }
        let mut slots = vec![self.constant(0); 3];
        for (slot, operand) in slots.iter_mut().zip(&list[first..]).take(dimensions) {
            *slot = self.source(operand, ty)?;
        }
        Ok(slots)
    }

    fn texture_access(&mut self, what: TextureAccess, targets: &[u32], slots: &[u32]) {
        self.output.textures.push(what);
        let index = self.output.textures.len() as i64 - 1;
        let a = self.output.extra.len() as u32;
        self.output.extra.extend_from_slice(slots);
        let d = self.output.extra.len() as u32;
        self.output.extra.extend_from_slice(targets);
        let cache = self.cache_entry();
        self.emit(access, |inst| {
            (inst.a, inst.d, inst.cache, inst.imm) = (a, d, cache, index)
        });
    }
}
