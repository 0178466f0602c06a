//! `ptx!`: inline PTX in the syntax of `asm!`. On nvptx64 it expands to `asm!`. Elsewhere it
//! expands to a call of a generic function that represents the assembly: in a single-source
//! session, the backend generates the assembly from the function's attribute; on the host, the
//! function panics.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprCast, Ident, LitInt, LitStr, Result, Token, Type};

/// The name of the function, which no operand's code uses.
const NAME: &str = "__cuda_std_assembly";

/// The parsed assembly.
pub struct Assembly {
    template: Vec<LitStr>,
    operands: Vec<Operand>,
    options: Vec<Ident>,
}

struct Operand {
    name: Option<Ident>,
    kind: Kind,
}

enum Kind {
    In {
        bits: u32,
        value: Expr,
    },
    /// `place` is `None` for `_`.
    Out {
        bits: u32,
        place: Option<Expr>,
    },
    InOut {
        bits: u32,
        value: Expr,
        place: Option<Expr>,
    },
    Const {
        value: Expr,
        ty: Type,
    },
}

/// Returns the expansion, or the first error.
pub fn expand(input: TokenStream) -> TokenStream {
    let elsewhere = syn::parse2::<Assembly>(input.clone())
        .and_then(|assembly| assembly.call("ptx!"))
        .unwrap_or_else(Error::into_compile_error);
    quote! {{
        #[cfg(target_arch = "nvptx64")]
        {
            ::cuda_std::assembly::asm!(#input)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            #elsewhere
        }
    }}
}

impl Assembly {
    /// Sets the type of a constant, which the syntax of `asm!` does not specify.
    pub fn set_type(&mut self, name: &Ident, of: &Type) {
        for operand in &mut self.operands {
            if let Operand {
                name: Some(known),
                kind: Kind::Const { ty, .. },
            } = operand
                && known == name
            {
                *ty = of.clone();
            }
        }
    }

    /// Returns the function that represents the assembly, and its call. On the host it panics with
    /// `name`.
    pub fn call(&self, name: &str) -> Result<TokenStream> {
        let template = self.positional()?;
        let function = Ident::new(NAME, Span::mixed_site());
        let mut texts = Vec::new();
        let (mut types, mut consts) = (Vec::new(), Vec::new());
        let (mut type_arguments, mut const_arguments) = (Vec::new(), Vec::new());
        let (mut parameters, mut values) = (Vec::new(), Vec::new());
        let (mut results, mut places) = (Vec::new(), Vec::new());
        for (i, operand) in self.operands.iter().enumerate() {
            let (input, output) = (format_ident!("T{i}"), format_ident!("R{i}"));
            let bound = |ty: &Ident, bits: u32, span: Span| quote_spanned!(span=> #ty: ::cuda_std::assembly::Operand<#bits>);
            match &operand.kind {
                Kind::In { bits, value } => {
                    texts.push(format!("in reg{bits}"));
                    types.push(bound(&input, *bits, value.span()));
                    type_arguments.push(quote!(_));
                    parameters.push(quote!(_: #input));
                    values.push(value);
                }
                Kind::Out { bits, place } => {
                    texts.push(format!("out reg{bits}"));
                    let span = place.as_ref().map_or(Span::call_site(), Spanned::span);
                    types.push(bound(&output, *bits, span));
                    type_arguments.push(result_type(place.as_ref(), *bits));
                    results.push(output);
                    places.push(place.as_ref().map_or(quote!(_), |place| quote!(#place)));
                }
                Kind::InOut { bits, value, place } => {
                    texts.push(format!("inout reg{bits}"));
                    types.push(bound(&input, *bits, value.span()));
                    types.push(bound(&output, *bits, place.span()));
                    type_arguments.push(quote!(_));
                    type_arguments.push(result_type(place.as_ref(), *bits));
                    parameters.push(quote!(_: #input));
                    values.push(value);
                    results.push(output);
                    places.push(place.as_ref().map_or(quote!(_), |place| quote!(#place)));
                }
                Kind::Const { value, ty } => {
                    texts.push("const".to_owned());
                    let constant = format_ident!("C{i}");
                    consts.push(quote!(const #constant: #ty));
                    const_arguments.push(quote!({ #value }));
                }
            }
        }
        let never = self.options.iter().any(|option| option == "noreturn");
        if never && let Some(place) = places.first() {
            return Err(Error::new_spanned(
                place,
                "assembly with `noreturn` cannot have outputs",
            ));
        }
        let (ret, assignment) = match (&*results, &*places) {
            _ if never => (quote!(!), TokenStream::new()),
            ([], _) => (quote!(()), TokenStream::new()),
            ([result], [place]) => (quote!(#result), quote!(#place =)),
            _ => (quote!((#(#results),*)), quote!((#(#places),*) =)),
        };
        let end = match never || results.is_empty() {
            true => TokenStream::new(),
            false => quote!(;),
        };
        let operands = texts.join(",");
        let options: Vec<String> = self.options.iter().map(ToString::to_string).collect();
        let options = options.join(",");
        Ok(quote! {
            ::cuda_std::with_tool_attributes! {
                [#[nvvm::asm(#template, #operands, #options)]]
                #[inline(never)]
                #[allow(clippy::too_many_arguments, clippy::extra_unused_type_parameters)]
                unsafe fn #function<#(#types,)* #(#consts),*>(#(#parameters),*) -> #ret {
                    ::cuda_std::session::only_on_device(#name)
                }
            }
            #assignment #function::<#(#type_arguments,)* #(#const_arguments),*>(#(#values),*) #end
        })
    }

    /// Returns the template as one string, with all operands numbered.
    fn positional(&self) -> Result<String> {
        let mut text = String::new();
        let mut next = 0;
        for (i, line) in self.template.iter().enumerate() {
            if i > 0 {
                text.push('\n');
            }
            let mistake = |message: String| Error::new_spanned(line, message);
            let line_text = line.value();
            let mut rest = &*line_text;
            while let Some(at) = rest.find(['{', '}']) {
                let (plain, from) = rest.split_at(at);
                text.push_str(plain);
                if from.starts_with("{{") || from.starts_with("}}") {
                    text.push_str(&from[..2]);
                    rest = &from[2..];
                    continue;
                }
                let (name, after) = from
                    .strip_prefix('{')
                    .and_then(|inner| inner.split_once('}'))
                    .ok_or_else(|| mistake("unescaped brace: write it twice".to_owned()))?;
                let name = name.trim();
                let index = if name.is_empty() {
                    next += 1;
                    next - 1
                } else if let Ok(index) = name.parse::<usize>() {
                    index
                } else {
                    let is_it = |operand: &Operand| {
                        operand.name.as_ref().is_some_and(|n| n.unraw() == name)
                    };
                    let found = self.operands.iter().position(is_it);
                    found.ok_or_else(|| mistake(format!("unknown operand `{name}`")))?
                };
                if index >= self.operands.len() {
                    return Err(mistake(format!("unknown operand {index}")));
                }
                text.push_str(&format!("{{{index}}}"));
                rest = after;
            }
            text.push_str(rest);
        }
        Ok(text)
    }
}

/// Returns the type of an output, if its place determines it.
fn result_type(place: Option<&Expr>, bits: u32) -> TokenStream {
    match place {
        Some(_) => quote!(_),
        None => format_ident!("u{bits}").into_token_stream(),
    }
}

impl Parse for Assembly {
    fn parse(input: ParseStream<'_>) -> Result<Assembly> {
        let mut assembly = Assembly {
            template: Vec::new(),
            operands: Vec::new(),
            options: Vec::new(),
        };
        while !input.is_empty() {
            if input.fork().parse::<LitStr>().is_ok() {
                if !assembly.operands.is_empty() || !assembly.options.is_empty() {
                    return Err(input.error("the template must precede the operands"));
                }
                assembly.template.push(input.parse()?);
            } else if assembly.template.is_empty() {
                return Err(input.error("expected the template, as string literals"));
            } else {
                assembly.parse_operand(input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if assembly.template.is_empty() {
            return Err(input.error("expected the template, as string literals"));
        }
        Ok(assembly)
    }
}

impl Assembly {
    fn parse_operand(&mut self, input: ParseStream<'_>) -> Result<()> {
        let fork = input.fork();
        let mut name = None;
        if let (Ok(ident), Ok(_)) = (fork.call(Ident::parse_any), fork.parse::<Token![=]>()) {
            name = Some(ident);
            input.advance_to(&fork);
        }
        let word = input.call(Ident::parse_any)?;
        let kind = match word.to_string().as_str() {
            "options" if name.is_none() => {
                let content;
                syn::parenthesized!(content in input);
                let options = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
                self.options.extend(options);
                return Ok(());
            }
            "const" => constant(input.parse()?)?,
            "in" => {
                let bits = class(input)?;
                let value = input.parse()?;
                Kind::In { bits, value }
            }
            "out" | "lateout" => {
                let bits = class(input)?;
                let place = place(input)?;
                Kind::Out { bits, place }
            }
            "inout" | "inlateout" => {
                let bits = class(input)?;
                let value: Expr = input.parse()?;
                let place = match input.parse::<Option<Token![=>]>>()? {
                    Some(_) => place(input)?,
                    None => Some(value.clone()),
                };
                Kind::InOut { bits, value, place }
            }
            _ => {
                return Err(Error::new_spanned(
                    word,
                    "expected an operand (`in(..)`, `out(..)`, `inout(..)` or `const ..`) or `options(..)`",
                ));
            }
        };
        self.operands.push(Operand { name, kind });
        Ok(())
    }
}

/// Parses a register class in parentheses.
fn class(input: ParseStream<'_>) -> Result<u32> {
    let content;
    syn::parenthesized!(content in input);
    let class: Ident = content.parse()?;
    match class.to_string().as_str() {
        "reg16" => Ok(16),
        "reg32" => Ok(32),
        "reg64" => Ok(64),
        _ => Err(Error::new_spanned(
            class,
            "expected a register class: `reg16`, `reg32` or `reg64`",
        )),
    }
}

/// Parses the place of an output: `None` for `_`.
fn place(input: ParseStream<'_>) -> Result<Option<Expr>> {
    match input.parse::<Option<Token![_]>>()? {
        Some(_) => Ok(None),
        None => input.parse().map(Some),
    }
}

/// Creates a constant: a `u32`, or of the type of its suffix or cast.
fn constant(value: Expr) -> Result<Kind> {
    if let Expr::Cast(ExprCast { ty, .. }) = &value {
        let ty = (**ty).clone();
        return Ok(Kind::Const { value, ty });
    }
    let suffix = |expr: &Expr| -> Option<String> {
        let literal = syn::parse2::<LitInt>(expr.to_token_stream()).ok()?;
        Some(literal.suffix().to_owned()).filter(|suffix| !suffix.is_empty())
    };
    let ty = match &value {
        Expr::Unary(unary) => suffix(&unary.expr).unwrap_or("i32".to_owned()),
        other => suffix(other).unwrap_or("u32".to_owned()),
    };
    let ty = syn::parse_str(&ty)?;
    Ok(Kind::Const { value, ty })
}

#[cfg(test)]
mod tests {
    use super::expand;
    use quote::quote;

    #[test]
    fn operands_become_parameters_and_results() {
        let text = expand(quote! {
            "mov {b}, {};", "add {{{1}, {a}}}, {n};",
            in(reg32) x, inout(reg64) y => z, in("reg32") 1
        });
        assert!(text.to_string().contains("compile_error"), "{text}");
        let text = expand(quote! {
            "mov {b}, {};", "add {{{1}, {n}}}, {n};",
            in(reg32) x, inout(reg64) y => z, b = out(reg16) *w, _c = out(reg32) _, n = const 3u8,
            options(pure, nomem), options(nostack)
        });
        let text = text.to_string();
        for part in [
            r#"asm ! ("mov {b}, {};" , "add {{{1}, {n}}}, {n};""#,
            r#"nvvm :: asm ("mov {2}, {0};\nadd {{{1}, {4}}}, {4};""#,
            r#""in reg32,inout reg64,out reg16,out reg32,const""#,
            r#""pure,nomem,nostack""#,
            "const C4 : u8",
            "(_ : T0 , _ : T1) -> (R1 , R2 , R3)",
            "(z , * w , _) = __cuda_std_assembly :: < _ , _ , _ , _ , u32 , { 3u8 } > (x , y)",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (assembly, message) in [
            (quote!(), "expected the template"),
            (quote!(in(reg32) x), "expected the template"),
            (quote!("{a}"), "unknown operand `a`"),
            (quote!("{}"), "unknown operand 0"),
            (quote!("x }"), "unescaped brace"),
            (quote!("{}", in(reg8) x), "`reg16`, `reg32` or `reg64`"),
            (quote!("{}", sym x), "expected an operand"),
            (quote!("{}", in(reg32) x, "{}"), "must precede the operands"),
            (
                quote!("{}", out(reg32) x, options(noreturn)),
                "cannot have outputs",
            ),
        ] {
            let text = expand(assembly).to_string();
            assert!(text.contains("compile_error"), "no error in: {text}");
            assert!(text.contains(message), "`{message}` is not in: {text}");
        }
    }
}
