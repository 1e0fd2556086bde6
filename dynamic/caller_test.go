package dynamic

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/dynamic/problem"
)

const callersBase = "https://store.example"

// errRefused stands for the guard's refusal.
var errRefused = errors.New("refused")

// A signer is an agent: its key and how it signs.
type signer struct {
	key        *attest.Key
	host       string
	components []string // beside the member of Signature-Agent
	params     string   // beside keyid; %d is now
	field      string   // Signature-Agent, "" for that of host
}

func agent(seed byte, host string) *signer {
	k, err := attest.Generate(strings.NewReader(strings.Repeat(string(rune('a'+seed)), 64)))
	if err != nil {
		panic(err)
	}
	return &signer{key: k, host: host, components: []string{`"@authority"`}}
}

// sign signs a GET of path as it is sent to authority, to hold for a minute.
func (s *signer) sign(authority, path, nonce string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	now := time.Now().Unix()
	field := s.field
	if field == "" {
		field = `sig1="https://` + s.host + `"`
	}
	values := map[string]string{`"@authority"`: authority, `"@method"`: "GET", `"@path"`: r.URL.Path,
		`"@query"`: "?" + r.URL.RawQuery, `"@target-uri"`: "https://" + authority + path,
		`"signature-agent";key="sig1"`: strings.TrimPrefix(field, "sig1="), `"signature-agent"`: field}
	list := append([]string{}, s.components...)
	if strings.HasPrefix(field, `"`) {
		list = append(list, `"signature-agent"`)
	} else {
		list = append(list, `"signature-agent";key="sig1"`)
	}
	params := s.params
	if params == "" {
		params = fmt.Sprintf(`;created=%d;expires=%d;tag="web-bot-auth"`, now, now+60)
	}
	if nonce != "" {
		params += fmt.Sprintf(`;nonce=%q`, nonce)
	}
	params = "(" + strings.Join(list, " ") + ")" + params + fmt.Sprintf(`;keyid=%q`, s.key.KID())
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c + ": " + values[c] + "\n")
	}
	b.WriteString(`"@signature-params": ` + params)
	r.Header.Set("Signature-Agent", field)
	r.Header.Set("Signature-Input", "sig1="+params)
	r.Header.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(s.key.Sign([]byte(b.String())))+":")
	return r
}

// street is the directories that are read, by URL, and how often any was.
type callersStreet struct {
	pages map[string]*attest.Key
	reads atomic.Int64
	hang  atomic.Int64 // nanoseconds
	down  atomic.Bool
}

func (s *callersStreet) read(ctx context.Context, url string) (exchange.Exchange, error) {
	s.reads.Add(1)
	var x exchange.Exchange
	switch {
	case strings.Contains(url, "10.0.0.1"):
		return x, errRefused
	case s.hang.Load() > 0:
		time.Sleep(time.Duration(s.hang.Load())) // in a bubble of synctest
		x.Error = exchange.Error{Stage: "timeout"}
		return x, nil
	case s.down.Load():
		x.Response.Status = 503
		return x, nil
	case strings.Contains(url, "endless"):
		x.Response = exchange.Response{Status: 200, Truncated: true, Body: []byte(`{"keys":[`),
			Header: http.Header{"Content-Type": {"application/json"}}}
		return x, nil
	}
	x.Response.Status = 404
	if key := s.pages[url]; key != nil {
		host := strings.TrimPrefix(strings.TrimSuffix(url, botauth.Path), "https://")
		body, header, err := botauth.Directory(host, time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour), key)
		x.Response = exchange.Response{Status: 200, Body: body, Header: header}
		return x, err
	}
	return x, nil
}

func open(t testing.TB, s *callersStreet) *Callers {
	t.Helper()
	c, err := NewCallers(CallersConfig{BaseURL: callersBase, Read: s.read,
		Refused: func(err error) bool { return errors.Is(err, errRefused) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// known is a street with the directories of some agents.
func known(agents ...*signer) *callersStreet {
	s := &callersStreet{pages: map[string]*attest.Key{}}
	for _, a := range agents {
		s.pages["https://"+a.host+botauth.Path] = a.key
	}
	return s
}

// reason is that of a refusal, "" for none.
func reason(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*problem.Error](err)
	if !ok || e.Code != "signature_invalid" {
		t.Fatalf("no refusal: %v", err)
	}
	return e.Extra["reason"].(string)
}

func TestSignedCallersAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent(0, "agent.example")
		s := known(a)
		c := open(t, s)
		for _, components := range [][]string{{`"@authority"`}, {`"@target-uri"`},
			{`"@method"`, `"@authority"`, `"@path"`, `"@query"`}} {
			a.components = components
			for _, field := range []string{"", `"https://agent.example"`,
				`sig1="https://agent.example/";type=directory`} {
				a.field = field
				key, _, err := c.Verify(a.sign("store.example", "/api/window/v1?a=b", ""), "192.0.2.1")
				if err != nil || key != a.key.KID() {
					t.Errorf("%q %q: %q, %v", components, field, key, err)
				}
			}
		}
		for _, tag := range []string{"agent-browser-auth", "agent-payer-auth"} {
			now := time.Now().Unix()
			a.field, a.params = "", fmt.Sprintf(`;created=%d;expires=%d;tag=%q`, now, now+60, tag)
			if key, _, err := c.Verify(a.sign("store.example", "/", ""), "192.0.2.1"); err != nil || key == "" {
				t.Errorf("tag %s: %q, %v", tag, key, err)
			}
		}
		if n := s.reads.Load(); n != 1 {
			t.Errorf("the directory was read %d times", n)
		}
		// Unsigned, and signed for other purposes, is not refused and is nobody's.
		a.params = fmt.Sprintf(`;created=%d;expires=%d;tag="other"`, time.Now().Unix(), time.Now().Unix()+60)
		for _, r := range []*http.Request{httptest.NewRequest("GET", "/", nil), a.sign("store.example", "/", "")} {
			if key, _, err := c.Verify(r, "192.0.2.1"); key != "" || err != nil {
				t.Errorf("%q, %v", key, err)
			}
		}
	})
}

