package derive

import (
	"fmt"
	"strings"
)

// Mend tells a keeper what to do about an error in reading a record, where it does not say that
// itself.
func Mend(err error) error {
	if err == nil || strings.Contains(err.Error(), "hint: ") {
		return err
	}
	return fmt.Errorf("%w; hint: the files of a record stay as they were sealed: fetch the one that was changed, cut "+
		"or lost from the last backup or from the published copy; store verify DIR names all that differ", err)
}
