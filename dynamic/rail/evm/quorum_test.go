package evm_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail"
)

// ahead is a node that tells the truth, but for the time, which is an hour ahead.
func ahead(t *testing.T, target string) string {
	times := regexp.MustCompile(`"timestamp":"(0x[0-9a-f]+)"`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Post(target, "application/json", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(times.ReplaceAllFunc(body, func(b []byte) []byte {
			at, err := hexutil.DecodeUint64(string(times.FindSubmatch(b)[1]))
			if err != nil {
				t.Error(err)
			}
			return []byte(`"timestamp":"` + hexutil.EncodeUint64(at+3600) + `"`)
		}))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func status(t *testing.T, r rail.Rail, p *rail.Payment, signed []rail.Signed, seen rail.Verified) rail.Finding {
	t.Helper()
	f, err := r.Status(t.Context(), p, signed, seen, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One node that lies about the time does not make a payment dead.
func TestDeadNeedsTwoNodes(t *testing.T) {
	h := openOn(t, 8453)
	p, signed, seen := buy(t, h, h.rail, terms(500_000))
	liar := ahead(t, h.URL)
	for name, c := range map[string]struct {
		rpc  []string
		want rail.State
	}{
		"the liar alone":    {[]string{liar}, rail.Dead},
		"the liar first":    {[]string{liar, h.URL}, rail.Waiting},
		"the liar second":   {[]string{h.URL, liar}, rail.Waiting},
		"two of one mind":   {[]string{liar, liar}, rail.Dead},
		"a third is beside": {[]string{h.URL, h.URL, liar}, rail.Waiting},
	} {
		cfg := h.cfg
		cfg.RPC = c.rpc
		if f := status(t, newRail(t, cfg), p, signed, seen); f.State != c.want || f.Final && c.want != rail.Dead {
			t.Errorf("%s: %+v, want %s", name, f, c.want)
		}
	}
}

// What is paid on one node's chain only is not paid, from one unit up.
func TestPaidNeedsTwoNodes(t *testing.T) {
	h := openOn(t, 8453)
	other := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}})
	for amount, want := range map[int64]rail.State{999_999: rail.Paid, 1_000_000: rail.Seen} {
		p, signed, seen := buy(t, h, h.rail, terms(amount))
		h.Seal()
		for _, rpc := range [][]string{{h.URL, other.URL}} {
			cfg := h.cfg
			cfg.RPC, cfg.GenesisHash = rpc, ""
			if f := status(t, newRail(t, cfg), p, signed, seen); f.State != want || want == rail.Seen &&
				(f.Final || f.Proof == nil) {
				t.Errorf("%d on one of two chains: %+v, want %s", amount, f, want)
			}
		}
		cfg := h.cfg
		cfg.RPC = []string{h.URL, h.URL}
		if f := status(t, newRail(t, cfg), p, signed, seen); f.State != rail.Paid {
			t.Errorf("%d on two nodes of one chain: %+v", amount, f)
		}
	}
}

// A node that is silent holds payments up for a time, and then the other's final word decides, with
// an alarm.
func TestASilentNodeDoesNotDecide(t *testing.T) {
	h := openOn(t, 8453)
	var log bytes.Buffer
	cfg := h.cfg
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	cfg.RPC = []string{h.URL, "http://127.0.0.1:1/v2/secret"}
	r := newRail(t, cfg)
	if err := r.Check(t.Context()); err != nil {
		t.Errorf("Check beside a silent node = %v", err)
	}
	p, signed, seen := buy(t, h, r, terms(1_000_000))
	h.Seal()
	now := time.Now()
	at := func(d time.Duration) rail.Finding {
		t.Helper()
		f, err := r.Status(t.Context(), p, signed, seen, now.Add(d))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := at(0); f.State != rail.Seen {
		t.Errorf("at first: %+v, want seen", f)
	}
	if f := at(9 * time.Minute); f.State != rail.Seen || log.Len() > 0 {
		t.Errorf("after nine minutes: %+v, want seen; log %s", f, &log)
	}
	if f := at(11 * time.Minute); f.State != rail.Seen {
		t.Errorf("after eleven minutes, not final: %+v, want seen", f)
	}
	h.Finalize()
	if f := at(12 * time.Minute); f.State != rail.Paid || !f.Final {
		t.Errorf("final, after twelve minutes: %+v, want paid", f)
	}
	if !strings.Contains(log.String(), "a node is silent") || strings.Contains(log.String(), "secret") {
		t.Errorf("log %q, want an alarm and no secret", &log)
	}
}

func TestASecondNodeOnAnotherChain(t *testing.T) {
	h := openOn(t, 8453)
	other := chaintest.New(t, chaintest.Options{Networks: []uint64{137}})
	cfg := h.cfg
	cfg.RPC = []string{h.URL, other.URL}
	if err := newRail(t, cfg).Check(t.Context()); !errors.Is(err, rail.ErrWrongChain) {
		t.Errorf("Check = %v, want the wrong chain", err)
	}
}
