package route

import "sync"

// Memo keeps what was made last, so that what many ask for is made once. It holds for an edition:
// once that is another one, all that was kept is forgotten. It is safe for concurrent use; two who
// ask at once for what is not kept may both make it. The zero Memo is ready.
type Memo[E, K comparable, V any] struct {
	mu      sync.Mutex
	edition E
	kept    map[K]V
}

// maxKept is how much a Memo keeps. At one more it begins anew, which costs the making and nothing
// else.
const maxKept = 256

// Get returns what was kept for a key in an edition, or what makes it now. An error is not kept.
func (m *Memo[E, K, V]) Get(edition E, key K, makes func() (V, error)) (V, error) {
	m.mu.Lock()
	v, ok := m.kept[key]
	ok = ok && m.edition == edition
	m.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := makes()
	if err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.edition != edition || m.kept == nil || len(m.kept) >= maxKept {
		m.edition, m.kept = edition, map[K]V{}
	}
	m.kept[key] = v
	return v, nil
}
