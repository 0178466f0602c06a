//! Tasks that wait for the driver: the state that a future shares with the driver's callback.

use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

use cust_raw::CUresult;

use crate::host_call;

/// The state shared by a future and the driver's callback.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    /// The driver's result code, once the work is complete.
    pub(crate) result: Option<CUresult>,
    pub(crate) waker: Option<Waker>,
}

impl Waiting {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stores the result, unless one is stored already, and wakes the task.
    pub(crate) fn finish(&self, result: CUresult) {
        let waker = {
            let mut state = self.lock();
            state.result.get_or_insert(result);
            state.waker.take()
        };
        // `wake` runs code of the executor, which may call the driver or drop buffers: not allowed
        // on the driver's callback thread.
        if let Some(waker) = waker {
            host_call::call(move || waker.wake());
        }
    }
}
