package ledger

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestFormats: a ledger of this format or without a number is ready, and so is its backup; a newer
// one, or what is no number, is refused with what to do, and an empty ledger stays empty.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ number, says string }{
		{"", ""}, {strconv.Itoa(Format), ""}, {strconv.Itoa(Format + 1), "start the newer release again"},
		{"999999999999", "is no number"}, {"0", "is no number"}, {"one", "is no number"}, {"-1", "is no number"},
	} {
		db := filled(t, 3)
		if c.number != "" {
			err := db.Update(t.Context(), func(tx Tx) error { return tx.Set(formatKey(), []byte(c.number)) })
			if err != nil {
				t.Fatal(err)
			}
		}
		backup, empty := backupOf(t, db), NewMem(MemOptions{})
		for what, err := range map[string]error{"Ready": Ready(t.Context(), db),
			"Restore": Restore(t.Context(), empty, bytes.NewReader(backup))} {
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s of format %q: %v, want %q", what, c.number, err, c.says)
			}
			if newer := c.number == strconv.Itoa(Format+1); errors.Is(err, ErrNewer) != newer {
				t.Errorf("%s of format %q: %v", what, c.number, err)
			}
		}
		if n := sizeOf(t, empty); c.says != "" && n != 0 {
			t.Errorf("of format %q %d entries are restored", c.number, n)
		}
	}
}
