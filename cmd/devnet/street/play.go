package street

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/networks"
)

// A Play is what happens on a street over the weeks of one year: who stands there, as which of the
// rows of Doors, on which lists, and when the walker's own line is down. Everything the street
// answers follows from the play and its clock.
//
// What a role has by weeks is held by the number of the ISO week from which on it holds, to the
// next number.
type Play struct {
	Roles []Role
	Lists []List
	// Outages are the spans in which no connection of the walker's leads anywhere.
	Outages []Span
	// Seed makes the key that signs the offers.
	Seed string
}

// A Role is one host.
type Role struct {
	Host string // in ASCII
	Doc  string
	// Plot is the name of the row of Doors that it is, by weeks. Before the first of them the host
	// does not exist.
	Plot map[int]string
	// Price is what it asks, in atomic units of USDC, where its row asks for a cent.
	Price map[int]string
	// Networks are where it wants to be paid, CAIP-2 ids with spaces between them, where its row
	// sells for one token.
	Networks map[int]string
	// Payee names whose address it advertises; it has its own where none is named.
	Payee map[int]string
	// Lists are the hosts of the lists that name it, with spaces between them, by weeks.
	Lists map[int]string
	// File is the shape of its discovery file, by weeks: see Shapes; "" is none.
	File map[int]string
	// After is when it is met, counted from when a walk of the whole street begins; 0 lets its name
	// and the week tell.
	After time.Duration
}

// A List is a catalogue of doors with a discovery API at https://<Host>/discovery/resources.
type List struct {
	Host string
	// Page is the most items that one answer holds.
	Page int
	// Breaks has the weeks in which what stands at an offset or behind it is not answered.
	Breaks map[int]int
}

// A Span is a time from its first moment up to its last, which is no longer in it.
type Span struct{ From, To time.Time }

// has returns what holds in a week.
func has(by map[int]string, week int) string {
	best, value := 0, ""
	for from, v := range by {
		if from <= week && from > best {
			best, value = from, v
		}
	}
	return value
}

// weekOf is the ISO week of a moment.
func weekOf(t time.Time) int {
	_, week := t.UTC().ISOWeek()
	return week
}

// As returns the row that a role is in a week; ok is false before it exists.
func (r Role) As(week int) (Door, bool) {
	name := has(r.Plot, week)
	for _, d := range Doors() {
		if d.Name == name {
			d.Host = r.Host
			return d, true
		}
	}
	return Door{}, false
}

// URL is where the role's door is.
func (r Role) URL() string { return "https://" + r.Host + "/" + path }

// stage is a play with what is needed to give it.
type stage struct {
	play   Play
	clock  *Clock
	byHost map[string]*actor
	byAddr map[netip.Addr]string

	mu    sync.Mutex // guards doors
	doors map[scene]*Door
}

// actor is a role or a list at its addresses.
type actor struct {
	role      *Role
	list      *List
	addresses []netip.Addr
}

// scene is a host in a week.
type scene struct {
	host string
	week int
}

// OpenScripted opens a street on which a play is given. What it answers follows from the play and
// from where the clock stands, to the byte of everything that a judgement is made of, in whatever
// order it is walked; see Walker.
func OpenScripted(p Play, clock *Clock) (*Street, error) {
	rows := map[string]bool{}
	for _, d := range Doors() {
		rows[d.Name] = d.wire == nil && !d.Plain && !d.Slow
	}
	st := &stage{play: p, clock: clock, byHost: map[string]*actor{}, byAddr: map[netip.Addr]string{},
		doors: map[scene]*Door{}}
	four, six := firstIPv4, firstIPv6
	enter := func(host string, a *actor) error {
		if st.byHost[host] != nil {
			return fmt.Errorf("opening a street: two hosts are called %s", host)
		}
		a.addresses = []netip.Addr{four, six}
		st.byHost[host], st.byAddr[four], st.byAddr[six] = a, host, host
		four, six = four.Next(), six.Next()
		return nil
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		for week, name := range r.Plot {
			if !rows[name] {
				return nil, fmt.Errorf("opening a street: in week %d %s is %q, which is no row that can be played",
					week, r.Host, name)
			}
		}
		for week, shape := range r.File {
			if shape != "" && !slices.Contains(Shapes(), shape) {
				return nil, fmt.Errorf("opening a street: in week %d %s has a file of shape %q", week, r.Host, shape)
			}
		}
		if err := enter(r.Host, &actor{role: r}); err != nil {
			return nil, err
		}
	}
	for i := range p.Lists {
		if err := enter(p.Lists[i].Host, &actor{list: &p.Lists[i]}); err != nil {
			return nil, err
		}
	}
	for _, r := range p.Roles {
		for _, names := range r.Lists {
			for name := range strings.FieldsSeq(names) {
				if a := st.byHost[name]; a == nil || a.list == nil {
					return nil, fmt.Errorf("opening a street: %s is on %s, which is no list", r.Host, name)
				}
			}
		}
	}
	seed := sha256.Sum256([]byte("street of test doors, its seller: " + p.Seed))
	seller, err := attest.Generate(bytes.NewReader(seed[:]))
	if err != nil {
		return nil, err
	}
	return open(nil, st, seller, clock.Now)
}

