package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// byHand is how long a host's file is not read by hand again.
const byHand = 24 * time.Hour

// Roster tells what the census of a week does; a census.Store is one.
type Roster interface {
	Week(ctx context.Context, week string) (census.Week, error)
	Why(ctx context.Context, week, host string) (census.Why, error)
}

// DeclareRequest names the host whose declaration is to be read.
type DeclareRequest struct {
	Host string `json:"host" jsonschema:"bare name of the host, such as shop.example; no scheme, port or path"`
}

// Declaring is what was read of a host's declaration and what the census does next.
type Declaring struct {
	Host      string       `json:"host"`
	Read      DeclaredRead `json:"read"`
	Walk      DeclaredWalk `json:"walk"`
	NextRead  string       `json:"next_read_by_hand_after"`
	Private   bool         `json:"private,omitzero"`
	RateLimit *RateLimit   `json:"rate_limit,omitzero"`
}

// DeclaredRead is the reading. Kind is one of three words.
type DeclaredRead struct {
	Kind     string               `json:"kind"` // doors, none or unreadable
	Host     string               `json:"declaring_host,omitzero"`
	Doors    []probe.DeclaredDoor `json:"doors"`          // of this host, at most 20
	Foreign  int64                `json:"foreign"`        // doors of other hosts, which are never walked
	Refused  int64                `json:"refused"`        // entries that are no door this store would read
	Capped   int64                `json:"capped"`         // further doors of this host
	Via      string               `json:"via,omitzero"`   // x402 or agent-card
	Shape    string               `json:"shape,omitzero"` // which known shape the file has
	From     string               `json:"read_from,omitzero"`
	OptedOut bool                 `json:"opted_out"`       // the file says that the host is not to be walked
	Reason   string               `json:"reason,omitzero"` // of none and unreadable
	Note     string               `json:"note,omitzero"`
}

// The words of what the census does with a host in this week.
const (
	walkAppended  = "appended"
	walkOnRoster  = "already-on-roster"
	walkNotNow    = "no-walk-this-week"
	walkOverQuota = "over_quota"
	walkNoOwnDoor = "no-door-on-own-host"
	walkOptedOut  = "opted_out"
)

// DeclaredWalk says what the census does next.
type DeclaredWalk struct {
	ThisWeek string `json:"this_week"`
	Door     string `json:"door_the_census_will_knock_on,omitzero"`
	From     string `json:"from,omitzero"` // RFC 3339: when places are dealt anew; with over_quota
	Then     string `json:"then"`
}

// bareHost reads the name of a host and returns it in the form in which it is requested.
func (d *Desk) bareHost(raw string) (string, error) {
	bad := func(what string) (string, error) {
		return "", &problem.Error{Code: "invalid_input",
			Detail: "Nothing was read: host must be the bare name of a host, such as shop.example.",
			Fields: []problem.Field{{Field: "host", Problem: what}}}
	}
	host := strings.TrimSpace(raw)
	switch _, isAddress := netip.ParseAddr(host); {
	case host == "":
		return bad("is missing")
	case len(host) > 253:
		return bad("is longer than 253 characters")
	case strings.ContainsAny(host, `/\?#@:%[]`) ||
		strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return bad("is not a bare name: it has a scheme, port, path or another thing that no name has")
	case isAddress == nil:
		return bad("is an address and not a name")
	}
	canonical, err := d.cfg.Client.Parse(declarations.Start(host), fetch.Rule{})
	if err != nil {
		return "", refused(err)
	}
	u, err := url.Parse(canonical)
	if err != nil {
		return "", err
	}
	return u.Hostname(), nil
}

// declare reads a host's declaration, once a day for each host.
func (d *Desk) declare(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[DeclareRequest](r, false)
	if err != nil {
		return err
	}
	host, err := d.bareHost(in.Host)
	if err != nil {
		return err
	}
	// Who comes too early learns it before anything is spent.
	if err := d.cfg.DB.View(r.Context(), func(tx ledger.Tx) error { return readByHand(tx, host) }); err != nil {
		return ledgerDown(err)
	}
	rl, err := d.take(w, r, BudgetDeclare)
	if err != nil {
		return err
	}
	if err := d.lookup(r.Context(), declarations.Start(host)); err != nil {
		d.giveBack(w, r, rl)
		return err
	}
	at, err := d.takeHand(r.Context(), host)
	if err != nil {
		return err
	}
	out, err := d.declared(r.Context(), host, at)
	if err != nil {
		// What failed was ours: the host may be read again.
		return errors.Join(err, d.giveHand(context.WithoutCancel(r.Context()), host))
	}
	out.RateLimit = rl
	return route.JSON(w, out)
}

