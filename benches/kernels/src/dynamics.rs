//! Dynamics: systems of ordinary differential equations, principal stresses, advection, and rigid
//! bodies.

use crate::images::Vec3;
use core::ops::Mul;
use cuda_std::PerThread2d;
use cuda_std::prelude::*;
use cuda_std::vector::F32x2;
use cust_core::DeviceCopy;

/// The number of species of each system.
pub const SPECIES: usize = 3;

/// Returns the state after a step of length `h` by the classical method of Runge and Kutta.
#[inline(always)]
pub fn runge_kutta<const N: usize>(
    state: [f32; N],
    h: f32,
    slope: impl Fn([f32; N]) -> [f32; N],
) -> [f32; N] {
    let ahead = |slope: &[f32; N], h: f32| core::array::from_fn(|i| state[i] + h * slope[i]);
    let k1 = slope(state);
    let k2 = slope(ahead(&k1, 0.5 * h));
    let k3 = slope(ahead(&k2, 0.5 * h));
    let k4 = slope(ahead(&k3, h));
    core::array::from_fn(|i| state[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]))
}

/// Returns the growth of plants, prey and predators with a saturated response.
#[inline(always)]
pub fn growth([plants, prey, predators]: [f32; SPECIES], rate: f32) -> [f32; SPECIES] {
    let eaten = 5.0 * plants / (1.0 + 3.0 * plants) * prey;
    let hunted = 0.1 * prey / (1.0 + 2.0 * prey) * predators;
    [
        rate * plants * (1.0 - plants) - eaten,
        eaten - hunted - 0.4 * prey,
        hunted - 0.01 * predators,
    ]
}

/// Chains of plants, prey and predators with different rates of growth, one per thread.
#[kernel(block_size(128))]
pub fn predator_prey_safe(rates: &[f32], h: f32, steps: u32, mut to: PerThread<[f32; SPECIES]>) {
    to.each_with(rates, |_, to, &rate| {
        let mut state = [0.8, 0.2, 8.0];
        for _ in 0..steps {
            state = runge_kutta(state, h, |state| growth(state, rate));
        }
        *to = state;
    });
}

/// Chains of plants, prey and predators: see [`predator_prey_safe()`].
#[kernel(block_size(128))]
pub unsafe fn predator_prey_raw(
    rates: *const f32,
    h: f32,
    steps: u32,
    to: *mut [f32; SPECIES],
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let rate = *rates.add(i);
    let mut state = [0.8, 0.2, 8.0];
    for _ in 0..steps {
        state = runge_kutta(state, h, |state| growth(state, rate));
    }
    *to.add(i) = state;
}

/// The number of sweeps of Jacobi's method.
pub const SWEEPS: usize = 4;

/// A symmetric matrix.
#[derive(Clone, Copy, Debug)]
pub struct Symmetric([[f32; 3]; 3]);