// TestRefusedSignatures: each way in which a signature is wrong is refused with its reason.
func TestRefusedSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, stranger := agent(0, "agent.example"), agent(1, "agent.example")
		now := time.Now().Unix()
		params := func(created, expires int64) func(*signer) {
			return func(s *signer) {
				s.params = fmt.Sprintf(`;created=%d;expires=%d;tag="web-bot-auth"`, created, expires)
			}
		}
		for want, change := range map[string]struct {
			signs func(*signer)
			sent  func(*http.Request)
		}{
			"stale":             {signs: params(now-120, now-60)},
			"not_yet":           {signs: params(now+3600, now+3660)},
			"too_long":          {signs: params(now, now+90000)},
			"uncovered":         {signs: func(s *signer) { s.components = []string{`"@path"`} }},
			"forged":            {sent: func(r *http.Request) { r.URL.Path = "/api/buy/portrait" }},
			"malformed":         {sent: func(r *http.Request) { r.Header.Del("Signature") }},
			"own_host":          {signs: func(s *signer) { s.host = "store.example" }},
			"agent_refused":     {signs: func(s *signer) { s.host = "10.0.0.1" }},
			"unknown_key":       {signs: func(s *signer) { s.key = stranger.key }},
			"unknown_component": {signs: func(s *signer) { s.components = append(s.components, `"@status"`) }},
		} {
			c := open(t, known(a))
			one := *a
			one.components = []string{`"@authority"`, `"@path"`}
			if change.signs != nil {
				change.signs(&one)
			}
			r := one.sign("store.example", "/api/buy/hello", "n-1")
			if change.sent != nil {
				change.sent(r)
			}
			if key, _, err := c.Verify(r, "192.0.2.1"); key != "" || reason(t, err) != want {
				t.Errorf("%s: %q, %v", want, key, err)
			}
		}
		// One that was made for another host, and one used again.
		c := open(t, known(a))
		if key, _, err := c.Verify(a.sign("other.example", "/", ""), "192.0.2.1"); reason(t, err) != "forged" {
			t.Errorf("for another host: %q, %v", key, err)
		}
		// Who signs as asked is known, and that once.
		asks := c.Ask("192.0.2.1")
		nonce, asked := strings.CutPrefix(asks, `sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");`+
			`created;expires;tag="web-bot-auth";nonce="`)
		if !asked || asks == c.Ask("192.0.2.1") {
			t.Errorf("asked for %s", asks)
		}
		a.components = []string{`"@authority"`, `"@method"`, `"@path"`}
		r := a.sign("store.example", "/", strings.TrimSuffix(nonce, `"`))
		if key, _, err := c.Verify(r, "192.0.2.1"); key == "" || err != nil {
			t.Errorf("first: %q, %v", key, err)
		}
		if _, _, err := c.Verify(r, "192.0.2.2"); reason(t, err) != "replayed" {
			t.Errorf("again: %v", err)
		}
	})
}

