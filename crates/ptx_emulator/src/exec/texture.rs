//! `tex tld4 suld sust sured` and their queries, through handles that `driver` created.

use super::memory::GLOBAL;
use super::transfer::Reduce;
use super::{Context, Inst, Regs};
use crate::fault::FaultKind;
use crate::texture::{DESCRIPTION, Texture, side_of_cube};

/// An access. `a` lists its registers: the handle, three coordinates, the layer, and values to
/// store or the mip level. `d` lists the result registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TextureAccess {
    pub kind: Kind,
    pub shape: Shape,
    pub level: Level,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    pub dimensions: u8,
    pub layered: bool,
    /// Whether the coordinates are a direction into a cube.
    pub cube: bool,
}

/// How the mip level of a texture is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Level {
    #[default]
    First,
    Number,
    /// By two gradients of three coordinates each.
    Gradients,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A fetch at integer coordinates.
    Fetch,
    Sample,
    /// One component of four texels.
    Gather(u8),
    /// A surface load of `count` values of `bytes` bytes.
    Load {
        count: u8,
        bytes: u8,
        edge: Edge,
    },
    Store {
        count: u8,
        bytes: u8,
        edge: Edge,
    },
    Reduce {
        reduce: Reduce,
        edge: Edge,
    },
    /// A property, by its number in `decode::texture`.
    Query(u8),
}

/// The behavior of an access outside a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Trap,
    Clamp,
    Zero,
}

/// Executes the [`TextureAccess`] with index `imm`.
pub(crate) unsafe fn access(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let code = c.code;
        let access = code.textures[i.imm as usize];
        let register = |index: usize| r.raw(code.extra[i.a as usize + index]);
        let handle = register(0);
        let words = c.translate::<GLOBAL>(at, handle, DESCRIPTION, 64);
        if words.is_null() {
            return std::ptr::null();
        }
        let shape = access.shape;
        let surface = matches!(
            access.kind,
            Kind::Load { .. } | Kind::Store { .. } | Kind::Reduce { .. }
        );
        let texture = Texture::decode(&words.cast::<[u64; 16]>().read_volatile());
        let query = matches!(access.kind, Kind::Query(_));
        let Some(texture) = texture.filter(|texture| query || texture.surface == surface) else {
            let what = if surface { "surface" } else { "texture" };
            let message = format!("{handle:#x} is not a {what} handle");
            return c.fault(at, FaultKind::InvalidInstruction, message);
        };
        if !query && texture.cube != shape.cube && !surface {
            let message = format!(
                "{handle:#x} is a cubemap used otherwise, or not a cubemap but used as one"
            );
            return c.fault(at, FaultKind::InvalidInstruction, message);
        }
        let layer = shape.layered.then(|| register(4) as u32);
        let target = |index: usize| code.extra[i.d as usize + index];
        let numbers = match access.kind {
            Kind::Query(property) => match access.level {
                Level::First => Some([texture.extent(property); 4]),
                _ if register(1) as u32 >= texture.levels => Some([0; 4]),
                _ => level_of(at, c, handle, register(1) as u32)
                    .map(|level| [level.extent(property); 4]),
            },
            Kind::Load { .. } | Kind::Store { .. } | Kind::Reduce { .. } => {
                return surface_access(at, r, c, access, &texture);
            }
            kind => {
                let read = |c: &mut Context, address: u64, size: u64| {
                    let place = c.translate::<GLOBAL>(at, address, size, 1);
                    (!place.is_null()).then(|| match size {
                        1 => place.read_volatile().into(),
                        2 => place.cast::<u16>().read_volatile().into(),
                        _ => place.cast::<u32>().read_volatile(),
                    })
                };
                let coordinates = [1, 2, 3].map(register);
                let dimensions = usize::from(shape.dimensions);
                if kind == Kind::Fetch && (dimensions == 1) != (texture.extent(1) == 0) {
                    // On an H100, `tex.1d` returns zeros for an array from which `tex.2d` reads a
                    // row, and so does `tex.2d` for linear memory.
                    Some([0; 4])
                } else if kind == Kind::Fetch {
                    let whole = coordinates.map(|x| i64::from(x as i32));
                    texture.fetch(cut(whole, dimensions), layer, |address, size| {
                        read(c, address, size)
                    })
                } else {
                    let float = |index: usize| f32::from_bits(register(index) as u32);
                    let x = cut([1, 2, 3].map(float), dimensions);
                    let gather = match kind {
                        Kind::Gather(component) => Some(component.into()),
                        _ => None,
                    };
                    let asked = match access.level {
                        Level::First => 0.0,
                        Level::Number => float(5),
                        Level::Gradients => {
                            let [dx, dy] = [[5, 6, 7], [8, 9, 10]].map(|at| at.map(float));
                            texture.level_of_gradients(cut(dx, dimensions), cut(dy, dimensions))
                        }
                    };
                    let (x, dimensions, layer) = match shape.cube {
                        true => {
                            let (side, x) = side_of_cube(x);
                            (x, 2, Some(6 * layer.unwrap_or(0) + side))
                        }
                        false => (x, dimensions, layer),
                    };
                    let mut sample = |level: u32| {
                        level_of(at, c, handle, level)?.sample(
                            x,
                            dimensions,
                            layer,
                            gather,
                            |address, size| read(c, address, size),
                        )
                    };
                    let (first, second, weight) = texture.between_levels(asked);
                    match sample(first) {
                        Some(numbers) if weight > 0.0 => sample(second).map(|other| {
                            core::array::from_fn(|i| {
                                let [a, b] = [numbers[i], other[i]].map(f32::from_bits);
                                (a * (1.0 - weight) + b * weight).to_bits()
                            })
                        }),
                        numbers => numbers,
                    }
                }
            }
        };
        let Some(numbers) = numbers else {
            return std::ptr::null();
        };
        let count = if query { 1 } else { 4 };
        for (index, number) in numbers.iter().enumerate().take(count) {
            r.set(target(index), *number);
        }
        at.add(1)
    }
}

