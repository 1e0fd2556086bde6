package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/drift"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/screen"
)

// anyDrift stands in -fail-on for every declaration that contradicts its door, and begins the name
// of each.
const anyDrift = "drift"

// unreadDrift is the rule of a declaration that cannot be read.
const unreadDrift = "declaration-unread"

// driftFix is what to do about either.
const driftFix = "Mend the declaration, or the door where the declaration is what you mean: buyers pay by what the " +
	"door answers."

// hostFiles are the declarations of hosts, those of each read once.
type hostFiles struct {
	client *fetch.Client
	seen   map[string][]exchange.Exchange // by origin, and what facilitators list by its address
}

// compare holds what the host of a door declares against what the door answered.
func (s *settings) compare(ctx context.Context, door string, walked []exchange.Exchange) (*drift.Report, error) {
	live, ok := drift.ReadLive(walked)
	if !ok {
		return &drift.Report{Compared: []string{}, Findings: []drift.Finding{}, Unread: []drift.Unread{},
			Reason: "the door did not answer 402, so there is nothing to compare with"}, nil
	}
	u, err := url.Parse(door)
	if err != nil {
		return nil, err
	}
	origin, checker := u.Scheme+"://"+u.Host, drift.Checker{Door: door, Live: live}
	var r drift.Report
	if seen, ok := s.files.seen[origin]; ok {
		r, err = probe.Replay(seen, checker)
	} else {
		var recording fetch.Recording
		r, recording, err = fetch.Walk(ctx, s.files.client, checker, fetch.WalkStart{URL: door, PlainHTTP: s.local,
			Kinds: []string{probe.KindGet, drift.KindTools}})
		if err == nil {
			s.files.seen[origin] = recording.Exchanges
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading what its host declares: %w", err)
	}
	return &r, s.askFacilitators(ctx, door, live, &r)
}

// addFacilitator reads one -facilitator.
func (s *settings) addFacilitator(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("it is not an address such as https://facilitator.example/v2/x402")
	case len(s.facilitators) == drift.MaxFacilitators:
		return fmt.Errorf("at most %d are asked", drift.MaxFacilitators)
	}
	s.facilitators = append(s.facilitators, address)
	return nil
}

// askFacilitators adds what each lists of the addresses that the door is paid at. Each address is
// asked about once.
func (s *settings) askFacilitators(ctx context.Context, door string, live drift.Live, r *drift.Report) error {
	var answers []exchange.Exchange
	for _, f := range s.facilitators {
		for _, to := range live.PayTos() {
			at := drift.ListingURL(f, to)
			if _, asked := s.files.seen[at]; !asked {
				x, err := s.files.client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at,
					Header: http.Header{"Accept": {"application/json"}}}, s.rule())
				if err != nil {
					return fmt.Errorf("-facilitator %s: %w", f, err)
				}
				s.files.seen[at] = []exchange.Exchange{x}
			}
			answers = append(answers, s.files.seen[at]...)
		}
	}
	return r.AddListings(door, live, answers)
}

// driftName is how a finding is called where names are listed.
func driftName(f drift.Finding) string { return anyDrift + " " + f.Declaration + " " + f.Member }

// badDrift returns the names of what was found now, is asked for and was not found before.
func badDrift(now, before *drift.Report, named []string) (bad []string) {
	if now == nil || !slices.Contains(named, anyDrift) {
		return nil
	}
	for _, f := range now.Findings {
		if !before.Has(f) {
			bad = append(bad, driftName(f))
		}
	}
	return bad
}

// onlyDrift reports whether nothing was found but declarations that contradict their doors.
func onlyDrift(bad map[string][]string) bool {
	for _, names := range bad {
		if slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, anyDrift+" ") }) {
			return false
		}
	}
	return len(bad) > 0
}

// driftSays is a finding in words, safe for a screen.
func driftSays(f drift.Finding) string {
	return screen.Text(fmt.Sprintf("%s declares %s %s, and the door says %s: the declaration is wrong (%s line %d)",
		f.Declaration, f.Member, f.Declared, f.Live, f.URL, f.Line))
}

// unreadSays is a declaration that cannot be read, in words safe for a screen.
func unreadSays(u drift.Unread) string {
	at := u.URL
	if u.Line > 0 {
		at += fmt.Sprintf(" line %d", u.Line)
	}
	return screen.Text(fmt.Sprintf("the declaration %s cannot be read, and nothing is held against it: %s (%s)",
		u.Declaration, u.Reason, at))
}

// listingSays is what a facilitator lists, in words safe for a screen.
func listingSays(l drift.Listing) string {
	many := fmt.Sprintf("%d resources", l.Total)
	if l.Total < 0 {
		many = "resources, it does not say how many,"
	}
	is := "and this door is not among those it names: it lists what is settled by it with the extension bazaar, and " +
		"says in the header EXTENSION-RESPONSES of its answer to your server what it made of that"
	if l.Listed {
		is = "and this door is among them"
	}
	return screen.Text(fmt.Sprintf("lists %s of %s, %s (%s)", many, l.PayTo, is, l.URL))
}

// driftText writes what became of comparing.
func driftText(b *bytes.Buffer, r *drift.Report) {
	if r == nil {
		return
	}
	b.WriteString("\n  declarations of its host:\n")
	for _, f := range r.Findings {
		show(b, "  FAIL  %-24s %s\n        fix: %s\n", driftName(f), driftSays(f), driftFix)
	}
	for _, u := range r.Unread {
		show(b, "  -     %-24s %s\n", anyDrift+" "+u.Declaration, unreadSays(u))
	}
	for _, l := range r.Listings {
		show(b, "  %-5s %-24s %s\n", map[bool]string{true: "pass", false: "-"}[l.Listed], anyDrift+" "+drift.Listed,
			listingSays(l))
	}
	agree := slices.DeleteFunc(slices.Clone(r.Compared), func(by string) bool {
		return slices.ContainsFunc(r.Findings, func(f drift.Finding) bool { return f.Declaration == by })
	})
	switch {
	case r.Reason != "":
		show(b, "  -     %-24s %s\n", anyDrift, r.Reason)
	case len(agree) > 0:
		show(b, "  pass  %-24s says nothing else than the door: %s\n", anyDrift, strings.Join(agree, ", "))
	case len(r.Compared) == 0:
		show(b, "  -     %-24s no declaration that could be read says anything of this door\n", anyDrift)
	}
}
