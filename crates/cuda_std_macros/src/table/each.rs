//! `for NAME in [a, b] { rows }`: repeats rows, substituting NAME.
//!
//! NAME is substituted where it is a whole word between underscores in an identifier
//! (`redux_OP_u32`; an empty substitution also removes the underscore), and where it is in angle
//! brackets in a string (`"redux.<OP>.u32"`). Several names are substituted in parallel:
//! `for (TY, RUST) in [(u32, u32), (s32, i32)]`.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use syn::{Error, Result};

/// A name and its substitution.
type Binding = (String, TokenStream);

/// Returns the tokens with all repetitions expanded, including nested ones.
pub fn unfold(input: TokenStream) -> Result<TokenStream> {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let mut output = TokenStream::new();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((names, list, body)) = repetition(&tokens[at..]) {
            for item in split(list.stream()) {
                let bindings = bind(&names, item)?;
                output.extend(unfold(replace(body.stream(), &bindings))?);
            }
            at += 5;
            continue;
        }
        output.extend([match &tokens[at] {
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), unfold(group.stream())?);
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            other => other.clone(),
        }]);
        at += 1;
    }
    Ok(output)
}

/// Returns the parts of a repetition, if the tokens start with one. Its names are in capitals,
/// which distinguishes it from a loop.
fn repetition(tokens: &[TokenTree]) -> Option<(Vec<String>, Group, Group)> {
    let [
        TokenTree::Ident(word),
        names_token,
        TokenTree::Ident(in_word),
        list,
        body,
        ..,
    ] = tokens
    else {
        return None;
    };
    if word != "for" || in_word != "in" {
        return None;
    }
    let names = names(names_token)?;
    let capitals = |name: &String| {
        let mut letters = name.chars();
        letters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let list = group(list, Delimiter::Bracket)?;
    let body = group(body, Delimiter::Brace)?;
    names.iter().all(capitals).then_some((names, list, body))
}

fn group(token: &TokenTree, delimiter: Delimiter) -> Option<Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group.clone()),
        _ => None,
    }
}

/// Parses one name, or several in parentheses.
fn names(token: &TokenTree) -> Option<Vec<String>> {
    match token {
        TokenTree::Ident(ident) => Some(vec![ident.to_string()]),
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            let names = split(group.stream());
            Some(names.iter().map(ToString::to_string).collect())
        }
        _ => None,
    }
}

/// Splits tokens at commas.
fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let mut part = TokenStream::new();
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                parts.push(std::mem::take(&mut part));
            }
            _ => part.extend([token]),
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn bind(names: &[String], item: TokenStream) -> Result<Vec<Binding>> {
    if let [name] = names {
        return Ok(vec![(name.clone(), item)]);
    }
    let mistake = || Error::new_spanned(&item, format!("{} values are needed", names.len()));
    let values = match item.clone().into_iter().next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            split(group.stream())
        }
        _ => return Err(mistake()),
    };
    if values.len() != names.len() {
        return Err(mistake());
    }
    Ok(names.iter().cloned().zip(values).collect())
}

fn replace(tokens: TokenStream, bindings: &[Binding]) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Group(group) => {
                let inner = replace(group.stream(), bindings);
                let mut new = Group::new(group.delimiter(), inner);
                new.set_span(group.span());
                TokenStream::from(TokenTree::Group(new))
            }
            TokenTree::Ident(ident) => in_ident(&ident, bindings),
            TokenTree::Literal(literal) => in_literal(literal, bindings),
            other => other.into(),
        })
        .collect()
}

fn in_ident(ident: &Ident, bindings: &[Binding]) -> TokenStream {
    let text = ident.to_string();
    if let Some((_, value)) = bindings.iter().find(|(name, _)| *name == text) {
        return value.clone();
    }
    let words: Vec<String> = text
        .split('_')
        .map(
            |word| match bindings.iter().find(|(name, _)| name == word) {
                Some((_, value)) => plain(value),
                None => word.to_owned(),
            },
        )
        .zip(text.split('_'))
        // An empty substitution also removes its underscore.
        .filter(|(new, old)| !new.is_empty() || old.is_empty())
        .map(|(new, _)| new)
        .collect();
    let new = words.join("_");
    TokenTree::Ident(if new == text {
        ident.clone()
    } else {
        Ident::new(&new, ident.span())
    })
    .into()
}

fn in_literal(literal: Literal, bindings: &[Binding]) -> TokenStream {
    let text = literal.to_string();
    // Only strings contain quotes, including doc comments.
    let mut new = text.clone();
    if text.contains('"') {
        for (name, value) in bindings {
            new = new.replace(&format!("<{name}>"), &plain(value));
        }
    }
    if new == text {
        return TokenTree::Literal(literal).into();
    }
    let parsed: Literal = new
        .parse()
        .expect("a string literal with a replaced word is a string literal");
    TokenTree::Literal(parsed).into()
}

/// Returns a value as text: the content of a string, or other tokens without spaces.
fn plain(value: &TokenStream) -> String {
    let text = value.to_string();
    match syn::parse_str::<syn::LitStr>(&text) {
        Ok(text) => text.value(),
        Err(_) => text.replace(' ', ""),
    }
}
