use cuda_std::prelude::*;

#[kernel]
fn of_test(mut values: PerThread<u32>) {
    for (_, value) in values.own() {
        *value -= 1;
    }
}

#[test]
fn an_integration_test_has_kernels() {
    let mut values = linked::changed([1, 2, 3]).unwrap();
    cust::launch((1, 32), of_test::args(&mut values)).unwrap();
    assert_eq!(values, [8, 10, 12]);
}