// declared reads, records and says what follows.
func (d *Desk) declared(ctx context.Context, host string, at time.Time) (Declaring, error) {
	report, _, err := read(d, ctx, declarations.Checker{Host: host},
		fetch.WalkStart{URL: declarations.Start(host), Kinds: []string{"get"}})
	if err != nil {
		return Declaring{}, failed(err)
	}
	own := d.ownDoors(report, host)
	if report.File.OptOut {
		own = declarations.Own{Doors: []probe.DeclaredDoor{}} // what it lists beside is not for us
	}
	out := Declaring{Host: host, NextRead: at.Add(byHand).Format(time.RFC3339), Private: d.cfg.Client.Private(),
		Read: DeclaredRead{
			Kind: report.Kind, Host: host, Doors: own.Doors, Foreign: own.Foreign, Refused: own.Refused,
			OptedOut: report.File.OptOut, Capped: own.Capped, Via: report.Via, Shape: report.File.Shape,
			From: report.URL, Reason: report.Reason,
		}}
	switch {
	case report.Kind == declarations.Unreadable:
		out.Read = DeclaredRead{Kind: declarations.Unreadable, Doors: []probe.DeclaredDoor{}, Via: report.Via,
			Shape: report.File.Shape, From: report.URL, Reason: report.Reason,
			Note: "This is about the file and our reading of it. It is no finding about the host."}
	case len(own.Doors) == 0 && report.Kind == declarations.Doors:
		out.Read.Kind, out.Read.Host, out.Read.Reason = declarations.None, "",
			"the file declares no door on its own host"
		if out.Read.OptedOut {
			out.Read.Reason = "the file says that the host is not to be walked"
		}
	case report.Kind == declarations.None:
		out.Read.Host = ""
	}
	if !out.Private && report.Kind != declarations.Unreadable {
		if err := d.putDeclaration(ctx, host, report.File.Shape, own); err != nil {
			return Declaring{}, err
		}
	}
	out.Walk, err = d.thisWeek(ctx, out, at)
	return out, err
}

// putDeclaration puts what a host declares on the feed, where it says something new.
func (d *Desk) putDeclaration(ctx context.Context, host, shape string, own declarations.Own) error {
	shape = cmp.Or(shape, declarations.None)
	decl := record.Declaration{Host: host, Shape: shape, Doors: []string{}, Foreign: own.Foreign}
	methods := []string{}
	for _, door := range own.Doors {
		decl.Doors, methods = append(decl.Doors, door.URL), append(methods, door.Method)
	}
	err := d.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return feed.Declare(tx, decl, methods) })
	if errors.Is(err, feed.ErrShut) {
		return &problem.Error{Code: "store_closed",
			Detail: "The store is closed after a restore and takes no declaration. Try again later."}
	}
	if err != nil {
		return ledgerDown(err)
	}
	return nil
}

