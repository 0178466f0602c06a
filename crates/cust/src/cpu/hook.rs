//! Panics in a kernel's threads: the panic hook records the message and location for the launch,
//! and prints nothing.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

use cust_core::cpu;

/// A panic's message and location.
#[derive(Default)]
pub(super) struct Panic {
    pub(super) message: String,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Panic {
    /// Creates a panic without a location, for when the program has replaced the hook.
    pub(super) fn of(payload: &(dyn Any + Send)) -> Panic {
        Panic {
            message: message(payload),
            ..Panic::default()
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (
        payload.downcast_ref::<&str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "Box<dyn Any>".to_owned(),
    }
}

/// Installs the hook, once per process. Panics outside kernels are passed to the previous hook.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !record(info) {
                before(info);
            }
        }));
    });
}

/// Records the first panic of a kernel's thread, and returns whether the hook has handled it. A
/// second panic, in a destructor, aborts the process.
fn record(info: &PanicHookInfo<'_>) -> bool {
    let recorded = cpu::with(|current| {
        let earlier = current.panic.take();
        let first = earlier.is_none();
        let (file, line, column) = (info.location()).map_or_else(Default::default, |location| {
            (
                location.file().to_owned(),
                location.line(),
                location.column(),
            )
        });
        current.panic.set(Some(Box::new(Panic {
            message: message(info.payload()),
            file,
            line,
            column,
        })));
        // From here on the thread may only exit: it no longer takes part in barriers and warp
        // operations.
        current.kill();
        first
    });
    recorded == Some(true)
}