/// Returns a mip level of a texture, by the handle of the whole texture, or `None` after a fault.
unsafe fn level_of(at: *const Inst, c: &mut Context, handle: u64, level: u32) -> Option<Texture> {
    let place = handle + u64::from(level) * DESCRIPTION;
    // SAFETY: as in every handler.
    unsafe {
        let words = c.translate::<GLOBAL>(at, place, DESCRIPTION, 64);
        let words = (!words.is_null()).then(|| words.cast::<[u64; 16]>().read_volatile())?;
        Texture::decode(&words)
    }
}

/// Sets the coordinates of missing dimensions to 0.
fn cut<T: Copy + Default>(mut x: [T; 3], dimensions: usize) -> [T; 3] {
    x[dimensions..].fill(T::default());
    x
}

unsafe fn surface_access(
    at: *const Inst,
    r: Regs,
    c: &mut Context,
    access: TextureAccess,
    surface: &Texture,
) -> *const Inst {
    // SAFETY: as in `access`.
    unsafe {
        let i = &*at;
        let code = c.code;
        let register = |index: usize| r.raw(code.extra[i.a as usize + index]);
        let (count, bytes, edge) = match access.kind {
            Kind::Load { count, bytes, edge } | Kind::Store { count, bytes, edge } => {
                (u64::from(count), u64::from(bytes), edge)
            }
            Kind::Reduce { reduce, edge } => (1, u64::from(reduce.bytes), edge),
            _ => return at.add(1),
        };
        let size = count * bytes;
        // The first coordinate is in bytes.
        let width = u64::from(surface.sizes[0]) * surface.element_size();
        let limits = [
            width as i64 - size as i64,
            i64::from(surface.sizes[1].max(1)) - 1,
            i64::from(surface.sizes[2].max(1)) - 1,
        ];
        let mut place = [1, 2, 3].map(|index| i64::from(register(index) as i32));
        place[usize::from(access.shape.dimensions)..].fill(0);
        if access.shape.layered {
            place[2] = i64::from(register(4) as u32);
        }
        let outside = place
            .iter()
            .zip(limits)
            .any(|(&x, limit)| x < 0 || x > limit);
        if outside && edge == Edge::Trap {
            let message = format!("an access of {size} bytes outside the surface, at {place:?}");
            return c.fault(at, FaultKind::IllegalAddress, message);
        }
        if edge == Edge::Clamp {
            for (x, limit) in place.iter_mut().zip(limits) {
                *x = (*x).clamp(0, limit.max(0));
            }
        }
        let nothing = outside && edge == Edge::Zero;
        let [x, y, z] = place.map(|x| x as u64);
        let rows = z
            .wrapping_mul(surface.sizes[1].max(1).into())
            .wrapping_add(y);
        let address = surface
            .address
            .wrapping_add(rows.wrapping_mul(surface.row))
            .wrapping_add(x);
        let memory = if nothing {
            std::ptr::null_mut()
        } else {
            let memory = c.translate::<GLOBAL>(at, address, size, bytes);
            if memory.is_null() {
                return std::ptr::null();
            }
            memory
        };
        for index in 0..count as usize {
            let element = memory.wrapping_add(index * bytes as usize);
            match access.kind {
                Kind::Load { .. } => {
                    let value = match (nothing, bytes) {
                        (true, _) => 0,
                        (_, 1) => element.read_volatile().into(),
                        (_, 2) => element.cast::<u16>().read_volatile().into(),
                        (_, 4) => element.cast::<u32>().read_volatile().into(),
                        _ => element.cast::<u64>().read_volatile(),
                    };
                    r.set_raw(code.extra[i.d as usize + index], value);
                }
                _ if nothing => {}
                Kind::Reduce { reduce, .. } => {
                    let value = register(5).to_le_bytes();
                    reduce.apply(element, value.as_ptr());
                }
                _ => {
                    let value = register(5 + index);
                    match bytes {
                        1 => element.write_volatile(value as u8),
                        2 => element.cast::<u16>().write_volatile(value as u16),
                        4 => element.cast::<u32>().write_volatile(value as u32),
                        _ => element.cast::<u64>().write_volatile(value),
                    }
                }
            }
        }
        at.add(1)
    }
}
