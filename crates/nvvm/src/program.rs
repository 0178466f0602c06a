//! A program, which compiles modules to PTX.

use crate::crash::with_crash_message;
use crate::{Error, Library, LogEntry, Options, Stage, Status, parse_log};
use libnvvm_sys::{nvvmProgram, nvvmResult};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

/// Modules that are compiled together.
pub struct Program {
    library: Library,
    raw: nvvmProgram,
    pub(crate) modules: Vec<String>,
    said_at_crash: String,
}

// SAFETY: libnvvm keeps no state that belongs to a thread; its manual allows one program per
// thread at a time, and every method that reaches the program takes `&mut self`.
unsafe impl Send for Program {}

impl Program {
    /// Creates an empty program.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if libnvvm cannot create a program.
    pub fn new(library: &Library) -> Result<Program, Error> {
        let mut raw: nvvmProgram = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { (library.functions().nvvmCreateProgram)(&mut raw) };
        match Status::from_result(result) {
            Ok(()) => Ok(Program {
                library: library.clone(),
                raw,
                modules: Vec::new(),
                said_at_crash: "error: libnvvm crashed\n".to_owned(),
            }),
            Err(status) => Err(Error::Compile {
                stage: Stage::Create,
                status,
                log: Vec::new(),
            }),
        }
    }

    /// Sets the message that is written to standard error if libnvvm crashes while it processes
    /// this program. A crash exits the process.
    pub fn say_at_crash(&mut self, text: String) {
        self.said_at_crash = text;
    }

    /// Adds a module as text or bitcode. Log entries contain the name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if libnvvm rejects the module.
    pub fn add_module(&mut self, name: &str, module: &[u8]) -> Result<(), Error> {
        let function = self.library.functions().nvvmAddModuleToProgram;
        self.add(function, name, module)
    }

    /// Adds libdevice, of which only the functions that the other modules call are loaded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if libnvvm rejects the bitcode.
    pub fn add_libdevice_lazily(&mut self, bitcode: &[u8]) -> Result<(), Error> {
        let function = self.library.functions().nvvmLazyAddModuleToProgram;
        self.add(function, "libdevice", bitcode)
    }

    fn add(
        &mut self,
        function: unsafe extern "C" fn(
            nvvmProgram,
            *const c_char,
            usize,
            *const c_char,
        ) -> nvvmResult,
        name: &str,
        module: &[u8],
    ) -> Result<(), Error> {
        let name = name.replace('\0', "");
        let c_name = CString::new(name.as_str()).unwrap_or_default();
        let (raw, text, length) = (self.raw, module.as_ptr().cast(), module.len());
        let result = with_crash_message(&self.said_at_crash, || {
            // SAFETY: the buffer and the name are valid for the call, which copies them.
            unsafe { function(raw, text, length, c_name.as_ptr()) }
        });
        self.modules.push(name.clone());
        Status::from_result(result).map_err(|status| self.failure(Stage::AddModule(name), status))
    }

    /// Verifies the program. libnvvm may reject or miscompile a program that does not verify, so
    /// verify first.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if the program is not valid, or [`Error::UnsupportedArch`].
    pub fn verify(&mut self, options: &Options) -> Result<(), Error> {
        self.run_verify(options)
            .map_err(|status| self.failure_with(options, Stage::Verify, status))
    }

    /// Compiles the program. Returns PTX without the C string's NUL.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if the compilation fails, or [`Error::UnsupportedArch`].
    pub fn compile(&mut self, options: &Options) -> Result<Vec<u8>, Error> {
        let functions = self.library.functions();
        let (compile, size, output) = (
            functions.nvvmCompileProgram,
            functions.nvvmGetCompiledResultSize,
            functions.nvvmGetCompiledResult,
        );
        self.with_args(&options.to_c_args(), compile)
            .map_err(|status| self.failure_with(options, Stage::Compile, status))?;
        self.read_text(size, output)
            .map_err(|status| self.failure(Stage::Output, status))
    }

    /// Compiles, and returns libnvvm's result with its output, or with its log on failure.
    #[cfg(target_os = "linux")]
    pub(crate) fn compile_raw(&mut self, options: &Options, traced: bool) -> (i32, Vec<u8>) {
        let functions = self.library.functions();
        let compile = functions.nvvmCompileProgram;
        let output = (
            functions.nvvmGetCompiledResultSize,
            functions.nvvmGetCompiledResult,
        );
        let log = (functions.nvvmGetProgramLogSize, functions.nvvmGetProgramLog);
        let mut args = options.to_c_args();
        if traced {
            args.extend([c"-Xopt".to_owned(), c"-debug-pass=Executions".to_owned()]);
        }
        let compiled = self.with_args(&args, compile);
        let result = compiled.and_then(|()| self.read_text(output.0, output.1));
        match result {
            Ok(text) => (libnvvm_sys::result::NVVM_SUCCESS, text),
            Err(status) => {
                let log = self.read_text(log.0, log.1).unwrap_or_default();
                (status.to_result(), log)
            }
        }
    }

