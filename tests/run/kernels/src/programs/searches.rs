//! Searches, graphs and tables: backtracking, heaps, queues, dynamic programming, sorting by keys.

use crate::{Put, Record, cases, mix};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

fn queens(n: u32, columns: u32, left: u32, right: u32) -> u32 {
    if columns == (1 << n) - 1 {
        return 1;
    }
    let mut free = !(columns | left | right) & ((1 << n) - 1);
    let mut found = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        found += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    found
}

/// A puzzle of 4 by 4 cells in boxes of 2 by 2.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Grid([[u8; 4]; 4]);

impl Grid {
    fn allows(&self, row: usize, column: usize, digit: u8) -> bool {
        let (r, c) = (row / 2 * 2, column / 2 * 2);
        (0..4).all(|k| {
            self.0[row][k] != digit
                && self.0[k][column] != digit
                && self.0[r + k / 2][c + k % 2] != digit
        })
    }

    fn solve(&mut self, tries: &mut u32) -> bool {
        let cells = (0..16).map(|k| (k / 4, k % 4));
        let Some((r, c)) = cells.into_iter().find(|&(r, c)| self.0[r][c] == 0) else {
            return true;
        };
        for digit in 1..=4 {
            if !self.allows(r, c, digit) {
                continue;
            }
            *tries += 1;
            self.0[r][c] = digit;
            if self.solve(tries) {
                return true;
            }
        }
        self.0[r][c] = 0;
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    cost: u32,
    node: usize,
}

impl Ord for State {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .cost
            .cmp(&self.cost)
            .then_with(|| self.node.cmp(&other.node))
    }
}

impl PartialOrd for State {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Graph {
    edges: Vec<Vec<(usize, u32)>>,
}

impl Graph {
    fn random(nodes: usize, seed: u64) -> Self {
        let mut edges = vec![Vec::new(); nodes];
        for k in 0..nodes * 3 {
            let r = mix(seed.wrapping_mul(1000) + k as u64);
            let (from, to) = (r as usize % nodes, (r >> 20) as usize % nodes);
            edges[from].push((to, (r >> 40) as u32 % 50 + 1));
        }
        Self { edges }
    }

    fn shortest(&self, start: usize) -> Vec<Option<u32>> {
        let mut best = vec![None; self.edges.len()];
        let mut heap = BinaryHeap::from([State {
            cost: 0,
            node: start,
        }]);
        while let Some(State { cost, node }) = heap.pop() {
            if best[node].is_some_and(|known| known <= cost) {
                continue;
            }
            best[node] = Some(cost);
            heap.extend(
                self.edges[node]
                    .iter()
                    .filter(|(to, _)| best[*to].is_none())
                    .map(|&(node, weight)| State {
                        cost: cost + weight,
                        node,
                    }),
            );
        }
        best
    }

    /// The nodes in topological order, or the number of ordered nodes if there is a cycle.
    fn order(&self) -> Result<Vec<usize>, usize> {
        let mut incoming = vec![0; self.edges.len()];
        self.edges
            .iter()
            .flatten()
            .for_each(|&(to, _)| incoming[to] += 1);
        let mut ready: VecDeque<_> = (0..incoming.len()).filter(|&n| incoming[n] == 0).collect();
        let mut order = Vec::new();
        while let Some(node) = ready.pop_front() {
            order.push(node);
            for &(to, _) in &self.edges[node] {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    ready.push_back(to);
                }
            }
        }
        if order.len() == incoming.len() {
            Ok(order)
        } else {
            Err(order.len())
        }
    }
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = last[j] + usize::from(x != *y);
            row.push(change.min(last[j + 1] + 1).min(row[j] + 1));
        }
        last = row;
    }
    last[b.len()]
}

fn knapsack(items: &[(usize, u32)], room: usize) -> u32 {
    let mut best = vec![vec![0; room + 1]; items.len() + 1];
    for (k, &(size, value)) in items.iter().enumerate() {
        for space in 0..=room {
            best[k + 1][space] = match space.checked_sub(size) {
                Some(rest) => best[k][space].max(best[k][rest] + value),
                None => best[k][space],
            };
        }
    }
    best[items.len()][room]
}

