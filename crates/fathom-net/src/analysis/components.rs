//! Strongly connected components of a directed graph.

/// Which component each vertex is in, and which components no edge leaves.
#[derive(Debug)]
pub(crate) struct Components {
    pub(crate) of: Vec<u32>,
    pub(crate) terminal: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972, without recursion, so that long
/// paths do not overflow the stack.
pub(crate) fn components(vertices: usize, edges: impl Fn(usize) -> Vec<usize>) -> Components {
    let mut search = Search {
        low: vec![UNSEEN; vertices],
        of: vec![UNSEEN; vertices],
        open: Vec::new(),
        seen: 0,
        found: 0,
    };
    for root in 0..vertices {
        if search.low[root] == UNSEEN {
            search.visit(root, &edges);
        }
    }
    let mut is_left = vec![false; search.found as usize];
    for vertex in 0..vertices {
        for to in edges(vertex) {
            if search.of[to] != search.of[vertex] {
                is_left[search.of[vertex] as usize] = true;
            }
        }
    }
    let terminal = (0..search.found).filter(|&component| !is_left[component as usize]).collect();
    Components { of: search.of, terminal }
}

struct Search {
    /// Smallest number of a vertex known to be reachable.
    low: Vec<u32>,
    of: Vec<u32>,
    /// Vertices whose component is not complete.
    open: Vec<usize>,
    seen: u32,
    found: u32,
}

impl Search {
    fn visit(&mut self, root: usize, edges: &impl Fn(usize) -> Vec<usize>) {
        let mut path = vec![self.enter(root, edges)];
        while let Some(visit) = path.last_mut() {
            let vertex = visit.vertex;
            match visit.left.pop() {
                Some(to) if self.low[to] == UNSEEN => {
                    let inner = self.enter(to, edges);
                    path.push(inner);
                }
                Some(to) if self.of[to] == UNSEEN => {
                    self.low[vertex] = self.low[vertex].min(self.low[to]);
                }
                Some(_) => {}
                None => {
                    let number = visit.number;
                    path.pop();
                    self.leave(vertex, number);
                    if let Some(outer) = path.last() {
                        self.low[outer.vertex] = self.low[outer.vertex].min(self.low[vertex]);
                    }
                }
            }
        }
    }

    fn enter(&mut self, vertex: usize, edges: &impl Fn(usize) -> Vec<usize>) -> Visit {
        let number = self.seen;
        self.seen += 1;
        self.low[vertex] = number;
        self.open.push(vertex);
        Visit { vertex, number, left: edges(vertex) }
    }

    /// Closes the component of a vertex that reaches nothing older than itself.
    fn leave(&mut self, vertex: usize, number: u32) {
        if self.low[vertex] < number {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.of[member] = self.found;
            if member == vertex {
                break;
            }
        }
        self.found += 1;
    }
}

/// A vertex on the path, and the edges out of it still to follow.
struct Visit {
    vertex: usize,
    number: u32,
    left: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_cycles_and_where_they_end() {
        let edges = [vec![1], vec![2], vec![0, 3], vec![4], vec![3], vec![]];
        let found = components(6, |vertex| edges[vertex].clone());
        let same = |a: usize, b: usize| found.of[a] == found.of[b];
        assert!(same(0, 1) && same(1, 2) && same(3, 4) && !same(0, 3) && !same(5, 0));
        let mut terminal = vec![found.of[3], found.of[5]];
        terminal.sort_unstable();
        assert_eq!(found.terminal, terminal);
    }
}
