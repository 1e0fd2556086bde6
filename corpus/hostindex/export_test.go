package hostindex

import "iter"

// Hosts yields the names of all hosts from the first that does not sort before one, in order.
func (x *Index) Hosts(from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range x.from(tableHosts, from) {
			if !yield(e.key, err) || err != nil {
				return
			}
		}
	}
}
