//! `#[kernel]`: checks the function, and marks it for the backend.
//!
//! The macro checks what is visible in the tokens. The type checker determines whether a
//! parameter's type is `Copy`: the expansion contains a function that is never called and requires
//! it, with the parameter's span.

use crate::options::Options;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Error, FnArg, ItemFn, PatType, ReturnType, Signature, Type};

/// Returns the expansion; or the errors and the unchanged item, so that the missing function does
/// not cause further errors.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let error = Error::new(
                Span::call_site(),
                "`#[kernel]` can only be applied to a function with a body",
            );
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    if crate::associated::is_requested(&attribute) {
        return crate::associated::expand(attribute, function);
    }
    let only_single_source = crate::generic::refused_on_device(&function.sig);
    let written = crate::generic::normalize(&mut function.sig);
    let is_generic = crate::generic::is_generic(&function.sig);
    // The function with its `#[shared]` parameters, which the entry does not have.
    let mut body = function.clone();
    let shared = crate::shared::take(&mut function);
    let constants = crate::grid_constant::take(&mut function);
    let all = crate::shared::strip(&mut body);
    crate::grid_constant::take(&mut body);
    let checked = check(attribute, &function.sig, &shared).and_then(|mut options| {
        crate::grid_constant::check(&function, &constants)?;
        crate::generic::check_options(&function.sig, options.device_launch)?;
        check_name(&function)?;
        options
            .section
            .push_str(&crate::grid_constant::section(&constants));
        Ok(options)
    });
    match checked {
        Ok(options) => {
            let on_cpu = crate::on_cpu::expand(&function, &body, &all, &constants);
            let handle = crate::handle::expand(&function, &constants, &options, &on_cpu);
            let record = match is_generic {
                true => TokenStream::new(),
                false => crate::handle::record(&function, &constants, &options),
            };
            // A kernel without a handle cannot be launched, so it needs no record. The instances of
            // a generic kernel are known where they are launched.
            let host_record = match handle.is_empty() || is_generic {
                true => TokenStream::new(),
                false => crate::handle::host_record(&function, &constants, &options),
            };
            if is_generic && handle.is_empty() {
                let message = "a generic kernel cannot have the name of a primitive type or a parameter \
                               with a `cfg`";
                let error = Error::new_spanned(&function.sig.ident, message).into_compile_error();
                return quote!(#error #function);
            }
            let records = [record, host_record];
            let check = check_of_types(&function.sig, &written);
            let function = mark(
                &function,
                body,
                check,
                &options.section,
                &shared,
                &all,
                &records,
            );
            quote!(#function #handle #only_single_source)
        }
        Err(errors) => {
            let errors = errors.into_compile_error();
            quote!(#errors #only_single_source #function)
        }
    }
}

/// Returns the options, or all errors in the options and the signature.
pub(crate) fn check(
    attribute: TokenStream,
    signature: &Signature,
    shared: &[PatType],
) -> Result<Options, Error> {
    let mut errors = Errors(None);
    let options = crate::options::read(attribute).unwrap_or_else(|error| {
        errors.push(error);
        Options::default()
    });
    if let Err(error) = crate::shared::check(shared) {
        errors.push(error);
    }
    if !signature.ident.to_string().is_ascii() {
        errors.add(
            &signature.ident,
            "a kernel's name must be ASCII: the host launches it by this name, and names in PTX are ASCII",
        );
    }
    let name = crate::names::text(&signature.ident);
    if crate::names::is_reserved(&name) {
        errors.add(&signature.ident, crate::names::reserved(&name));
    }
    if let Some(asyncness) = &signature.asyncness {
        errors.add(
            asyncness,
            "a kernel cannot be `async`: nothing on the device would poll it",
        );
    }
    if let Some(constness) = &signature.constness {
        errors.add(
            constness,
            "a kernel cannot be `const`: only the host launches it",
        );
    }
    if let Some(abi) = &signature.abi {
        errors.add(abi, "a kernel cannot have an ABI: remove `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        errors.add(variadic, "a kernel cannot be variadic");
    }
    if let Some(macro_) = types_by_macro(signature) {
        errors.add(
            macro_,
            "a kernel's parameter types cannot contain macros: name the type with `type`",
        );
    }
    check_return(&signature.output, &mut errors);
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) if options.associated && is_value(receiver) => {}
            FnArg::Receiver(receiver) => errors.add(
                receiver,
                "a kernel cannot be a method: write a function that takes the value as a \
                 parameter; or, in an `impl` of a single-source program, `#[kernel(associated)]` and \
                 `self`",
            ),
            FnArg::Typed(parameter) => check_parameter(parameter, &mut errors),
        }
    }
    errors.0.map_or(Ok(options), Err)
}

