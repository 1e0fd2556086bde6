package desk_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// TestAHostIsAskedSeldom: over two replicas and every instrument one host is asked exactly as often
// as the table says. Beyond that nothing is said of the door and nothing of the caller's budget is
// spent; what others were just told, and other hosts, are answered as ever.
func TestAHostIsAskedSeldom(t *testing.T) {
	const most = 10
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.db = ledger.NewMem(ledger.MemOptions{})
	o.Limits = map[string][2]int{"host": {most, 0}, "preflight": {1 << 20, 1 << 20}, "readings": {1 << 20, 1 << 20}}
	h := []http.Handler{openTest(t, o), openTest(t, o)}
	paths := []string{"/api/preflight/v1", "/api/look/v1", "/api/preflight/v2", "/api/before-you-pay/v1",
		"/api/onpage/v1", "/api/bot-auth/check"}
	var read, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			path, host := paths[i%len(paths)], []string{"a.example.com", "A.Example.com", "a.example.com."}[i/10]
			url := fmt.Sprintf("https://%s/%d", host, i)
			switch code, header, doc := post(t, h[i%2], path, asked{url}); {
			case code == 200:
				read.Add(1)
			case code == 429 && header.Get("Retry-After") != "" && header.Get("RateLimit") == "" &&
				doc["host"] == "a.example.com" && strings.Contains(fmt.Sprint(doc["detail"]), "no reading of it"):
				refused.Add(1)
			default:
				t.Errorf("%s of %s: %d %v", path, url, code, doc)
			}
		})
	}
	wg.Wait()
	if read.Load() != most || refused.Load() != 30-most || hits.Load() != most {
		t.Errorf("%d read, %d refused, %d asked", read.Load(), refused.Load(), hits.Load())
	}
	_, before, _ := post(t, h[0], "/api/preflight/v2", asked{"https://b.example.com/"})
	if code, _, doc := post(t, h[0], "/api/preflight/v2", asked{"https://a.example.com/another"}); code != 429 {
		t.Errorf("%d %v", code, doc)
	}
	if code, after, doc := post(t, h[0], "/api/preflight/v2", asked{"https://b.example.com/"}); code != 200 ||
		doc["shared"] != true || remaining(before)-remaining(after) != 1 {
		t.Errorf("b shared %v: %d, %d remained and now %d", doc["shared"], code, remaining(before), remaining(after))
	}
	if hits.Load() != most+1 {
		t.Errorf("%d asked, want %d of a, and b once", hits.Load(), most)
	}
}

func remaining(h http.Header) (n int) {
	fmt.Sscan(h.Get("RateLimit-Remaining"), &n)
	return n
}

// TestHalfAWalkIsNoReading: a walk that its host's limit ends on the way says nothing of the door,
// and a reading that is sold is not billed.
func TestHalfAWalkIsNoReading(t *testing.T) {
	var hits atomic.Int64
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.NotFound(w, r)
	}))
	o.Limits = map[string][2]int{"host": {2, 0}}
	h := openTest(t, o)
	if code, header, doc := post(t, h, "/api/preflight/v2", asked{"https://a.example.com/"}); code != 429 ||
		header.Get("Retry-After") == "" || doc["verdict"] != nil {
		t.Errorf("%d %v", code, doc)
	}
	if hits.Load() != 2 {
		t.Errorf("%d requests, want 2", hits.Load())
	}
	_, d, _, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Sold().Read(t.Context(), "spot", map[string]string{"url": "https://b.example.com/paid"})
	if unread, ok := errors.AsType[*goods.Unread](err); !ok || unread.Code != goods.CodeBudget ||
		unread.Until.IsZero() {
		t.Errorf("sold: %v", err)
	}
}

// TestAFloodLeavesRoomForWhatIsPaid: whoever looks at a host for nothing, from anywhere and as
// often as they like, leaves the half of its limit that is kept, in which a reading that is sold
// has room. What was paid for is counted too, and where there is no room left an order is refused
// before it is told what it costs.
func TestAFloodLeavesRoomForWhatIsPaid(t *testing.T) {
	var hits atomic.Int64
	sells := door(&hits)
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			sells.ServeHTTP(w, r)
			return
		}
		hits.Add(1)
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	o.db = ledger.NewMem(ledger.MemOptions{})
	o.Limits = map[string][2]int{"host": {10, 5}, "preflight": {1 << 20, 1 << 20}, "a2a": {1 << 20, 1 << 20}}
	h := openTest(t, o)
	_, d, _, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		post(t, h, "/api/preflight/v1", asked{fmt.Sprintf("https://a.example.com/%d", i)})
	}
	if hits.Load() != 5 {
		t.Fatalf("looks for nothing asked %d times, and 5 are kept of 10", hits.Load())
	}
	room := func(battery string) (err error) {
		if dbErr := o.db.View(t.Context(), func(tx ledger.Tx) error {
			err = d.Sold().Room(tx, battery, "a.example.com")
			return nil
		}); dbErr != nil {
			t.Fatal(dbErr)
		}
		return err
	}
	if err := room("audit"); err != nil {
		t.Errorf("before anything was sold: %v", err)
	}
	inputs := map[string]string{"url": "https://a.example.com/paid"}
	if _, err := d.Sold().Read(t.Context(), "audit", inputs); err != nil {
		t.Errorf("what is sold: %v", err)
	}
	if n := hits.Load(); n > 10 || n < 9 {
		t.Errorf("%d asked", n)
	}
	refused, ok := errors.AsType[*goods.Unread](room("spot"))
	if !ok || refused.Code != goods.CodeBudget || refused.Until.IsZero() || refused.Sent {
		t.Errorf("when all is spent: %v", room("spot"))
	}
	var other error
	if err := o.db.View(t.Context(), func(tx ledger.Tx) error {
		other = d.Sold().Room(tx, "spot", "b.example.com")
		return nil
	}); err != nil || other != nil {
		t.Errorf("another host: %v %v", err, other)
	}
}