    /// Returns the log of the last call; after a success, its warnings.
    pub fn log(&mut self) -> Vec<LogEntry> {
        let functions = self.library.functions();
        let (size, output) = (functions.nvvmGetProgramLogSize, functions.nvvmGetProgramLog);
        match self.read_text(size, output) {
            Ok(log) => parse_log(&String::from_utf8_lossy(&log), &self.modules),
            Err(_) => Vec::new(),
        }
    }

    pub(crate) fn run_verify(&mut self, options: &Options) -> Result<(), Status> {
        let verify = self.library.functions().nvvmVerifyProgram;
        self.with_args(&options.to_c_args(), verify)
    }

    pub(crate) fn failure(&mut self, stage: Stage, status: Status) -> Error {
        Error::Compile {
            stage,
            status,
            log: self.log(),
        }
    }

    /// Like [`Program::failure`], but reports an architecture that this libnvvm does not support.
    fn failure_with(&mut self, options: &Options, stage: Stage, status: Status) -> Error {
        let log = self.log();
        self.failure_of(options, stage, status, log)
    }

    /// Creates the error of a failed compilation from its log.
    #[cfg(target_os = "linux")]
    pub(crate) fn compile_failure(
        &mut self,
        options: &Options,
        status: Status,
        log: Vec<LogEntry>,
    ) -> Error {
        self.failure_of(options, Stage::Compile, status, log)
    }

    fn failure_of(
        &mut self,
        options: &Options,
        stage: Stage,
        status: Status,
        log: Vec<LogEntry>,
    ) -> Error {
        if status == Status::InvalidOption
            && let Ok(supported) = self.library.supported_archs()
            && !supported.contains(&options.arch)
        {
            return Error::UnsupportedArch {
                arch: options.arch,
                version: self.library.version(),
                supported: supported.to_vec(),
            };
        }
        Error::Compile { stage, status, log }
    }

    fn with_args(
        &mut self,
        args: &[CString],
        function: unsafe extern "C" fn(nvvmProgram, c_int, *const *const c_char) -> nvvmResult,
    ) -> Result<(), Status> {
        let pointers: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
        let call = Call {
            function,
            program: self.raw,
            args: &pointers,
            said_at_crash: &self.said_at_crash,
        };
        // LLVM's analyses recurse along chains of values and blocks: a few megabytes of stack are
        // too little for a large function. Untouched pages cost nothing.
        let result = std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("libnvvm".to_owned())
                .stack_size(STACK)
                .spawn_scoped(scope, move || call.run())
                .ok()
                .and_then(|thread| thread.join().ok())
        });
        // Without memory for such a stack, the caller's stack may suffice.
        Status::from_result(result.unwrap_or_else(|| call.run()))
    }

    fn read_text(
        &mut self,
        size: unsafe extern "C" fn(nvvmProgram, *mut usize) -> nvvmResult,
        output: unsafe extern "C" fn(nvvmProgram, *mut c_char) -> nvvmResult,
    ) -> Result<Vec<u8>, Status> {
        let mut length = 0;
        // SAFETY: the pointer is valid for the call.
        Status::from_result(unsafe { size(self.raw, &mut length) })?;
        let mut text = vec![0u8; length];
        if length > 0 {
            // SAFETY: the buffer has the size that the library reported.
            Status::from_result(unsafe { output(self.raw, text.as_mut_ptr().cast()) })?;
        }
        while text.last() == Some(&0) {
            text.pop();
        }
        Ok(text)
    }
}

/// The size in bytes of the stack that libnvvm runs on.
const STACK: usize = 1 << 30;

/// A call of a function of libnvvm that compiles or verifies.
#[derive(Clone, Copy)]
struct Call<'a> {
    function: unsafe extern "C" fn(nvvmProgram, c_int, *const *const c_char) -> nvvmResult,
    program: nvvmProgram,
    args: &'a [*const c_char],
    said_at_crash: &'a str,
}

// SAFETY: the pointers point to immutable strings, and one thread uses the program at a time: the
// caller waits.
unsafe impl Send for Call<'_> {}

impl Call<'_> {
    fn run(self) -> nvvmResult {
        with_crash_message(self.said_at_crash, || {
            // SAFETY: the pointers are valid for the call, and there are fewer than a hundred.
            unsafe { (self.function)(self.program, self.args.len() as c_int, self.args.as_ptr()) }
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `raw` is a program that was not destroyed yet. An error cannot be reported.
        let _ = unsafe { (self.library.functions().nvvmDestroyProgram)(&mut self.raw) };
    }
}