/// Returns whether the receiver is `self` or `mut self`.
fn is_value(receiver: &syn::Receiver) -> bool {
    receiver.reference.is_none() && receiver.colon_token.is_none()
}

/// Returns the first type that is a macro call: its names cannot be distinguished from those of the
/// expansion.
fn types_by_macro(signature: &Signature) -> Option<&syn::TypeMacro> {
    struct Finder<'a>(Option<&'a syn::TypeMacro>);

    impl<'ast> Visit<'ast> for Finder<'ast> {
        fn visit_type_macro(&mut self, ty: &'ast syn::TypeMacro) {
            self.0.get_or_insert(ty);
        }
    }

    let mut finder = Finder(None);
    finder.visit_signature(signature);
    finder.0
}

/// Rejects a symbol name that differs from the function's name.
pub(crate) fn check_name(function: &ItemFn) -> Result<(), Error> {
    let name = function.sig.ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    for attribute in &function.attrs {
        if names_attribute(attribute, "track_caller") {
            let message = "a kernel cannot be `#[track_caller]`: the host passes no location";
            return Err(Error::new_spanned(attribute, message));
        }
        let symbol = crate::address_space::own_symbol(std::slice::from_ref(attribute), name);
        if symbol.is_some_and(|symbol| symbol != name) {
            let message =
                "the host launches a kernel by its function's name: remove this attribute";
            return Err(Error::new_spanned(attribute, message));
        }
    }
    Ok(())
}

/// Returns whether it is this attribute, possibly in a `cfg_attr`.
fn names_attribute(attribute: &Attribute, name: &str) -> bool {
    fn contains(tokens: TokenStream, name: &str) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Group(group) => contains(group.stream(), name),
            proc_macro2::TokenTree::Ident(ident) => ident == name,
            _ => false,
        })
    }
    let path = attribute.path();
    path.is_ident(name)
        || path.is_ident("cfg_attr")
            && contains(quote::ToTokens::to_token_stream(&attribute.meta), name)
}

fn check_return(output: &ReturnType, errors: &mut Errors) {
    let ReturnType::Type(_, ty) = output else {
        return;
    };
    let nothing = match without_parens(ty) {
        Type::Tuple(tuple) => tuple.elems.is_empty(),
        Type::Never(_) => true,
        _ => false,
    };
    if !nothing {
        errors.add(
            ty,
            "a kernel cannot return a value: it runs once per thread, and nothing receives \
             the values. Write results to a parameter: a `PerThread`, an `&Atomic` or a raw pointer",
        );
    }
}

fn check_parameter(parameter: &PatType, errors: &mut Errors) {
    // The macro cannot tell whether the parameter exists: the compiler evaluates the attribute
    // after the signature has been written.
    let hidden =
        |attr: &&Attribute| attr.path().is_ident("cfg_attr") && names_attribute(attr, "cfg");
    if let Some(attribute) = parameter.attrs.iter().find(hidden) {
        errors.add(
            attribute,
            "a kernel's parameter cannot have its `cfg` in a `cfg_attr`: write one `#[cfg(..)]`",
        );
    }
    let ty = without_parens(&parameter.ty);
    if let Type::Reference(reference) = ty
        && reference.mutability.is_some()
    {
        let pointee = without_parens(&reference.elem);
        let instead = match element_of(pointee) {
            Some(element) => {
                let element = tokens(element);
                format!(
                    "a `PerThread<{element}>`, which partitions its elements among the threads, or \
                     `*mut {element}` and a length"
                )
            }
            None => {
                let other = tokens(pointee);
                match &*other {
                    "u32" | "i32" | "u64" | "i64" | "f32" | "f64" => format!(
                        "an `&Atomic<{other}, Device>`, which all threads may modify, or `*mut {other}`"
                    ),
                    _ => format!("`*mut {other}`, and let one thread write"),
                }
            }
        };
        errors.add(
            ty,
            format!(
                "a kernel cannot take a `&mut`: all threads would share it, but a `&mut` \
                 must be exclusive. Take {instead}"
            ),
        );
    }
}

