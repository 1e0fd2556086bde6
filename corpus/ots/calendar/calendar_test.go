package calendar

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
)

type anywhere struct{}

func (anywhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil
}

type detour string

func (d detour) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, network, string(d))
}

// calendars serves h under every name.
func calendars(t *testing.T, h http.HandlerFunc) *fetch.Client {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
		Agent:    "https://store.test",
		Resolver: anywhere{}, Dialer: detour(s.Listener.Addr().String()), Roots: roots, Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const uri = "https://example.com"

// TestStampAndUpgradeOverHTTP speaks the calendars' interface as their own clients do.
func TestStampAndUpgradeOverHTTP(t *testing.T) {
	pending := slices.Concat([]byte{0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, byte(len(uri) + 1),
		byte(len(uri))}, []byte(uri))
	digest := sha256.Sum256([]byte("round"))
	commitment := sha256.Sum256(digest[:])
	mined, status := false, 0
	client := calendars(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case status != 0:
			w.WriteHeader(status)
		case r.Method == "POST" && r.URL.Path == "/digest" && bytes.Equal(body, digest[:]) &&
			r.Header.Get("Accept") == accept:
			w.Write(append([]byte{0x08}, pending...))
		case r.Method == "GET" && r.URL.Path == "/timestamp/"+attest.Digest(commitment).String() && mined:
			w.Write([]byte{0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, 9})
		default:
			http.Error(w, "Pending confirmation in Bitcoin blockchain", http.StatusNotFound)
		}
	})
	c, err := New(client, uri)
	if err != nil {
		t.Fatal(err)
	}
	proofs, _, err := ots.Stamp(t.Context(), digest, []ots.Calendar{c})
	if err != nil {
		t.Fatal(err)
	}
	p, changed, err := ots.Upgrade(t.Context(), proofs[0], []ots.Calendar{c})
	if err != nil || changed {
		t.Errorf("before the block: %v, %v", changed, err)
	}
	mined = true
	p, changed, err = ots.Upgrade(t.Context(), p, []ots.Calendar{c})
	if s := p.Check(nil, 0); err != nil || !changed || s.State != ots.StateUnchecked || s.Height != 9 {
		t.Errorf("after the block: %+v, %v, %v", s, changed, err)
	}
	status = http.StatusServiceUnavailable
	if _, _, err := ots.Stamp(t.Context(), digest, []ots.Calendar{c}); err == nil {
		t.Error("a calendar that is down stamped")
	}
	if _, changed, err := ots.Upgrade(t.Context(), proofs[0], []ots.Calendar{c}); err == nil || changed ||
		errors.Is(err, ots.ErrNotYet) {
		t.Errorf("a calendar that is down: %v, %v", changed, err)
	}
	for _, bad := range []string{"http://example.com", "https://127.0.0.1", uri + "/", "ftp://x"} {
		if _, err := New(client, bad); err == nil {
			t.Errorf("%s is a calendar", bad)
		}
	}
}
