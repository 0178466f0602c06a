//! Types of other crates in buffers, and tensors of other libraries.

mod common;

use common::init;
use cust::dlpack::{DlDevice, Tensor};
use cust::error::Error;
use cust::memory::DeviceCopy;
use cust::prelude::*;
use test_outcome::Failure;

fn there_and_back<T: DeviceCopy + PartialEq + std::fmt::Debug>(values: &[T]) {
    let buffer = DeviceBuffer::from_slice(values).unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), values);
}

#[test]
fn vectors_matrices_and_numbers_are_copied() {
    let _context = init();
    there_and_back(&[glam::Vec3::new(1.0, 2.0, 3.0), glam::Vec3::ZERO]);
    there_and_back(&[glam::Mat4::IDENTITY, glam::Mat4::from_rotation_x(1.0)]);
    there_and_back(&[glam::DQuat::IDENTITY]);
    there_and_back(&[glam::UVec4::new(1, 2, 3, 4)]);
    there_and_back(&[half::f16::from_f32(1.5), half::f16::MAX]);
    there_and_back(&[half::bf16::from_f32(1.5)]);
    there_and_back(&[num_complex::Complex::new(1.0f64, -1.0)]);
    there_and_back(&[nalgebra::Vector3::new(1.0f32, 2.0, 3.0)]);
    there_and_back(&[nalgebra::Matrix2::new(1u32, 2, 3, 4)]);
    there_and_back(&[nalgebra::Point3::new(1.0f64, 2.0, 3.0)]);
    there_and_back(&[nalgebra::UnitQuaternion::<f32>::identity()]);
    there_and_back(&[nalgebra::Isometry3::<f64>::identity()]);
}

#[test]
fn arrays_have_their_order() {
    let _context = init();
    let array =
        ndarray::Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as u32);
    let buffer = DeviceBuffer::from_ndarray(&array).unwrap();
    assert_eq!(buffer.as_ndarray((2, 3, 4)).unwrap(), array);
    let part = array.slice(ndarray::s![1, .., 1..3]);
    let buffer = DeviceBuffer::from_ndarray(&part).unwrap();
    assert_eq!(
        buffer.as_host_vec().unwrap(),
        [101, 102, 111, 112, 121, 122]
    );
    let error = buffer.as_ndarray((5, 5)).failure();
    assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
}

#[test]
fn buffers_are_cast_to_what_fits() {
    let _context = init();
    let buffer = DeviceBuffer::from_slice(&[1u8, 0, 2, 0, 3, 0]).unwrap();
    let buffer = buffer.try_cast::<u16>().unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [1, 2, 3]);
    let error = buffer.try_cast::<u32>().failure();
    assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
}

#[test]
fn tensors_are_checked() {
    let _context = init();
    let buffer = || DeviceBuffer::from_slice(&[1i16, 2, 3, 4]).unwrap();
    assert!(Tensor::new(buffer(), &[3]).is_err());
    assert!(Tensor::new(buffer(), &[usize::MAX, 2]).is_err());
    let raw = Tensor::new(buffer(), &[2, 2]).unwrap().into_raw();
    // SAFETY: the tensor has no other owner.
    unsafe {
        let error = Tensor::<u16>::from_raw(raw).failure();
        assert!(matches!(error, Error::Tensor { .. }), "{error}");
        let device = (*raw).dl_tensor.device;
        (*raw).dl_tensor.device = DlDevice {
            device_type: 99,
            device_id: 0,
        };
        assert!(Tensor::<i16>::from_raw(raw).is_err());
        (*raw).dl_tensor.device = device;
        *(*raw).dl_tensor.strides = 3;
        assert!(Tensor::<i16>::from_raw(raw).is_err());
        (*raw).dl_tensor.strides = std::ptr::null_mut();
        let tensor = Tensor::<i16>::from_raw(raw).unwrap();
        assert_eq!(tensor.to_vec().unwrap(), [1, 2, 3, 4]);
        assert!(Tensor::<i16>::from_raw(std::ptr::null_mut()).is_err());
    }
}
