package botauth

import (
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/did"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// Checker judges the document at URL.
type Checker struct{ URL string }

var _ probe.Checker[Report] = Checker{}

// Name is bot-auth/v1.
func (Checker) Name() string { return "bot-auth/v1" }

// MaxRequests is the document and a card's jwks_uri.
func (Checker) MaxRequests() int { return 2 }

// mediaType is that of a directory.
const mediaType = "application/http-message-signatures-directory+json"

// A judge is one judgement under way.
type judge struct {
	Report
	x    exchange.Exchange
	at   time.Time
	rows []row
	raw  map[string]jsontext.Value
}

// Step implements probe.Checker.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	if len(recorded) == 0 {
		return Report{}, &probe.Next{Kind: "get", Request: exchange.Request{Method: http.MethodGet, URL: c.URL,
			Header: http.Header{"Accept": {mediaType + ", application/json"}}}}, nil
	}
	x := recorded[0]
	j := &judge{x: x, at: x.StartedAt.Add(x.Duration)}
	j.Report = Report{Version: Version, URL: c.URL, Keys: []Key{}, Fixes: []Fix{},
		ObservedAt: j.at.UTC().Truncate(time.Second), CannotTell: cannotTell,
		Evidence: Evidence{Status: x.Response.Status, ContentType: bounded(x.Response.Header.Get("Content-Type"), 200),
			Bytes: len(x.Response.Body), SHA256: attest.Digest(sha256.Sum256(x.Response.Body)).String()}}
	err := json.Unmarshal(x.Response.Body, &j.raw)
	switch _, keys := j.raw["keys"]; {
	case err == nil && keys:
		j.Kind = KindDirectory
	case err == nil && (j.raw["client_id"] != nil || j.raw["web_bot_auth"] != nil || j.raw["jwks_uri"] != nil ||
		j.raw["jwks"] != nil):
		j.Kind = KindCard
	}
	j.rows = directoryRows
	if j.Kind == KindCard {
		j.rows = cardRows
	}
	for _, r := range j.rows {
		j.Checks = append(j.Checks, Check{Name: r.name, State: NotChecked, Detail: "not reached", Source: r.source})
	}
	if j.reached() {
		if j.Kind == KindCard {
			if next := j.card(recorded[1:]); next != nil {
				return Report{}, next, nil
			}
		} else {
			j.directory(err)
		}
	}
	j.conclude()
	return j.Report, nil, nil
}

func bounded(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "?")
}

func (j *judge) set(name string, s State, code, format string, args ...any) {
	c := &j.Checks[slices.IndexFunc(j.Checks, func(c Check) bool { return c.Name == name })]
	c.State, c.Code, c.Detail = s, code, bounded(fmt.Sprintf(format, args...), 500)
}

// reached judges the answer before its body is looked at.
func (j *judge) reached() bool {
	s := j.x.Response.Status
	if s == 0 || j.x.Error.Stage != "" || s >= 500 {
		j.set("reachable", Unreachable, "", "status %d %s", s, j.x.Error.Text)
		return false
	}
	j.set("reachable", Pass, "", "it answers over https")
	switch {
	case s == http.StatusNotFound || s == http.StatusGone:
		j.set("status-200", Absent, "NOT_PUBLISHED", "status %d", s)
		return false
	case s != http.StatusOK:
		j.set("status-200", Fail, "STATUS", "status %d", s)
		return false
	}
	j.set("status-200", Pass, "", "status 200")
	header := j.x.Response.Header.Values("Content-Type")
	t, _, err := mime.ParseMediaType(strings.Join(header, ", "))
	want := mediaType
	if j.Kind == KindCard {
		want = "application/json"
	}
	switch {
	case err != nil || t != want:
		j.set("content-type", Fail, "CONTENT_TYPE", "%.100q", header)
	case j.Kind != KindCard && header[0] != want:
		j.set("content-type", Warn, "CONTENT_TYPE_PARAMETERS", "%.100q: a known reader compares the bytes", header[0])
	default:
		j.set("content-type", Pass, "", "%s", t)
	}
	return true
}

