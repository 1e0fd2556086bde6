package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/shop"
)

// A store that runs measures its nodes, queues and what waits, and is ready; its desk is open.
func TestARunningStoreIsMeasured(t *testing.T) {
	t.Parallel()
	cfg := closedStall(t)
	cfg.Desk.Token = t.TempDir() + "/desk.token"
	token, made, err := shop.DeskToken(cfg)
	if again, anew, err2 := shop.DeskToken(cfg); err != nil || err2 != nil || !made || anew ||
		token != again || len(token) < 32 {
		t.Fatal(token, again, err, err2)
	}
	var level slog.LevelVar
	s, err := shop.Open(t.Context(), cfg, shop.Options{Log: discard(), Level: &level})
	if err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	shopLn, debug, desk := listen(), listen(), listen()
	if _, err := s.ServeDesk(desk); err != nil {
		t.Fatal(err)
	}
	ctx, stop := t.Context(), make(chan error, 1)
	go func() { stop <- s.Serve(ctx, shopLn, debug) }()
	t.Cleanup(func() {
		if err := <-stop; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	get := func(url string) (int, string) {
		resp, err := http.Get(url)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	want := []string{`store_node_up{network="eip155:\d+"} 1`,
		`store_node_call_seconds_count{network="eip155:\d+",outcome="answered"} [1-9]`, `store_waiting{kind="orders"} 0`, `store_build_info\{.*} 1`,
		`store_queue_length{job="arrivals"} 1`,
		`store_census_hosts{state="due"} 0`, `store_census_sealed 0`, `store_ledger_seconds_count [1-9]`}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for missing := want; len(missing) > 0; {
		_, page := get("http://" + debug.Addr().String() + "/metrics")
		missing = nil
		for _, w := range want {
			if !regexp.MustCompile(strings.ReplaceAll(w, "{n", `\{n`)).MatchString(page) {
				missing = append(missing, w)
			}
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("not measured: %q", missing)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, said := get("http://" + debug.Addr().String() + path); code != 200 {
			t.Errorf("%s: %d %s", path, code, said)
		}
	}
	if code, said := get("http://" + desk.Addr().String()); code != 200 || !strings.Contains(said, `name="token"`) {
		t.Errorf("the desk: %d %s", code, said)
	}
}
