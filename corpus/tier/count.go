package tier

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Count is how often one name was seen.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Counts are counts by name, sorted by it. Their JSON is one object: {"not_listed":2}.
type Counts []Count

// MarshalJSON writes one object, whose members are sorted as the counts are.
func (counts Counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(n.Name)
		if err != nil {
			return nil, err
		}
		number, err := json.Marshal(n.Count)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), number...)
	}
	return append(b, '}'), nil
}

func (counts Counts) find(name string) (int, bool) {
	return slices.BinarySearchFunc(counts, name, func(c Count, name string) int { return cmp.Compare(c.Name, name) })
}

// Add adds one to a name, keeping the names sorted.
func (counts Counts) Add(name string) Counts {
	i, ok := counts.find(name)
	if !ok {
		counts = slices.Insert(counts, i, Count{Name: strings.Clone(name)}) // it must not keep the row
	}
	counts[i].Count++
	return counts
}
