package shop

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"store.example/agentstore/corpus/ots/calendar"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
)

// TestTheNewestBlock asks an own node's file and explorers that agree, lie, stand still or do not
// answer.
func TestTheNewestBlock(t *testing.T) {
	tips := map[string]string{"a.example.com": "900000", "b.example.com": "900001", "low.example.com": "899000",
		"junk.example.com": "zz<script>"}
	explorers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tip, ok := tips[r.Host]; ok && r.URL.Path == "/blocks/tip/height" {
			fmt.Fprint(w, tip)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	cfg := fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)", Key: attest.SpecimenKey(),
		Agent: "https://store.example"}
	outside(t, explorers).Reach(&cfg)
	client, err := fetch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := func(at time.Time) string {
		var h ots.Header
		binary.LittleEndian.PutUint32(h[68:], uint32(at.Unix()))
		name := filepath.Join(t.TempDir(), "headers.txt")
		if err := os.WriteFile(name, fmt.Appendf(nil, "899998 %s899999 %s", h.File(), h.File()), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	at := func(hosts ...string) (out []string) {
		for _, h := range hosts {
			out = append(out, "https://"+h)
		}
		return out
	}
	for name, c := range map[string]struct {
		file      string
		explorers []string
		tip       int64
		want      string // of the error
	}{
		"two": {explorers: at("a.example.com", "b.example.com"), tip: 900_001},
		"one is not enough": {explorers: at("a.example.com", "dead.example.com"),
			want: "1 of 2 explorers told the newest height, and two must"},
		"one is behind": {explorers: at("a.example.com", "b.example.com", "low.example.com"),
			want: "from 899000 to 900001"},
		"one tells junk": {explorers: at("a.example.com", "junk.example.com"), want: "not hexadecimal"},
		"two and a dead": {explorers: at("dead.example.com", "a.example.com", "b.example.com"), tip: 900_001},
		"own node":       {file: file(time.Now().Add(-time.Hour)), explorers: at("low.example.com"), tip: 899_999},
		"it stands still": {file: file(time.Now().Add(-30 * time.Hour)),
			explorers: at("a.example.com", "b.example.com"), tip: 900_001},
		"and nobody else": {file: file(time.Now().Add(-30 * time.Hour)), want: "is older than 3h"},
		"no such file":    {file: "nowhere.txt", want: "reading timestamps.headers"},
	} {
		tip, err := calendar.Headers{File: c.file, Explorers: c.explorers, Client: client}.Tip(t.Context())
		if tip != c.tip || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d, %v", name, tip, err)
		}
	}
}