struct Sets {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Sets {
    fn new(n: usize) -> Self {
        Self {
            parent: (0..n).collect(),
            size: vec![1; n],
        }
    }

    fn root(&mut self, mut x: usize) -> usize {
        while self.parent[x] != x {
            self.parent[x] = self.parent[self.parent[x]];
            x = self.parent[x];
        }
        x
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (mut a, mut b) = (self.root(a), self.root(b));
        if a == b {
            return false;
        }
        if self.size[a] < self.size[b] {
            core::mem::swap(&mut a, &mut b);
        }
        self.parent[b] = a;
        self.size[a] += self.size[b];
        true
    }
}

fn permutations<T: Clone>(items: &mut [T], visit: &mut dyn FnMut(&[T])) {
    fn go<T: Clone>(k: usize, items: &mut [T], visit: &mut dyn FnMut(&[T])) {
        if k <= 1 {
            return visit(items);
        }
        for i in 0..k {
            go(k - 1, items, visit);
            if i + 1 < k {
                items.swap(if k % 2 == 0 { i } else { 0 }, k - 1);
            }
        }
    }
    go(items.len(), items, visit);
}

#[derive(Default)]
struct Trie {
    children: [Option<Box<Trie>>; 26],
    words: u32,
}

impl Trie {
    fn insert(&mut self, word: &str) {
        let mut node = self;
        for b in word.bytes().filter(u8::is_ascii_lowercase) {
            node = node.children[usize::from(b - b'a')].get_or_insert_default();
        }
        node.words += 1;
    }

    fn below(&self) -> u32 {
        let children = self.children.iter().flatten();
        self.words + children.map(|child| child.below()).sum::<u32>()
    }

    fn starting_with(&self, prefix: &str) -> u32 {
        prefix
            .bytes()
            .try_fold(self, |node, b| {
                node.children
                    .get(usize::from(b.checked_sub(b'a')?))?
                    .as_deref()
            })
            .map_or(0, Trie::below)
    }
}

fn merged(mut ranges: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    ranges.sort_unstable_by_key(|&(start, end)| (start, Reverse(end)));
    let mut result: Vec<(i32, i32)> = Vec::new();
    for (start, end) in ranges {
        match result.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => result.push((start, end)),
        }
    }
    result
}

fn generation<const W: usize, const H: usize>(cells: &[[bool; W]; H]) -> [[bool; W]; H] {
    core::array::from_fn(|y| {
        core::array::from_fn(|x| {
            let neighbors = (0..9)
                .filter(|k| *k != 4)
                .map(|k| ((y + H + k / 3 - 1) % H, (x + W + k % 3 - 1) % W))
                .filter(|&(y, x)| cells[y][x])
                .count();
            matches!((cells[y][x], neighbors), (true, 2) | (_, 3))
        })
    })
}

