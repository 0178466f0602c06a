//! `alloc`'s types on the device heap: `Vec`, `Box`, `Rc`, `Arc`, `BTreeMap`, `VecDeque` and so on.

use crate::{Record, cases, mix};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, LinkedList, VecDeque};
use alloc::rc::{Rc, Weak};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::cmp::Reverse;

#[repr(align(256))]
#[derive(Clone, PartialEq)]
struct Aligned([u8; 300]);

struct Node {
    value: u32,
    children: Vec<Rc<Node>>,
    parent: RefCell<Weak<Node>>,
}

fn depth_sum(node: &Node, depth: u32) -> u32 {
    node.value * depth
        + node
            .children
            .iter()
            .map(|c| depth_sum(c, depth + 1))
            .sum::<u32>()
}

cases! {
    fn vec_growth(i, record) {
        let mut v = Vec::new();
        for k in 0..100 {
            v.push(mix(u64::from(i) + k));
        }
        record.put((v.len(), v[99], v.capacity() >= 100));
        v.truncate(10);
        v.insert(3, 7);
        record.put((v.remove(0), v.swap_remove(4)));
        v.retain(|x| x % 3 != 0);
        record.put(&v[..]);
        v.extend_from_slice(&[1, 2, 3]);
        v.extend((0..4).map(|k| k * u64::from(i)));
        record.put(&v.drain(2..5).collect::<Vec<_>>()[..]);
        v.resize(12, 5);
        v.dedup();
        v.shrink_to_fit();
        record.put(&v[..]);
        record.put(v.splice(1..2, [8, 9]).count());
        record.put(&v.split_off(3)[..]);
    }

    fn vec_of_vecs(i, record) {
        let mut triangle: Vec<Vec<u64>> = alloc::vec![alloc::vec![1]];
        for _ in 0..i % 12 + 2 {
            let last = triangle.last().unwrap();
            let mut row = alloc::vec![1];
            row.extend(last.windows(2).map(|w| w[0] + w[1]));
            row.push(1);
            triangle.push(row);
        }
        record.put(&triangle.last().unwrap()[..]);
        record.put(triangle.concat().len());
        let strings: Vec<String> = (0..4).map(|k| alloc::format!("{k}{i}")).collect();
        record.put(&strings.join("+")[..]);
    }

    fn vec_of_units(i, record) {
        let mut v = alloc::vec![(); i as usize];
        v.push(());
        record.put((v.len(), v.pop().is_some(), v.iter().count()));
    }

    fn box_values(i, record) {
        let boxed = Box::new([i; 10]);
        let moved = *boxed;
        record.put(moved);
        let slice: Box<[u16]> = (0..5).map(|k| k * i as u16).collect();
        record.put(&slice[..]);
        let text: Box<str> = "boxed".into();
        record.put(&*text);
        let mut list = List(None);
        for k in 0..6 {
            list = List(Some(Box::new((k * i, list))));
        }
        record.put(list.sum());
        let raw = Box::into_raw(Box::new(i));
        record.put(unsafe { *Box::from_raw(raw) });
    }

    fn box_aligned(i, record) {
        let boxed = Box::new(Aligned([i as u8; 300]));
        let many: Vec<Aligned> = alloc::vec![Aligned([3; 300]); 3];
        record.put((&raw const *boxed).addr() % 256);
        record.put(many.as_ptr().addr() % 256);
        record.put((boxed.0[299], many[2].0[7], many[0] == many[1]));
        let mut grown = many;
        grown.push(*boxed);
        record.put((grown.len(), grown[3].0[0]));
    }

    fn rc_and_weak(i, record) {
        let leaf = Rc::new(Node { value: i, children: alloc::vec![], parent: Default::default() });
        record.put(leaf.parent.borrow().upgrade().is_none());
        {
            let branch = Rc::new(Node {
                value: 5,
                children: alloc::vec![Rc::clone(&leaf), Rc::clone(&leaf)],
                parent: Default::default(),
            });
            *leaf.parent.borrow_mut() = Rc::downgrade(&branch);
            record.put((Rc::strong_count(&leaf), Rc::weak_count(&branch)));
            record.put(leaf.parent.borrow().upgrade().map(|p| p.value));
            record.put(depth_sum(&branch, 1));
        }
        record.put((Rc::strong_count(&leaf), leaf.parent.borrow().upgrade().is_none()));
        let mut copy_on_write = Rc::new(alloc::vec![1, i]);
        let other = Rc::clone(&copy_on_write);
        Rc::make_mut(&mut copy_on_write).push(3);
        record.put((copy_on_write.len(), other.len(), Rc::ptr_eq(&copy_on_write, &other)));
        record.put(Rc::try_unwrap(other).is_ok());
        let text: Rc<str> = Rc::from("counted");
        record.put(&*text);
    }

    fn arc_values(i, record) {
        let shared = Arc::new((i, String::from("arc")));
        let copies: Vec<Arc<_>> = (0..5).map(|_| Arc::clone(&shared)).collect();
        record.put((Arc::strong_count(&shared), copies[4].0, copies[2].1.len()));
        drop(copies);
        record.put(Arc::try_unwrap(shared).map(|x| x.0).ok());
        let slice: Arc<[u32]> = Arc::from([1, 2, i]);
        record.put(&slice[..]);
    }

    fn btree_map(i, record) {
        let mut map = filled(i);
        record.put((map.len(), map.first_key_value().map(|(k, v)| (*k, *v))));
        put_range(&map, record);
        record.put(remove_thirds(&mut map));
        add(&mut map, i, 5);
        add(&mut map, i, 1);
        record.put((map.get(&i).copied(), map.values().sum::<u64>()));
    }

    fn btree_map_of_strings(i, record) {
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        for word in "the cat and the dog and the end".split(' ').skip(i as usize % 3) {
            *words.entry(word.into()).or_default() += 1;
        }
        for (word, count) in &words {
            record.put((&word[..], *count));
        }
    }

    fn btree_set(i, record) {
        let a: BTreeSet<u32> = set(20, |k| k * k % 23);
        let b: BTreeSet<u32> = set(20, |k| (k * 3 + i) % 23);
        put_common(&a, &b, record);
        put_difference(&a, &b, record);
        record.put((a.is_subset(&b), a.contains(&i), b.last().copied()));
    }

    fn vec_deque(i, record) {
        let mut queue: VecDeque<u32> = (0..6).collect();
        for k in 0..10 {
            if (k + i) % 3 == 0 {
                queue.push_front(k * 10);
            } else {
                queue.rotate_left(1);
                record.put(queue.pop_front());
                queue.push_back(k + i);
            }
        }
        record.put((queue.len(), queue[2], queue.iter().rev().nth(1).copied()));
        record.put(&queue.make_contiguous()[..]);
    }

    fn binary_heap(i, record) {
        let mut heap: BinaryHeap<Reverse<(u32, u32)>> =
            (0..15).map(|k| Reverse((mix(u64::from(k * i)) as u32 % 100, k))).collect();
        while let Some(Reverse((priority, k))) = heap.pop() {
            record.put((priority, k));
            if priority % 10 == 0 && priority > 0 {
                heap.push(Reverse((priority / 10, k)));
            }
        }
    }

    fn shortest_paths(i, record) {
        // A graph of 20 nodes: Dijkstra, with a heap and vectors of vectors.
        let edges: Vec<Vec<(usize, u32)>> = (0..20usize)
            .map(|a| {
                (0..3).map(|k| {
                    let n = mix((a * 3 + k) as u64 + u64::from(i) * 1000);
                    ((n % 20) as usize, (n >> 32) as u32 % 50 + 1)
                }).collect()
            })
            .collect();
        let mut distance = alloc::vec![u32::MAX; 20];
        distance[0] = 0;
        let mut heap = BinaryHeap::from([Reverse((0, 0))]);
        while let Some(Reverse((d, a))) = heap.pop() {
            if d > distance[a] {
                continue;
            }
            for &(b, length) in &edges[a] {
                if d + length < distance[b] {
                    distance[b] = d + length;
                    heap.push(Reverse((d + length, b)));
                }
            }
        }
        record.put(&distance[..]);
    }

    fn linked_list(i, record) {
        let mut list: LinkedList<u32> = [1, i].into();
        list.push_front(9);
        let mut tail = list.split_off(1);
        tail.push_back(4);
        list.append(&mut tail);
        for x in list.iter_mut() {
            *x += 1;
        }
        record.put((list.len(), tail.is_empty(), list.iter().sum::<u32>()));
    }
}

