package trade_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"store.example/agentstore/dynamic/trade"
)

// Whoever forges, delays, repeats or reorders a request is refused by the check that is for it, and
// changes nothing.
func TestForgedRequests(t *testing.T) {
	s := open(t, mem(), options{account: func(a *trade.Account) { a.Items = []string{"hello", "grudge", "portrait"} }})
	body := order("bazaar", "hello", "F-1")
	good := call{path: "/api/trade/bazaar/hello", body: body}
	now := time.Now()
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	h := func(k string, v ...string) http.Header { return http.Header{k: v} }
	with := func(change func(*call)) call {
		c := good
		change(&c)
		return c
	}
	used := nonce()
	if code, v := s.call(call{path: "/api/trade/bazaar/hello", body: order("bazaar", "hello", "F-0"),
		nonce: used}); code != 200 {
		t.Fatalf("%d %v", code, v)
	}
	sig := func(text string) string { return "sha256=" + hex.EncodeToString(mac(secretBytes, text)) }
	const other = "0123456789abcdef0123456789abcdef"
	type refused struct {
		name string
		c    call
		code string
	}
	rows := []refused{
		{"no such account", with(func(c *call) { c.path = "/api/trade/bazar/hello" }), "unknown_account"},
		{"an account in capitals", with(func(c *call) { c.path = "/api/trade/Bazaar/hello" }), "unknown_account"},
		{"an account without a secret", with(func(c *call) { c.path = "/api/trade/unready/hello" }),
			"account_not_provisioned"},
		{"another's key", with(func(c *call) { c.header = h("X-Trade-Key", "sandbox") }), "bad_provider_key"},
		{"two keys", with(func(c *call) { c.header = h("X-Trade-Key", "bazaar", "bazaar") }), "bad_provider_key"},
		{"no timestamp", with(func(c *call) { c.header = h("X-Trade-Timestamp", "-") }), "missing_headers"},
		{"no nonce", with(func(c *call) { c.header = h("X-Trade-Nonce", "-") }), "missing_headers"},
		{"no signature", with(func(c *call) { c.header = h("X-Trade-Signature", "-") }), "missing_headers"},
		{"two timestamps", with(func(c *call) { c.header = h("X-Trade-Timestamp", unix(0), unix(0)) }),
			"missing_headers"},
		{"two signatures", with(func(c *call) { c.header = h("X-Trade-Signature", "a", "b") }), "missing_headers"},
		{"two dialects", with(func(c *call) { c.header = h("Webhook-Id", "F-1") }), "missing_headers"},
		{"milliseconds", with(func(c *call) { c.timestamp = unix(0) + "000" }), "bad_timestamp"},
		{"a date", with(func(c *call) { c.timestamp = now.Format(time.RFC3339) }), "bad_timestamp"},
		{"a fraction", with(func(c *call) { c.timestamp = unix(0) + ".5" }), "bad_timestamp"},
		{"a sign", with(func(c *call) { c.timestamp = "+" + unix(0) }), "bad_timestamp"},
		{"a leading zero", with(func(c *call) { c.timestamp = "0" + unix(0) }), "bad_timestamp"},
		{"before 1970", with(func(c *call) { c.timestamp = "-1" }), "bad_timestamp"},
		{"no time at all", with(func(c *call) { c.header = h("X-Trade-Timestamp", "") }), "bad_timestamp"},
		{"an hour old", with(func(c *call) { c.timestamp = unix(-time.Hour) }), "stale_timestamp"},
		{"six minutes old", with(func(c *call) { c.timestamp = unix(-6 * time.Minute) }), "stale_timestamp"},
		{"six minutes ahead", with(func(c *call) { c.timestamp = unix(6 * time.Minute) }), "stale_timestamp"},
		{"a year ahead", with(func(c *call) { c.timestamp = unix(365 * 24 * time.Hour) }), "stale_timestamp"},
		{"a short nonce", with(func(c *call) { c.nonce = other[1:] }), "bad_nonce"},
		{"a long nonce", with(func(c *call) { c.nonce = other + "0" }), "bad_nonce"},
		{"a nonce in capitals", with(func(c *call) { c.nonce = strings.ToUpper(other) }), "bad_nonce"},
		{"a nonce of zeros and a space", with(func(c *call) { c.nonce = other[1:] + " " }), "bad_nonce"},
		{"another secret", with(func(c *call) { c.secret = []byte("not the secret of the bazaar....") }),
			"bad_signature"},
		{"an empty secret", with(func(c *call) { c.secret = []byte{} }), "bad_signature"},
		{"the secret's text", with(func(c *call) {
			c.secret = []byte("whsec_" + base64.StdEncoding.EncodeToString(secretBytes))
		}), "bad_signature"},
		{"no signature's form", with(func(c *call) {
			c.header = h("X-Trade-Signature", strings.Repeat("0", 64))
		}), "bad_signature"},
		{"a signature cut short", with(func(c *call) { c.header = h("X-Trade-Signature", "sha256=00ff") }),
			"bad_signature"},
		{"an empty signature", with(func(c *call) { c.header = h("X-Trade-Signature", "sha256=") }), "bad_signature"},
		{"the order of another field", with(func(c *call) {
			c.nonce, c.timestamp = nonce(), unix(0)
			c.header = h("X-Trade-Signature", sig(c.nonce+"."+c.timestamp+"."+c.body))
		}), "bad_signature"},
		{"parts run together", with(func(c *call) {
			c.nonce, c.timestamp = nonce(), unix(0)
			c.header = h("X-Trade-Signature", sig(c.timestamp+c.nonce+c.body))
		}), "bad_signature"},
		{"a signature of another time", with(func(c *call) {
			c.nonce = nonce()
			c.header = h("X-Trade-Signature", sig(unix(-time.Second*10)+"."+c.nonce+"."+c.body))
		}), "bad_signature"},
		{"a signature of another body", with(func(c *call) {
			c.nonce, c.timestamp = nonce(), unix(0)
			c.header = h("X-Trade-Signature", sig(c.timestamp+"."+c.nonce+"."+order("bazaar", "hello", "F-2")))
		}), "bad_signature"},
		{"a used nonce", with(func(c *call) { c.nonce = used }), "replayed"},
		{"a used nonce at another time", with(func(c *call) { c.nonce, c.timestamp = used, unix(20*time.Second) }),
			"replayed"},
		{"at another item's door", with(func(c *call) { c.path = "/api/trade/bazaar/grudge" }), "bad_request"},
		{"of another account", with(func(c *call) { c.body = order("sandbox", "hello", "F-1") }), "bad_request"},
		{"an order at the statement's door", with(func(c *call) { c.path = "/api/trade/bazaar/statement" }),
			"bad_request"},
		{"no order_ref", with(func(c *call) { c.body = `{"account":"bazaar","item_id":"hello"}` }), "bad_request"},
		{"a good of nobody", call{path: "/api/trade/bazaar/nothing", body: order("bazaar", "nothing", "F-1")},
			"not_found"},
		{"not the account's good", call{path: "/api/trade/bazaar/pet_rock", body: order("bazaar", "pet_rock", "F-1")},
			"not_at_the_counter"},
		{"a drawing of a wallet", call{path: "/api/trade/bazaar/portrait", body: order("bazaar", "portrait", "F-1")},
			"not_at_the_counter"},
		{"a page", call{path: "/api/trade/bazaar/porch", body: order("bazaar", "porch", "F-1")}, "not_found"},
		{"from another site's page", with(func(c *call) { c.header = h("Sec-Fetch-Site", "cross-site") }),
			"cross_site_refused"},
		{"from another origin", with(func(c *call) { c.header = h("Origin", "https://evil.example") }),
			"cross_site_refused"},
	}
	if len(rows) < 40 {
		t.Fatalf("%d requests", len(rows))
	}
	before := s.book("bazaar")
	for _, row := range rows {
		kept := keys(t, s.db)
		code, v := s.call(row.c)
		if got := text(v, "type"); got != base+"/problems/"+row.code || at(v, "delivered") != false || at(v,
			"billed") != false ||
			text(v, "next_step") == "" {
			t.Errorf("%s: %d %s, want %s\n%v", row.name, code, got, row.code, v)
		}
		// What has no good signature writes nothing at all.
		if now := keys(t, s.db); code == 401 && !maps.Equal(kept, now) {
			t.Errorf("%s wrote to the ledger", row.name)
		}
	}
	if after := s.book("bazaar"); after != before {
		t.Errorf("the book was %+v and is %+v", before, after)
	}
	if code, v := s.call(good); code != 200 {
		t.Errorf("the good one: %d %v", code, v)
	}
}

