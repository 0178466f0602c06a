//! Linear algebra, and the mathematical functions below it.

use crate::{Input, Record, cases};
use glam::{DMat3, DVec3, EulerRot, I64Vec3, IVec4, Mat4, Quat, Vec3, Vec3A, Vec4, Vec4Swizzles};
use nalgebra::{DMatrix, Matrix3, Matrix4, Rotation3, UnitQuaternion, Vector3, Vector4};

fn vec3(input: &mut Input) -> Vec3 {
    let mut next = || input.ordinary() as f32;
    Vec3::new(next(), next(), next())
}

fn matrix<const R: usize, const C: usize>(input: &mut Input) -> nalgebra::SMatrix<f64, R, C> {
    nalgebra::SMatrix::from_fn(|_, _| input.ordinary())
}

fn put_all<'a>(values: impl IntoIterator<Item = &'a f64>, record: &mut Record) {
    values.into_iter().for_each(|value| record.put(*value));
}

/// Records what functions make of their arguments.
macro_rules! put_functions {
    ($record:ident, $arguments:tt: $($function:ident)*) => {
        $($record.put(libm::$function $arguments);)*
    };
}

cases! {
    "glam", 400;
    fn glam_vectors(mut input, record) {
        let (a, b) = (vec3(&mut input), vec3(&mut input));
        for c in [a + b, a * b, a / b, a.cross(b), a.normalize(), a.reflect(b), a.lerp(b, 0.3),
                  a.rem_euclid(b), a.round(), a.fract(), a.exp(), a.project_onto(b)] {
            record.put(c.to_array());
        }
        record.put((a.dot(b), a.length(), a.angle_between(b), a.cmplt(b).bitmask()));
        let (a, b) = (Vec4::new(a.x, a.y, b.z, b.x), Vec3A::from(b));
        record.put((a.dot(a.wzyx()), b.length(), b.max_element(), a.min_position()));
        let c = IVec4::new(input.integer() as i32, input.bits() as i32, 3, -4);
        record.put((c.wrapping_mul(c.wwxx()) ^ c).to_array());
        let d = I64Vec3::splat(input.below(1 << 40) as i64) - I64Vec3::new(1, 1 << 39, 5);
        record.put((d.signum() * 3 + d).to_array());
    }

    "glam", 300;
    fn glam_matrices(mut input, record) {
        let (a, b) = (vec3(&mut input), vec3(&mut input));
        let q = Quat::from_euler(EulerRot::XYZ, a.x, a.y, a.z);
        let m = Mat4::from_scale_rotation_translation(b, q, a);
        record.put(m.inverse().to_cols_array());
        record.put((m.determinant(), q.slerp(Quat::IDENTITY, 0.4).to_array()));
        let (scale, rotation, translation) = m.to_scale_rotation_translation();
        record.put((scale.to_array(), rotation.to_array(), translation.to_array()));
        let p = glam::camera::rh::proj::directx::perspective(1.0, 1.5, 0.1, 100.0) * m;
        record.put(p.project_point3(b).to_array());
        let d = DMat3::from_cols(a.as_dvec3(), b.as_dvec3(), DVec3::new(1.0, 2.0, 3.0));
        record.put((d.inverse().to_cols_array(), d.determinant()));
    }

    "nalgebra", 256;
    fn nalgebra_fixed(mut input, record) {
        let m: Matrix4<f64> = matrix(&mut input);
        put_all(&(m * m.transpose()), record);
        record.put(m.determinant());
        if let Some(inverse) = m.try_inverse() {
            put_all(&inverse, record);
        }
        let v: Vector4<f64> = matrix(&mut input);
        if let Some(solution) = m.lu().solve(&v) {
            put_all(&solution, record);
        }
        let w: Vector3<f64> = matrix(&mut input);
        let r = Rotation3::new(w / 50.0);
        put_all(&(r * w), record);
        let q = UnitQuaternion::from_rotation_matrix(&r);
        record.put((q.angle(), q.euler_angles().0, (q.inverse() * w).norm()));
    }

    "nalgebra", 128;
    fn nalgebra_decompositions(mut input, record) {
        let m: Matrix3<f64> = matrix(&mut input);
        let qr = m.qr();
        put_all(&qr.q(), record);
        put_all(&qr.r(), record);
        let symmetric = m + m.transpose();
        put_all(&symmetric.symmetric_eigenvalues(), record);
        put_all(&m.singular_values(), record);
        let positive = m * m.transpose() + Matrix3::identity();
        record.put(positive.cholesky().is_some());
        if let Some(cholesky) = positive.cholesky() {
            put_all(&cholesky.inverse(), record);
        }
    }

    "nalgebra", 100;
    fn nalgebra_dynamic(mut input, record) {
        let n = 2 + input.number as usize % 6;
        let a = DMatrix::from_fn(n, n + 1, |_, _| input.ordinary());
        let b = DMatrix::from_fn(n + 1, n, |i, j| input.ordinary() * (i + 2 * j) as f64);
        let c = &a * &b;
        put_all(&c, record);
        put_all((c.transpose() - &c).rows(1, n - 1), record);
        put_all(&c.lu().u(), record);
        put_all(&(a.svd(false, false).singular_values), record);
    }

    "libm", 1000;
    fn libm_f64(mut input, record) {
        let (x, y) = (input.double(), input.double());
        put_functions!(record, (x): acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp
            exp10 exp2 expm1 fabs floor frexp ilogb lgamma log log10 log1p log2 modf rint round
            roundeven sin sincos sinh sqrt tan tanh tgamma trunc);
        put_functions!(record, (x, y): atan2 copysign fdim fmax fmin fmaximum fminimum fmaximum_num
            fmod hypot nextafter pow remainder remquo);
        put_functions!(record, (x, input.below(4000) as i32 - 2000): ldexp scalbn);
        record.put(libm::fma(x, y, input.double()));
    }

    "libm", 1000;
    fn libm_f32(mut input, record) {
        let (x, y) = (input.float(), input.float());
        put_functions!(record, (x): acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf
            erff erfcf expf exp10f exp2f expm1f fabsf floorf frexpf ilogbf lgammaf logf log10f
            log1pf log2f modff rintf roundf roundevenf sinf sincosf sinhf sqrtf tanf tanhf tgammaf
            truncf);
        put_functions!(record, (x, y): atan2f copysignf fdimf fmaxf fminf fmaximumf fminimumf
            fmaximum_numf fmodf hypotf nextafterf powf remainderf remquof);
        put_functions!(record, (x, input.below(400) as i32 - 200): ldexpf scalbnf);
        record.put(libm::fmaf(x, y, input.float()));
    }

    "libm", 200;
    fn libm_ordinary(mut input, record) {
        // The functions' ordinary paths, and the reduction of large angles.
        let (x, y) = (input.ordinary(), input.ordinary().abs() / 20.0);
        put_functions!(record, (x): sin cos tan exp j0 j1 y0 erf tgamma lgamma_r);
        put_functions!(record, (y): log asin acos acosh exp10 atanh log1p);
        put_functions!(record, (x * 1e12): sin cos tan);
        put_functions!(record, (3, x): jn yn);
        put_functions!(record, (x as f32): sinf cosf tanf expf j0f j1f y1f);
        put_functions!(record, (x as f32 * 1e12): sinf cosf tanf);
        put_functions!(record, (y, x): pow);
    }
}