impl Symmetric {
    /// Creates a matrix from its upper triangle.
    #[inline(always)]
    pub fn new([xx, xy, xz, yy, yz, zz]: [f32; 6]) -> Symmetric {
        Symmetric([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    }

    /// Rotates the plane of dimensions `p` and `q`, so that their common element becomes zero. `r`
    /// is the other dimension.
    #[inline(always)]
    pub fn rotate(&mut self, p: usize, q: usize, r: usize) {
        let a = &mut self.0;
        let off = a[p][q];
        if off == 0.0 {
            return;
        }
        let theta = (a[q][q] - a[p][p]) / (2.0 * off);
        let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
        let cos = 1.0 / (tangent * tangent + 1.0).sqrt();
        let sin = tangent * cos;
        a[p][p] -= tangent * off;
        a[q][q] += tangent * off;
        (a[p][q], a[q][p]) = (0.0, 0.0);
        let (to_p, to_q) = (a[r][p], a[r][q]);
        a[r][p] = cos * to_p - sin * to_q;
        a[r][q] = sin * to_p + cos * to_q;
        (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
    }

    /// Returns the eigenvalues, the largest one first.
    #[inline(always)]
    pub fn eigenvalues(mut self) -> [f32; 3] {
        for _ in 0..SWEEPS {
            for (p, q, r) in [(0, 1, 2), (0, 2, 1), (1, 2, 0)] {
                self.rotate(p, q, r);
            }
        }
        let [x, y, z] = [self.0[0][0], self.0[1][1], self.0[2][2]];
        let (x, y) = (x.max(y), x.min(y));
        let (y, z) = (y.max(z), y.min(z));
        [x.max(y), x.min(y), z]
    }
}

/// The eigenvalues of symmetric matrices by Jacobi's method: principal stresses.
#[kernel(block_size(128))]
pub fn eigen3x3_safe(from: &[[f32; 6]], mut to: PerThread<[f32; 3]>) {
    to.each_with(from, |_, to, &triangle| {
        *to = Symmetric::new(triangle).eigenvalues();
    });
}

/// The eigenvalues of symmetric matrices by Jacobi's method: principal stresses.
#[kernel(block_size(128))]
pub unsafe fn eigen3x3_raw(from: *const [f32; 6], to: *mut [f32; 3], n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = Symmetric::new(*from.add(i)).eigenvalues();
    }
}

/// Returns the slope of a cell between its neighbors, limited by van Leer's function.
#[inline(always)]
fn limited(left: f32, center: f32, right: f32) -> f32 {
    let (a, b) = (center - left, right - center);
    if a * b <= 0.0 {
        return 0.0;
    }
    2.0 * a * b / (a + b)
}

/// Returns what flows through the face between the second and the third of four cells in a row, at
/// a speed in cells per step.
#[inline(always)]
pub fn flux(speed: f32, cells: [f32; 4]) -> f32 {
    let [a, b, c, d] = cells;
    if speed >= 0.0 {
        speed * (b + 0.5 * (1.0 - speed) * limited(a, b, c))
    } else {
        speed * (c - 0.5 * (1.0 + speed) * limited(b, c, d))
    }
}

/// Upwind advection with limited fluxes on a grid whose edges are connected. `speeds` are those of
/// the faces to the left of each cell and above it.
#[kernel(block_size(32, 8))]
pub fn advect_2d_safe(from: &[f32], speeds: &[F32x2], mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let at = |x: usize, y: usize| from[y % height * width + x % width];
        let row: [f32; 5] = core::array::from_fn(|i| at(x + width + i - 2, y));
        let column: [f32; 5] = core::array::from_fn(|i| at(x, y + height + i - 2));
        let speed = |x: usize, y: usize| speeds[y % height * width + x % width];
        let F32x2([left, above]) = speed(x, y);
        let (right, below) = (speed(x + 1, y).x(), speed(x, y + 1).y());
        let face =
            |speed: f32, cells: &[f32]| flux(speed, [cells[0], cells[1], cells[2], cells[3]]);
        let mut value = row[2];
        value += face(left, &row[..4]) - face(right, &row[1..]);
        value += face(above, &column[..4]) - face(below, &column[1..]);
        *to = value;
    });
}

/// Upwind advection with limited fluxes: see [`advect_2d_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn advect_2d_raw(
    from: *const f32,
    speeds: *const F32x2,
    to: *mut f32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let at = |x: usize, y: usize| y % height * width + x % width;
    let mut row = [0.0; 5];
    let mut column = [0.0; 5];
    for i in 0..5 {
        row[i] = *from.add(at(x + width + i - 2, y));
        column[i] = *from.add(at(x, y + height + i - 2));
    }
    let own = *speeds.add(at(x, y));
    let right = (*speeds.add(at(x + 1, y))).x();
    let below = (*speeds.add(at(x, y + 1))).y();
    let mut value = row[2];
    value += flux(own.x(), [row[0], row[1], row[2], row[3]]);
    value -= flux(right, [row[1], row[2], row[3], row[4]]);
    value += flux(own.y(), [column[0], column[1], column[2], column[3]]);
    value -= flux(below, [column[1], column[2], column[3], column[4]]);
    *to.add(y * width + x) = value;
}