// thisWeek says what the census does with a host.
func (d *Desk) thisWeek(ctx context.Context, out Declaring, at time.Time) (DeclaredWalk, error) {
	if out.Read.OptedOut {
		return DeclaredWalk{ThisWeek: walkOptedOut, Then: "The host is not walked while its file says so: the census " +
			"reads the file before each week's walk, and the row says opted_out. What the record has of it stays. To " +
			"be walked again, take the word out of the file."}, nil
	}
	if out.Read.Kind == declarations.None {
		return DeclaredWalk{ThisWeek: walkNoOwnDoor,
			Then: "Nothing is walked because of this reading. Serve a file at " + declarations.FilePath +
				" that lists a door on this host, and ask again after next_read_by_hand_after."}, nil
	}
	if d.cfg.Roster == nil || out.Private {
		return DeclaredWalk{ThisWeek: walkNotNow,
			Then: "This store walks no weekly round, so nothing follows but the reading above."}, nil
	}
	week := record.ISOWeek(at)
	why, err := d.cfg.Roster.Why(ctx, week, out.Host)
	if err != nil {
		return DeclaredWalk{}, ledgerDown(err)
	}
	switch why.ThisWeek.State {
	case census.StateDue, census.StateWalking, census.StateWalked, census.StateNotWalked:
		return DeclaredWalk{ThisWeek: walkOnRoster,
			Then: "The host is on this week's roster already, and a host is walked once a week. From the next roster " +
				"on, the first declared door is the one that is walked."}, nil
	}
	if why.ThisWeek.State == census.StateOverQuota {
		monday, err := census.Monday(week)
		if err != nil {
			return DeclaredWalk{}, err
		}
		next := monday.AddDate(0, 0, 7)
		return DeclaredWalk{ThisWeek: walkOverQuota, From: next.Format(time.RFC3339),
			Then: fmt.Sprintf("This week's places for hosts that no list names are taken: there are at most %d for a "+
				"registrable domain, and a part of the roster for all. The roster of %s is dealt anew, from %s.",
				census.DeclaredPerDomain, record.ISOWeek(next), next.Format(time.RFC3339))}, nil
	}
	if out.Read.Kind == declarations.Unreadable {
		return DeclaredWalk{ThisWeek: walkNotNow,
			Then: "No door could be read, so none is walked because of this reading. See reason, and ask again after " +
				"next_read_by_hand_after."}, nil
	}
	state, err := d.cfg.Roster.Week(ctx, week)
	if err != nil {
		return DeclaredWalk{}, ledgerDown(err)
	}
	monday, err := census.Monday(week)
	if err != nil {
		return DeclaredWalk{}, err
	}
	next := monday.AddDate(0, 0, 7)
	walk := DeclaredWalk{ThisWeek: walkAppended, Door: out.Read.Doors[0].URL}
	switch phase := state.Phase; {
	case phase == census.PhaseClosed || phase == census.PhaseSealed:
		walk.ThisWeek, walk.Then = walkNotNow, "The round of "+week+
			" takes no more hosts. This door is on the roster of "+record.ISOWeek(next)+", which begins on "+
			next.Format(time.DateOnly)
		if d.cfg.Hourly {
			walk.Then += ": the first hourly firing of that week makes the roster and walks it, once."
		} else {
			walk.Then += ", and is walked once when the keeper has the census of that week run."
		}
		return walk, nil
	case (phase == census.PhaseOpen || phase == census.PhaseListed) && d.cfg.Hourly:
		walk.Then = "The next hourly firing of the census puts the host on this week's roster, within the quota for " +
			"hosts that declared themselves, and walks this door, once. "
	case phase == census.PhaseOpen || phase == census.PhaseListed:
		walk.Then = "The next time that the keeper fires the census by the hour, the host is put on this week's " +
			"roster and this door is walked, once; if that does not come before the round is sealed, it is on the " +
			"roster of " + record.ISOWeek(next) + ". "
	case d.cfg.Hourly:
		walk.Then = "The roster of " + week + " is not made yet. The next hourly firing of the census makes it, with " +
			"the host on it, and walks this door, once. "
	default:
		walk.Then = "The host goes onto the roster of " + week +
			", which is not made yet, and this door is walked once when the keeper has the census run. "
	}
	walk.Then += "Its row stands in the round of the week once that is sealed, with the source declared."
	return walk, nil
}

// A reading by hand is a record of its host with its time, and one in order of time by which it is
// forgotten.
func handKey(host string) []byte { return ledger.NonceKey("declare", "host", host) }

func handTimeKey(at time.Time, host string) []byte {
	return ledger.NonceKey("declare", "time", ledger.Number(uint64(at.Unix())), host)
}

type handRead struct {
	At time.Time `json:"at"`
}

// readByHand refuses a host that was read within the day.
func readByHand(tx ledger.Tx, host string) error {
	held, err := ledger.GetJSON[handRead](tx, handKey(host))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	again := held.At.Add(byHand)
	left := again.Sub(tx.Now())
	if left <= 0 {
		return nil
	}
	return &problem.Error{Code: "read_today", Retry: left,
		Detail: "Nothing was read: this host was read by hand within the last 24 hours. The census reads it in its " +
			"own time.",
		Extra: map[string]any{"host": host, "read_by_hand_at": held.At.Format(time.RFC3339),
			"try_after": again.Format(time.RFC3339),
			"note": "One reading by hand in 24 hours for each host, whoever asks. This says nothing about " +
				"the host."}}
}

// takeHand takes the host's reading of the day and forgets a few that are over.
func (d *Desk) takeHand(ctx context.Context, host string) (at time.Time, err error) {
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		at = tx.Now().UTC().Truncate(time.Second)
		if err := readByHand(tx, host); err != nil {
			return err
		}
		from, _ := ledger.Prefix(ledger.NonceKey("declare", "time"))
		over, err := ledger.Forget(tx, from, handTimeKey(at.Add(-byHand), ""), 8)
		if err != nil {
			return err
		}
		for _, key := range over {
			parts, err := ledger.Parts(key)
			if err != nil {
				return err
			}
			if err := tx.Delete(handKey(parts[len(parts)-1])); err != nil {
				return err
			}
		}
		return errors.Join(ledger.SetJSON(tx, handKey(host), handRead{at}), tx.Set(handTimeKey(at, host), nil))
	})
	if err != nil {
		return at, ledgerDown(err)
	}
	return at, nil
}

// giveHand gives a reading back that came to nothing through no fault of the host.
func (d *Desk) giveHand(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		held, err := ledger.GetJSON[handRead](tx, handKey(host))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(tx.Delete(handKey(host)), tx.Delete(handTimeKey(held.At, host)))
	})
}
