//! Computes the stack and shared memory that a kernel needs, including all functions that it may
//! call.

use super::Function;

/// Returns the functions that a function may call.
fn callees<'f>(
    functions: &'f [Function],
    taken: &'f [u32],
    index: u32,
) -> impl Iterator<Item = u32> + 'f {
    let function = &functions[index as usize];
    let indirect = if function.calls_indirectly {
        taken
    } else {
        &[]
    };
    function.calls.iter().chain(indirect).copied()
}

/// Returns the deepest stack of a function through calls by name; a recursive function counts once.
pub(super) fn stack_need(functions: &[Function], root: u32) -> usize {
    let own = |index: u32| functions[index as usize].stack_bytes;
    let called = |index: u32| functions[index as usize].calls.clone();
    // A depth-first search with an explicit stack, since calls may nest deeper than the host's
    // stack allows.
    let mut need: Vec<Option<usize>> = vec![None; functions.len()];
    let mut open = vec![false; functions.len()];
    let mut path: Vec<(u32, Vec<u32>, usize)> = vec![(root, called(root), 0)];
    open[root as usize] = true;
    while let Some((index, pending, deepest)) = path.last_mut() {
        let index = *index;
        match pending.pop() {
            Some(callee) => match need[callee as usize] {
                Some(known) => *deepest = (*deepest).max(known),
                None if open[callee as usize] => {}
                None => {
                    open[callee as usize] = true;
                    path.push((callee, called(callee), 0));
                }
            },
            None => {
                let total = own(index) + *deepest;
                need[index as usize] = Some(total);
                open[index as usize] = false;
                path.pop();
                if let Some((_, _, deepest)) = path.last_mut() {
                    *deepest = (*deepest).max(total);
                }
            }
        }
    }
    need[root as usize].unwrap_or(0)
}

/// Returns the size of the shared variables that a kernel and its callees reference, in bytes.
pub(super) fn shared_need(functions: &[Function], taken: &[u32], root: u32) -> u32 {
    let mut seen = vec![false; functions.len()];
    let mut pending = vec![root];
    let mut variables = Vec::new();
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut seen[index as usize], true) {
            continue;
        }
        variables.extend_from_slice(&functions[index as usize].shared);
        pending.extend(callees(functions, taken, index));
    }
    variables.sort_unstable();
    variables.dedup();
    variables.iter().map(|&(_, size)| size).sum()
}
