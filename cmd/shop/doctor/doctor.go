// Package doctor looks at everything that a configured store stands on, and says what mends what is
// wrong. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/till"
)

// Doctor looks at everything that a configured store stands on: keys, texts, ledger, networks,
// address, clock, disk, backups. It changes nothing, and may look while the store runs.
type Doctor struct {
	Config *shop.Config
	// Backups is the folder whose newest file named backup-… is taken for the newest backup.
	Backups string
	// Client asks the store's own address; nil is one with a timeout of ten seconds.
	Client *http.Client
	// Lookup finds the addresses of a name; nil asks the system.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// LookupTXT finds the TXT records of a name; nil asks the system.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
	Now       func() time.Time
}

// State is what a finding comes to.
type State string

// The states of a finding, from good to bad.
const (
	Fine    State = "ok"
	Warning State = "warning" // it works, and will not for ever or not for everybody
	Fault   State = "fault"   // something is not sold, not kept or not believed until it is mended
)

// Finding is what a look at one thing found.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitzero"` // what mends it
}

// aspect is a thing that a doctor looks at.
type aspect struct {
	name string
	look func(*Doctor, context.Context, report)
}

// aspects are all of them, in the order of the report.
var aspects = []aspect{
	{"keys", (*Doctor).keys},
	{"secrets", (*Doctor).secrets},
	{"texts", (*Doctor).texts},
	{"published tree", (*Doctor).tree},
	{"record", (*Doctor).record},
	{"ledger", (*Doctor).ledger},
	{"high-water file", (*Doctor).highWater},
	{"network", (*Doctor).networks},
	{"clock", (*Doctor).clock},
	{"address", (*Doctor).address},
	{"controllers", (*Doctor).controllers},
	{"proxy", (*Doctor).proxy},
	{"certificate", (*Doctor).certificate},
	{"process", (*Doctor).process},
	{"desk", (*Doctor).desk},
	{"disk", (*Doctor).disk},
	{"backup", (*Doctor).backup},
}

// report takes findings of one aspect; of names a part of it.
type report func(of string, state State, found, do string)

// err reports a fault, or that all is well. What an error says behind "hint: " is what to do.
func (r report) err(of string, err error, fine, do string) bool {
	if err == nil {
		r(of, Fine, fine, "")
		return true
	}
	found, hint, has := strings.Cut(err.Error(), "hint: ")
	if has {
		do = hint
	}
	r(of, Fault, strings.TrimRight(strings.Join(strings.Fields(found), " "), ";:, "), do)
	return false
}

// Examine looks at everything. The findings stand in the order of what was looked at, and nothing
// in them is secret.
func (d *Doctor) Examine(ctx context.Context) (findings []Finding) {
	for _, a := range aspects {
		a.look(d, ctx, func(of string, state State, found, do string) {
			findings = append(findings, Finding{strings.TrimSpace(a.name + " " + of), state, found, do})
		})
	}
	return findings
}

// shop is a shop of which nothing is open.
func (d *Doctor) shop() *shop.Shop {
	return &shop.Shop{Config: *d.Config, Log: slog.New(slog.DiscardHandler)}
}

func (d *Doctor) keys(_ context.Context, r report) {
	c, s := d.Config, d.shop()
	const list = "store key list says which keys there are; a lost one has to come back from its copy"
	if _, err := s.Keys(); !r.err("identity", err, "signs, and is the one in force", list) {
		return
	}
	for _, k := range []struct {
		purpose attest.Purpose
		file    string
		without string // what a store without this key does not do
	}{
		{attest.PurposeLog, c.Keys.Log, "nothing can be written into the record"},
		{attest.PurposeWebhook, c.Keys.Webhook, "no callback is taken"},
		{attest.PurposeGit, c.Keys.Git, "the record has no repository to clone, and store publish cannot sign"},
	} {
		if k.file == "" {
			r(string(k.purpose), Warning, "not configured: "+k.without, "name its file as keys."+string(k.purpose))
			continue
		}
		_, err := shop.InForce(k.file, k.purpose, s.Ring)
		r.err(string(k.purpose), err, "signs, and is the one in force", list)
	}
	err, do := s.MayServe(), "store key init makes keys of your own"
	if errors.Is(err, shop.ErrNobody) {
		do = "write an address of a wallet of yours as pay_to of the network"
	}
	r.err("", err, "none of them is public, and payments go to no example", do)
	if c.Specimen() {
		return
	}
	dir := filepath.Dir(c.Keys.Identity)
	if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o022 != 0 {
		r("folder", Fault, fmt.Sprintf("%s may be written to by others than its owner, who could replace keys", dir),
			"chmod 700 "+dir)
	}
}

