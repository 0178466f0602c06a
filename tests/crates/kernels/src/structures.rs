//! Data structures, iterators, errors and futures.

use crate::{Record, cases};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use anyhow::{Context, bail};
use core::pin::{Pin, pin};
use core::task::{Context as Task, Poll};
use fixedbitset::FixedBitSet;
use futures::{FutureExt, StreamExt, future, stream};
use heapless::binary_heap::{BinaryHeap, Max};
use heapless::{Deque, index_map::FnvIndexMap};
use itertools::Itertools;
use petgraph::algo::{astar, kosaraju_scc, min_spanning_tree, page_rank};
use petgraph::data::FromElements;
use petgraph::graph::{DiGraph, NodeIndex, UnGraph};
use petgraph::visit::{Dfs, DfsPostOrder, Walker};
use slotmap::{DenseSlotMap, Key, SecondaryMap, SlotMap};
use tinyvec::{ArrayVec, TinyVec};

bitflags::bitflags! {
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Access: u32 {
        const READ = 1;
        const WRITE = 2;
        const BOTH = 3;
        const LAST = 0x8000_0000;
    }
}

/// A perfect hash table, which is made when compiling.
static NUMBERS: phf::Map<&str, u32> = phf::phf_map! {
    "a" => 1, "b" => 2, "foo" => 3, "bar" => 4, "17" => 5, "x_y" => 6, ".com" => 7,
};

slotmap::new_key_type! { struct Slot; }

