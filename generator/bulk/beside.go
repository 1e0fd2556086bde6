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
	for name := range r.files {
		top, _, _ := strings.Cut(name, "/")
		if _, wanted := r.o.Beside[name]; !wanted && !slices.Contains(ofRecord, top) {
			delete(r.files, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.o.Beside)) {
		if top, _, _ := strings.Cut(name, "/"); slices.Contains(ofRecord, top) {
			return fmt.Errorf("%s is a name of the record", name)
		}
		r.body(name, r.o.Beside[name])
	}
	return nil
}