/// A list that is its own tail.
struct List(Option<Box<(u32, List)>>);

impl List {
    fn sum(&self) -> u32 {
        self.0.as_ref().map_or(0, |node| node.0 + node.1.sum())
    }
}

// These are not inlined, so that one case does not become one function of a megabyte.

#[inline(never)]
fn filled(i: u32) -> BTreeMap<u32, u64> {
    let mut map = BTreeMap::new();
    for k in 0..60u64 {
        map.insert((mix(u64::from(i) * 100 + k) % 80) as u32, k);
    }
    map
}

#[inline(never)]
fn put_range(map: &BTreeMap<u32, u64>, record: &mut Record) {
    for (k, v) in map.range(20..40) {
        record.put((*k, *v));
    }
}

#[inline(never)]
fn remove_thirds(map: &mut BTreeMap<u32, u64>) -> u32 {
    (0..80)
        .step_by(3)
        .fold(0, |bits, k| bits << 1 | u32::from(map.remove(&k).is_some()))
}

#[inline(never)]
fn add(map: &mut BTreeMap<u32, u64>, key: u32, by: u64) {
    *map.entry(key).or_insert(0) += by;
}

#[inline(never)]
fn set(n: u32, f: impl Fn(u32) -> u32) -> BTreeSet<u32> {
    let mut set = BTreeSet::new();
    for k in 0..n {
        set.insert(f(k));
    }
    set
}

#[inline(never)]
fn put_common(a: &BTreeSet<u32>, b: &BTreeSet<u32>, record: &mut Record) {
    record.put((a.intersection(b).count(), a.union(b).sum::<u32>()));
}

#[inline(never)]
fn put_difference(a: &BTreeSet<u32>, b: &BTreeSet<u32>, record: &mut Record) {
    for x in a.difference(b) {
        record.put(*x);
    }
}