/// Returns `T` if the type is `[T]` or `Vec<T>`.
fn element_of(ty: &Type) -> Option<&Type> {
    let path = match ty {
        Type::Slice(slice) => return Some(&slice.elem),
        Type::Path(path) => path,
        _ => return None,
    };
    let last = path.path.segments.last()?;
    match &last.arguments {
        syn::PathArguments::AngleBracketed(arguments) if last.ident == "Vec" => {
            arguments.args.iter().find_map(|argument| match argument {
                syn::GenericArgument::Type(element) => Some(element),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Returns the function with the attributes that the backend looks for, and with the check of its
/// parameters' types as the first item of its body.
///
/// The entry is a separate function that no code can name, because only the entry may create the
/// handles of shared memory and assume the block's size. It calls the user's function. `body` is
/// the user's function with all parameters; `function` has the parameters of the entry.
fn mark(
    function: &ItemFn,
    mut body: ItemFn,
    check: TokenStream,
    section: &str,
    shared: &[PatType],
    is_shared: &[bool],
    [record, host_record]: &[TokenStream; 2],
) -> TokenStream {
    let size = crate::options::block_size(section);
    let is_entry = shared.is_empty() && size.is_none();
    let is_generic = crate::generic::is_generic(&function.sig);
    // In the host's session, the compiler finds the kernel of a record by the function that
    // contains the record.
    let own_record = is_entry.then_some(host_record);
    // The body is a separate block, so that its declarations do not affect the check. rustc warns
    // about unnecessary braces around a single expression, but not around two statements.
    if let [syn::Stmt::Expr(_, None)] = &body.block.stmts[..] {
        body.block.stmts.insert(
            0,
            syn::parse_quote!(
                const _: () = ();
            ),
        );
    }
    let block = &body.block;
    let mut new: syn::Block = syn::parse2(quote!({ #check #record #own_record #block }))
        .expect("statements in braces are a block");
    // The function keeps the user's span instead of the attribute's.
    new.brace_token = block.brace_token;
    *body.block = new;
    let (outer, inner): (Vec<Attribute>, Vec<Attribute>) = body
        .attrs
        .into_iter()
        .partition(|attr| matches!(attr.style, syn::AttrStyle::Outer));
    body.attrs = outer;
    // An inner attribute of the body applies to the function, so it can be moved outside.
    body.attrs.extend(inner.into_iter().map(|attr| Attribute {
        style: syn::AttrStyle::Outer,
        ..attr
    }));
    let dead = quote!(#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))]);
    if is_entry {
        // On the device, a generic kernel is an error already.
        let on_device = (!is_generic).then(|| {
            quote! {
                #[cfg_attr(
                    target_arch = "nvptx64",
                    unsafe(no_mangle),
                    unsafe(link_section = #section),
                    // A kernel may have the name of a C runtime function: it does not replace that
                    // function.
                    allow(
                        unknown_lints,
                        invalid_runtime_symbol_definitions,
                        suspicious_runtime_symbol_definitions
                    )
                )]
            }
        });
        let cfgs = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
        let instance = is_generic.then(|| {
            let instance = crate::generic::Handle::new(&function.sig).instance(&function.sig.ident);
            quote! {
                #(#cfgs)*
                #[cfg(not(target_arch = "nvptx64"))]
                ::cuda_std::single_source! {
                    #[allow(warnings, clippy::all, clippy::pedantic)]
                    const _: () = { #instance };
                }
            }
        });
        return quote! {
            #on_device
            #[cfg_attr(
                not(target_arch = "nvptx64"),
                ::cuda_std::single_source_attributes(nvvm::section(#section))
            )]
            #dead
            #body
            #instance
        };
    }
    let entry = entry(
        function,
        &body,
        section,
        size,
        shared,
        is_shared,
        host_record,
    );
    let name = body.sig.ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
    body.attrs.retain(|attr| {
        crate::address_space::own_symbol(std::slice::from_ref(attr), &name).is_none()
    });
    // The user's function is always inlined into the entry on the device; on the host, the author
    // decides.
    let inline: Vec<Attribute> = body
        .attrs
        .extract_if(.., |attr| attr.path().is_ident("inline"))
        .collect();
    let inlined = inline.is_empty().then(|| {
        quote! {
            #[cfg_attr(
                not(target_arch = "nvptx64"),
                ::cuda_std::single_source_attributes(inline(always))
            )]
        }
    });
    let inline = inline.iter().map(|attr| {
        let meta = &attr.meta;
        quote!(#[cfg_attr(not(target_arch = "nvptx64"), #meta)])
    });
    // The types of shared memory may be less visible than the kernel.
    let private =
        (!shared.is_empty()).then(|| quote!(#[allow(private_interfaces, private_bounds)]));
    quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #inlined
        #(#inline)*
        #dead
        #private
        #body
        #entry
    }
}

/// Returns the entry: a function in an unnamed block, so that no code can call it.
fn entry(
    function: &ItemFn,
    body: &ItemFn,
    section: &str,
    size: Option<[u32; 3]>,
    shared: &[PatType],
    is_shared: &[bool],
    host_record: &TokenStream,
) -> TokenStream {
    let name = &function.sig.ident;
    let text = name.to_string();
    let text = text.strip_prefix("r#").unwrap_or(&text);
    let body_name = quote::format_ident!("body", span = name.span());
    let cfgs = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs: Vec<_> = cfgs.collect();
    let Signature {
        unsafety,
        output,
        generics,
        ..
    } = &function.sig;
    let bounds = &generics.where_clause;
    let arguments: Vec<Argument> = body
        .sig
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(i, input)| Argument::new(i, input))
        .collect();
    let named = |shared: bool| {
        let all = arguments.iter().zip(is_shared);
        all.filter(move |&(_, &is_shared)| is_shared == shared)
            .map(|(argument, _)| argument)
    };
    let inputs = named(false).map(|Argument { name, cfgs, ty }| quote!(#(#cfgs)* #name: #ty));
    let size = size.map(|[x, y, z]| {
        quote! {
            // SAFETY: the driver launches the kernel only with blocks of this size.
            unsafe { ::cuda_std::kernel::assume_block_size(#x, #y, #z) };
        }
    });
    let handles = match shared.is_empty() {
        true => TokenStream::new(),
        false => {
            let names: Vec<&syn::Ident> = named(true).map(|argument| &argument.name).collect();
            crate::shared::handles(shared, &names, &function.sig)
        }
    };
    let handle = crate::generic::Handle::new(&function.sig);
    let callee = handle.function(&body_name);
    let calls = calls(&callee, &arguments, unsafety.is_some());
    let instance = handle.instance(name);
    let inputs: Vec<TokenStream> = inputs.collect();
    let device = quote! {
        #[unsafe(export_name = #text)]
        #[unsafe(link_section = #section)]
        #unsafety fn #name #generics (#(#inputs),*) #output #bounds {
            #size
            #handles
            #calls
        }
    };
    // The host never calls the entry, which exists for its MIR.
    let host = quote! {
        ::cuda_std::with_tool_attributes! {
            [#[nvvm::section(#section)]]
            #unsafety fn #name #generics (#(#inputs),*) #output #bounds {
                #host_record
                #size
                #handles
                #calls
            }
        }
        #instance
    };
    let items = |function: TokenStream| {
        quote! {
            #[allow(warnings, clippy::all, clippy::pedantic)]
            const _: () = {
                use #name as #body_name;
                // Messages refer to the entry by the kernel's name, so the entry shadows the kernel
                // in an unnamed block.
                const _: () = {
                    #function
                };
            };
        }
    };
    let host = items(host);
    // On the device, a generic kernel is an error already.
    let device = (!crate::generic::is_generic(&function.sig)).then(|| {
        let device = items(device);
        quote! {
            #(#cfgs)*
            #[cfg(target_arch = "nvptx64")]
            ::cuda_std::kernels_are_free_functions! {
                #device
            }
        }
    });
    quote! {
        #device
        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        ::cuda_std::single_source! {
            #host
        }
    }
}

/// A parameter of the user's function, with its name in the entry.
struct Argument<'a> {
    name: syn::Ident,
    cfgs: Vec<&'a Attribute>,
    ty: &'a Type,
}

impl<'a> Argument<'a> {
    fn new(index: usize, input: &'a FnArg) -> Option<Argument<'a>> {
        let FnArg::Typed(PatType { attrs, ty, .. }) = input else {
            return None;
        };
        Some(Argument {
            name: quote::format_ident!("argument_{index}"),
            // Only `cfg`s decide whether the parameter exists; other attributes are not allowed
            // here.
            cfgs: attrs.iter().filter(|a| a.path().is_ident("cfg")).collect(),
            ty,
        })
    }
}

/// Returns the entry's call of the user's function, once per combination of `cfg`s: a `cfg` can
/// precede a statement, but not an argument.
fn calls(function: &TokenStream, arguments: &[Argument<'_>], is_unsafe: bool) -> TokenStream {
    let conditional: Vec<&Argument<'_>> = arguments.iter().filter(|a| !a.cfgs.is_empty()).collect();
    let choices = 0..1u64 << conditional.len().min(16);
    choices
        .map(|choice| {
            let there = |argument: &Argument<'_>| {
                let number = conditional
                    .iter()
                    .position(|other| other.name == argument.name);
                number.is_none_or(|number| choice >> number & 1 == 1)
            };
            let conditions = conditional.iter().map(|argument| {
                let conditions = argument.cfgs.iter().map(|cfg| match &cfg.meta {
                    syn::Meta::List(list) => list.tokens.clone(),
                    other => quote!(#other),
                });
                let all = quote!(all(#(#conditions),*));
                match there(argument) {
                    true => quote!(#[cfg(#all)]),
                    false => quote!(#[cfg(not(#all))]),
                }
            });
            let names = arguments.iter().filter(|a| there(a)).map(|a| &a.name);
            let call = quote!(#function(#(#names),*));
            let call = match is_unsafe {
                // SAFETY (of the expansion): the launch guarantees what the function requires.
                true => quote!(unsafe { #call }),
                false => call,
            };
            match conditional.is_empty() {
                true => call,
                false => quote!(#(#conditions)* { #call }),
            }
        })
        .collect()
}

/// Returns the function that compiles only if a parameter's type is `Copy`.
pub fn check_of_type(signature: &Signature, ty: &Type) -> TokenStream {
    match crate::generic::is_type_parameter(signature, ty) {
        true => quote_spanned!(ty.span()=> ::cuda_std::kernel::copied_to_every_thread),
        false => quote_spanned!(ty.span()=> ::cuda_std::kernel::check_param),
    }
}

/// Returns an item that compiles only if all parameters' types are `Copy`. It has `impl` types as the
/// user wrote them, because an error names them.
fn check_of_types(signature: &Signature, written: &crate::generic::Written) -> TokenStream {
    let mut calls = Vec::new();
    let mut types = Vec::new();
    let mut impls = Vec::new();
    for (index, input) in signature.inputs.iter().enumerate() {
        let FnArg::Typed(PatType { attrs, ty, .. }) = input else {
            continue;
        };
        // Only `cfg`s decide whether the parameter exists; other attributes are not allowed here.
        let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let cfgs = quote!(#(#cfgs)*);
        match crate::generic::as_written(ty, written) {
            Some(ty) => {
                let name = quote::format_ident!("impl_{index}", span = ty.span());
                calls.push(
                    quote_spanned!(ty.span()=> #cfgs ::cuda_std::kernel::check_type_of(|| #name);),
                );
                impls.push(quote!(#cfgs #name: #ty));
            }
            None => {
                let check = check_of_type(signature, ty);
                calls.push(quote_spanned!(ty.span()=> #cfgs #check::<#ty>();));
                types.push(quote!(#cfgs #ty));
            }
        }
    }
    if calls.is_empty() {
        return TokenStream::new();
    }
    let mut generics = signature.generics.clone();
    generics.params = (generics.params.into_iter())
        .filter(|parameter| match parameter {
            syn::GenericParam::Type(ty) => written.iter().all(|(name, _)| *name != ty.ident),
            _ => true,
        })
        .collect();
    let (generics, _, bounds) = generics.split_for_impl();
    // The types are those of parameters, so that lifetime bounds are implied here, too. They are in
    // a function type, so that they may be unsized, which is reported at the declaration. `impl`
    // types are allowed only in the parameters themselves.
    quote! {
        const _: () = {
            #[allow(dead_code, clippy::all)]
            fn parameters_are_copied #generics (_: fn(#(#types),*), #(#impls),*) #bounds {
                #(#calls)*
            }
        };
    }
}

/// Errors collected so far.
struct Errors(Option<Error>);

impl Errors {
    fn add(&mut self, at: &impl quote::ToTokens, message: impl std::fmt::Display) {
        self.push(Error::new_spanned(at, message));
    }

    fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// Returns the type inside parentheses, which the user or a macro added.
pub(crate) fn without_parens(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => without_parens(&paren.elem),
        Type::Group(group) => without_parens(&group.elem),
        other => other,
    }
}

/// Returns the source text of a type.
fn tokens(ty: &Type) -> String {
    let text = quote!(#ty).to_string();
    let mut compact = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        let last = compact.chars().last().unwrap_or(' ');
        let between_words = last.is_alphanumeric() && (next.is_alphanumeric() || next == '\'');
        if c != ' ' || between_words || last == ',' || last == ';' {
            compact.push(c);
        }
    }
    compact
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod kernel_tests;
