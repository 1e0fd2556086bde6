// Package visitors is the free counter: whoever comes by may sign the guestbook, ring the bell,
// take a stamp, and leave a letter, a tip or a request for work; the keeper reads, answers, reviews
// and quotes. Nothing is sold here: a request that was quoted is sold by the till, at what
// goods.Quote says.
//
// A visitor is an address and a user agent, of which nothing is kept but two digests under a salt
// that lives for a day (see Limits). What visitors write is data: it is checked for length and for
// what cannot be seen, stored, escaped wherever it is shown, signed nowhere and never read by a
// build. The text of a letter, a tip or a request is shown to the keeper alone.
//
//	d, err := visitors.New(visitors.Config{BaseURL: "https://store.example", DB: db, Key: key, Site: site, Chrome: chrome})
//	rows := d.Rows()
//	go d.Run(ctx)
//
// Keys beside those of limit.go; a pile is waiting, done or shown:
//
//	visit/post/<id>                           a Post
//	visit/pile/<pile>/<kind>/<seconds>/<id>   the posts of a kind in a pile, oldest first
//	visit/stamp/<stamp_id>                    a Stamp
//	visit/line/<week>                         what the stamps of a week say
//	visit/signed/<digest>                     the post that an identity signed
package visitors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/templates"
)

// Config is what a Desk is made of.
type Config struct {
	BaseURL string // of the service, without a slash at its end
	DB      ledger.DB
	Key     *attest.Key // signs stickers, stamps, replies and quotes
	Site    content.Editions
	Chrome  func() *templates.Chrome // of the pages that are rendered on request
	Prove   Prover                   // judges identities; nil: none checks
	Limits  []Limit                  // nil is the table
	Log     *slog.Logger             // nil: nothing is logged
}

// Service answers visitors and the keeper. It may be used by many goroutines at once.
type Service struct {
	cfg   Config
	reads *budget.Set
	guess atomic.Pointer[daysSalt]
}

// New checks cfg and returns a service.
func New(cfg Config) (*Service, error) {
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Host == "" || strings.HasSuffix(cfg.BaseURL, "/") {
		return nil, fmt.Errorf("opening the visitors' desk: base URL %q", cfg.BaseURL)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Limits == nil {
		cfg.Limits = Limits
	}
	own, err := budget.New(nil, reads)
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, reads: own}, nil
}

// limit is the row of a kind.
func (d *Service) limit(kind string) Limit {
	i := slices.IndexFunc(d.cfg.Limits, func(l Limit) bool { return l.Kind == kind })
	return d.cfg.Limits[i] // kinds are our own, and a test looks at the table
}

// stampTime is a time as it stands in what is signed.
func stampTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ErrNone says that nothing has an id.
var ErrNone = errors.New("nothing has this id")

// Signed finds what was signed for a visitor under an id of a prefix of Classes; ok is false for an
// unknown id.
func (d *Service) Signed(ctx context.Context, id string) (class string, proof attest.Proof, ok bool, err error) {
	if strings.HasPrefix(id, prefixStamp) {
		s, err := d.signedStamp(ctx, id)
		return s.Class, s.Proof, err == nil, unlessNone(err)
	}
	p, err := d.receipt(ctx, id)
	if err == nil && p.Proof != nil {
		return kindOf(p.Kind).class, *p.Proof, true, nil
	}
	return "", proof, false, unlessNone(err)
}

func unlessNone(err error) error {
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// Class is a class of what is signed here.
type Class struct{ Name, Prefix, DoesNotProve string }

// Classes are those that GET /api/verify/{id} finds with Signed.
var Classes = []Class{
	{attest.ClassStamp, prefixStamp, "Who was here. A stamp or sticker proves that somebody was, on that date, and a " +
		"sticker's identity, where it has one, that its key signed the entry."},
	{attest.ClassLetter, prefixLetter, "What the letter says: that is between its writer and the keeper. It proves " +
		"that a letter with this digest came on that date, and what the keeper answered."},
	{attest.ClassRequest, prefixRequest, "That the work will be ordered or done. It proves that work with this " +
		"digest was asked for, and once it is quoted, at what price this store does it."},
}
