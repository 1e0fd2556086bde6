package fetch

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// BenchmarkGet compares the guarded client with a bare one that makes a TLS connection for each
// GET, which is what a look at a stranger's door costs at the least.
func BenchmarkGet(b *testing.B) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Payment-Required", "e30=")
		w.WriteHeader(http.StatusPaymentRequired)
		io.WriteString(w, "{}")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	d := &detour{to: s.Listener.Addr().String()}
	b.Run("bare", func(b *testing.B) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"},
			DisableKeepAlives: true, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: transport}
		b.ReportAllocs()
		for b.Loop() {
			resp, err := client.Get(s.URL)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
	b.Run("guarded", func(b *testing.B) {
		c, err := New(Config{UserAgent: "walker/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
			Agent: "https://store.test", Resolver: &names{answer: always(public)}, Dialer: d, Roots: roots})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			x, err := c.Do(b.Context(), exchange.Request{Method: "GET", URL: "https://example.com/"}, Rule{})
			if err != nil || x.Response.Status != http.StatusPaymentRequired {
				b.Fatal(err, x.Error)
			}
		}
	})
}
