use proc_macro::TokenStream;

#[proc_macro]
pub fn kernels(names: TokenStream) -> TokenStream {
    let kernel = |name| {
        format!(
            "#[kernel] pub fn {name}(mut to: PerThread<u32>) {{ to.each(|_, to| *to += 1000); }}"
        )
    };
    let kernels: String = names.into_iter().map(kernel).collect();
    kernels.parse().unwrap()
}