// TestBadDirectories: a directory that is slow, endless or down makes its caller nobody, soon, and
// is not read again at once. One that fails later does not take a key away; one that answers
// without the key does.
func TestBadDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, endless, a := agent(0, "slow.example"), agent(1, "endless.example"), agent(2, "agent.example")
		s := known(a)
		c := open(t, s)
		s.hang.Store(int64(10 * time.Second))
		start := time.Now()
		if key, _, err := c.Verify(slow.sign("store.example", "/", ""), "192.0.2.1"); key != "" || err != nil ||
			time.Since(start) > patience {
			t.Errorf("slow: %q, %v after %v", key, err, time.Since(start))
		}
		time.Sleep(20 * time.Second)
		s.hang.Store(0)
		for range 20 {
			if key, _, err := c.Verify(endless.sign("store.example", "/", ""), "192.0.2.1"); key != "" || err != nil {
				t.Errorf("endless: %q, %v", key, err)
			}
		}
		if n := s.reads.Load(); n != 2 {
			t.Errorf("read %d times, want 2", n)
		}
		ask := func(want string) {
			t.Helper()
			if key, _, err := c.Verify(a.sign("store.example", "/", ""), "192.0.2.1"); key != want || err != nil {
				t.Errorf("%q, %v, want %q", key, err, want)
			}
		}
		ask(a.key.KID())
		s.down.Store(true)
		time.Sleep(2 * time.Hour)
		ask(a.key.KID())
		time.Sleep(24 * time.Hour)
		ask("")
		s.down.Store(false)
		time.Sleep(2 * time.Minute)
		ask(a.key.KID())
		s.pages["https://agent.example"+botauth.Path] = slow.key
		time.Sleep(2 * time.Hour)
		if _, _, err := c.Verify(a.sign("store.example", "/", ""), "192.0.2.1"); reason(t, err) != "unknown_key" {
			t.Errorf("a key that was taken out: %v", err)
		}
	})
}

// TestManyKeys: a caller that changes keys gets a handful of limits, has a handful of directories
// read a minute, and grows nothing without bound.
func TestManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &callersStreet{pages: map[string]*attest.Key{}}
		c := open(t, s)
		own := map[string]bool{}
		for i := range 60 {
			a := agent(byte(i), fmt.Sprintf("agent-%d.example", i))
			s.pages["https://"+a.host+botauth.Path] = a.key
			key, by, err := c.Verify(a.sign("store.example", "/", "n"), "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			// Who has no limits of its own is known all the same.
			if want := a.host + " " + a.key.KID(); by != nil && (by.Name != want || !by.Covers("@authority") ||
				by.Covers("signature-agent") || by.Covers("payment-signature")) || by == nil && i < keysOfClient {
				t.Errorf("agent %d: %+v, want %s", i, by, want)
			}
			if asks := c.Ask("192.0.2.1") != ""; asks != (len(own)+1 < keysOfClient) {
				t.Errorf("after agent %d: asks for a signature: %v", i, asks)
			}
			own[key] = true
			if i < 20 && s.reads.Load() > maxOwnReads {
				t.Fatalf("%d directories were read for one client in a minute", s.reads.Load())
			}
			if i >= 20 {
				time.Sleep(time.Minute / maxOwnReads)
			}
		}
		if len(own) != keysOfClient+1 { // and none
			t.Errorf("%d keys of one client have limits of their own, want %d", len(own)-1, keysOfClient)
		}
		time.Sleep(clientWindow)
		a := agent(99, "late.example")
		s.pages["https://late.example"+botauth.Path] = a.key
		if key, _, _ := c.Verify(a.sign("store.example", "/", ""), "192.0.2.1"); key == "" {
			t.Error("an hour later a new key has none either")
		}
		// Nobody reads more than so many in a minute, whatever the clients are.
		before := s.reads.Load()
		for i := range 3 * maxReads {
			a := agent(7, fmt.Sprintf("many-%d.example", i))
			_, _, _ = c.Verify(a.sign("store.example", "/", ""), fmt.Sprintf("192.0.2.%d", i))
		}
		if n := s.reads.Load() - before; n > maxReads {
			t.Errorf("%d directories were read in a minute", n)
		}
		for i := range maxNonces + 100 {
			c.spent(&botauth.Caller{KeyID: "k", Nonce: fmt.Sprint(i)}, time.Now())
		}
		for i := range maxKeys + 100 {
			c.spent(&botauth.Caller{KeyID: fmt.Sprint(i), Nonce: "n"}, time.Now())
		}
		for i := range maxDirectories + 100 {
			c.keep(fmt.Sprint(i), &directory{used: time.Now()})
		}
		for i := range maxClients + 100 {
			c.own("k", fmt.Sprint(i), time.Now())
		}
		if len(c.nonces) > maxKeys || len(c.directories) > maxDirectories || len(c.clients) > maxClients {
			t.Errorf("%d keys, %d directories, %d clients are kept", len(c.nonces), len(c.directories), len(c.clients))
		}
	})
}

// TestManyAtOnce: a hundred requests of an agent that is not known yet have its directory read
// once.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent(0, "agent.example")
		s := known(a)
		c := open(t, s)
		done := make(chan string, 100)
		for i := range cap(done) {
			r := a.sign("store.example", "/", fmt.Sprint(i))
			go func() {
				key, _, _ := c.Verify(r, "192.0.2.1")
				done <- key
			}()
		}
		for range cap(done) {
			if key := <-done; key != a.key.KID() {
				t.Errorf("known as %q", key)
			}
		}
		if n := s.reads.Load(); n != 1 {
			t.Errorf("read %d times", n)
		}
	})
}
