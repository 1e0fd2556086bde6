package census

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
)

func TestRegistrable(t *testing.T) {
	for host, want := range map[string][2]string{
		"a.example.com": {"example.com", "example.com"}, "example.co.uk": {"example.co.uk", "example.co.uk"},
		"x.y.example.co.uk": {"example.co.uk", "example.co.uk"}, "app.vercel.app": {"app.vercel.app", "vercel.app"},
		"deep.app.vercel.app": {"app.vercel.app", "vercel.app"}, "vercel.app": {"vercel.app", "vercel.app"},
		"me.github.io": {"me.github.io", "github.io"}, "a.b.street": {"b.street", "b.street"},
		"localhost": {"localhost", "localhost"}, "co.uk": {"co.uk", "co.uk"}, "192.0.2.1": {"192.0.2.1", "192.0.2.1"},
		"2001:db8::1": {"2001:db8::1", "2001:db8::1"},
		"bucket.s3.dualstack.eu-west-1.amazonaws.com": {"bucket.s3.dualstack.eu-west-1.amazonaws.com", "amazonaws.com"},
	} {
		if domain, icann := registrable(host); domain != want[0] || icann != want[1] {
			t.Errorf("%s is of %s and %s, want %v", host, domain, icann, want)
		}
	}
}

// named is a source of doors.
func named(kind string, hosts ...string) Source {
	return Source{Name: kind, Kind: kind, Read: func(_ context.Context, _ Reading, put func(Named)) error {
		for _, h := range hosts {
			put(Named{URL: "https://" + h + "/paid"})
		}
		return nil
	}}
}

// TestDeclaredHostsCannotCaptureTheRoster lets one wildcard domain, a thousand names of one
// platform and a thousand domains declare themselves beside hosts that a list names.
func TestDeclaredHostsCannotCaptureTheRoster(t *testing.T) {
	many := func(n int, form string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(form, i))
		}
		return out
	}
	listed, honest := many(600, "h%d.listed.example"), many(15, "own%d.honest.com")
	wildcard, platform, domains := many(1000, "w%d.wild.com"), many(1000, "p%d.vercel.app"), many(1000, "d%d.com")
	walked := func(limit int, kinds ...Source) (map[string]int, *roster) {
		r, err := newRun(Config{Owner: "x", Store: struct{ Store }{}, Client: api(nil), Week: "2026-W47",
			Now: func() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.readSources(t.Context(), kinds, nil, "2026-W47")
		if err != nil {
			t.Fatal(err)
		}
		known, _ := got.known([]byte("salt"), newQuota(limit, false, 0), false)
		of := map[string]int{}
		for k := range known {
			_, icann := registrable(k.Host)
			switch {
			case k.Entry == nil && k.Reason == ReasonOverQuota && k.Row == nil:
				of["over "+icann]++
			case k.Entry != nil && k.Row == nil:
				if strings.HasPrefix(icann, "d") {
					icann = "domains"
				}
				of[icann]++
			}
		}
		return of, got
	}
	of, _ := walked(0, named(record.SourceDeclared, slices.Concat(honest, wildcard)...),
		named(record.SourceDiscovery, listed...))
	if of["listed.example"] != 600 || of["honest.com"] != 15 || of["wild.com"] != DeclaredPerDomain ||
		of["over wild.com"] != 980 {
		t.Errorf("without a cap: %v", of)
	}
	of, _ = walked(2000, named(record.SourceDeclared, slices.Concat(honest, wildcard, platform, domains)...),
		named(record.SourceDiscovery, listed...))
	declared := of["wild.com"] + of["vercel.app"] + of["domains"] + of["honest.com"]
	if of["listed.example"] != 600 || declared != 500 || of["wild.com"] > DeclaredPerDomain || of["vercel.app"] > 50 {
		t.Errorf("of a cap of 2,000, %d are declared: %v", declared, of)
	}
	// A host that a list names is nobody's quota.
	of, _ = walked(2000, named(record.SourceDeclared, wildcard...), named(record.SourceDiscovery, wildcard...))
	if of["wild.com"] != 1000 {
		t.Errorf("hosts that a list names: %v", of)
	}
	// Nor does it help to have been there the week before.
	of, _ = walked(2000, named(record.SourceDeclared, wildcard...), named(record.SourceRevisit, wildcard...))
	if of["wild.com"] != DeclaredPerDomain {
		t.Errorf("hosts of the week before: %v", of)
	}
	// Twenty thousand names below a wildcard and ten thousand of one platform, beside six
	// hundred hosts that a list names and fifteen that declared themselves: those keep their places
	// but for six at most, which is less than one in a hundred. Without a cap and with one.
	flood := slices.Concat(many(20_000, "f%d.flood.com"), many(10_000, "q%d.vercel.app"))
	for _, limit := range []int{0, 2000} {
		of, _ = walked(limit, named(record.SourceDeclared, slices.Concat(flood, honest)...),
			named(record.SourceDiscovery, listed...))
		if kept := of["listed.example"] + of["honest.com"]; kept < 615-6 || of["flood.com"] > DeclaredPerDomain ||
			limit > 0 && of["vercel.app"] > limit/declaredICANN {
			t.Errorf("a flood under a cap of %d leaves %d of 615 honest hosts: %v", limit, kept, of)
		}
	}
	late := newQuota(2000, true, 150)
	in := 0
	for _, h := range domains {
		if late.let(h) {
			in++
		}
	}
	if in != 50 {
		t.Errorf("%d more in a week that let 150 of 200 in", in)
	}
}

// TestSourcesHaveDeadlines reads a catalogue that asks for patience on every page, one that never
// answers, and one that does: the census goes on in time, with what they gave.
func TestSourcesHaveDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalling := api(func(u *url.URL) exchange.Response {
			r := catalogue(100_000, 100)(u)
			if u.Query().Get("offset") != "0" {
				time.Sleep(time.Second)
				if time.Now().Second()%2 == 0 {
					r = exchange.Response{Status: 429, Header: http.Header{"Retry-After": {"300"}}}
				}
			}
			return r
		})
		r, err := newRun(Config{Owner: "x", Store: struct{ Store }{}, Client: stalling,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		silent := Source{Name: "silent", Kind: record.SourceWellKnown, Read: func(ctx context.Context, _ Reading,
			put func(Named)) error {
			put(Named{URL: "https://first.example/"})
			<-ctx.Done()
			return fmt.Errorf("\x1b[31m\u202e%w", ctx.Err())
		}}
		began := time.Now()
		got, err := r.readSources(t.Context(), []Source{Discovery("bazaar", "https://api.example/v2/x402"), silent,
			named(record.SourceDeclared, "own.example")}, nil, r.Week)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*DefaultSourceTime+time.Minute {
			t.Errorf("reading took %s", took)
		}
		for i, want := range []struct {
			complete bool
			least    int64
		}{{false, 100}, {false, 1}, {true, 1}} {
			if s := got.report[i]; s.Complete != want.complete || s.Hosts < want.least ||
				s.Complete != (s.Problem == "") || strings.ContainsAny(s.Problem, "\x1b\u202e") {
				t.Errorf("%+v", s)
			}
		}
	})
}
