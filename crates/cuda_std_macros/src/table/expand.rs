//! Expands a row: the device function, its host version, and the entry of `ROWS`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::row::{Body, Effect, Ret, Row, Scalar};
use super::template::{self, Direction};
use crate::ptx::Assembly;

/// The first line of the assembly, which the backend removes. It tells the backend that the table's
/// own test has assembled the row, so that ptxas need not check it. libnvvm may move and duplicate
/// `divergent` assembly; it otherwise assumes that the threads of a warp execute an assembly
/// together.
const TESTED: &str = "//@ tested\n";
const DIVERGENT: &str = "//@ tested divergent\n";

pub fn expand(rows: &[Row]) -> TokenStream {
    let mut functions = TokenStream::new();
    let mut entries = Vec::new();
    for row in rows {
        match expand_row(row) {
            Ok((function, entry)) => {
                functions.extend(function);
                entries.push(entry);
            }
            Err(error) => functions.extend(error.into_compile_error()),
        }
    }
    quote! {
        #functions

        /// The rows of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static ROWS: &[crate::intrinsics::Row] = &[#(#entries),*];
    }
}

fn expand_row(row: &Row) -> syn::Result<(TokenStream, TokenStream)> {
    let Row {
        docs,
        name,
        is_unsafe,
        ret_type,
        ..
    } = row;
    let immediates: Vec<TokenStream> = (row.immediates.iter())
        .map(|immediate| {
            let (name, ty) = (&immediate.name, &immediate.ty);
            quote!(const #name: #ty)
        })
        .collect();
    let generics = match immediates.is_empty() {
        true => TokenStream::new(),
        false => quote!(<#(#immediates),*>),
    };
    let args: Vec<TokenStream> = (row.args.iter())
        .map(|arg| {
            let (name, ty) = (&arg.name, &arg.ty);
            quote!(#name: #ty)
        })
        .collect();
    let names = row.args.iter().map(|arg| &arg.name);
    let ret = ret_type.as_ref().map(|ty| quote!(-> #ty));
    let unsafety = is_unsafe.then(|| quote!(unsafe));
    let further = further_docs(row);
    let checks = checks(row);
    let requirement = requirement(row);
    let body = match &row.body {
        Body::Ptx(ptx) => assembly(row, ptx)?,
        Body::Nvvm(intrinsic) => {
            let types = row.args.iter().map(|arg| (&arg.name, &arg.ty));
            let params = types.map(|(name, ty)| quote!(#name: #ty));
            let params: Vec<_> = params.collect();
            let names = row.args.iter().map(|arg| &arg.name);
            quote! {
                #[cfg(target_arch = "nvptx64")]
                unsafe extern "llvm-intrinsic" {
                    #[link_name = #intrinsic]
                    fn intrinsic(#(#params),*) #ret;
                }
                #[cfg(nvvm_single_source)]
                #[allow(unused_variables)]
                #[inline(never)]
                #[nvvm::foreign(#intrinsic)]
                unsafe fn intrinsic(#(#params),*) #ret {
                    crate::intrinsics::only_on_device(stringify!(#name))
                }
                // SAFETY: the row declares the intrinsic's signature.
                unsafe { intrinsic(#(#names),*) }
            }
        }
    };
    let on_cpu = row.cpu.as_ref().map(|form| {
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            if !crate::is_device() && crate::cpu::is_running() {
                use crate::cpu;
                #[allow(
                    unreachable_code,
                    unused_unsafe,
                    clippy::diverging_sub_expression,
                    clippy::useless_conversion
                )]
                // SAFETY: the caller upholds the row's contract.
                return unsafe { #form };
            }
        }
    });
    let must_use = (row.effect == Effect::Pure).then(|| quote!(#[must_use]));
    let function = quote! {
        #(#docs)*
        #(#[doc = #further])*
        #[inline(always)]
        #must_use
        #[allow(clippy::too_many_arguments)]
        #[cfg_attr(not(any(target_arch = "nvptx64", nvvm_single_source)), track_caller)]
        pub #unsafety fn #name #generics (#(#args),*) #ret {
            #checks
            #on_cpu
            #[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
            {
                #requirement
                #body
            }
            #[cfg(not(any(target_arch = "nvptx64", nvvm_single_source)))]
            {
                #(let _ = #names;)*
                crate::intrinsics::only_on_device(stringify!(#name))
            }
        }
    };
    Ok((function, entry(row)?))
}

fn further_docs(row: &Row) -> Vec<String> {
    let mut docs = vec![String::new()];
    docs.push(match &row.body {
        Body::Ptx(ptx) => format!("PTX: `{}`", ptx.trim()),
        Body::Nvvm(name) => format!("NVVM: `{name}`"),
    });
    if !row.requires.is_empty() {
        let names: Vec<String> = row
            .requires
            .iter()
            .map(|arch| format!("`{arch}`"))
            .collect();
        docs.extend([String::new(), format!("Requires {}.", names.join(" or "))]);
    }
    if row.is_unsafe {
        docs.extend(["", "# Safety", ""].map(str::to_owned));
        docs.push(
            "The requirements of the PTX ISA must hold, and pointers must be valid for the access."
                .to_owned(),
        );
    }
    docs
}

/// Rejects constants out of range at compile time.
fn checks(row: &Row) -> TokenStream {
    let ranged = row.immediates.iter().filter_map(|immediate| {
        let (first, last) = immediate.range.as_ref()?;
        let name = &immediate.name;
        let message = format!("`{name}` of `{}` must be from {first} to {last}", row.name);
        Some(quote! {
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
            const { assert!(#name >= #first && #name <= #last, #message) };
        })
    });
    quote!(#(#ranged)*)
}

/// Returns a call that the backend checks and removes.
fn requirement(row: &Row) -> TokenStream {
    if row.requires.is_empty() {
        return TokenStream::new();
    }
    let names: Vec<String> = row.requires.iter().map(ToString::to_string).collect();
    let symbol = format!("__cuda_std_requires_{}", names.join("_or_"));
    quote! {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            #[link_name = #symbol]
            safe fn requires();
        }
        #[cfg(nvvm_single_source)]
        #[inline(never)]
        #[nvvm::foreign(#symbol)]
        fn requires() {}
        requires();
    }
}

fn assembly(row: &Row, ptx: &str) -> syn::Result<TokenStream> {
    let assembly = template::assemble(row, ptx)?;
    let divergent = !row.convergent && !matches!(row.effect, Effect::Pure | Effect::Reads);
    let mark = if divergent { DIVERGENT } else { TESTED };
    let text = format!("{mark}{}", assembly.text);
    let mut variables = TokenStream::new();
    let mut operands = Vec::new();
    for register in &assembly.registers {
        let (name, value) = (&register.name, &register.value);
        let class = format_ident!("reg{}", register.bits);
        operands.push(match register.direction {
            Direction::In => quote!(#name = in(#class) #value),
            Direction::Out => {
                variables.extend(match output_type(row, &name.to_string()) {
                    Some(ty) => quote!(let #name: #ty;),
                    None => quote!(let #name;),
                });
                quote!(#name = out(#class) #value)
            }
            Direction::InOut => quote!(#name = inout(#class) #value),
        });
    }
    for immediate in &row.immediates {
        let name = &immediate.name;
        operands.push(quote!(#name = const #name));
    }
    let mut options = match row.effect {
        Effect::Pure => vec![quote!(pure), quote!(nomem)],
        Effect::Reads => vec![quote!(pure), quote!(readonly)],
        Effect::Volatile => vec![quote!(nomem)],
        Effect::Memory => Vec::new(),
    };
    options.push(quote!(nostack));
    if matches!(row.ret, Ret::Never) {
        options.push(quote!(noreturn));
    }
    let result = &assembly.result;
    let assembly = quote!(#text, #(#operands,)* options(#(#options),*));
    let mut elsewhere: Assembly = syn::parse2(assembly.clone())?;
    for immediate in &row.immediates {
        elsewhere.set_type(&immediate.name, &immediate.ty);
    }
    let elsewhere = elsewhere.call(&row.name.to_string())?;
    Ok(quote! {
        #variables
        // SAFETY: the row declares the effects, and the table's test assembles it.
        #[cfg(target_arch = "nvptx64")]
        unsafe { ::core::arch::asm!(#assembly) };
        // SAFETY: as above.
        #[cfg(nvvm_single_source)]
        unsafe { #elsewhere };
        #result
    })
}

/// Returns the type of an output's variable, if the result's type does not determine it.
fn output_type(row: &Row, register: &str) -> Option<TokenStream> {
    let shapes = match &row.ret {
        Ret::One(shape) => vec![("ret".to_owned(), shape)],
        Ret::Several(shapes) => (shapes.iter().enumerate())
            .map(|(i, shape)| (format!("ret_{i}"), shape))
            .collect(),
        _ => return None,
    };
    // `ret_1` must not match `ret_10`.
    let (_, shape) = shapes.iter().rfind(|(name, _)| {
        let rest = register.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })?;
    match shape.scalar {
        Scalar::Bool | Scalar::Int { bits: 8, .. } => Some(quote!(u32)),
        Scalar::Wide { .. } => Some(quote!(u64)),
        _ => None,
    }
}

/// Returns the entry of `ROWS` for the row.
fn entry(row: &Row) -> syn::Result<TokenStream> {
    let Row {
        doc,
        name,
        convergent,
        ..
    } = row;
    let requires = row.requires.iter().map(ToString::to_string);
    let effect = format_ident!("{}", format!("{:?}", row.effect));
    let (source, ptx, registers) = match &row.body {
        Body::Ptx(ptx) => {
            let assembly = template::assemble(row, ptx)?;
            let registers: Vec<TokenStream> = (assembly.registers.iter())
                .map(|register| {
                    let (name, bits) = (register.name.to_string(), register.bits);
                    let output = register.direction != Direction::In;
                    quote!(crate::intrinsics::Register { name: #name, bits: #bits, output: #output })
                })
                .collect();
            let text = &assembly.text;
            (ptx.trim().to_owned(), quote!(Some(#text)), registers)
        }
        Body::Nvvm(name) => (name.clone(), quote!(None), Vec::new()),
    };
    let immediates = row.immediates.iter().map(|immediate| {
        let name = immediate.name.to_string();
        let (first, last) = match &immediate.range {
            Some((first, last)) => (quote!(#first as i64), quote!(#last as i64)),
            None => (quote!(0), quote!(0)),
        };
        quote!((#name, #first, #last))
    });
    let signature = signature(row);
    Ok(quote! {
        crate::intrinsics::Row {
            name: stringify!(#name),
            module: module_path!(),
            signature: #signature,
            doc: #doc,
            source: #source,
            ptx: #ptx,
            registers: &[#(#registers),*],
            immediates: &[#(#immediates),*],
            requires: &[#(#requires),*],
            effect: crate::intrinsics::Effect::#effect,
            convergent: #convergent,
        }
    })
}

/// Returns the signature as source text.
fn signature(row: &Row) -> String {
    let consts: Vec<String> = (row.immediates.iter())
        .map(|immediate| format!("const {}: {}", immediate.name, written(&immediate.ty)))
        .collect();
    let consts = match consts.is_empty() {
        true => String::new(),
        false => format!("<{}>", consts.join(", ")),
    };
    let args: Vec<String> = row
        .args
        .iter()
        .map(|arg| format!("{}: {}", arg.name, written(&arg.ty)))
        .collect();
    let ret = row
        .ret_type
        .as_ref()
        .map_or(String::new(), |ty| format!(" -> {}", written(ty)));
    let unsafety = if row.is_unsafe { "unsafe " } else { "" };
    format!(
        "{unsafety}fn {}{consts}({}){ret}",
        row.name,
        args.join(", ")
    )
}

fn written(ty: &syn::Type) -> String {
    let text = quote!(#ty).to_string();
    let tight = [
        (" ;", ";"),
        ("* const", "*const"),
        ("* mut", "*mut"),
        ("& mut", "&mut"),
    ];
    let text = tight
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to));
    text.replace("[ ", "[")
        .replace(" ]", "]")
        .replace("( ", "(")
        .replace(" )", ")")
        .replace(" ,", ",")
}
