package verify

import (
	"errors"
	"io/fs"
	"os"
)

// ReadRemembered reads the checkpoint that Remember kept, for RecordOptions; none if there is no
// such file yet.
func ReadRemembered(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Remember keeps the checkpoint that was verified in a file of the verifier's own, whole or not at
// all. It is called only for a report without problems.
func (r *RecordReport) Remember(file string) error {
	tmp := file + ".new"
	if err := os.WriteFile(tmp, r.head.Raw, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
