//! Nodes that signal external semaphores and wait for them.

use std::sync::Arc;

use cust_raw::{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUgraph,
    CUgraphNode, CUresult,
};

use super::{GraphBuilder, Kept, Node};
use crate::backend::Api;
use crate::error::CudaResult;
use crate::external::ExternalSemaphore;

impl GraphBuilder<'_> {
    /// Adds a node that signals an external semaphore, after the nodes `after`. For a timeline
    /// semaphore, `value` is the new value.
    ///
    /// # Errors
    ///
    /// Returns [`WrongContext`](crate::error::Error::WrongContext) if the semaphore belongs to
    /// another context.
    pub fn signal_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        value: u64,
        after: &[Node],
    ) -> CudaResult<Node> {
        let doing = || "adding a signal of an external semaphore to a graph".to_owned();
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut signal: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { std::mem::zeroed() };
        signal.params.fence.value = value;
        let mut handle = semaphore.as_raw();
        let raw = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
            extSemArray: &mut handle,
            paramsArray: &signal,
            numExtSems: 1,
        };
        self.add_semaphore(semaphore, after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the semaphore alive.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddExternalSemaphoresSignalNode(node, graph, list, count, &raw)
            }
        })
    }

    /// Adds a node that waits for an external semaphore, after the nodes `after`. For a timeline
    /// semaphore, the node waits until the semaphore has at least the value `value`.
    ///
    /// Use [`GraphBuilder::order`] to make other nodes depend on the wait.
    ///
    /// # Errors
    ///
    /// Returns [`WrongContext`](crate::error::Error::WrongContext) if the semaphore belongs to
    /// another context.
    pub fn wait_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        value: u64,
        after: &[Node],
    ) -> CudaResult<Node> {
        let doing = || "adding a wait for an external semaphore to a graph".to_owned();
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut wait: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { std::mem::zeroed() };
        wait.params.fence.value = value;
        let mut handle = semaphore.as_raw();
        let raw = CUDA_EXT_SEM_WAIT_NODE_PARAMS {
            extSemArray: &mut handle,
            paramsArray: &wait,
            numExtSems: 1,
        };
        self.add_semaphore(semaphore, after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the semaphore alive.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddExternalSemaphoresWaitNode(node, graph, list, count, &raw)
            }
        })
    }

    /// Adds a node that uses a semaphore and keeps it alive.
    fn add_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        after: &[Node],
        doing: impl Fn() -> String + Copy,
        add: impl FnOnce(&Api, &mut CUgraphNode, CUgraph, &[CUgraphNode]) -> CUresult,
    ) -> CudaResult<Node> {
        self.context.require_same(semaphore.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let node = self.add_after(Vec::new(), after, doing, add)?;
        self.nodes[node.number].kept = Kept::Other(Box::new(Arc::clone(semaphore)));
        Ok(node)
    }
}
