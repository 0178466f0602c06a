//! Bodies in space, as an object-oriented CPU program has them: generic vectors with operators,
//! traits with associated items, iterators, and a kernel in the trait of the integrators.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

trait Scalar:
    DeviceCopy
    + Default
    + Debug
    + PartialOrd
    + From<u8>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + 'static
{
    const EPSILON: Self;

    fn sqrt(self) -> Self;
    fn recip(self) -> Self;
}

macro_rules! scalars {
    ($($ty:ident),*) => {$(
        impl Scalar for $ty {
            const EPSILON: Self = 1e-3;

            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }

            fn recip(self) -> Self {
                $ty::recip(self)
            }
        }
    )*};
}
scalars!(f32, f64);

#[derive(Debug, Default, Clone, Copy, PartialEq, DeviceCopy)]
struct Vector<T, const N: usize>([T; N])
where
    [T; N]: Default;

/// A vector in space.
type Space<T> = Vector<T, 3>;

impl<T: Scalar> Add for Space<T> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Vector(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
}

impl<T: Scalar> AddAssign for Space<T> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<T: Scalar> Sub for Space<T> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let mut components = self.0.into_iter().zip(other.0);
        Vector([(); 3].map(|()| components.next().map(|(a, b)| a - b).unwrap()))
    }
}

impl<T: Scalar> Mul<T> for Space<T> {
    type Output = Self;

    fn mul(self, factor: T) -> Self {
        Vector(self.0.map(|component| component * factor))
    }
}

impl<T: Scalar> Sum for Space<T> {
    fn sum<I: Iterator<Item = Self>>(vectors: I) -> Self {
        vectors.fold(Self::default(), Add::add)
    }
}

impl<T: Scalar> Space<T> {
    fn length(&self) -> T {
        let squares = self.0.iter().map(|&component| component * component);
        squares.reduce(Add::add).unwrap_or_default().sqrt()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeviceCopy)]
enum Kind {
    Star,
    Planet,
}

#[derive(Debug, Clone, Copy, PartialEq, DeviceCopy)]
struct Body<T: Scalar> {
    position: Space<T>,
    velocity: Space<T>,
    mass: T,
    kind: Kind,
}

impl<T: Scalar> Body<T> {
    fn acceleration_towards(&self, other: &Body<T>) -> Space<T> {
        let offset = other.position - self.position;
        let distance = offset.length() + T::EPSILON;
        offset * (other.mass * (distance * distance * distance).recip())
    }

    fn acceleration<'a>(&self, others: impl IntoIterator<Item = &'a Body<T>>) -> Space<T> {
        let others = others.into_iter();
        let others = others.filter(|&other| !std::ptr::eq(other, self));
        others.map(|other| self.acceleration_towards(other)).sum()
    }
}

trait Integrator<T: Scalar>: DeviceCopy + 'static {
    fn step(&self, body: &Body<T>, acceleration: Space<T>, time: T) -> Body<T>;

    #[kernel(associated)]
    fn advance(self, time: T, bodies: &[Body<T>], mut to: PerThread<Body<T>>) {
        to.each(|i, to| *to = self.next(time, &bodies[i], bodies));
    }

    fn next(&self, time: T, body: &Body<T>, bodies: &[Body<T>]) -> Body<T> {
        match body.kind {
            Kind::Star => *body,
            Kind::Planet => self.step(body, body.acceleration(bodies), time),
        }
    }
}

#[derive(Clone, Copy, DeviceCopy)]
struct Euler;

#[derive(Clone, Copy, DeviceCopy)]
struct Repeated<I> {
    inner: I,
    times: u32,
}

impl<T: Scalar> Integrator<T> for Euler {
    fn step(&self, body: &Body<T>, acceleration: Space<T>, time: T) -> Body<T> {
        let velocity = body.velocity + acceleration * time;
        let mut position = body.position;
        position += velocity * time;
        Body {
            position,
            velocity,
            ..*body
        }
    }
}

impl<T: Scalar, I: Integrator<T>> Integrator<T> for Repeated<I> {
    fn step(&self, body: &Body<T>, acceleration: Space<T>, time: T) -> Body<T> {
        (0..self.times).fold(*body, |body, _| self.inner.step(&body, acceleration, time))
    }
}

struct Simulation<T: Scalar, I> {
    bodies: Vec<Body<T>>,
    integrator: I,
}

impl<T: Scalar, I: Integrator<T>> Simulation<T, I> {
    fn new(integrator: I) -> Self {
        let body = |i: u8| Body {
            position: Vector([i, i * 3 % 7, i % 3].map(T::from)),
            velocity: Space::default(),
            mass: T::from(i % 5 + 1),
            kind: if i == 0 { Kind::Star } else { Kind::Planet },
        };
        Simulation {
            bodies: (0..20).map(body).collect(),
            integrator,
        }
    }

    fn step(&mut self, time: T) -> CudaResult<()> {
        let mut next = self.bodies.clone();
        let arguments = self.integrator.advance_args(time, &self.bodies, &mut next);
        cust::launch((1, 32), arguments)?;
        self.bodies = next;
        Ok(())
    }

    fn step_on_host(&mut self, time: T) {
        let bodies = self.bodies.iter();
        let next = bodies.map(|body| self.integrator.next(time, body, &self.bodies));
        self.bodies = next.collect();
    }
}

fn check<T: Scalar, I: Integrator<T>>(integrator: I, time: T, tolerance: T) {
    let mut on_device = Simulation::new(integrator);
    let mut on_host = Simulation::new(integrator);
    for _ in 0..3 {
        on_device.step(time).unwrap();
        on_host.step_on_host(time);
    }
    for (a, b) in on_device.bodies.iter().zip(&on_host.bodies) {
        let difference = (a.position - b.position).length();
        assert!(difference < tolerance, "{a:?} {b:?}");
    }
    assert!(on_device.bodies[1].velocity.length() > T::EPSILON);
}

fn main() {
    cust::init_auto().unwrap();
    let repeated = Repeated {
        inner: Euler,
        times: 3,
    };
    check::<f32, _>(Euler, 0.01, 1e-4);
    check::<f64, _>(repeated, 0.01, 1e-9);
    println!("the bodies are where the host has them");
}
