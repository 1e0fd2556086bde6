package bulk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ofRecord are the folders of a repository in which the record is.
var ofRecord = []string{"rounds", "observations", "proofs", "log", "keys"}

// beside brings what stands beside the record to what is wanted.
func (r *repository) beside() error {
	if r.head != nil {
		for name := range r.head.Files {
			top, _, _ := strings.Cut(name, "/")
			if _, wanted := r.o.Beside[name]; !wanted && !slices.Contains(ofRecord, top) {
				r.tree.Remove(name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.o.Beside)) {
		if top, _, _ := strings.Cut(name, "/"); slices.Contains(ofRecord, top) {
			return fmt.Errorf("%s is a name of the record", name)
		}
		if err := r.body(name, r.o.Beside[name]); err != nil {
			return err
		}
	}
	return nil
}
