//! Names in expansions: user names that must not be captured, and the names of the package.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Generics, Ident, Lifetime, Type};

/// Returns a name starting with `prefix` that is not a prefix of any name in the tokens. Expansions
/// declare generic parameters and constants, which hygiene does not distinguish from the user's
/// names.
pub fn fresh(tokens: &impl ToTokens, prefix: &str) -> String {
    fn collect(tokens: TokenStream, names: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => collect(group.stream(), names),
                TokenTree::Ident(ident) => names.push(text(&ident)),
                _ => {}
            }
        }
    }
    let mut names = Vec::new();
    collect(tokens.to_token_stream(), &mut names);
    let mut fresh = prefix.to_owned();
    while names.iter().any(|name| name.starts_with(&fresh)) {
        fresh.push('_');
    }
    fresh
}

/// Returns the identifier without `r#`.
pub fn text(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

/// Returns whether the compiler, libdevice, the driver or the device runtime defines a symbol with
/// this name, so that kernels and statics cannot have it. The compiler's own names start with `__`.
pub fn is_reserved(name: &str) -> bool {
    const OF_F128: &[&str] = &[
        "ceil",
        "floor",
        "fma",
        "fmax",
        "fmaximum",
        "fmin",
        "fminimum",
        "fmod",
        "rint",
        "round",
        "roundeven",
        "sqrt",
        "trunc",
    ];
    let of_cuda = name
        .strip_prefix("cuda")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
    of_cuda
        || ["__", "llvm.", "nvvm."]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || matches!(
            name,
            "malloc" | "free" | "printf" | "vprintf" | "rust_eh_personality"
        )
        || name
            .strip_suffix("f128")
            .is_some_and(|rest| OF_F128.contains(&rest))
}

/// Returns the error message for a reserved name.
pub fn reserved(name: &str) -> String {
    format!(
        "the name `{name}` is reserved for the compiler and CUDA's device functions: choose another"
    )
}

/// Returns the package's name. Not `env!`, which a macro of the user's crate could shadow.
pub fn package() -> String {
    std::env::var("CARGO_PKG_NAME").unwrap_or_default()
}

/// Returns the package's name and version.
pub fn package_and_version() -> String {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    format!("{} {version}", package())
}

/// Returns the type without the lifetimes of the function, for an item outside the function.
pub fn without_lifetimes(ty: &Type, generics: &Generics) -> Type {
    struct Eraser<'a>(&'a Generics);

    impl VisitMut for Eraser<'_> {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if self.0.lifetimes().any(|own| own.lifetime == *lifetime) {
                *lifetime = Lifetime::new("'_", lifetime.span());
            }
            visit_mut::visit_lifetime_mut(self, lifetime);
        }
    }

    let mut ty = ty.clone();
    Eraser(generics).visit_type_mut(&mut ty);
    ty
}

#[cfg(test)]
mod tests {
    use super::{fresh, without_lifetimes};
    use quote::{ToTokens, quote};

    #[test]
    fn names_of_the_user_are_not_captured() {
        assert_eq!(fresh(&quote!(fn f(a: A)), "__A"), "__A");
        assert_eq!(fresh(&quote!(fn f(a: &[__A0])), "__A"), "__A_");
        assert_eq!(
            fresh(&quote!(fn f<'__k>(a: &'__k (__A0, __A_1))), "__A"),
            "__A__"
        );
        assert_eq!(fresh(&quote!(fn f<'__k>(a: &'__k u32)), "__k"), "__k_");
    }

    #[test]
    fn lifetimes_of_the_function_are_left_out() {
        let function: syn::ItemFn = syn::parse_quote!(
            fn f<'a>(x: Pair<'a, &'static u8, for<'b> fn(&'b u8)>) {}
        );
        let syn::FnArg::Typed(typed) = &function.sig.inputs[0] else {
            unreachable!()
        };
        let ty = without_lifetimes(&typed.ty, &function.sig.generics);
        let text = ty.to_token_stream().to_string().replace(' ', "");
        assert_eq!(text, "Pair<'_,&'staticu8,for<'b>fn(&'bu8)>");
    }
}
