//! Further kinds of graph nodes: conditions, child graphs, memory allocations, events and value
//! writes; and updates of whole graphs.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use common::{init, stream};
use cuda_std::graph::Condition;
use cuda_std::prelude::*;
use cust::error::{CudaError, Error};
use cust::graph::{GraphUpdateFailure, Scratch};
use cust::module::{Embedded, Image};
use cust::prelude::*;
use test_outcome::Failure;

/// Decrements the counter, and sets the condition to the result.
#[kernel]
pub fn count_down(_counter: &[AtomicU32], _more: Condition) {}

/// Sets the condition to the value.
#[kernel]
pub fn choose(_value: u32, _condition: Condition) {}

/// Adds the amount to the sum.
#[kernel]
pub fn add_to(_amount: u32, _sum: &[AtomicU32]) {}

const PTX: &str = include_str!("ptx/conditions.ptx");

// SAFETY: the PTX's kernels have the parameters of the functions above.
static KERNELS: Embedded =
    unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], &[("sm_70", Image::Ptx(PTX))]) };

/// Returns the module, if the CUDA device runtime library is available.
fn module() -> Option<Module> {
    match KERNELS.load() {
        Ok(module) => Some(module),
        Err(error @ Error::DeviceRuntime { .. }) => {
            test_outcome::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_loop_runs_until_a_kernel_ends_it() {
    let _context = init();
    let Some(module) = module() else { return };
    let (down, add) = (
        module.kernel::<count_down>().unwrap(),
        module.kernel::<add_to>().unwrap(),
    );
    let mut graph = GraphBuilder::new().unwrap();
    let counter = graph.buffer(DeviceBuffer::from_slice(&[5u32]).unwrap());
    let sum = graph.buffer(DeviceBuffer::<u32>::zeroed(1).unwrap());
    let output = graph.buffer(LockedBuffer::<u32>::zeroed(1).unwrap());
    let more = graph.condition(1).unwrap();
    graph.set_zero(sum).unwrap();
    let node = graph
        .while_nonzero(more, |body| {
            body.launch(&add, (1, 1), add_to::args(10, sum.write()))?;
            body.launch(&down, (1, 1), count_down::args(counter.write(), more))?;
            Ok(())
        })
        .unwrap();
    // Depends on the loop, which writes what this node reads.
    graph.copy(sum, output).unwrap();
    graph.order(node, &[]).unwrap();
    let mut graph = graph.instantiate().unwrap();
    let stream = stream();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(output)[..], [50]);
    assert_eq!(graph.get(counter).as_host_vec().unwrap(), [0]);
    graph.get_mut(counter).copy_from(&[3]).unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(output)[..], [30]);
}

#[test]
fn a_condition_has_one_node() {
    let _context = init();
    let mut graph = GraphBuilder::new().unwrap();
    let condition = graph.condition(1).unwrap();
    let inner = graph.condition(1).unwrap();
    // A condition of the outer graph may be the condition of a node in a body.
    graph
        .if_nonzero(condition, |body| {
            body.if_nonzero(inner, |_| Ok(())).map(drop)
        })
        .unwrap();
    let again = graph.while_nonzero(condition, |_| Ok(()));
    assert_eq!(again.unwrap_err(), Error::UsedCondition);
    graph.instantiate().unwrap();

    let mut graph = GraphBuilder::new().unwrap();
    graph.condition(1).unwrap();
    assert_eq!(graph.instantiate().unwrap_err(), Error::UnusedCondition);

    // The driver does not accept child graphs with conditions.
    let mut child = GraphBuilder::new().unwrap();
    let condition = child.condition(1).unwrap();
    child.if_nonzero(condition, |_| Ok(())).unwrap();
    let refused = GraphBuilder::new().unwrap().child(child, &[]).unwrap_err();
    assert_eq!(refused.code(), Some(CudaError::NotSupported));
}

#[test]
fn conditions_choose_among_bodies() {
    let _context = init();
    let Some(module) = module() else { return };
    let (set, add) = (
        module.kernel::<choose>().unwrap(),
        module.kernel::<add_to>().unwrap(),
    );
    let stream = stream();
    for (value, expected) in [
        (0, [0, 7, 1]),
        (1, [1, 6, 10]),
        (2, [1, 6, 100]),
        (3, [1, 6, 0]),
    ] {
        let mut graph = GraphBuilder::new().unwrap();
        let results: [_; 3] =
            std::array::from_fn(|_| graph.buffer(DeviceBuffer::<u32>::zeroed(1).unwrap()));
        let conditions: [_; 3] = std::array::from_fn(|_| graph.condition(0).unwrap());
        for condition in conditions {
            graph
                .launch(&set, (1, 1), choose::args(value, condition))
                .unwrap();
        }
        let [first, second, third] = results;
        graph
            .if_nonzero(conditions[0], |body| {
                body.launch(&add, (1, 1), add_to::args(1, first.write()))
                    .map(drop)
            })
            .unwrap();
        graph
            .if_else(
                conditions[1],
                |body| {
                    body.launch(&add, (1, 1), add_to::args(6, second.write()))
                        .map(drop)
                },
                |body| {
                    body.launch(&add, (1, 1), add_to::args(7, second.write()))
                        .map(drop)
                },
            )
            .unwrap();
        graph
            .switch(conditions[2], 3, |body, case| {
                let args = add_to::args(10u32.pow(case), third.write());
                body.launch(&add, (1, 1), args).map(drop)
            })
            .unwrap();
        let mut graph = graph.instantiate().unwrap();
        graph.launch(&stream).unwrap();
        let found = results.map(|result| graph.get(result).as_host_vec().unwrap()[0]);
        assert_eq!(found, expected, "for {value}");
    }
}

#[test]
fn a_condition_of_another_graph_is_refused() {
    let _context = init();
    let Some(module) = module() else { return };
    let set = module.kernel::<choose>().unwrap();
    let (mut graph, mut other) = (GraphBuilder::new().unwrap(), GraphBuilder::new().unwrap());
    let condition = graph.condition(0).unwrap();
    let error = other
        .launch(&set, (1, 1), choose::args(1, condition))
        .failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
    let error = other.if_nonzero(condition, |_| Ok(())).failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
    let launched = set.launch(&stream(), (1, 1), choose::args(1, condition));
    let error = launched.failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
}

#[test]
fn a_body_that_fails_is_an_error_and_leaves_the_graph_usable() {
    let _context = init();
    let mut graph = GraphBuilder::new().unwrap();
    let buffer = graph.buffer(DeviceBuffer::from_slice(&[5u32]).unwrap());
    let condition = graph.condition(1).unwrap();
    let mut inside = None;
    let failed = graph.if_nonzero(condition, |body| {
        inside = Some(body.set_zero(buffer)?);
        Err(Error::AliasedBuffer)
    });
    assert_eq!(failed.failure(), Error::AliasedBuffer);
    // Nodes of a body cannot be ordered with nodes outside it.
    let error = graph.call(&[inside.unwrap()], || {}).failure();
    assert_eq!(error, Error::GraphOrder);
    let output = graph.buffer(LockedBuffer::<u32>::zeroed(1).unwrap());
    graph.copy(buffer, output).unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream()).unwrap();
    assert_eq!(graph.get(output)[..], [0]);
    assert_eq!(
        graph.set_enabled(inside.unwrap(), false).failure(),
        Error::GraphNode
    );
}

