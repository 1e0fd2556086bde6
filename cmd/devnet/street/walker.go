package street

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
)

// WalkTime is what a walk of the whole street takes. It ends when the clock of the play shows.
const WalkTime = 100 * time.Second

// Walker is a guarded client for a street with a play. It meets each host at a moment of its own,
// so that what it records does not depend on the order of its walks or on how fast this machine is.
// It may be used by several goroutines at once.
type Walker struct {
	street *Street
	cfg    fetch.Config
	client *fetch.Client // reads addresses
}

// Walker returns a client with a configuration, whose clock, resolver, dialer and roots are the
// street's.
func (s *Street) Walker(cfg fetch.Config) (*Walker, error) {
	cfg = s.Config(cfg)
	cfg.Now = s.now
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Minute // a slow machine must not change what a play comes to
	}
	c, err := fetch.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Walker{street: s, cfg: cfg, client: c}, nil
}

// Private is false: nothing private is on the street.
func (w *Walker) Private() bool { return false }

// Parse is that of the guarded client.
func (w *Walker) Parse(raw string, rule fetch.Rule) (string, error) { return w.client.Parse(raw, rule) }

// Do makes a request as the guarded client does, at the host's moment.
func (w *Walker) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	host := ""
	if at, err := w.client.Parse(req.URL, rule); err == nil {
		if u, err := url.Parse(at); err == nil {
			host = u.Hostname()
		}
	}
	cfg := w.cfg
	moment := w.street.Moment(host)
	cfg.Now = func() time.Time { return moment }
	c, err := fetch.New(cfg)
	if err != nil {
		return exchange.Exchange{}, err
	}
	x, err := c.Do(ctx, req, rule)
	if err == nil {
		x.Duration = time.Duration(40+w.street.lot(host, 1)%860) * time.Millisecond
	}
	return x, err
}

// Moment is when a host is met by who walks the street: on one with a play within WalkTime before
// what the clock shows, otherwise now.
func (s *Street) Moment(host string) time.Time {
	now := s.now()
	if s.play == nil {
		return now
	}
	after := time.Duration(s.lot(host, 0)) % (WalkTime / time.Second) * time.Second
	switch a := s.play.byHost[host]; {
	case a != nil && a.list != nil:
		after = 0 // lists are read first
	case a != nil && a.role.After != 0:
		after = a.role.After
	}
	return now.Add(after - WalkTime)
}

// lot is the n-th number that a host draws in a week.
func (s *Street) lot(host string, n int) uint16 {
	sum := sha256.Sum256(fmt.Append(nil, host, " ", weekOf(s.now())))
	return binary.BigEndian.Uint16(sum[2*n:])
}
