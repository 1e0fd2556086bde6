package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/rejudge"
)

// papers are the answers of a stall that were saved because something in them is signed.
type papers struct {
	*stall
	dir   string
	names []string            // of files
	ids   map[string][]string // by file, what is signed in it
}

// verifies saves an answer and checks each id that is signed in it here and as a page, and the file
// offline.
func (p *papers) verifies(t *testing.T, name, raw string, ids ...string) {
	t.Helper()
	keys, file := filepath.Join(p.dir, "keys.json"), filepath.Join(p.dir, name+".json")
	if p.ids == nil {
		_, ring := p.get(t, "/.well-known/store-signing-key", false)
		if err := os.WriteFile(keys, []byte(ring), 0o600); err != nil {
			t.Fatal(err)
		}
		p.ids = make(map[string][]string)
	}
	if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	p.names = append(p.names, name)
	for _, id := range ids {
		if id == "" { // the certificate of what the keeper has yet to do
			continue
		}
		p.ids[name] = append(p.ids[name], id)
		if code, body := p.get(t, "/api/verify/"+id, false); code != 200 || !strings.Contains(body, `"valid":true`) {
			t.Errorf("%s: verify %s: %d %s", name, id, code, body)
		}
		code, page := p.get(t, "/api/verify/"+id, true)
		page = strings.NewReplacer(`<script src="/door.js" type="module"></script>`, "",
			`<script src="/copy.js" defer></script>`, "").Replace(page)
		if code != 200 || !strings.Contains(page, "verdict good") || strings.Contains(page, "<script>alert") ||
			strings.Contains(page, "</script>") {
			t.Errorf("%s: the page of %s: %d %s", name, id, code, page)
		}
	}
	var out, errs bytes.Buffer
	code := kit.Run(t.Context(), kit.Program{Name: "verify", Judge: rejudge.Batteries{}},
		[]string{"-ring", keys, "-artifact", file}, &out, &errs)
	for _, id := range p.ids[name] {
		if code != 0 || !strings.Contains(out.String(), id) {
			t.Errorf("%s offline: exit %d, %s is not among %s%s", name, code, id, out.String(), errs.String())
		}
	}
}

// verifies checks a single answer in the same ways.
func (s *stall) verifies(t *testing.T, got sold) {
	t.Helper()
	one := papers{stall: s, dir: t.TempDir()}
	one.verifies(t, "bought", got.raw, got.Artifact.ID, got.CertID)
}

// shown looks in a browser at a page of each kind of what is signed beside a certificate, of orders
// as they were answered, as they ended and as they wait, and of a certificate.
func (m *market) shown(t *testing.T) {
	t.Helper()
	p := browser.Start(t).Open(m.url+"/", browser.Screen{Width: 1280})
	ids := []string{m.kept("hello")[0].CertID}
	for _, item := range []string{"context_anchor", "bitcoin_anchor", "recurring_patronage", "phantom_check",
		"service_audit", "onpage_audit", "provenance_check", "quick_judgment", "conformance_watch", "standing_watch",
		"launch_check"} {
		ids = append(ids, m.kept(item)[0].Artifact.ID)
	}
	for _, id := range ids {
		for _, screen := range quick {
			p.Show(screen)
			p.Go(m.url + "/api/verify/" + id)
			m.fits(t, p, "/api/verify/"+id, screen, screen.Dark)
		}
	}
}

// byAnotherLanguage has everything that was saved checked by the program that was made from the
// page alone.
func (p *papers) byAnotherLanguage(t *testing.T) {
	t.Helper()
	const python = "/usr/bin/python3" // the system's own, for which Debian packages ed25519
	if err := exec.Command(python, "-c", "import cryptography").Run(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("no python3 with the package cryptography is here: %w", err))
	}
	args := []string{"-B", "../verify/testdata/artifact.py", filepath.Join(p.dir, "keys.json")}
	for _, name := range p.names {
		args = append(args, filepath.Join(p.dir, name+".json"))
	}
	out, err := exec.CommandContext(t.Context(), python, args...).Output()
	said := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(said) != len(p.names) {
		t.Fatalf("%d verdicts on %d papers, %v:\n%s", len(said), len(p.names), err, out)
	}
	for i, name := range p.names {
		for _, id := range append(p.ids[name], name+".json: verified: ") {
			if !strings.Contains(said[i], id) {
				t.Errorf("%s is not said of %s: %s", id, name, said[i])
			}
		}
	}
}