// door is who stands at a host at a moment, nil for nobody.
func (st *stage) door(host string, at time.Time) *Door {
	a := st.byHost[host]
	if a == nil {
		return nil
	}
	s := scene{host, weekOf(at)}
	st.mu.Lock()
	defer st.mu.Unlock()
	if d, ok := st.doors[s]; ok {
		return d
	}
	d := &Door{Name: host, Host: host, Doc: "A list.", addresses: a.addresses}
	if a.role != nil {
		row, ok := a.role.As(s.week)
		if !ok {
			d = nil
		} else {
			row.addresses, d = a.addresses, &row
		}
	}
	st.doors[s] = d
	return d
}

// out reports whether the walker's line is down.
func (st *stage) out(at time.Time) bool {
	return slices.ContainsFunc(st.play.Outages, func(s Span) bool { return !at.Before(s.From) && at.Before(s.To) })
}

// dress puts what the role wants in the place of the row's own price, networks and payee.
func (v *visit) dress(t *terms) {
	if v.role == nil {
		return
	}
	week := weekOf(v.now())
	if ids := strings.Fields(has(v.role.Networks, week)); len(ids) > 0 && len(t.accepts) == 1 {
		t.accepts = nil
		for _, id := range ids {
			for _, a := range networks.Tokens() {
				if a.Network == id && a.Symbol == "USDC" {
					t.accepts = append(t.accepts, entry(a, "10000"))
				}
			}
		}
	}
	price := has(v.role.Price, week)
	for _, a := range t.accepts {
		e, ok := a.(object)
		if !ok {
			continue
		}
		if price != "" && e["amount"] == "10000" {
			e["amount"] = price
		}
		// The row's form of address stays, which may be the wrong one.
		switch e["payTo"] {
		case payee:
			e["payTo"] = v.paidAt("eip155")
		case payeeSolana:
			e["payTo"] = v.paidAt("solana:")
		}
	}
}

// paidAt is the address of whom the role wants to be paid, in the form of a network.
func (v *visit) paidAt(network string) string {
	if v.role == nil {
		if strings.HasPrefix(network, "solana:") {
			return payeeSolana
		}
		return payee
	}
	who := has(v.role.Payee, weekOf(v.now()))
	if who == "" {
		who = v.role.Host
	}
	return Address(network, who)
}

// Address is the account of somebody on a street with a play. Nobody is known to hold its key.
func Address(network, who string) string {
	sum := sha256.Sum256([]byte("somebody on the street: " + who))
	if !strings.HasPrefix(network, "solana:") {
		return "0x" + hex.EncodeToString(sum[12:])
	}
	sum[0] |= 0x80 // so that no zero leads
	return networks.EncodeBase58(sum[:])
}

// listed are the roles that a list names in a week, by their hosts.
func (st *stage) listed(list string, week int) []*Role {
	var out []*Role
	for _, host := range slices.Sorted(maps.Keys(st.byHost)) {
		if r := st.byHost[host].role; r != nil && slices.Contains(strings.Fields(has(r.Lists, week)), list) {
			out = append(out, r)
		}
	}
	return out
}