func (d *Doctor) secrets(_ context.Context, r report) {
	c := d.Config
	b, err := shop.ReadSecret(c.Keys.Secret)
	if err == nil && len(b) < shop.LeastSecret {
		err = fmt.Errorf("%s holds %d bytes, fewer than %d", c.Keys.Secret, len(b), shop.LeastSecret)
	}
	do := "chmod 600 it, or have it back from its copy: open offers and status tokens derive from it"
	if errors.Is(err, fs.ErrNotExist) {
		do = "a new store has it from store key init; one that has sold needs it back from its copy, since open " +
			"offers and status tokens derive from it"
	}
	r.err("keys.secret", err, fmt.Sprintf("%d bytes for its owner alone", len(b)), do)
	files := [][2]string{{"ledger_file", c.LedgerFile}, {"vouchers.key", c.Vouchers.Key},
		{"payouts.key", c.Payouts.Key}, {"launch.key", c.Launch.Key},
		{"bounties.key", c.Bounties.Key}}
	for _, t := range c.Trade {
		files = append(files, [2]string{"trade secret of " + t.Account, t.Secret})
	}
	for _, f := range files {
		if f[1] == "" {
			continue
		}
		_, err := shop.ReadSecret(f[1])
		r.err(f[0], err, "for its owner alone",
			"make the file and chmod 600 it, or take the key out of the configuration")
	}
}

func (d *Doctor) texts(_ context.Context, r report) {
	site, err := shop.LoadSite(d.Config)
	if !r.err("", err, "they load", "mend what is named, then run store build") {
		return
	}
	r.err("of your own", d.shop().MaySell(site), "none is the specimen's, or this is a store on loopback",
		"write your own, then run store build")
}

func (d *Doctor) tree(_ context.Context, r report) {
	c := d.Config
	if c.Public == "" {
		r("", Warning, "not served by this process: public is not configured", "serve the tree of store build by a CDN")
		return
	}
	ring, err := shop.Ring(c)
	if err == nil {
		// What it was built from is read when a store opens it.
		_, err = dynamic.OpenSite(dynamic.SiteConfig{Pointer: c.Public, Ring: ring, BaseURL: c.BaseURL})
	}
	r.err("", err, "its manifest is signed by the identity", "run store build")
}

func (d *Doctor) record(_ context.Context, r report) {
	c := d.Config
	if c.Record == "" {
		r("", Warning, "none is kept: record is not configured",
			"name a folder for it, or leave it if nobody is to check you")
		return
	}
	if _, err := os.Stat(c.Record); errors.Is(err, fs.ErrNotExist) {
		r("", Warning, c.Record+" is not there yet", "store build begins it")
		return
	}
	r.err("", shop.CheckOrigin(c), "its log has the name of this address", "set base_url back")
}

func (d *Doctor) ledger(ctx context.Context, r report) {
	spec, err := shop.LedgerSpec(d.Config)
	if file, is := strings.CutPrefix(spec, "bolt:"); is && err == nil {
		if _, gone := os.Stat(file); errors.Is(gone, fs.ErrNotExist) {
			r("", Warning, file+" is not there yet",
				"store serve makes it; if this store has sold before, restore a backup")
			return
		}
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, asking)
		defer cancel()
		db, opened := dynamic.Open(ctx, spec)
		if err = opened; err == nil {
			until, read := till.OperatorUntil(ctx, db)
			if read == nil && until.After(d.Now()) {
				r("of holds", Fine, "relayer_key captures and gives back what is held, until "+
					until.Format(time.RFC3339), "")
			}
			err = errors.Join(read, db.Close())
		}
	}
	if err != nil && strings.Contains(err.Error(), "another process has it open") {
		r("", Fine, "a store that runs has it open", "")
		return
	}
	r.err("", err, "it opens", "see that its folder can be written to, or that the database answers; store restore "+
		"takes a backup into an empty one")
}

func (d *Doctor) highWater(_ context.Context, r report) {
	c := d.Config
	if c.HighWater == "" {
		r("", Warning, "none is kept: after a restore what was given since the backup could be given again",
			"name a file on another disk as high_water")
		return
	}
	file, bolt := strings.CutPrefix(c.Ledger, "bolt:")
	mine, err := device(filepath.Dir(c.HighWater))
	theirs, other := device(filepath.Dir(file))
	switch {
	case err != nil:
		r.err("", err, "", "make its folder, or mount its disk")
	case bolt && other == nil && mine == theirs:
		r("", Warning, "it is on the disk of the ledger: both would be lost together", "keep it on another disk")
	default:
		r("", Fine, "not on the disk of the ledger", "")
	}
}