#[test]
fn a_graph_allocates_memory_of_its_own() {
    let _context = init();
    let stream = stream();
    let mut graph = GraphBuilder::new().unwrap();
    let input = graph.buffer(LockedBuffer::from_slice(&[1u32, 2, 3]).unwrap());
    let output = graph.buffer(LockedBuffer::<u32>::zeroed(3).unwrap());
    let zeros = graph.buffer(LockedBuffer::from_slice(&[9u32; 3]).unwrap());
    let between = graph.scratch::<u32>(3).unwrap();
    assert!(graph.scratch::<u32>(0).is_err());
    graph.copy(between, zeros).unwrap();
    graph.copy(input, between).unwrap();
    graph.copy(between, output).unwrap();
    let mut graph = graph.instantiate().unwrap();
    for round in 0..3 {
        graph.get_mut(input)[0] = round;
        graph.launch(&stream).unwrap();
        assert_eq!(graph.get(output)[..], [round, 2, 3]);
        assert_eq!(graph.get(zeros)[..], [0; 3]);
    }
    fn is_small<B>(_: cust::graph::GraphBuffer<B>) -> usize {
        size_of::<B>()
    }
    assert_eq!(is_small::<Scratch<u32>>(between), 0);
}

#[test]
fn graphs_record_and_wait_for_events() {
    let context = init();
    let stream = stream();
    let (start, end) = (
        Arc::new(Event::new(EventFlags::DEFAULT).unwrap()),
        Arc::new(Event::new(EventFlags::DEFAULT).unwrap()),
    );
    let before = Event::new(EventFlags::DISABLE_TIMING)
        .map(Arc::new)
        .unwrap();
    before.record(&stream).unwrap();
    let mut graph = GraphBuilder::new().unwrap();
    let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(1000).unwrap());
    let wait = graph.wait_event(&before, &[]).unwrap();
    let first = graph.record_event(&start, &[wait]).unwrap();
    let set = graph.set_zero(buffer).unwrap();
    graph.order(set, &[first]).unwrap();
    graph.record_event(&end, &[set]).unwrap();
    drop(before);
    let mut graph = graph.instantiate().unwrap();
    for _ in 0..2 {
        graph.launch(&stream).unwrap();
        end.synchronize().unwrap();
        assert!(end.elapsed_time_f32(&start).unwrap() >= 0.0);
    }
    drop(graph);
    context.synchronize().unwrap();
    assert_eq!(end.query().unwrap(), EventStatus::Ready);
}

