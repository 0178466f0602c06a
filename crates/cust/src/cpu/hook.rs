//! What a panic in a kernel's thread is: the process's panic hook records message and location for the
//! launch, and prints nothing.

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
    /// A panic of which the hook has recorded nothing, as the program has replaced the hook.
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

/// Installs the hook, once in the process. Panics elsewhere go to the hook that was there before.
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

/// Records the first panic of a kernel's thread; a second one, in a destructor, ends the process.
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
        // From here on it may only end: it has left what other threads wait for it in.
        current.dead.set(true);
        first
    });
    recorded == Some(true)
}
