package probe_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

func optOutAnswer() exchange.Exchange {
	return exchange.Exchange{Request: exchange.Request{Method: http.MethodGet,
		URL: "https://shop.example/.well-known/x402"}, StartedAt: time.Unix(1_790_000_000, 0).UTC(),
		Response: exchange.Response{Status: 200, Proto: "HTTP/1.1", Body: []byte(`{"census":"no"}`)}}
}

// An opt-out is read back in one spelling, of one host, and of a whole file alone.
func TestOptOut(t *testing.T) {
	o, err := probe.NewOptOut(optOutAnswer(), probe.Salt{1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := probe.DecodeOptOut(raw)
	if err != nil || !got.Of("shop.example") || got.Of("shop.example.org") || got.Salt != o.Salt {
		t.Errorf("read back: %+v, %v", got, err)
	}
	if bytes.Contains(raw, []byte(`{\"census`)) {
		t.Error("the file itself is published")
	}
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 0x20
		if again, err := probe.DecodeOptOut(changed); err == nil {
			if b, err := again.Encode(); err != nil || !bytes.Equal(b, changed) {
				t.Errorf("byte %d: two spellings of one opt-out", i)
			}
		}
	}
	for name, change := range map[string]func(*exchange.Exchange){
		"not found": func(x *exchange.Exchange) { x.Response.Status = 404 },
		"cut":       func(x *exchange.Exchange) { x.Response.Truncated = true },
		"a POST":    func(x *exchange.Exchange) { x.Request.Method = http.MethodPost },
		"elsewhere": func(x *exchange.Exchange) { x.Request.URL = "https://shop.example/a/.well-known/x402" },
		"broken":    func(x *exchange.Exchange) { x.Error = exchange.Error{Stage: exchange.StageBody, Text: "cut"} },
	} {
		x := optOutAnswer()
		if change(&x); x.Response.Status == 0 {
			continue
		}
		if _, err := probe.NewOptOut(x, probe.Salt{1}); err == nil {
			t.Errorf("an opt-out %s is taken", name)
		}
	}
	if _, err := probe.NewOptOut(optOutAnswer(), probe.Salt{}); err == nil {
		t.Error("an opt-out without a salt is taken")
	}
}

func FuzzOptOut(f *testing.F) {
	o, err := probe.NewOptOut(optOutAnswer(), probe.Salt{1})
	if err != nil {
		f.Fatal(err)
	}
	raw, err := o.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := probe.DecodeOptOut(raw)
		if err != nil {
			return
		}
		if again, err := o.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("%q is read and written %q, %v", raw, again, err)
		}
	})
}
