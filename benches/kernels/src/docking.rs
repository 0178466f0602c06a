//! The energy of poses of a ligand at a protein: miniBUDE's kernel.

use cuda_std::PerThreadChunk;
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// The number of poses per thread.
pub const POSES: usize = 4;

const HARDNESS: f32 = 38.0;
const CHARGE: f32 = 45.0;
const FAR: f32 = 5.5;
const NEAR: f32 = 1.0;

/// The position and the type of an atom.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Atom {
    /// The position.
    pub place: [f32; 3],
    /// The index of the type.
    pub kind: u32,
}

/// The properties of a type of atoms.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Kind {
    /// The kind of hydrogen bonds: 70 (F) for none, 69 (E) for both directions.
    pub bond: u32,
    /// The radius.
    pub radius: f32,
    /// The hydrophobicity.
    pub hydrophobic: f32,
    /// The charge.
    pub charge: f32,
}

/// A rotation and a translation, as the rows of a matrix.
pub type Transform = [[f32; 4]; 3];

/// Returns the matrix of three angles and a translation.
#[inline(always)]
pub fn transform(angles: [f32; 3], place: [f32; 3]) -> Transform {
    let ((sx, cx), (sy, cy), (sz, cz)) = (
        angles[0].sin_cos(),
        angles[1].sin_cos(),
        angles[2].sin_cos(),
    );
    [
        [
            cy * cz,
            sx * sy * cz - cx * sz,
            cx * sy * cz + sx * sz,
            place[0],
        ],
        [
            cy * sz,
            sx * sy * sz + cx * cz,
            cx * sy * sz - sx * cz,
            place[1],
        ],
        [-sy, sx * cy, cx * cy, place[2]],
    ]
}

/// Returns a transformed position.
#[inline(always)]
pub fn moved(transform: &Transform, place: [f32; 3]) -> [f32; 3] {
    let row = |row: &[f32; 4]| row[3] + place[0] * row[0] + place[1] * row[1] + place[2] * row[2];
    [row(&transform[0]), row(&transform[1]), row(&transform[2])]
}

/// The properties of a pair of atoms that determine its energy, besides the distance.
#[derive(Clone, Copy)]
pub struct Pair {
    radius: f32,
    inverse_radius: f32,
    charge: f32,
    charge_range: f32,
    charge_slope: f32,
    attracts: bool,
    solvation: f32,
    solvation_range: f32,
    inverse_range: f32,
}

impl Pair {
    /// Creates the properties of a ligand's and a protein's atom.
    #[inline(always)]
    pub fn new(ligand: Kind, protein: Kind) -> Pair {
        let radius = ligand.radius + protein.radius;
        let no_bond = ligand.bond == 70 && protein.bond == 70;
        let (of_protein, of_ligand) = (protein.hydrophobic, ligand.hydrophobic);
        let solvation_of_protein = of_protein
            * if of_protein < 0.0 && of_ligand > 0.0 {
                -1.0
            } else {
                1.0
            };
        let solvation_of_ligand = of_ligand
            * if of_protein > 0.0 && of_ligand < 0.0 {
                -1.0
            } else {
                1.0
            };
        let range = match (of_protein < 0.0, of_ligand < 0.0) {
            (true, true) => FAR,
            (true, false) | (false, true) => NEAR,
            (false, false) => -f32::MAX,
        };
        Pair {
            radius,
            inverse_radius: 1.0 / radius,
            charge: ligand.charge * protein.charge,
            charge_range: if no_bond { 4.0 } else { 2.0 },
            charge_slope: if no_bond { 0.25 } else { 0.5 },
            attracts: ligand.bond == 69 || protein.bond == 69,
            solvation: solvation_of_protein + solvation_of_ligand,
            solvation_range: if of_protein == 0.0 { -f32::MAX } else { range },
            inverse_range: 1.0 / range,
        }
    }

    /// Returns the energy at a distance.
    #[inline(always)]
    pub fn energy(&self, distance: f32) -> f32 {
        let gap = distance - self.radius;
        let inside = gap < 0.0;
        let clash =
            (1.0 - distance * self.inverse_radius) * if inside { 2.0 * HARDNESS } else { 0.0 };
        let mut charge = self.charge
            * if inside {
                1.0
            } else {
                1.0 - gap * self.charge_slope
            }
            * if gap < self.charge_range { 1.0 } else { 0.0 };
        if self.attracts {
            charge = -charge.abs();
        }
        let solvation = if gap < self.solvation_range {
            self.solvation
        } else {
            0.0
        } * if inside {
            1.0
        } else {
            1.0 - gap * self.inverse_range
        };
        clash + charge * CHARGE + solvation
    }
}

/// Returns the distance of two positions.
#[inline(always)]
pub fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let (x, y, z) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    (x * x + y * y + z * z).sqrt()
}

/// The energies of all poses, [`POSES`] per thread.
#[kernel(block_size(64))]
pub fn minibude_safe(
    protein: &[Atom],
    ligand: &[Atom],
    kinds: &[Kind],
    angles: &[[f32; 3]],
    places: &[[f32; 3]],
    mut to: PerThreadChunk<f32, POSES>,
) {
    to.each(
        |first, to| {
            let transforms: [Transform; POSES] =
                core::array::from_fn(|i| transform(angles[first + i], places[first + i]));
            let mut energies = [0.0; POSES];
            for atom in ligand {
                let ligand_kind = kinds[atom.kind as usize];
                let places = transforms.each_ref().map(|t| moved(t, atom.place));
                for other in protein {
                    let pair = Pair::new(ligand_kind, kinds[other.kind as usize]);
                    for (energy, place) in energies.iter_mut().zip(places) {
                        *energy += pair.energy(distance(place, other.place));
                    }
                }
            }
            *to = energies.map(|energy| 0.5 * energy);
        },
        |_, _| {},
    );
}

/// The energies of all poses, [`POSES`] per thread.
#[kernel(block_size(64))]
pub unsafe fn minibude_raw(
    protein: *const Atom,
    proteins: usize,
    ligand: *const Atom,
    ligands: usize,
    kinds: *const Kind,
    angles: *const [f32; 3],
    places: *const [f32; 3],
    to: *mut f32,
    n: usize,
) {
    let first = thread::index_1d() as usize * POSES;
    if first + POSES > n {
        return;
    }
    let mut transforms = [[[0.0; 4]; 3]; POSES];
    for i in 0..POSES {
        transforms[i] = transform(*angles.add(first + i), *places.add(first + i));
    }
    let mut energies = [0.0; POSES];
    for l in 0..ligands {
        let atom = *ligand.add(l);
        let ligand_kind = *kinds.add(atom.kind as usize);
        let mut moved_to = [[0.0; 3]; POSES];
        for i in 0..POSES {
            moved_to[i] = moved(&transforms[i], atom.place);
        }
        for p in 0..proteins {
            let other = *protein.add(p);
            let pair = Pair::new(ligand_kind, *kinds.add(other.kind as usize));
            for i in 0..POSES {
                energies[i] += pair.energy(distance(moved_to[i], other.place));
            }
        }
    }
    for i in 0..POSES {
        *to.add(first + i) = 0.5 * energies[i];
    }
}
