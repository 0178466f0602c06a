//! Conditional nodes: bodies of a graph whose execution depends on a value that a kernel of the
//! graph sets, without involving the host.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cust_core::kernel::{Access, Argument, Launch, Pass, SetsCondition, bytes_of};
use cust_raw::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_CONDITIONAL_NODE_PARAMS, CUgraph,
    CUgraphConditionalNodeType, CUgraphNodeParams, CUgraphNodeType,
};

use super::{AnyBuffer, GraphBuilder, Node, Scope};
use crate::error::{CudaResult, Error};
use crate::kernel::InGraph;

/// A condition: a value that kernels of a graph set, and that a conditional node reads.
///
/// It is the argument for a kernel parameter of type `cuda_std::graph::Condition`.
#[derive(Debug, Clone, Copy)]
pub struct GraphCondition {
    id: InGraph,
    handle: u64,
}

/// A condition, as passed to a kernel.
pub struct PassedCondition(GraphCondition);

// SAFETY: the handle is the condition's, and only nodes of its graph can use it.
unsafe impl Pass for PassedCondition {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        launch.parameter(bytes_of(&self.0.handle), || "a condition of a graph");
        launch.resource(&self.0.id, Access::Write, 0, 0);
    }
}

// SAFETY: `SetsCondition` guarantees that the parameter is the handle.
#[diagnostic::do_not_recommend]
unsafe impl<P: SetsCondition> Argument<P> for GraphCondition {
    type Passed = PassedCondition;

    fn into_passed(self) -> PassedCondition {
        PassedCondition(self)
    }
}

