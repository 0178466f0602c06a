//! Textures and surfaces, by handles in registers.

use ptx::{Base, Operand, Type};

use super::modifiers::Modifiers;
use super::transfer::{OPERATIONS, reduction};
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::texture::{Edge, Kind, TextureAccess, access};

const GEOMETRIES: &[(&str, (u8, bool))] = &[
    ("1d", (1, false)),
    ("2d", (2, false)),
    ("3d", (3, false)),
    ("a1d", (1, true)),
    ("a2d", (2, true)),
];
const PROPERTIES: &[(&str, u8)] = &[
    ("width", 0),
    ("height", 1),
    ("depth", 2),
    ("array_size", 3),
    ("normalized_coords", 4),
    ("num_mipmap_levels", 5),
    ("num_samples", 5),
];
const EDGES: &[(&str, Edge)] = &[
    ("trap", Edge::Trap),
    ("clamp", Edge::Clamp),
    ("zero", Edge::Zero),
];

impl<'a> Decoder<'_, 'a> {
    pub(super) fn texture(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "txq" | "suq" => {
                let Some(property) = words.one_of(PROPERTIES) else {
                    return unsupported_form(format!("this form of `{}`", words.opcode));
                };
                let _ = words.ty()?;
                let [d, Operand::Address(Base::Name(handle), 0)] = words.exactly()? else {
                    return invalid(format!("`{}` with these operands", words.opcode));
                };
                let handle = self.source(&Operand::Name(handle), Type::U64)?;
                let d = self.target(d, 32)?;
                let query = TextureAccess {
                    kind: Kind::Query(property),
                    dimensions: 0,
                    layered: false,
                };
                self.texture_access(query, &[d], &[handle]);
            }
            "tex" => {
                // There is one level only.
                let extra = usize::from(words.has("level")) + 2 * usize::from(words.has("grad"));
                let (dimensions, layered) = self.geometry(words)?;
                if !words.has("v4") {
                    return unsupported_form("this form of `tex`");
                }
                let (_, coordinates) = (words.ty()?, words.ty()?);
                let [d, place, rest @ ..] = words.operands() else {
                    return invalid("`tex` with these operands");
                };
                if rest.len() != extra {
                    return unsupported_form("`tex` with these operands");
                }
                let kind = if coordinates == Type::F32 {
                    Kind::Sample
                } else {
                    Kind::Fetch
                };
                let slots = self.place(place, dimensions, layered, coordinates)?;
                let targets = self.vector_targets(d, 32)?;
                if targets.len() != 4 {
                    return invalid("a vector of the wrong length");
                }
                let fetch = TextureAccess {
                    kind,
                    dimensions,
                    layered,
                };
                self.texture_access(fetch, &targets, &slots);
            }
            "tld4" => {
                let components = [("r", 0), ("g", 1), ("b", 2), ("a", 3)];
                let Some(component) = words.one_of(&components) else {
                    return invalid("`tld4` without a component");
                };
                let (dimensions, layered) = self.geometry(words)?;
                words.ignore(|word| word == "v4");
                let _ = (words.ty()?, words.ty()?);
                let [d, place] = words.exactly()?;
                let slots = self.place(place, dimensions, layered, Type::F32)?;
                let targets = self.vector_targets(d, 32)?;
                if targets.len() != 4 {
                    return invalid("a vector of the wrong length");
                }
                let gather = TextureAccess {
                    kind: Kind::Gather(component),
                    dimensions,
                    layered,
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
        let (dimensions, layered) = self.geometry(words)?;
        let count = words.one_of(&[("v2", 2u8), ("v4", 4)]);
        let ty = words.ty()?;
        let Some(edge) = words.one_of(EDGES) else {
            return invalid(format!("`{}` without what is done outside", words.opcode));
        };
        let [first, second] = words.exactly()?;
        let load = words.opcode == "suld";
        let (place, values) = if load {
            (second, first)
        } else {
            (first, second)
        };
        let mut slots = self.place(place, dimensions, layered, Type::S32)?;
        let bytes = ty.bytes() as u8;
        let mut targets = Vec::new();
        if load {
            targets = match count {
                Some(_) => self.vector_targets(values, ty.bits())?,
                None => vec![self.target(values, ty.bits())?],
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
            dimensions,
            layered,
        };
        self.texture_access(surface, &targets, &slots);
        Ok(())
    }

    fn geometry(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<(u8, bool)> {
        match words.one_of(GEOMETRIES) {
            Some(geometry) => Ok(geometry),
            None => unsupported_form(format!("this geometry of `{}`", words.opcode)),
        }
    }

    /// Handle, three coordinates and the layer of `[handle, {coordinates}]`.
    fn place(
        &mut self,
        operand: &Operand<'a>,
        dimensions: u8,
        layered: bool,
        ty: Type,
    ) -> Result<Vec<u32>> {
        let Operand::Compound(parts) = operand else {
            return invalid("an operand that is no place of a texture");
        };
        let [handle, coordinates] = &parts[..] else {
            return unsupported_form("samplers apart from textures");
        };
        let zero = self.constant(0);
        let mut slots = vec![self.source(handle, Type::U64)?];
        let list: Vec<&Operand<'a>> = match coordinates {
            Operand::Vector(list) => list.iter().collect(),
            one => vec![one],
        };
        let first = usize::from(layered);
        if list.len() < first + usize::from(dimensions) {
            return invalid("too few coordinates");
        }
        for place in 0..3 {
            slots.push(if place < usize::from(dimensions) {
                self.source(list[first + place], ty)?
            } else {
                zero
            });
        }
        slots.push(match layered {
            true => self.source(list[0], Type::U32)?,
            false => zero,
        });
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
