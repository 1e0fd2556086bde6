package ledger

import "math/rand/v2"

// A node is a node of a persistent treap: a search tree by key that is at the
// same time a heap by weight, and so balanced by chance. No node changes once
// it is reachable; insert and remove copy the path to the root. Nil is the
// empty tree.
type node struct {
	key, value  string
	weight      uint64
	left, right *node
}

func newNode(key, value string) *node {
	return &node{key: key, value: value, weight: rand.Uint64()}
}

// insert returns n with add in it, in place of a node with its key.
func (n *node) insert(add *node) *node {
	if n == nil {
		return add
	}
	c := *n
	switch {
	case add.key < n.key:
		c.left = n.left.insert(add)
		if c.left.weight > c.weight {
			up := *c.left
			c.left, up.right = up.right, &c
			return &up
		}
	case add.key > n.key:
		c.right = n.right.insert(add)
		if c.right.weight > c.weight {
			up := *c.right
			c.right, up.left = up.left, &c
			return &up
		}
	default:
		c.value = add.value
	}
	return &c
}

// remove returns n without key.
func (n *node) remove(key string) *node {
	if n == nil {
		return nil
	}
	c := *n
	switch {
	case key < n.key:
		c.left = n.left.remove(key)
	case key > n.key:
		c.right = n.right.remove(key)
	default:
		return join(n.left, n.right)
	}
	return &c
}

// join returns the union of two trees, all of whose keys are l's before r's.
func join(l, r *node) *node {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.weight > r.weight:
		c := *l
		c.right = join(l.right, r)
		return &c
	default:
		c := *r
		c.left = join(l, r.left)
		return &c
	}
}

// ascend yields from <= key < to in order and reports whether to go on. An empty
// to is the end.
func (n *node) ascend(from, to string, yield func(Entry, error) bool) bool {
	if n == nil {
		return true
	}
	low, high := n.key >= from, to == "" || n.key < to
	if low && !n.left.ascend(from, to, yield) {
		return false
	}
	if low && high && !yield(n.entry(), nil) {
		return false
	}
	return !high || n.right.ascend(from, to, yield)
}

// descend is ascend the other way round.
func (n *node) descend(from, to string, yield func(Entry, error) bool) bool {
	if n == nil {
		return true
	}
	low, high := n.key >= from, to == "" || n.key < to
	if high && !n.right.descend(from, to, yield) {
		return false
	}
	if low && high && !yield(n.entry(), nil) {
		return false
	}
	return !low || n.left.descend(from, to, yield)
}

func (n *node) entry() Entry { return Entry{Key: []byte(n.key), Value: []byte(n.value)} }