#[derive(thiserror::Error, Debug)]
enum Failure {
    #[error("no number: {0}")]
    Number(#[from] core::num::ParseIntError),
    #[error("too {what} by {by}")]
    Much { what: &'static str, by: u64 },
}

fn small(text: &str) -> Result<u64, Failure> {
    let number: u64 = text.parse()?;
    match number.checked_sub(100) {
        Some(by) if by > 0 => Err(Failure::Much { what: "large", by }),
        _ => Ok(number),
    }
}

fn even(text: &str) -> anyhow::Result<u64> {
    let number = small(text).with_context(|| format!("while reading {text:?}"))?;
    if number % 2 == 1 {
        bail!("{number} is odd");
    }
    Ok(number)
}

/// A future that is ready after this number of polls.
struct After(u32);

impl Future for After {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<u32> {
        task.waker().wake_by_ref();
        match self.0.checked_sub(1) {
            None => Poll::Ready(9),
            Some(left) => {
                self.0 = left;
                Poll::Pending
            }
        }
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut task = Task::from_waker(core::task::Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut task) {
            return value;
        }
    }
}

fn put_all(values: impl IntoIterator<Item = u32>, record: &mut Record) {
    values.into_iter().for_each(|value| record.put(value));
}

cases! {
    "anyhow", 200;
    fn anyhow_chains(mut input, record) {
        let text = if input.below(3) == 0 { input.words() } else { input.below(200).to_string() };
        match even(&text) {
            Ok(number) => record.put(number),
            Err(error) => {
                record.put(&format!("{error:#}")[..]);
                record.put((error.chain().count(), error.downcast_ref::<Failure>().is_some()));
                record.put(error.root_cause().is::<core::num::ParseIntError>());
            }
        }
    }

    "bitflags", 200;
    fn bitflags_all(mut input, record) {
        let (a, b) = (input.integer() as u32, input.integer() as u32);
        let (a, b) = (Access::from_bits_truncate(a), Access::from_bits_retain(b));
        record.put(((a | b).bits(), (a & b).bits(), (!a).bits(), a.contains(b)));
        record.put(&format!("{a:?} {b:?}")[..]);
        b.iter_names().for_each(|(name, _)| record.put(name));
    }

    "fixedbitset", 200;
    fn fixedbitset_all(mut input, record) {
        let mut sets = [FixedBitSet::with_capacity(170), FixedBitSet::with_capacity(200)];
        for _ in 0..60 {
            sets[0].insert(input.below(170) as usize);
            sets[1].toggle(input.below(200) as usize);
        }
        let [a, b] = sets;
        a.intersection(&b).chain(a.symmetric_difference(&b)).for_each(|bit| record.put(bit));
        record.put((a.count_ones(10..100), b.maximum(), a.is_subset(&b)));
    }

    "futures", 100;
    fn futures_all(mut input, record) {
        let n = input.below(6) as u32;
        record.put(block_on(future::join(After(n), After(2 * n).map(|x| x * n))));
        let squares = stream::iter(0..10).map(|x| After(x * 7 % 3).map(move |_| x * x));
        put_all(block_on(squares.buffer_unordered(4).collect::<Vec<_>>()), record);
        let boxed = [future::ready(n).boxed(), After(2).boxed(), async move { n * n }.boxed()];
        put_all(block_on(future::join_all(boxed)), record);
        record.put(block_on(async {
            futures::select_biased! { x = After(5 - n).fuse() => x, x = After(n).map(|x| x + 1) => x }
        }));
    }

    "heapless", 200;
    fn heapless_all(mut input, record) {
        let mut heap: BinaryHeap<u64, Max, 16> = BinaryHeap::new();
        let mut queue: Deque<u64, 8> = Deque::new();
        let mut map: FnvIndexMap<u64, u64, 16> = FnvIndexMap::new();
        for n in 0..60 {
            let value = input.integer() % 30;
            match input.below(6) {
                0 => record.put(heap.push(value).is_ok()),
                1 => record.put(heap.pop()),
                2 => record.put(queue.push_front(value).is_ok()),
                3 => record.put(queue.pop_back()),
                4 => record.put(map.remove(&value)),
                _ => record.put(map.insert(value, n).is_ok()),
            }
        }
        map.iter().for_each(|(key, value)| record.put((*key, *value)));
        let mut text: heapless::String<20> = heapless::String::new();
        record.put(core::fmt::write(&mut text, format_args!("{:>9}", input.below(1 << 40))).is_ok());
        record.put(text.as_str());
    }

    "itertools", 200;
    fn itertools_all(mut input, record) {
        let all: Vec<u32> = (0..input.below(7)).map(|_| input.below(9) as u32).collect();
        for found in all.iter().permutations(3).take(20) {
            put_all(found.into_iter().copied(), record);
        }
        all.iter().array_combinations().for_each(|[a, b]| record.put(a * 10 + b));
        for (key, group) in &all.iter().chunk_by(|x| **x % 2) {
            record.put((key, group.count()));
        }
        put_all(all.iter().copied().sorted().dedup(), record);
        put_all([all.clone(), (3..7).collect()].into_iter().kmerge(), record);
        record.put(&format!("{:?} {}", all.iter().minmax(), all.iter().format("-"))[..]);
    }

    "petgraph", 100;
    fn petgraph_all(mut input, record) {
        let edges: Vec<(u32, u32, u64)> = (0..20 + input.below(20))
            .map(|_| (input.below(12) as u32, input.below(12) as u32, 1 + input.below(50)))
            .collect();
        let graph: DiGraph<(), u64> = DiGraph::from_edges(&edges);
        let start = NodeIndex::new(edges[0].0 as usize);
        put_all(Dfs::new(&graph, start).iter(&graph).map(|node| node.index() as u32), record);
        put_all(DfsPostOrder::new(&graph, start).iter(&graph).map(|node| node.index() as u32), record);
        for part in kosaraju_scc(&graph) {
            record.put(part.len());
            put_all(part.into_iter().map(|node| node.index() as u32), record);
        }
        let path = astar(&graph, start, |node| node.index() == 3, |edge| *edge.weight(), |_| 0);
        record.put(path.map(|(cost, path)| (cost, path.len())));
        page_rank(&graph, 0.85f64, 5).into_iter().for_each(|rank| record.put(rank));
        let graph: UnGraph<(), u64> = UnGraph::from_edges(&edges);
        let tree = UnGraph::<(), u64>::from_elements(min_spanning_tree(&graph));
        record.put(tree.edge_weights().sum::<u64>());
    }

    "phf", 100;
    fn phf_map(mut input, record) {
        let word = input.words();
        record.put(NUMBERS.get(&word[..]).copied());
        for word in ["foo", "17", "é", ".com"] {
            record.put(NUMBERS.get_entry(word).map(|(key, value)| (*key, *value)));
        }
        record.put(word.len());
    }

    "slotmap", 200;
    fn slotmap_all(mut input, record) {
        let mut map: SlotMap<Slot, u64> = SlotMap::with_key();
        let mut dense: DenseSlotMap<Slot, u32> = DenseSlotMap::with_key();
        let mut second = SecondaryMap::new();
        let mut keys = Vec::new();
        for n in 0..60 {
            let at = input.below(keys.len() as u64 + 1) as usize;
            if let (0, Some(&(key, in_dense))) = (input.below(3), keys.get(at)) {
                record.put((map.remove(key), dense.remove(in_dense), second.remove(key)));
            } else {
                let key = map.insert(input.bits());
                second.insert(key, n);
                keys.push((key, dense.insert(n)));
            }
        }
        for (key, value) in &map {
            record.put((key.data().as_ffi(), *value, second.get(key).copied()));
        }
        put_all(dense.values().copied(), record);
    }

    "thiserror", 200;
    fn thiserror_all(mut input, record) {
        let text = if input.below(3) == 0 { input.words() } else { input.below(200).to_string() };
        match small(&text) {
            Ok(number) => record.put(number),
            Err(error) => record.put(&format!("{error} {error:?}")[..]),
        }
    }

    "tinyvec", 200;
    fn tinyvec_all(mut input, record) {
        let mut vec: TinyVec<[u32; 4]> = (0..input.below(7)).map(|_| input.below(9) as u32).collect();
        let mut array: ArrayVec<[u32; 8]> = vec.iter().copied().collect();
        record.put((vec.is_heap(), array.try_push(7), array.try_push(8)));
        vec.insert(0, 5);
        vec.retain(|x| x % 3 != 0);
        vec.sort_unstable();
        put_all(vec.drain(..).chain(array.drain(1..)), record);
        record.put(array.len());
    }
}
