//! Walks of directed graphs, such as the call graph or the references between statics. Nodes are
//! numbered from zero; `successor(node, i)` is the node at the end of a node's edge number `i`, or
//! `None` if the node has fewer edges. The walks use explicit stacks, because paths may be long.

/// Returns the nodes that are reachable from `roots`, each after the nodes that it reaches, except
/// those through which it is reached.
pub(crate) fn postorder(
    count: usize,
    roots: impl IntoIterator<Item = usize>,
    successor: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    for root in roots {
        // The current path: each node with the number of its next edge.
        let mut path = Vec::new();
        if !std::mem::replace(&mut seen[root], true) {
            path.push((root, 0));
        }
        while let Some((node, edge)) = path.last_mut() {
            let next = successor(*node, *edge);
            *edge += 1;
            match next {
                Some(next) if !std::mem::replace(&mut seen[next], true) => path.push((next, 0)),
                Some(_) => {}
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
    }
    order
}

/// Returns the sets of nodes that reach each other, and the nodes that have an edge to themselves:
/// the strongly connected components that contain a cycle. Each set begins with the node that the
/// walk entered first.
pub(crate) fn cycles(
    count: usize,
    successor: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<Vec<usize>> {
    // Tarjan's algorithm. Nodes are numbered in the order of the walk; `lowest` is the lowest number
    // of a node in an unfinished component that the node is known to reach.
    const NEW: usize = usize::MAX;
    let (mut number, mut lowest) = (vec![NEW; count], vec![NEW; count]);
    let mut unfinished = vec![false; count];
    let (mut open, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    let mut next_number = 0;
    let mut cycles = Vec::new();
    for root in 0..count {
        let mut enter = (number[root] == NEW).then_some(root);
        loop {
            if let Some(node) = enter.take() {
                (number[node], lowest[node]) = (next_number, next_number);
                next_number += 1;
                unfinished[node] = true;
                open.push(node);
                path.push((node, 0));
            }
            let Some((node, edge)) = path.last_mut() else {
                break;
            };
            let node = *node;
            if let Some(next) = successor(node, *edge) {
                *edge += 1;
                if number[next] == NEW {
                    enter = Some(next);
                } else if unfinished[next] {
                    lowest[node] = lowest[node].min(number[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                lowest[parent] = lowest[parent].min(lowest[node]);
            }
            if lowest[node] != number[node] {
                continue;
            }
            let start = open.iter().rposition(|&other| other == node).unwrap_or(0);
            let component = open.split_off(start);
            component.iter().for_each(|&node| unfinished[node] = false);
            let to_itself = || {
                (0..)
                    .map_while(|i| successor(node, i))
                    .any(|next| next == node)
            };
            if component.len() > 1 || to_itself() {
                cycles.push(component);
            }
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns random graphs, each as the successors of its nodes.
    fn graphs() -> impl Iterator<Item = Vec<Vec<usize>>> {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut below = move |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        (0..2000).map(move |_| {
            let count = 1 + below(9);
            let mut edges = vec![Vec::new(); count];
            for _ in 0..below(2 * count + 1) {
                edges[below(count)].push(below(count));
            }
            edges
        })
    }

    /// Returns whether each node reaches each node through at least one edge.
    fn reaches(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let count = edges.len();
        let mut reaches = vec![vec![false; count]; count];
        for (from, to) in edges.iter().enumerate() {
            to.iter().for_each(|&to| reaches[from][to] = true);
        }
        for via in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reaches[from][to] |= reaches[from][via] && reaches[via][to];
                }
            }
        }
        reaches
    }

    #[test]
    fn cycles_are_the_nodes_that_reach_each_other() {
        for edges in graphs() {
            let found = cycles(edges.len(), |node, i| edges[node].get(i).copied());
            let reaches = reaches(&edges);
            let of = |node: usize| found.iter().position(|cycle| cycle.contains(&node));
            for a in 0..edges.len() {
                assert_eq!(of(a).is_some(), reaches[a][a], "{edges:?}: {found:?}");
                for b in (0..edges.len()).filter(|&b| b != a) {
                    let together = of(a).is_some() && of(a) == of(b);
                    let expected = reaches[a][b] && reaches[b][a];
                    assert_eq!(together, expected, "{edges:?}: {found:?}");
                }
            }
            assert_eq!(
                found.iter().flatten().count(),
                (0..edges.len()).filter(|&node| reaches[node][node]).count(),
                "{edges:?}: {found:?}"
            );
        }
    }

    #[test]
    fn successors_precede_in_postorder() {
        for edges in graphs() {
            let order = postorder(edges.len(), [0], |node, i| edges[node].get(i).copied());
            let reaches = reaches(&edges);
            let at = |node: usize| order.iter().position(|&other| other == node);
            for node in 0..edges.len() {
                assert_eq!(at(node).is_some(), node == 0 || reaches[0][node]);
                for &next in &edges[node] {
                    let precedes = at(node).is_none() || at(next) < at(node);
                    assert!(precedes || reaches[next][node], "{edges:?}: {order:?}");
                }
            }
        }
    }

    #[test]
    fn long_paths_do_not_overflow_the_stack() {
        const LEN: usize = 200_000;
        let ring = |node: usize, i: usize| (i == 0).then_some((node + 1) % LEN);
        assert_eq!(cycles(LEN, ring), [(0..LEN).collect::<Vec<_>>()]);
        let order = postorder(LEN, 0..LEN, ring);
        assert!(order.iter().copied().eq((0..LEN).rev()));
    }
}