/// A rotation, as a quaternion of length 1.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct Rotation {
    /// The cosine of half of the angle.
    pub w: f32,
    /// The axis, times the sine of half of the angle.
    pub axis: Vec3,
}

impl Rotation {
    /// Returns the same rotation as a quaternion of length 1.
    #[inline(always)]
    pub fn normalized(self) -> Rotation {
        let scale = 1.0 / (self.w * self.w + self.axis.dot(self.axis)).sqrt();
        Rotation {
            w: self.w * scale,
            axis: self.axis * scale,
        }
    }

    /// Returns the opposite rotation.
    #[inline(always)]
    pub fn inverse(self) -> Rotation {
        Rotation {
            w: self.w,
            axis: self.axis * -1.0,
        }
    }

    /// Rotates a vector.
    #[inline(always)]
    pub fn apply(self, v: Vec3) -> Vec3 {
        let twice = cross(self.axis, v) * 2.0;
        v + twice * self.w + cross(self.axis, twice)
    }
}

impl Mul for Rotation {
    type Output = Rotation;

    #[inline(always)]
    fn mul(self, other: Rotation) -> Rotation {
        Rotation {
            w: self.w * other.w - self.axis.dot(other.axis),
            axis: other.axis * self.w + self.axis * other.w + cross(self.axis, other.axis),
        }
    }
}

/// Returns the vector product.
#[inline(always)]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(
        a.y * b.z - a.z * b.y,
        a.z * b.x - a.x * b.z,
        a.x * b.y - a.y * b.x,
    )
}

/// The forces on a body.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct Load {
    /// The force.
    pub force: Vec3,
    /// The torque.
    pub torque: Vec3,
}

/// A rigid body.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct Body {
    /// The center of mass.
    pub position: Vec3,
    /// The velocity of the center of mass.
    pub velocity: Vec3,
    /// The rotation from the body's axes to those of the world.
    pub rotation: Rotation,
    /// The angular momentum.
    pub momentum: Vec3,
    /// The reciprocal of the mass.
    pub inverse_mass: f32,
    /// The reciprocals of the moments of inertia about the body's axes.
    pub inverse_inertia: Vec3,
}

impl Body {
    /// Returns the body after a time `h` by Euler's semi-implicit method.
    #[inline(always)]
    pub fn step(mut self, load: Load, h: f32) -> Body {
        self.velocity = self.velocity + load.force * (self.inverse_mass * h);
        self.position = self.position + self.velocity * h;
        self.momentum = self.momentum + load.torque * h;
        let own = self.rotation.inverse().apply(self.momentum);
        let spin = self.rotation.apply(Vec3::new(
            own.x * self.inverse_inertia.x,
            own.y * self.inverse_inertia.y,
            own.z * self.inverse_inertia.z,
        ));
        let change = Rotation {
            w: 1.0,
            axis: spin * (0.5 * h),
        };
        self.rotation = (change * self.rotation).normalized();
        self
    }
}

/// A step of rigid bodies.
#[kernel(block_size(256))]
pub fn rigid_bodies_safe(from: &[Body], loads: &[Load], h: f32, mut to: PerThread<Body>) {
    to.each_with((from, loads), |_, to, (body, load)| {
        *to = body.step(*load, h);
    });
}

/// A step of rigid bodies: see [`rigid_bodies_safe()`].
#[kernel(block_size(256))]
pub unsafe fn rigid_bodies_raw(
    from: *const Body,
    loads: *const Load,
    h: f32,
    to: *mut Body,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = (*from.add(i)).step(*loads.add(i), h);
    }
}