// A timestamp is good at the edge of its window and not one second past it; a nonce is kept until
// nobody could use it.
func TestWindowEdges(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	s := open(t, mem(), options{trade: func(c *trade.Config) { c.Now = func() time.Time { return now } }})
	for i, c := range []struct {
		off  time.Duration
		want int
	}{{300 * time.Second, 200}, {-300 * time.Second, 200}, {301 * time.Second, 401}, {-301 * time.Second, 401}} {
		code, v := s.call(call{path: "/api/trade/bazaar/hello", body: order("bazaar", "hello", fmt.Sprint("W-", i)),
			at: now.Add(c.off)})
		if code != c.want {
			t.Errorf("%v: %d %v", c.off, code, v)
		}
	}
}

// Bodies that are too long, too deep or not what they should be are refused in words.
func TestHostileBodies(t *testing.T) {
	s := open(t, mem(), options{})
	for _, c := range []struct {
		name, body string
		want       int
	}{
		{"nothing", "", 400}, {"a list", `[]`, 400}, {"null", `null`, 400}, {"a number", `7`, 400},
		{"two objects", order("bazaar", "hello", "H-1") + order("bazaar", "hello", "H-1"), 400},
		{"deep", strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), 400},
		{"deep lists", `{"account":"bazaar","item_id":"hello","order_ref":"H-2","x":` + strings.Repeat("[", 9_000) +
			strings.Repeat("]", 9_000) + "}", 400},
		{"twice", `{"account":"bazaar","account":"bazaar","item_id":"hello","order_ref":"H-3"}`, 400},
		{"numbers for texts", `{"account":"bazaar","item_id":"hello","order_ref":7}`, 400},
		{"null for a text", `{"account":"bazaar","item_id":"hello","order_ref":null}`, 400},
		{"no UTF-8", "{\"account\":\"bazaar\",\"item_id\":\"hello\",\"order_ref\":\"\xff\"}", 400},
		{"what nobody asked for", order("bazaar", "hello", "H-4", `,"spare":1`), 400},
		{"a text where an input is", order("bazaar", "hello", "H-5", `,"agent_name":{"a":1}`), 400},
		{"a long name", order("bazaar", "hello", "H-6", `,"agent_name":"`+strings.Repeat("a", 81)+`"`), 400},
		{"marks of direction", order("bazaar", "hello", "H-7", `,"agent_name":"`+"\u202e"+`"`), 400},
		{"an order_ref of 120", order("bazaar", "hello", strings.Repeat("é", 120)), 200},
		{"an order_ref of 121", order("bazaar", "hello", strings.Repeat("é", 121)), 400},
		{"an empty order_ref", order("bazaar", "hello", ""), 400},
		{"an unseen order_ref", `{"account":"bazaar","item_id":"hello","order_ref":"a\u0000b"}`, 400},
		{"a purpose of 120", order("bazaar", "hello", "H-12", `,"purpose":"`+strings.Repeat("é", 120)+`"`), 200},
		{"a purpose of 121", order("bazaar", "hello", "H-13", `,"purpose":"`+strings.Repeat("é", 121)+`"`), 400},
		{"an unseen purpose", order("bazaar", "hello", "H-14", `,"purpose":"a\u202eb"`), 400},
		{"a purpose in two lines", order("bazaar", "hello", "H-15", `,"purpose":"a\nb"`), 400},
		{"a list of purposes", order("bazaar", "hello", "H-16", `,"purpose":["a"]`), 400},
		{"a mebibyte", order("bazaar", "hello", "H-8", strings.Repeat(" ", 1<<20-60)), 200},
		{"more than a mebibyte", order("bazaar", "hello", "H-9", strings.Repeat(" ", 1<<20)), 413},
		{"ten megabytes", order("bazaar", "hello", "H-10", strings.Repeat(" ", 10<<20)), 413},
	} {
		code, v := s.call(call{path: "/api/trade/bazaar/hello", body: c.body})
		if code != c.want || code != 200 && (at(v, "delivered") != false || at(v, "billed") != false) {
			t.Errorf("%s: %d, want %d: %.300v", c.name, code, c.want, v)
		}
		if got := strings.Contains(fmt.Sprint(v), strings.Repeat("[", 100)); got {
			t.Errorf("%s: the answer repeats what was sent", c.name)
		}
	}
	long := call{path: "/api/trade/bazaar/hello", body: order("bazaar", "hello", "H-11", strings.Repeat(" ",
		10<<20))}.request()
	long.ContentLength = -1 // as a chunked body comes
	if code, v, _ := s.send(long); code != 413 || at(v, "billed") != false {
		t.Errorf("ten megabytes in chunks: %d %v", code, v)
	}
}

