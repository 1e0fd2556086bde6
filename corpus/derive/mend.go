package derive

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/record"
)

// Mend tells a keeper what to do about an error in reading a record. One that is of a newer format
// says that itself.
func Mend(err error) error {
	if err == nil || errors.Is(err, record.ErrNewer) {
		return err
	}
	return fmt.Errorf("%w; hint: the files of a record stay as they were sealed: fetch the one that was changed, cut "+
		"or lost from the last backup or from the published copy; store verify DIR names all that differ", err)
}