impl GraphBuilder<'_> {
    /// Creates a condition for one conditional node.
    ///
    /// The condition belongs to the graph, or to the body of the conditional node that is being
    /// filled. Its value is `default` at the start of each execution of the graph or body. A graph
    /// cannot be instantiated if one of its conditions has no conditional node.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NotFound`](crate::error::CudaError::NotFound) for drivers before CUDA
    /// 12.3.
    pub fn condition(&mut self, default: u32) -> CudaResult<GraphCondition> {
        let api = self.context.bind()?;
        let mut handle = 0;
        // SAFETY: the graph is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver.cuGraphConditionalHandleCreate(
                &mut handle,
                self.scope.raw,
                self.context.as_raw(),
                default,
                CU_GRAPH_COND_ASSIGN_DEFAULT,
            )
        };
        api.check(result, || "creating a condition of a graph".to_owned())?;
        let id = InGraph {
            graph: self.id,
            buffer: self.buffers.len(),
        };
        self.unused_conditions.push(id.buffer);
        self.buffers.push(AnyBuffer {
            value: Box::new(()),
            tracker: None,
            address: 0,
            bytes: 0,
        });
        Ok(GraphCondition { id, handle })
    }

    /// Adds a conditional node that executes the nodes added by `body` if the condition is not
    /// zero.
    ///
    /// Only kernels added before the conditional node can set the condition in time. A body
    /// consists of kernels, copies, fills and nested conditional nodes.
    ///
    /// # Errors
    ///
    /// Returns the error of `body`, [`Error::UsedCondition`] if `condition` already has a node,
    /// [`Error::GraphExchanged`] if `body` replaces the graph, for example with [`std::mem::swap`],
    /// and the driver's error if it rejects the node.
    pub fn if_nonzero(
        &mut self,
        condition: GraphCondition,
        body: impl FnOnce(&mut Self) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let mut body = Some(body);
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
        self.conditional(condition, kind, 1, |graph, _| once(&mut body, graph))
    }

    /// Adds a conditional node that executes the nodes added by `then` if the condition is not
    /// zero, and otherwise those added by `otherwise`. Requires a driver of CUDA 12.8 or later.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GraphBuilder::if_nonzero`].
    pub fn if_else(
        &mut self,
        condition: GraphCondition,
        then: impl FnOnce(&mut Self) -> CudaResult<()>,
        otherwise: impl FnOnce(&mut Self) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let (mut then, mut otherwise) = (Some(then), Some(otherwise));
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
        self.conditional(condition, kind, 2, |graph, case| match case {
            0 => once(&mut then, graph),
            _ => once(&mut otherwise, graph),
        })
    }

    /// Adds a conditional node that executes the nodes added by `body` repeatedly while the
    /// condition is not zero. A kernel in the body must eventually set the condition to zero.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GraphBuilder::if_nonzero`].
    pub fn while_nonzero(
        &mut self,
        condition: GraphCondition,
        body: impl FnOnce(&mut Self) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let mut body = Some(body);
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE;
        self.conditional(condition, kind, 1, |graph, _| once(&mut body, graph))
    }

    /// Adds a conditional node with `cases` bodies: `body` is called with each number below
    /// `cases`, and the node executes the body whose number is the condition's value, if there is
    /// one. Requires a driver of CUDA 12.8 or later.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GraphBuilder::if_nonzero`].
    pub fn switch(
        &mut self,
        condition: GraphCondition,
        cases: u32,
        body: impl FnMut(&mut Self, u32) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH;
        self.conditional(condition, kind, cases, body)
    }

    fn conditional(
        &mut self,
        condition: GraphCondition,
        kind: CUgraphConditionalNodeType,
        count: u32,
        mut fill: impl FnMut(&mut Self, u32) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let doing = || "adding a conditional node to a graph".to_owned();
        let condition_number = self.own(condition.id, doing)?;
        let unused = &self.unused_conditions;
        let unused = unused.iter().position(|&it| it == condition_number);
        let unused = unused.ok_or(Error::UsedCondition)?;
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut raw: CUgraphNodeParams = unsafe { std::mem::zeroed() };
        raw.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        raw.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle: condition.handle,
            type_: kind,
            size: count,
            phGraph_out: std::ptr::null_mut(),
            ctx: self.context.as_raw(),
        };
        let uses = vec![(condition_number, Access::Write)];
        let node = self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call.
            unsafe {
                let (list, length) = (after.as_ptr(), after.len());
                let edges = std::ptr::null();
                api.driver
                    .cuGraphAddNode_v2(node, graph, list, edges, length, &mut raw)
            }
        })?;
        self.unused_conditions.swap_remove(unused);
        // SAFETY: the driver wrote the union's field that the type selects: a list of `count`
        // graphs, which lives as long as the node.
        let bodies: Vec<CUgraph> = unsafe {
            let list = raw.__bindgen_anon_1.conditional.phGraph_out;
            std::slice::from_raw_parts(list, count as usize).to_vec()
        };
        let (id, outer) = (self.id, self.scope);
        let first = self.nodes.len();
        let mut exchanged = false;
        let filled = catch_unwind(AssertUnwindSafe(|| {
            for (raw, case) in bodies.into_iter().zip(0..) {
                let number = self.scopes;
                self.scopes += 1;
                let scope = Scope { number, raw };
                self.scope = scope;
                let filled = catch_unwind(AssertUnwindSafe(|| fill(self, case)));
                exchanged = self.id != id || self.scope != scope;
                match filled {
                    Ok(_) if exchanged => return Err(Error::GraphExchanged),
                    Ok(filled) => filled?,
                    Err(panic) => resume_unwind(panic),
                }
            }
            Ok(())
        }));
        if exchanged {
            // `fill` replaced `self` by another graph, which this function must not change. The
            // original graph's scope stays inside the body, so it can no longer be instantiated.
            return match filled {
                Ok(result) => result.map(|()| node),
                Err(panic) => resume_unwind(panic),
            };
        }
        self.scope = outer;
        // Even if `fill` failed: the nodes that it added will be executed.
        let inside: Vec<_> = self.nodes[first..]
            .iter()
            .flat_map(|node| node.uses.iter().copied())
            .collect();
        let after = self.conflicts(&inside, outer, node.number);
        self.nodes[node.number].uses.extend(inside);
        self.order_numbers(node.number, &after)?;
        match filled {
            Ok(result) => result.map(|()| node),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Takes and calls a closure that can be called once.
fn once<G>(
    body: &mut Option<impl FnOnce(&mut G) -> CudaResult<()>>,
    graph: &mut G,
) -> CudaResult<()> {
    body.take().map_or(Ok(()), |body| body(graph))
}
