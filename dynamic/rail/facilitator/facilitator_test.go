package facilitator_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail/facilitator"
)

const body = `{"x402Version":2,"paymentPayload":{"x402Version":2,"payload":{"a":1},"accepted":{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"0x1","payTo":"0x2","maxTimeoutSeconds":300}},"paymentRequirements":{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"0x1","payTo":"0x2","maxTimeoutSeconds":300}}`

func client(t *testing.T, h http.HandlerFunc) *facilitator.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := facilitator.New(facilitator.Config{URL: s.URL + "/",
		Header: http.Header{"Authorization": {"Bearer secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	for address, want := range map[string]bool{
		"https://facilitator.example":        true,
		"https://facilitator.example/x402/":  true,
		"http://127.0.0.1:4021":              true,
		"http://[::1]:4021":                  true,
		"http://facilitator.example":         false,
		"http://127.0.0.1.example":           false,
		"http://10.0.0.1":                    false,
		"https://key:secret@facilitator.exa": false,
		"https://facilitator.example?k=v":    false,
		"ftp://facilitator.example":          false,
		"/settle":                            false,
		"":                                   false,
	} {
		_, err := facilitator.New(facilitator.Config{URL: address})
		if (err == nil) != want {
			t.Errorf("New(%q) = %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%q) tells the secret: %v", address, err)
		}
	}
}

func TestSettleReadsAnswers(t *testing.T) {
	const good = `"transaction":"0xabc","network":"eip155:8453"`
	for name, c := range map[string]struct {
		status   int
		answer   string
		tx       string
		known    bool // no error
		declined bool
	}{
		"success": {200, `{"success":true,` + good + `}`, "0xabc", true, false},
		"with extras": {200, `{"success":true,` + good + `,"extra":{"x":[1]},"payer":"0x1"}`, "0xabc", true,
			false},
		"pending": {200, `{"success":false,"errorReason":"settlement_pending",` + good + `}`, "0xabc", true,
			false},
		"declined": {200,
			`{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:8453"}`, "", false,
			true},
		"another network": {200, `{"success":true,"transaction":"0xabc","network":"eip155:1"}`, "", false, false},
		"no success":      {200, `{` + good + `}`, "", false, false},
		"no transaction":  {200, `{"success":true,"network":"eip155:8453"}`, "", false, false},
		"no network":      {200, `{"success":true,"transaction":"0xabc"}`, "", false, false},
		"success as text": {200, `{"success":"true",` + good + `}`, "", false, false},
		"success twice":   {200, `{"success":true,"success":false,` + good + `}`, "", false, false},
		"not JSON":        {200, `ok`, "", false, false},
		"nothing":         {200, ``, "", false, false},
		"error page":      {500, `{"success":true,` + good + `}`, "", false, false},
		"rate limited":    {429, `{}`, "", false, false},
		"redirect":        {307, ``, "", false, false},
		"client error":    {400, `{"success":false,` + good + `}`, "", false, false},
		"longer than bounds": {200, `{"success":true,` + good + `,"x":"` + strings.Repeat("x", 2<<20) + `"}`, "", false,
			false},
	} {
		f := client(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/settle" || r.Method != http.MethodPost ||
				r.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("%s %s with %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
			}
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(c.status)
			w.Write([]byte(c.answer))
		})
		tx, err := f.Settle(t.Context(), []byte(body))
		_, declined := errors.AsType[*facilitator.Declined](err)
		if tx != c.tx || (err == nil) != c.known || declined != c.declined {
			t.Errorf("%s: Settle = %q, %v", name, tx, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
}

// The same payment is under way once; a caller who stops waiting does not stop it for the others.
func TestSettleIsSharedAndOutlivesItsCaller(t *testing.T) {
	arrived, answer := make(chan struct{}, 8), make(chan struct{})
	f := client(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-answer
		w.Write([]byte(`{"success":true,"transaction":"0xabc","network":"eip155:8453"}`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := f.Settle(ctx, []byte(body))
		first <- err
	}()
	<-arrived
	second := make(chan string, 1)
	go func() {
		tx, _ := f.Settle(t.Context(), []byte(body))
		second <- tx
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("Settle of the one who left = %v", err)
	}
	close(answer)
	if tx := <-second; tx != "0xabc" {
		t.Errorf("Settle = %q, want 0xabc", tx)
	}
}

func TestTimeoutIsUnknown(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hold }))
	defer s.Close()
	defer close(hold)
	f, err := facilitator.New(facilitator.Config{URL: s.URL, Timeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := f.Settle(t.Context(), []byte(body))
	if _, declined := errors.AsType[*facilitator.Declined](err); tx != "" || err == nil || declined {
		t.Errorf("Settle = %q, %v; want an error that says nothing of the payment", tx, err)
	}
}

// An address may hold a key in its path: what goes wrong names the host and nothing else of it.
func TestErrorsKeepTheAddressSecret(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	host := strings.TrimPrefix(s.URL, "http://")
	ask := func(what string) {
		t.Helper()
		f, err := facilitator.New(facilitator.Config{URL: s.URL + "/secret"})
		if err != nil {
			t.Fatal(err)
		}
		_, settle := f.Settle(t.Context(), []byte(body))
		_, verify := f.Verify(t.Context(), []byte(body))
		_, supported := f.Supported(t.Context())
		for _, err := range []error{settle, verify, supported} {
			if err == nil || !strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	ask("an error page")
	s.Close()
	ask("nobody there")
}
