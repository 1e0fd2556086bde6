package main

import (
	"bytes"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/dynamic/ledger/bolt"
)

// TestRejudgeEndsAsItSays runs store census rejudge over a record with one verdict that is false: a
// bot wall that an older battery took for a door.
func TestRejudgeEndsAsItSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.toml")
	if err := os.WriteFile(file, []byte(`base_url = "http://127.0.0.1:4020"
ledger = "bolt:ledger"
record = "record"
[keys]
identity = "specimen"
log = "specimen"
ring = "specimen"
secret = "secret"
[[network]]
id = "eip155:8453"
rpc = ["http://127.0.0.1:1"]
pay_to = "0x742d35cc6634c0532925a3b844bc9e7595f0beb0"
relayer_key = "secret"
genesis_hash = "any"
coin_price = "3000"
coin_price_date = "2026-11-20"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := shop.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(file), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("5", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(t.Context(), filepath.Join(filepath.Dir(file), "ledger"))
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := shop.RecordWriter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := recordtest.Draft(1)
	d.Battery = "v1"
	report, j := recordtest.LookBy(t, "v1", "https://wall.example/paid", recordtest.Answered{Answer: practice.Answer{
		Status: 403, Header: http.Header{"Cf-Mitigated": {"challenge"}}}}, d.TakenAt.Add(-time.Hour))
	row := rejudge.RowFrom(report, j)
	row.Host, row.Listed, row.Source, row.Catalog = "wall.example", true, record.SourceDiscovery, "bazaar"
	raw, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	d.Rows, d.Evidence = recordtest.Each(row), func(string, string) ([]byte, error) { return raw, nil }
	recordtest.Seal(t, w, d)
	for _, c := range []struct {
		args []string
		want error // nil where says is empty: any but errNo
		says string
	}{
		{[]string{"-dry-run"}, errNo, "1 false (1 corrected now, 0 before)"},
		{[]string{"-dry-run", "-json"}, errNo, `"dry_run":true`},
		{[]string{"-battery", "v9"}, nil, ""},
		{[]string{"-colour"}, errUsage, ""},
		{nil, nil, "wall.example\tnot_ready\tnot_probed\tbot_wall"},
		{[]string{"-dry-run"}, nil, "1 false (0 corrected now, 1 before)"},
		{nil, nil, "corrected before"},
	} {
		var out bytes.Buffer
		run := &call{flags: flag.NewFlagSet("store", flag.ContinueOnError), stdout: &out, stderr: t.Output(),
			args: append([]string{"rejudge", "-config", file}, c.args...)}
		run.flags.SetOutput(t.Output())
		run.logger = newLogger(t.Output(), &run.level, true)
		err := runCensus(t.Context(), run)
		trouble := c.want == nil && c.says == ""
		if trouble != (err != nil && !errors.Is(err, errNo) && !errors.Is(err, errUsage)) ||
			!trouble && !errors.Is(err, c.want) || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: %v, want %v and %q: %s", c.args, err, c.want, c.says, out.String())
		}
	}
}
