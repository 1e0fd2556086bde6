package main

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/laboratory"
)

// The desk is there at the first start, by a link that opens it once, unless its port is another
// program's, which shuts the desk and nothing else. What cannot be done beside a store that serves,
// or on a ledger that was restored, says what to do next.
func TestTheDeskIsThereAtOnce(t *testing.T) {
	s := newSoldHere(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config, err := os.ReadFile(s.dir + "/store.toml")
	if err != nil {
		t.Fatal(err)
	}
	start := func(listen string) {
		s.write("store.toml", func(string) string { return string(config) + "[desk]\nlisten = \"" + listen + "\"\n" })
		s.serve()
	}
	says := func(code int, words string, args ...string) {
		t.Helper()
		if got, said := s.store(args...); got != code || !strings.Contains(said, words) {
			t.Errorf("store %s: exit code %d: %s, want %d with %q", args, got, said, code, words)
		}
	}
	s.build()
	start(taken.Addr().String())
	s.said.has(t, "desk is shut, and the store sells")
	s.kill()
	start("127.0.0.1:" + laboratory.FreePort(t))
	link := s.said.has(t, `http://[^ ]*/once/[a-z2-7]{20,}`)
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i, want := range []int{http.StatusSeeOther, http.StatusForbidden} {
		r, err := http.NewRequest(http.MethodPost, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "http://"+r.Host)
		if res, err := plain.Do(r); err != nil || res.StatusCode != want {
			t.Errorf("the link, no. %d: %v, %v", i, res, err)
		}
	}
	if st, err := os.Stat(s.dir + "/var/keys/desk.token"); err != nil || st.Mode() != 0o600 {
		t.Errorf("the token's file: %v, %v", st, err)
	}
	says(0, "it is open at http://127.0.0.1:", "doctor")
	says(0, "verified", "backup", "copy")
	says(0, "All quiet. Last backup 2", "keeper", "today")
	says(1, "systemctl stop store", "restore", "copy")
	says(1, "systemctl stop store", "keeper", "high-water", "rebuild")
	s.kill()
	if err := os.Rename(s.dir+"/var/ledger.bolt", s.dir+"/var/older.bolt"); err != nil {
		t.Fatal(err)
	}
	says(0, "store keeper reopen", "restore", "copy")
	start("off")
	says(1, "the ledger is closed after a restore; hint: store keeper reopen", "census", "-seal-empty")
	says(3, "it is off", "doctor")
	if strings.Contains(s.said.String(), "desk") {
		t.Errorf("a desk that is off: %s", s.said)
	}
}
