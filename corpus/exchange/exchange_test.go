package exchange

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() Exchange {
	return Exchange{
		Request: Request{Method: "POST", URL: "https://door.example/x?a=<1>&b=é",
			Header: http.Header{"User-Agent": {"walker"}}, Body: []byte("{}")},
		Response: Response{Status: 402, Proto: "HTTP/2.0", Body: []byte("\x00\xff pay"), Truncated: true,
			Header: http.Header{"Content-Type": {"text/html"}, "Set-Cookie": {"a=1", "b=2"},
				"X-Bytes": {"caf\xe9 \xff"}, "x-odd": {""}}},
		StartedAt:  time.Date(2026, 11, 20, 10, 11, 12, 345_000_000, time.UTC),
		Duration:   1234 * time.Millisecond,
		RemoteAddr: "203.0.113.7:443",
		Error:      Error{Stage: StageBody, Text: "unexpected EOF"},
	}
}

func TestFileFormRoundTrip(t *testing.T) {
	for name, x := range map[string]Exchange{
		"full": sample(),
		"empty": {Request: Request{Header: http.Header{}}, Response: Response{Header: http.Header{}},
			StartedAt: time.Unix(0, 0).UTC()},
	} {
		raw, err := x.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(raw)
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, raw)
		}
		if diff := cmp.Diff(x, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOneSpelling demands that no byte of the file form can change without
// changing what it says.
func TestOneSpelling(t *testing.T) {
	x := sample()
	raw, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for c := 1 + i%17; c < 256; c += 17 {
			changed := bytes.Clone(raw)
			changed[i] ^= byte(c)
			back, err := Decode(changed)
			if err != nil {
				continue
			}
			if again, err := back.Encode(); err != nil || !bytes.Equal(again, changed) || cmp.Equal(x, back) {
				t.Fatalf("byte %d as %#02x: %v", i, changed[i], err)
			}
		}
	}
	for name, bad := range map[string]string{
		"no newline":   strings.TrimSuffix(string(raw), "\n"),
		"two newlines": string(raw) + "\n",
		"space":        strings.Replace(string(raw), `,"`, `, "`, 1),
		"unknown":      strings.Replace(string(raw), `{"format"`, `{"more":1,"format"`, 1),
		"twice": strings.Replace(string(raw), `{"format":"`+Format+`",`, `{"format":"`+Format+`","format":"`+
			Format+`",`, 1),
		"other version":  strings.Replace(string(raw), Format, "store-exchange/v2", 1),
		"unpadded":       strings.Replace(string(raw), `"e30="`, `"e30"`, 1),
		"base64 newline": strings.Replace(string(raw), `"e30="`, `"e3\n0="`, 1),
		"spare bits":     strings.Replace(string(raw), `"e30="`, `"e31="`, 1),
	} {
		if bad == string(raw) {
			t.Errorf("%s: the case changes nothing", name)
		}
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestBounds(t *testing.T) {
	for name, change := range map[string]func(*Exchange){
		"body":    func(x *Exchange) { x.Response.Body = make([]byte, MaxBody+1) },
		"request": func(x *Exchange) { x.Request.Body = make([]byte, MaxBody+1) },
		"url":     func(x *Exchange) { x.Request.URL = strings.Repeat("a", MaxURL+1) },
		"header":  func(x *Exchange) { x.Response.Header = http.Header{"A": {strings.Repeat("a", MaxHeader)}} },
		"values":  func(x *Exchange) { x.Response.Header = http.Header{"A": make([]string, MaxHeaders+1)} },
	} {
		x := sample()
		change(&x)
		if _, err := x.Encode(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := x.Redact(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("redacting %s: %v", name, err)
		}
	}
	if _, err := Decode(make([]byte, MaxFile+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	largest := sample()
	largest.Response.Body, largest.Request.Body = make([]byte, MaxBody), make([]byte, MaxBody)
	raw, err := largest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(raw); err != nil {
		t.Errorf("the largest exchange cannot be read back: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	raw, err = paid().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"format":"store-exchange/v1"}` + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := Decode(raw)
		if err != nil {
			return
		}
		if again, err := x.Encode(); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%q is written %q, %v", raw, again, err)
		}
	})
}

// FuzzRoundTrip builds exchanges out of arbitrary parts.
func FuzzRoundTrip(f *testing.F) {
	f.Add("GET", "https://a.example/", "Name", "value\xff", []byte("{}"), int64(1), 402)
	f.Add("GET", "https://a.example/", "Payment-Required", base64.StdEncoding.EncodeToString([]byte(challenge)),
		[]byte("x"), int64(1), 402)
	f.Fuzz(func(t *testing.T, method, url, name, value string, body []byte, nanos int64, status int) {
		x := Exchange{
			Request:  Request{Method: method, URL: url, Header: http.Header{name: {value, ""}}},
			Response: Response{Status: status, Header: http.Header{name: {value}}, Body: body},
			Duration: time.Duration(nanos), StartedAt: time.Unix(nanos%4_000_000_000, 0).UTC(),
		}
		raw, err := x.Encode()
		if err != nil {
			return
		}
		back, err := Decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		x.Response.Body = orNil(x.Response.Body)
		x.Request.Header, back.Request.Header = nil, nil
		x.Response.Header, back.Response.Header = nil, nil
		if diff := cmp.Diff(x.Response, back.Response); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	})
}
