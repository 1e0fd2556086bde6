package view

import "iter"

// Hosts yields the names of all hosts from the first that does not sort before one, in order.
func (v *View) Hosts(from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range v.from(tableHosts, from) {
			if !yield(e.key, err) || err != nil {
				return
			}
		}
	}
}