// The dialect of Standard Webhooks is what its official library signs; webhook-id names the order.
func TestOfficialWebhooks(t *testing.T) {
	s := open(t, mem(), options{})
	wh, err := standardwebhooks.NewWebhookRaw(secretBytes)
	check(t, err)
	send := func(id string, at time.Time, body string) (int, map[string]any) {
		sign, err := wh.Sign(id, at, []byte(body))
		check(t, err)
		r := httptest.NewRequest(http.MethodPost, base+"/api/trade/bazaar/hello", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("webhook-id", id)
		r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("webhook-signature", "v1,AAAA v1a,BBBB "+sign)
		code, v, _ := s.send(r)
		return code, v
	}
	const body = `{"account":"bazaar","item_id":"hello"}`
	now := time.Now()
	code, v := send("msg_1", now, body)
	if code != 200 || text(v, "account", "order_ref") != "msg_1" {
		t.Fatalf("%d %v", code, v)
	}
	// A retry has the same id and a later time, and gets the first answer.
	if code, w := send("msg_1", now.Add(5*time.Second), body); code != 200 || text(w, "cert_id") != text(v,
		"cert_id") ||
		at(w, "idempotent_replay") != true {
		t.Errorf("a retry: %d %v", code, w)
	}
	if code, w := send("msg_1", now, body); code != 409 || !strings.HasSuffix(text(w, "type"), "/replayed") {
		t.Errorf("the same bytes: %d %v", code, w)
	}
	if code, _ := send("msg_1", now.Add(6*time.Second), order("bazaar", "hello", "msg_1")); code != 422 {
		t.Errorf("another body: %d", code)
	}
	if code, _ := send("msg_2", now, order("bazaar", "hello", "msg_3")); code != 400 {
		t.Errorf("another order_ref than webhook-id: %d", code)
	}
	if b := s.book("bazaar"); b.Orders != 1 {
		t.Errorf("the book: %+v", b)
	}
}

// The signature that the check desk expects is the one that the order door takes, in both dialects.
func TestCheckDeskAgreesWithTheDoor(t *testing.T) {
	s := open(t, mem(), options{})
	for _, d := range trade.Dialects {
		body := order("sandbox", "hello", "C-"+d.Name)
		headers := http.Header{"Content-Type": {"application/json"}}
		headers.Set(d.Timestamp, strconv.FormatInt(time.Now().Unix(), 10))
		headers.Set(d.Nonce, nonce())
		if d.Refs {
			headers.Set(d.Nonce, "C-"+d.Name)
		}
		headers.Set(d.Signature, "none")
		send := func(path string) (int, map[string]any) {
			r := httptest.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
			r.Header = headers.Clone()
			code, v, _ := s.send(r)
			return code, v
		}
		before := keys(t, s.db)
		code, v := send("/api/trade/sandbox/check")
		if code != 200 || at(v, "ok") != false {
			t.Fatalf("%s: %d %v", d.Name, code, v)
		}
		headers.Set(d.Signature, text(v, "expected_signature"))
		if _, v := send("/api/trade/sandbox/check"); at(v, "ok") != true {
			t.Errorf("%s: %v", d.Name, v)
		}
		if !maps.Equal(before, keys(t, s.db)) {
			t.Errorf("%s: the check desk wrote to the ledger", d.Name)
		}
		if code, v := send("/api/trade/sandbox/hello"); code != 200 {
			t.Errorf("%s: %d %v", d.Name, code, v)
		}
		if _, v := send("/api/trade/sandbox/check"); at(v, "ok") != false || !strings.Contains(fmt.Sprint(v),
			"replayed") {
			t.Errorf("%s: a nonce that is spent: %v", d.Name, v)
		}
	}
	// Of another account the desk tells no signature.
	c := call{path: "/api/trade/bazaar/check", body: order("bazaar", "hello", "C-1"), secret: []byte("wrong")}
	if _, v := s.call(c); v["expected_signature"] != nil || v["signed_bytes"] != nil {
		t.Errorf("%v", v)
	}
	code := 0
	for range 121 {
		if code, _ = s.call(c); code == 429 {
			break
		}
	}
	if code != 429 {
		t.Errorf("the check desk answers without end: %d", code)
	}
}
