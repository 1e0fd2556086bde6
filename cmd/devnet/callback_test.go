package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// letterbox is the receiver of every buyer, each by a path: it takes what the official verifier
// lets pass.
type letterbox struct {
	mu     sync.Mutex
	tokens map[string]string   // by path; guarded by mu, as what follows
	took   map[string][]string // by path
	wrong  error
}

// ServeHTTP implements http.Handler.
func (l *letterbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	wh, bad := standardwebhooks.NewWebhookRaw([]byte(l.tokens[r.URL.Path]))
	l.wrong = errors.Join(l.wrong, err, bad)
	if bad == nil {
		l.wrong = errors.Join(l.wrong, wh.Verify(body, r.Header))
	}
	l.took[r.URL.Path] = append(l.took[r.URL.Path], r.Header.Get("webhook-id")+" "+string(body))
}

// beforeTheCall: orders with an address tell nobody of themselves until they are completed.
func (m *market) beforeTheCall(t *testing.T) {
	t.Helper()
	m.box.mu.Lock()
	m.box.tokens, m.box.took = make(map[string]string), make(map[string][]string)
	for _, got := range m.kept("quick_judgment") {
		m.box.tokens["/"+got.name] = got.Recovery.Token
	}
	m.box.mu.Unlock()
	for _, got := range m.kept("quick_judgment") {
		at := "/api/order/" + got.OrderID
		if code := m.replay(t, at, got.Recovery.Token); code != 409 {
			t.Errorf("a replay before the order is completed: %d", code)
		}
		if _, body := m.get(t, at, false); !strings.Contains(body, `"state":"when_completed"`) ||
			!strings.Contains(body, `"host":"hook.example.com"`) || strings.Contains(body, "secret") {
			t.Errorf("the order: %s", body)
		}
		if took := m.told(t, got, 0); len(took) != 0 {
			t.Errorf("told before it was done: %v", took)
		}
	}
}

// called: each receiver was told once, and its buyer has it told again.
func (m *market) called(t *testing.T) {
	t.Helper()
	for _, got := range m.kept("quick_judgment") {
		at := "/api/order/" + got.OrderID
		m.told(t, got, 1)
		if code := m.replay(t, at, "st_wrong"); code != 401 {
			t.Errorf("a replay with a wrong token: %d", code)
		}
		if code := m.replay(t, at, got.Recovery.Token); code != 200 {
			t.Errorf("a replay: %d", code)
		}
		if code := m.replay(t, at, got.Recovery.Token); code != 429 {
			t.Errorf("a second replay within the minute: %d", code)
		}
		took := m.told(t, got, 2)
		if took[0] != took[1] || !strings.Contains(took[0], `"type":"order.completed"`) ||
			!strings.Contains(took[0], fmt.Sprintf("%q", got.OrderID)) || !strings.Contains(took[0], `"text":"Done."`) {
			t.Errorf("told %v", took)
		}
	}
}

// told waits until a receiver was told so often.
func (m *market) told(t *testing.T, got sold, n int) (took []string) {
	t.Helper()
	m.until(t, fmt.Sprintf("%s is told %d times", got.name, n), func() bool {
		m.box.mu.Lock()
		defer m.box.mu.Unlock()
		if took = m.box.took["/"+got.name]; m.box.wrong != nil || len(took) > n {
			t.Fatalf("told %v, %v", took, m.box.wrong)
		}
		return len(took) == n
	})
	return took
}

func (s *stall) replay(t *testing.T, at, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+at+"/replay-callback", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
