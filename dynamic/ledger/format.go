package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Format numbers the meaning of what a ledger holds. It is raised by the release whose records an
// older program would misread, which writes it in the Update that stores the first of them. A
// ledger without a number is of format 1, as all were that were made before there was one.
const Format = 1

// ErrNewer is returned on opening or restoring a ledger that a newer release has written.
var ErrNewer = errors.New("ledger: a newer release has written it")

// formatKey is where the number stands, in decimal.
func formatKey() []byte { return MetaKey("format") }

// Ready returns ErrRestoring if db is what an unfinished restore has left, whose remains must be
// deleted by hand, and ErrNewer if this program would misread it. Engines call it when they open.
func Ready(ctx context.Context, db DB) error {
	return db.View(ctx, func(tx Tx) error {
		switch _, err := tx.Get(restoringKey()); {
		case err == nil:
			return ErrRestoring
		case !errors.Is(err, ErrNotFound):
			return err
		}
		number, err := tx.Get(formatKey())
		if errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		return readable(number)
	})
}

// readable refuses the number of a format that this program does not know.
func readable(number []byte) error {
	n, err := strconv.ParseUint(string(number), 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("its format is %.32q, which is no number: restore a backup into an empty ledger", number)
	}
	if n > Format {
		return fmt.Errorf("%w: it is of format %d, and this program reads up to %d: start the newer release again, "+
			"or restore the backup that was made before the upgrade into an empty ledger", ErrNewer, n, Format)
	}
	return nil
}