cases! {
    fn program_queens(i, record) {
        record.put(queens(i % 7 + 1, 0, 0, 0));
    }

    fn program_puzzle(i, record) {
        let mut grid = Grid([[0; 4]; 4]);
        for k in 0..i % 4 {
            let r = mix(u64::from(i + k));
            let (row, column, digit) = (r as usize % 4, r as usize / 4 % 4, (r >> 8) as u8 % 4 + 1);
            if grid.allows(row, column, digit) {
                grid.0[row][column] = digit;
            }
        }
        let mut tries = 0;
        record.put(grid.solve(&mut tries));
        record.put(tries);
        for row in grid.0 {
            record.put(row);
        }
    }

    fn program_shortest_paths(i, record) {
        let graph = Graph::random(8 + i as usize % 9, u64::from(i));
        for distance in graph.shortest(i as usize % 8) {
            record.put(distance);
        }
        match graph.order() {
            Ok(order) => record.put(&order[..]),
            Err(n) => record.put(n),
        }
    }

    fn program_spanning_tree(i, record) {
        let graph = Graph::random(20, u64::from(i) + 7);
        let mut edges: Vec<_> = graph
            .edges
            .iter()
            .enumerate()
            .flat_map(|(from, list)| list.iter().map(move |&(to, weight)| (weight, from, to)))
            .collect();
        edges.sort();
        let mut sets = Sets::new(20);
        let (cost, taken) = edges
            .into_iter()
            .filter(|&(_, a, b)| sets.join(a, b))
            .fold((0, 0), |(cost, n), (weight, ..)| (cost + weight, n + 1));
        record.put((cost, taken));
        let roots: BTreeSet<_> = (0..20).map(|n| sets.root(n)).collect();
        record.put(roots.len());
    }

    fn program_tables(i, record) {
        let words = ["kitten", "sitting", "", "Mississippi", "naïve", "naive"];
        for pair in words.windows(2) {
            record.put(distance(pair[0], pair[1]));
        }
        let items: Vec<_> = (0..9)
            .map(|k| mix(u64::from(i * 9 + k)))
            .map(|r| (r as usize % 12 + 1, (r >> 16) as u32 % 100))
            .collect();
        record.put(knapsack(&items, 25));
    }

    fn program_permutations(i, record) {
        let mut letters = ['a', 'b', 'c', 'd', 'e'];
        letters.rotate_left(i as usize % 5);
        let (mut count, mut sum) = (0u32, 0u64);
        let mut largest = String::new();
        permutations(&mut letters, &mut |p| {
            count += 1;
            let text: String = p.iter().collect();
            sum = mix(sum ^ text.bytes().fold(0, |h, b| h * 31 + u64::from(b)));
            if text > largest {
                largest = text;
            }
        });
        record.put((count, sum));
        record.put(&*largest);
    }

    fn program_trie(i, record) {
        let mut trie = Trie::default();
        for k in 0..30 {
            let r = mix(u64::from(i * 30 + k));
            let letters = (0..r % 5 + 1).map(|n| (b'a' + (r >> (8 * n + 8)) as u8 % 3) as char);
            trie.insert(&letters.collect::<String>());
        }
        for prefix in ["", "a", "ab", "abc", "x", "?"] {
            record.put(trie.starting_with(prefix));
        }
    }

    fn program_intervals(i, record) {
        let ranges = (0..12)
            .map(|k| mix(u64::from(i * 12 + k)))
            .map(|r| (r as i32 % 60, r as i32 % 60 + (r >> 32) as i32 % 15))
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        for (start, end) in merged(ranges) {
            record.put((start, end));
        }
    }

    fn program_life(i, record) {
        let mut cells = [[false; 9]; 7];
        for (k, cell) in cells.as_flattened_mut().iter_mut().enumerate() {
            *cell = mix(u64::from(i)) >> (k % 64) & 1 == 1;
        }
        for _ in 0..5 {
            cells = generation(&cells);
            record.put(cells.iter().flatten().filter(|c| **c).count());
        }
        for row in cells {
            record.put(row.iter().fold(0u32, |bits, &c| bits << 1 | u32::from(c)));
        }
    }

    fn program_groups(i, record) {
        let mut groups: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for k in 0..40 {
            groups.entry(mix(u64::from(i + k)) % 6).or_default().push(k);
        }
        let longest = groups.iter().max_by_key(|(key, list)| (list.len(), Reverse(**key)));
        record.put(longest.map(|(key, list)| (*key, list.len())));
        let (even, odd): (Vec<_>, Vec<_>) = groups.into_values().flatten().partition(|k| k % 2 == 0);
        record.put((even.len(), odd.len()));
        record.put(even.chunk_by(|a, b| a < b).map(<[u32]>::len).max());
        let mut all = [even, odd].concat();
        all.sort_by(|a, b| (b % 5).cmp(&(a % 5)).then(a.cmp(b)));
        record.put(&all[..]);
        record.put(all.iter().position(|&k| k == i % 40));
    }
}
