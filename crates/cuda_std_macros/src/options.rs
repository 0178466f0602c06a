//! The arguments of `#[kernel]`: properties of a kernel for the assembler and the launch.
//!
//! They become part of the name of the section that marks a kernel, which the backend reads, except
//! `device_launch`, which only the macro uses.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitInt, Result, Token};

/// An option: its syntax, the number of its arguments, and their maximum.
struct Kind {
    name: &'static str,
    usage: &'static str,
    counts: std::ops::RangeInclusive<usize>,
    largest: u64,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "launch_bounds",
        usage: "`launch_bounds(MAX_THREADS)` or `launch_bounds(MAX_THREADS, MIN_BLOCKS)`",
        counts: 1..=2,
        largest: 1024,
    },
    Kind {
        name: "block_size",
        usage: "`block_size(X)`, `block_size(X, Y)` or `block_size(X, Y, Z)`",
        counts: 1..=3,
        largest: 1024,
    },
    Kind {
        name: "cluster_dims",
        usage: "`cluster_dims(X)`, `cluster_dims(X, Y)` or `cluster_dims(X, Y, Z)`",
        counts: 1..=3,
        largest: 16,
    },
    Kind {
        name: "min_blocks",
        usage: "`min_blocks = N`",
        counts: 1..=1,
        largest: 32,
    },
    Kind {
        name: "max_registers",
        usage: "`max_registers = N`",
        counts: 1..=1,
        largest: 255,
    },
    Kind {
        name: "stack_size",
        usage: "`stack_size = BYTES`",
        counts: 1..=1,
        largest: 512 << 10,
    },
    Kind {
        name: "max_blocks_per_cluster",
        usage: "`max_blocks_per_cluster = N`",
        counts: 1..=1,
        largest: 16,
    },
];

/// The flags: options without arguments.
const DEVICE_LAUNCH: &str = "device_launch";
const ASSOCIATED: &str = "associated";

/// The option that makes costs of a kernel errors, and these costs.
const DENY: &str = "deny";
const DENIED: [&str; 3] = ["checks_in_loops", "local_memory", "spills"];

/// The parsed options.
#[derive(Debug, Default)]
pub struct Options {
    /// The name of the section: `nvvm.kernel`, followed by the options.
    pub section: String,
    /// Whether other kernels can launch this one.
    pub device_launch: bool,
    /// Whether the kernel is an associated function.
    pub associated: bool,
}

/// Parses the options.
pub fn read(attribute: TokenStream) -> Result<Options> {
    let parser = |input: ParseStream<'_>| {
        let mut text = String::from("nvvm.kernel");
        let (mut device_launch, mut associated) = (false, false);
        let mut seen: Vec<String> = Vec::new();
        while !input.is_empty() {
            let (name, part) = option(input)?;
            if seen.contains(&name.to_string()) {
                return Err(Error::new_spanned(
                    &name,
                    format!("duplicate option `{name}`"),
                ));
            }
            seen.push(name.to_string());
            device_launch |= name == DEVICE_LAUNCH;
            associated |= name == ASSOCIATED;
            text.push_str(&part);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(Options {
            section: text,
            device_launch,
            associated,
        })
    };
    parser.parse2(attribute)
}

/// Returns the block size that the name of a section specifies.
pub fn block_size(section: &str) -> Option<[u32; 3]> {
    let list = section
        .split(';')
        .find_map(|part| part.strip_prefix("reqntid="))?;
    let mut numbers = list.split(',').map(|number| number.parse().unwrap_or(1));
    let mut next = || numbers.next().unwrap_or(1);
    Some([next(), next(), next()])
}

