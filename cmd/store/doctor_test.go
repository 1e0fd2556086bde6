package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/cmd/shop/doctor"
)

// A new site is of what was said, and the doctor says what it lacks.
func TestInitAndDoctor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	const wallet = "0x00000000000000000000000000000000000000aa"
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"init", "-name", `Ada "x"`, "-keeper", "Ada", "-contact", "mailto:a@b.example",
		"-networks", "base,polygon", "-pay-to", wallet, "-rpc", "http://127.0.0.1:1/a,http://127.0.0.1:1/b", dir},
		&out, &errs)
	if code != 0 {
		t.Fatalf("init: %d %s", code, &errs)
	}
	c, err := shop.Load(filepath.Join(dir, "store.toml"))
	if err != nil || len(c.Networks) != 2 || c.Networks[1].PayTo != wallet ||
		c.Networks[1].RPC[0] != "http://127.0.0.1:1/b" {
		t.Fatalf("loaded %+v, %v", c, err)
	}
	site, err := shop.LoadSite(c)
	if err != nil || site.Config.Title != `Ada "x"` || site.Config.Keeper != "Ada" ||
		site.Config.Contact != "mailto:a@b.example" {
		t.Fatalf("the site is %+v, %v", site.Config, err)
	}
	t.Chdir(dir)
	for _, call := range []struct {
		args string
		code int
		says string
	}{
		{"key init", 0, "keys made"},
		{"doctor", 3, "\nfault    network eip155:137  "},
		{"doctor extra", 2, ""},
		{"doctor -config nowhere.toml", 1, "no such file"},
	} {
		out.Reset()
		errs.Reset()
		if code := run(t.Context(), strings.Fields(call.args), &out, &errs); code != call.code ||
			!strings.Contains(out.String()+errs.String(), call.says) {
			t.Errorf("%s: %d %s %s", call.args, code, &out, &errs)
		}
	}
	out.Reset()
	var said struct {
		Findings         []doctor.Finding
		Faults, Warnings int
	}
	if code := run(t.Context(), []string{"doctor", "-json"}, &out, &errs); code != 3 ||
		json.Unmarshal(out.Bytes(), &said) != nil || said.Faults == 0 ||
		len(said.Findings) < said.Faults+said.Warnings {
		t.Errorf("-json: %d %s", code, &out)
	}
	if _, err := os.Stat(filepath.Join("var", "ledger.bolt")); err == nil {
		t.Error("the doctor made a ledger")
	}
}
