package onchaintest_test

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// fullDisk keeps marks when there is room.
type fullDisk struct {
	mu    sync.Mutex
	room  bool
	marks []till.HighMark
	asked chan struct{} // closed at the first refusal
	once  sync.Once
}

func (d *fullDisk) Keep(m till.HighMark) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.room {
		d.once.Do(func() { close(d.asked) })
		return errors.New("no space left on device")
	}
	d.marks = append(d.marks, m)
	return nil
}

// Nothing is handed over before its mark is kept: a store restored from an older backup would give
// it again (M13).
func TestNothingIsDeliveredBeforeItsMark(t *testing.T) {
	t.Parallel()
	disk := &fullDisk{asked: make(chan struct{})}
	s := newShop(t, shopOptions{config: func(c *till.Config) {
		c.HighWater, c.SettleWait, c.RepeatWait = disk, time.Second, 200*time.Millisecond
	}})
	ch := s.challenge("/api/buy/small_blessing")
	payment := map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[0])}
	if r := s.do("GET", "/api/buy/small_blessing", payment); r.Status == http.StatusOK {
		t.Fatalf("delivered without a mark: %s", r.Raw)
	}
	<-disk.asked
	if r := s.do("GET", "/api/buy/small_blessing", payment); r.Status == http.StatusOK {
		t.Fatalf("delivered without a mark: %s", r.Raw)
	}
	disk.mu.Lock()
	disk.room = true
	disk.mu.Unlock()
	r := s.do("GET", "/api/buy/small_blessing", payment)
	done := s.state(r.Purchase(), till.Delivered)
	disk.mu.Lock()
	defer disk.mu.Unlock()
	if len(disk.marks) != 1 || disk.marks[0].Item != "small_blessing" || disk.marks[0].Patron != done.Number {
		t.Errorf("marks %+v, want the one of what was delivered", disk.marks)
	}
}

// Two rails of one network would settle and read one after the other's accounts.
func TestANetworkIsConfiguredOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	cfg := till.Config{BaseURL: "https://store.example", Site: s.site, DB: s.db,
		Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
		Secret: make([]byte, 32), Log: slog.New(slog.DiscardHandler)}
	for rails, ok := range map[int]bool{0: false, 1: true, 2: false} {
		cfg.Rails = nil
		for range rails {
			cfg.Rails = append(cfg.Rails, rail.Rail(s.rails[0]))
		}
		if _, err := till.New(cfg); (err == nil) != ok {
			t.Errorf("%d rails of one network: %v", rails, err)
		}
	}
}
