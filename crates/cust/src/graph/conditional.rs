//! Conditional nodes: parts of a graph that are done if, while, or depending on what a kernel of
//! the graph says, without the host.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cust_core::kernel::{Access, Argument, Launch, Pass, SetsCondition, bytes_of};
use cust_raw::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_CONDITIONAL_NODE_PARAMS, CUgraph,
    CUgraphConditionalNodeType, CUgraphNodeParams, CUgraphNodeType,
};

use super::{AnyBuffer, GraphBuilder, Node, Scope};
use crate::error::{CudaResult, Error};
use crate::kernel::InGraph;

/// A number that kernels of a graph set and conditional nodes of it look at.
///
/// It is the argument for a kernel's parameter of type `cuda_std::graph::Condition`.
#[derive(Debug, Clone, Copy)]
pub struct GraphCondition {
    id: InGraph,
    handle: u64,
}

/// A condition, as a kernel gets it.
pub struct PassedCondition(GraphCondition);

// SAFETY: the handle is the condition's, and only nodes of its graph are made with it.
unsafe impl Pass for PassedCondition {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        launch.parameter(bytes_of(&self.0.handle), || "a condition of a graph");
        launch.resource(&self.0.id, Access::Write, 0, 0);
    }
}

// SAFETY: the parameter is the handle, as `SetsCondition` promises.
unsafe impl<P: SetsCondition> Argument<P> for GraphCondition {
    type Passed = PassedCondition;

    fn into_passed(self) -> PassedCondition {
        PassedCondition(self)
    }
}

impl GraphBuilder<'_> {
    /// Makes a condition for one conditional node that is added where this is called: to the graph,
    /// or to the body of the conditional node that is being filled. Its value is `default` when
    /// that begins. A graph cannot be instantiated while one of its conditions has no node.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotFound`](crate::error::CudaError::NotFound) from drivers before CUDA 12.3.
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

    /// Adds what `body` adds, to be done if the condition is not zero.
    ///
    /// The kernels that set the condition are those added before. Bodies are made of kernels,
    /// copies, settings, and further conditional nodes.
    ///
    /// # Errors
    ///
    /// Those of `body`, the driver's, [`Error::UsedCondition`] if `condition` has a node already,
    /// and [`Error::GraphExchanged`] if `body` moves the graph away, for instance with
    /// [`std::mem::swap`].
    pub fn if_nonzero(
        &mut self,
        condition: GraphCondition,
        body: impl FnOnce(&mut Self) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let mut body = Some(body);
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
        self.conditional(condition, kind, 1, |graph, _| once(&mut body, graph))
    }

    /// Adds what `then` adds, to be done if the condition is not zero, and what `otherwise` adds,
    /// to be done if it is. Drivers before CUDA 12.8 do not have it.
    ///
    /// # Errors
    ///
    /// As of [`GraphBuilder::if_nonzero`].
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

    /// Adds what `body` adds, to be done again and again while the condition is not zero. A kernel
    /// of the body has to set it to zero some time.
    ///
    /// # Errors
    ///
    /// As of [`GraphBuilder::if_nonzero`].
    pub fn while_nonzero(
        &mut self,
        condition: GraphCondition,
        body: impl FnOnce(&mut Self) -> CudaResult<()>,
    ) -> CudaResult<Node> {
        let mut body = Some(body);
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE;
        self.conditional(condition, kind, 1, |graph, _| once(&mut body, graph))
    }

    /// Adds what `body` adds for each number below `cases`, of which that one is done which the
    /// condition is, if any. Drivers before CUDA 12.8 do not have it.
    ///
    /// # Errors
    ///
    /// As of [`GraphBuilder::if_nonzero`].
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
        // SAFETY: zeros are valid for these plain numbers and pointers.
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
        // SAFETY: the driver wrote the part of the union that the type says, a list of as many
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
            // `fill` put another graph here, which this function must not touch. The right one,
            // wherever it is, stays inside the body, so it can no longer be instantiated.
            return match filled {
                Ok(result) => result.map(|()| node),
                Err(panic) => resume_unwind(panic),
            };
        }
        self.scope = outer;
        // Also if not all is there: what is there is done.
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

/// Calls what is there for one call.
fn once<G>(
    body: &mut Option<impl FnOnce(&mut G) -> CudaResult<()>>,
    graph: &mut G,
) -> CudaResult<()> {
    body.take().map_or(Ok(()), |body| body(graph))
}