// card judges a signature agent card. It asks for the jwks_uri.
func (j *judge) card(more []exchange.Exchange) *probe.Next {
	j.set("card-parses", Pass, "", "one JSON object with %d members", len(j.raw))
	text := func(name string) string {
		var s string
		if v, ok := j.raw[name]; ok && json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	}
	switch id := text("client_id"); {
	case j.raw["client_id"] == nil:
		j.set("client-id", Fail, "NO_CLIENT_ID", "there is no client_id")
	case id != j.URL:
		j.set("client-id", Fail, "CLIENT_ID_MISMATCH", "client_id is %.200q", id)
	default:
		j.set("client-id", Pass, "", "client_id is the URL of the card")
	}
	j.cardMembers()
	jwks, uri := j.raw["jwks"], j.raw["jwks_uri"]
	switch {
	case jwks != nil && uri != nil:
		j.set("one-key-source", Fail, "BOTH", "jwks and jwks_uri are both there")
		return nil
	case jwks == nil && uri == nil:
		j.set("one-key-source", Warn, "NO_KEYS", "the card names no keys")
		return nil
	}
	j.set("one-key-source", Pass, "", "one source of keys")
	if jwks != nil {
		j.cardKeys(jwks, "jwks")
		return nil
	}
	at := text("jwks_uri")
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(at) > 2048 {
		j.set("jwks-uri", Fail, "NOT_HTTPS", "%.200q is not an https URL", at)
		return nil
	}
	if len(more) == 0 {
		return &probe.Next{Kind: "key", Request: exchange.Request{Method: http.MethodGet, URL: u.String(),
			Header: http.Header{"Accept": {mediaType + ", application/jwk-set+json, application/json"}}}}
	}
	if x := more[0]; x.Response.Status != http.StatusOK || x.Error.Stage != "" || x.Response.Truncated {
		j.set("jwks-uri", Unreachable, "", "%s: status %d %s", at, x.Response.Status, x.Error.Text)
	} else {
		j.cardKeys(x.Response.Body, "jwks-uri")
	}
	return nil
}

func (j *judge) cardKeys(raw []byte, from string) {
	keys, err := did.ParseJWKS(raw)
	if err != nil {
		j.set("jwks-uri", Fail, "JWKS", "%v", err)
		return
	}
	j.set("jwks-uri", Pass, "", "%d keys, from %s", len(keys), from)
	j.set("no-private-keys", Pass, "", "none")
	for _, k := range keys {
		if k.Private {
			j.set("no-private-keys", Fail, "PRIVATE_KEY", "a private key is published")
		}
	}
}

// cardMembers judges the types of what the drafts name.
func (j *judge) cardMembers() {
	var wrong []string
	want := func(o map[string]jsontext.Value, kind jsontext.Kind, names ...string) {
		for _, n := range names {
			v, ok := o[n]
			if ok && v.Kind() != kind && !(kind == 't' && v.Kind() == 'f') {
				wrong = append(wrong, n)
			}
		}
	}
	want(j.raw, '"', "client_id", "client_name", "client_uri", "logo_uri", "jwks_uri")
	want(j.raw, '[', "contacts")
	want(j.raw, '{', "jwks", "web_bot_auth")
	if v, ok := j.raw["web_bot_auth"]; ok && v.Kind() == '{' {
		var bot map[string]jsontext.Value
		if err := json.Unmarshal(v, &bot); err != nil {
			wrong = append(wrong, "web_bot_auth")
		}
		want(bot, '"', "expected-user-agent", "rfc9309-product-token", "trigger", "purpose", "ips_uri")
		want(bot, 't', "rfc9309-compliance")
		want(bot, '[', "known-urls")
		if len(bot) == 0 {
			wrong = append(wrong, "web_bot_auth (empty)")
		}
	}
	if wrong != nil {
		j.set("members", Fail, "MEMBERS", "of another type than the draft's: %s", strings.Join(wrong, ", "))
		return
	}
	j.set("members", Pass, "", "the members are of the types of the draft")
}

func (j *judge) conclude() {
	worst := []State{Fail, Unreachable, Absent, Unverifiable, Warn, Pass}
	rank := len(worst) - 1
	for i, c := range j.Checks {
		if r := slices.Index(worst, c.State); r >= 0 {
			rank = min(rank, r)
		}
		if c.State == Fail || c.State == Warn || c.State == Absent {
			j.Fixes = append(j.Fixes, Fix{Check: c.Name, Fix: j.rows[i].fix})
		}
	}
	j.Verdict = worst[rank]
}