#[test]
fn graphs_write_values() {
    let _context = init();
    let stream = stream();
    let mut graph = GraphBuilder::new().unwrap();
    let flags = graph.buffer(LockedBuffer::from_slice(&[1u32, 2, 3]).unwrap());
    let wide = graph.buffer(LockedBuffer::from_slice(&[1u64, 2]).unwrap());
    graph.write_value(flags, 1, 70).unwrap();
    graph.write_value(wide, 1, 1 << 40).unwrap();
    let error = graph.write_value(flags, 3, 0).failure();
    assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(flags)[..], [1, 70, 3]);
    assert_eq!(graph.get(wide)[..], [1, 1 << 40]);
}

#[test]
fn graphs_are_nodes_of_graphs() {
    let _context = init();
    let stream = stream();
    let mut inner = GraphBuilder::new().unwrap();
    let a = inner.buffer(LockedBuffer::from_slice(&[1u32, 2]).unwrap());
    let b = inner.buffer(DeviceBuffer::<u32>::zeroed(2).unwrap());
    let inside = inner.copy(a, b).unwrap();
    let mut middle = GraphBuilder::new().unwrap();
    let c = middle.buffer(LockedBuffer::<u32>::zeroed(2).unwrap());
    middle.child(inner, &[]).unwrap();
    middle.copy(b, c).unwrap();
    let mut outer = GraphBuilder::new().unwrap();
    let d = outer.buffer(LockedBuffer::<u32>::zeroed(2).unwrap());
    let child = outer.child(middle, &[]).unwrap();
    outer.copy(c, d).unwrap();
    assert!(outer.call(&[inside], || {}).is_err());
    outer.call(&[child], || {}).unwrap();
    let dot = std::env::temp_dir().join(format!("cust-graph-{}.dot", std::process::id()));
    outer.write_dot(&dot).unwrap();
    assert!(std::fs::read_to_string(&dot).unwrap().contains("digraph"));
    std::fs::remove_file(dot).unwrap();
    let mut graph = outer.instantiate().unwrap();
    for round in 0..3 {
        graph.get_mut(a)[1] = round;
        graph.launch(&stream).unwrap();
        assert_eq!(graph.get(d)[..], [1, round]);
    }
}

#[test]
fn a_graph_of_the_same_shape_replaces_another() {
    let _context = init();
    let stream = stream();
    let build = |value: u32, twice: bool| {
        let mut graph = GraphBuilder::new().unwrap();
        let from = graph.buffer(LockedBuffer::from_slice(&[value]).unwrap());
        let to = graph.buffer(LockedBuffer::<u32>::zeroed(1).unwrap());
        let node = graph.copy(from, to).unwrap();
        if twice {
            graph.copy(to, from).unwrap();
        }
        (graph, to, node)
    };
    let (graph, to, _) = build(1, false);
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to)[..], [1]);
    let (other, to, node) = build(2, false);
    graph.update(other).unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to)[..], [2]);
    assert_eq!(graph.set_enabled(node, false).failure(), Error::GraphNode);
    let (other, ..) = build(3, true);
    let error = graph.update(other).failure();
    let reason = GraphUpdateFailure::Topology;
    assert_eq!(error, Error::GraphUpdate { reason });
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to)[..], [2]);
}
