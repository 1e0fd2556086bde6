package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How much room is called short, and how old a backup is called old: one is made each night.
const (
	shortRoom    = 2 << 30
	noRoom       = 200 << 20
	oldBackup    = 48 * time.Hour
	backupName   = "backup-*"
	backupFolder = "backups"
)

func (d *Doctor) disk(_ context.Context, r report) {
	c := d.Config
	places := []string{c.Public, c.Record, filepath.Dir(c.HighWater)}
	if file, is := strings.CutPrefix(c.Ledger, "bolt:"); is {
		places = append(places, filepath.Dir(file))
	}
	seen := make(map[uint64]bool)
	for _, dir := range places {
		at, err := device(dir)
		if dir == "" || dir == "." || err != nil || seen[at] {
			continue // what is not there is said elsewhere
		}
		seen[at] = true
		free, err := room(dir)
		text := fmt.Sprintf("%.1f GiB free where %s is", float64(free)/(1<<30), dir)
		const do = "make room: a ledger that cannot write sells nothing"
		switch {
		case err != nil:
			r.err("", err, "", do)
		case free < noRoom:
			r("", Fault, text, do)
		case free < shortRoom:
			r("", Warning, text, do)
		default:
			r("", Fine, text, "")
		}
	}
}

func (d *Doctor) backup(_ context.Context, r report) {
	const do = "store backup FILE makes one while the store runs, and store-backup.timer one each night; copy it to " +
		"another machine"
	names, err := filepath.Glob(filepath.Join(d.Backups, backupName))
	below, errBelow := filepath.Glob(filepath.Join(d.Backups, backupFolder, backupName)) // as the unit makes them
	if err = errors.Join(err, errBelow); err != nil {
		r.err("", err, "", do)
		return
	}
	names = append(names, below...)
	var newest time.Time
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() && st.ModTime().After(newest) {
			newest = st.ModTime()
		}
	}
	age := d.Now().Sub(newest)
	switch {
	case newest.IsZero():
		r("", Warning, "none in "+d.Backups, do)
	case age > oldBackup:
		r("", Warning, fmt.Sprintf("the newest is %.0f days old", age.Hours()/24), do)
	default:
		r("", Fine, "the newest is of "+newest.UTC().Format(time.DateTime), "")
	}
}
