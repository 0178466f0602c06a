//! A program under construction: a tree of text that records what may be removed. A node is an
//! expression of a type, which may be replaced by a plain value of that type; a statement, which
//! may be removed; or a group of text.

use crate::types::{Ty, Types};

/// The kind of a node, which determines its replacements.
#[derive(Clone, Debug)]
pub enum Role {
    /// An expression.
    Expr(Ty),
    /// A statement that nothing after it needs.
    Stmt,
    /// Text that has to stay.
    Fixed,
}

/// A part of a node.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Source text.
    Text(String),
    /// A node in it.
    Node(Node),
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind.
    pub role: Role,
    /// Its text and its children.
    pub pieces: Vec<Piece>,
}

/// Stands for a child in a template.
pub const HOLE: char = '§';

impl Node {
    /// A node from a template with a [`HOLE`] for each child.
    pub fn new(role: Role, template: &str, children: Vec<Node>) -> Node {
        let mut pieces = Vec::new();
        let mut children = children.into_iter();
        for (i, text) in template.split(HOLE).enumerate() {
            if i > 0 {
                pieces.extend(children.next().map(Piece::Node));
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(text.to_owned()));
            }
        }
        debug_assert!(children.next().is_none(), "a child too many in {template}");
        Node { role, pieces }
    }

    /// An expression.
    pub fn expr(ty: &Ty, template: &str, children: Vec<Node>) -> Node {
        // A block could be taken for a statement, and swallow what follows.
        if template.starts_with('{') {
            return Node::expr(ty, &format!("({template})"), children);
        }
        Node::new(Role::Expr(ty.clone()), template, children)
    }

    /// A statement.
    pub fn stmt(template: &str, children: Vec<Node>) -> Node {
        Node::new(Role::Stmt, template, children)
    }

    /// The part that must stay.
    pub fn fixed(template: &str, children: Vec<Node>) -> Node {
        Node::new(Role::Fixed, template, children)
    }

    /// Nodes one after another.
    pub fn list(nodes: Vec<Node>) -> Node {
        Node {
            role: Role::Fixed,
            pieces: nodes.into_iter().map(Piece::Node).collect(),
        }
    }

    /// The source text.
    pub fn write(&self, out: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Node(node) => node.write(out),
            }
        }
    }

    /// The source text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        1 + self.children().map(Node::count).sum::<usize>()
    }

    fn children(&self) -> impl Iterator<Item = &Node> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Node(node) => Some(node),
            Piece::Text(_) => None,
        })
    }

    /// The node of a number, counted from the root down.
    pub fn find_mut(&mut self, number: &mut usize) -> Option<&mut Node> {
        if *number == 0 {
            return Some(self);
        }
        *number -= 1;
        for piece in &mut self.pieces {
            if let Piece::Node(node) = piece
                && let Some(found) = node.find_mut(number)
            {
                return Some(found);
            }
        }
        None
    }

    /// The replacements of this node: smaller code with another meaning.
    pub fn replacements(&self, types: &Types) -> Vec<Node> {
        let plain = |text: String| Node::fixed(&text, vec![]);
        match &self.role {
            Role::Fixed => vec![],
            Role::Stmt => vec![plain(String::new())],
            Role::Expr(ty) => {
                let mut all = Vec::new();
                let default = types.plain(ty);
                let text = self.text();
                if text != default {
                    all.push(plain(default));
                }
                // A part of the same type.
                for child in self.children() {
                    let same = matches!(&child.role, Role::Expr(other) if other == ty);
                    if same && child.text().len() < text.len() {
                        all.push(child.clone());
                    }
                }
                all
            }
        }
    }
}