fn option(input: ParseStream<'_>) -> Result<(Ident, String)> {
    let name: Ident = input.parse()?;
    if name == DEVICE_LAUNCH || name == ASSOCIATED {
        return Ok((name, String::new()));
    }
    if name == DENY {
        return denied(&name, input).map(|part| (name, part));
    }
    let kind = KINDS.iter().find(|kind| name == kind.name).ok_or_else(|| {
        let others = [DENY, DEVICE_LAUNCH, ASSOCIATED];
        let names = KINDS.iter().map(|kind| kind.name).chain(others);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let message = format!(
            "unknown option `{name}`: expected one of {}",
            names.join(", ")
        );
        Error::new_spanned(&name, message)
    })?;
    let mistake = || Error::new_spanned(&name, format!("expected {}", kind.usage));
    let equals = input.parse::<Option<Token![=]>>()?.is_some();
    let literals: Vec<LitInt> = if equals {
        vec![input.parse().map_err(|_| mistake())?]
    } else {
        parenthesized(input)
            .map_err(|_| mistake())?
            .into_iter()
            .collect()
    };
    if !kind.counts.contains(&literals.len()) || equals != kind.usage.contains('=') {
        return Err(mistake());
    }
    let mut numbers = Vec::new();
    for literal in &literals {
        let number: u64 = literal.base10_parse()?;
        if number == 0 || number > kind.largest {
            let message = format!(
                "invalid value for `{name}`: must be from 1 to {}",
                kind.largest
            );
            return Err(Error::new_spanned(literal, message));
        }
        numbers.push(number);
    }
    if matches!(kind.name, "block_size" | "cluster_dims")
        && numbers.iter().product::<u64>() > kind.largest
    {
        let (whole, parts) = if kind.name == "block_size" {
            ("block", "threads")
        } else {
            ("cluster", "blocks")
        };
        let message = format!("a {whole} can have at most {} {parts}", kind.largest);
        return Err(Error::new_spanned(&name, message));
    }
    let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let list = list.join(",");
    let part = match kind.name {
        "launch_bounds" => match numbers[..] {
            [threads, blocks] => format!(";maxntid={threads};minctasm={blocks}"),
            _ => format!(";maxntid={list}"),
        },
        "block_size" => format!(";reqntid={list}"),
        "cluster_dims" => format!(";cluster={list}"),
        "min_blocks" => format!(";minctasm={list}"),
        "max_registers" => format!(";maxnreg={list}"),
        "stack_size" => format!(";stack={list}"),
        _ => format!(";maxcluster={list}"),
    };
    Ok((name, part))
}

/// Parses the costs after `deny`.
fn denied(name: &Ident, input: ParseStream<'_>) -> Result<String> {
    let usage = || {
        let names = DENIED.map(|denied| format!("`{denied}`"));
        format!("expected `deny(...)` with some of {}", names.join(", "))
    };
    let list = || -> Result<Punctuated<Ident, Token![,]>> {
        let content;
        syn::parenthesized!(content in input);
        Punctuated::parse_terminated(&content)
    };
    let list = list().map_err(|_| Error::new_spanned(name, usage()))?;
    if list.is_empty() {
        return Err(Error::new_spanned(name, usage()));
    }
    if let Some(unknown) = list.iter().find(|it| !DENIED.contains(&&*it.to_string())) {
        return Err(Error::new_spanned(unknown, usage()));
    }
    let list: Vec<String> = list.iter().map(Ident::to_string).collect();
    Ok(format!(";deny={}", list.join(",")))
}

fn parenthesized(input: ParseStream<'_>) -> Result<Punctuated<LitInt, Token![,]>> {
    let content;
    syn::parenthesized!(content in input);
    Punctuated::parse_terminated(&content)
}

#[cfg(test)]
mod tests {
    use super::read;
    use quote::quote;

    #[test]
    fn options_become_a_section() {
        let text = |tokens| match read(tokens) {
            Ok(options) => Ok(options.section),
            Err(error) => Err(error.to_string()),
        };
        assert!(read(quote!(device_launch)).unwrap().device_launch);
        assert!(!read(quote!(min_blocks = 2)).unwrap().device_launch);
        assert_eq!(text(quote!()).unwrap(), "nvvm.kernel");
        assert_eq!(
            text(quote!(
                launch_bounds(256, 2),
                max_registers = 64,
                cluster_dims(2, 1, 1)
            ))
            .unwrap(),
            "nvvm.kernel;maxntid=256;minctasm=2;maxnreg=64;cluster=2,1,1"
        );
        assert_eq!(
            text(quote!(
                block_size(16, 16),
                min_blocks = 4,
                stack_size = 8192
            ))
            .unwrap(),
            "nvvm.kernel;reqntid=16,16;minctasm=4;stack=8192"
        );
        assert_eq!(
            text(quote!(deny(local_memory, spills), min_blocks = 2)).unwrap(),
            "nvvm.kernel;deny=local_memory,spills;minctasm=2"
        );
        let wrong = [
            (quote!(fast), "unknown option `fast`"),
            (quote!(launch_bounds), "expected `"),
            (
                quote!(deny),
                "expected `deny(...)` with some of `checks_in_loops`",
            ),
            (quote!(deny()), "expected `deny(...)`"),
            (quote!(deny(panics)), "`spills`"),
            (quote!(launch_bounds(2048)), "from 1 to 1024"),
            (quote!(block_size(32, 64)), "at most 1024 threads"),
            (quote!(max_registers(64)), "expected `"),
            (quote!(max_registers = 0), "from 1 to 255"),
            (
                quote!(max_registers = 8, max_registers = 9),
                "duplicate option",
            ),
            (quote!(stack_size = 1048576), "from 1 to 524288"),
            (quote!(cluster_dims(4, 8)), "at most 16 blocks"),
        ];
        for (tokens, message) in wrong {
            let error = text(tokens).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
