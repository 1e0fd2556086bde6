package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// misconfigured is one thing that is wrong with a store that is otherwise right: what a keeper did
// to it, the verb that meets it, and what its answer says: where it is, and what mends it. What is
// wrong with a single value of store.toml is in the faults of the package shop.
type misconfigured struct {
	name, verb string
	spoil      func(s *soldHere)
	where      string
	mend       string
}

// put writes a file of the folder, and gone removes one, or a folder.
func put(name, text string) func(*soldHere) {
	return func(s *soldHere) { s.write(name, func(string) string { return text }) }
}

func gone(name string) func(*soldHere) {
	return func(s *soldHere) {
		s.changed = append(s.changed, name)
		s.must(os.RemoveAll(filepath.Join(s.dir, name)))
	}
}

// swap replaces a text in a file, which holds it.
func swap(name, old, text string) func(*soldHere) {
	return func(s *soldHere) {
		s.write(name, func(was string) string {
			if !strings.Contains(was, old) {
				s.t.Fatalf("%s holds no %q: %s", name, old, was)
			}
			return strings.Replace(was, old, text, 1)
		})
	}
}

func mode(name string, m os.FileMode) func(*soldHere) {
	return func(s *soldHere) {
		s.changed = append(s.changed, name)
		s.must(os.Chmod(filepath.Join(s.dir, name), m))
	}
}

// folder puts an empty folder where a file should be.
func folder(name string) func(*soldHere) {
	return func(s *soldHere) {
		gone(name)(s)
		s.must(os.MkdirAll(filepath.Join(s.dir, name), 0o700))
	}
}

func (s *soldHere) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// mend puts a file or a folder back as it is in a copy of the store's folder; what the copy does
// not hold stays away.
func (s *soldHere) mend(from, name string) {
	s.t.Helper()
	at, to := filepath.Join(from, name), filepath.Join(s.dir, name)
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && info.IsDir():
		err = os.CopyFS(to, os.DirFS(at))
	case err == nil:
		var b []byte
		if b, err = os.ReadFile(at); err == nil {
			err = os.WriteFile(to, b, 0o600) // as keys have to be
		}
	}
	s.must(err)
}

const good = "content/shelf/hello.md"

var misconfigurations = []misconfigured{
	{"no configuration", "serve", gone("store.toml"), "store.toml", "store init DIR"},
	{"no TOML", "serve", put("store.toml", "base_url: x\n"), "store.toml", "store config"},
	{"an unknown key", "serve", swap("store.toml", "listen =", "listne ="), "listne", "listen"},
	{"an unknown table", "serve", swap("store.toml", "[server]", "[servre]"), "servre", "server"},
	{"a key twice", "serve", swap("store.toml", "content =", "public = \"x\"\ncontent ="), "store.toml",
		"store config"},
	{"the configuration is a folder", "serve", folder("store.toml"), "store.toml", "is a directory"},

	{"no identity key", "serve", gone("var/keys/identity.pem"), "identity.pem", "store key init"},
	{"no ring", "serve", gone("var/keys/ring.json"), "ring.json", "store key init"},
	{"no secret", "serve", gone("var/keys/till.secret"), "till.secret", "store key init"},
	{"no log key", "build", gone("var/keys/log.pem"), "log.pem", "store key init"},
	{"no relayer key", "serve", gone("var/keys/relayer.key"), "relayer.key", "relayer_key"},
	{"an identity that all may read", "serve", mode("var/keys/identity.pem", 0o644), "identity.pem", "chmod 600"},
	{"a secret that all may read", "serve", mode("var/keys/till.secret", 0o644), "till.secret", "chmod 600"},
	{"a relayer key that the group may read", "serve", mode("var/keys/relayer.key", 0o640), "relayer.key", "chmod 600"},
	{"a log key that all may read", "build", mode("var/keys/log.pem", 0o644), "log.pem", "chmod 600"},
	{"an identity that is empty", "serve", put("var/keys/identity.pem", ""), "identity.pem", "store key init"},
	{"an identity that is no PEM", "serve", put("var/keys/identity.pem", "hello\n"), "identity.pem", "store key init"},
	{"a log key in the place of the identity", "serve", func(s *soldHere) {
		b, err := os.ReadFile(filepath.Join(s.dir, "var/keys/log.pem"))
		s.must(err)
		put("var/keys/identity.pem", string(b))(s)
	}, "identity", "ring"},
	{"a ring that is no JSON", "serve", put("var/keys/ring.json", "{"), "ring.json", "store key init"},
	{"a ring of nobody", "serve", put("var/keys/ring.json", "{}"), "ring", "store key init"},
	{"a short secret", "serve", put("var/keys/till.secret", "short"), "till.secret", "32 bytes"},
	{"a relayer key that is no key", "serve", put("var/keys/relayer.key", "password\n"), "relayer.key", "hex"},
	{"the specimen key in public", "serve", func(s *soldHere) {
		swap("store.toml", `"var/keys/identity.pem"`, `"specimen"`)(s)
		swap("store.toml", `"var/keys/ring.json"`, `"specimen"`)(s)
		swap("store.toml", s.base, "https://store.example")(s)
	}, "specimen", "store key init"},

	{"no tree", "serve", gone("public"), "public", "store build"},
	{"a tree of another address", "serve", func(s *soldHere) {
		swap("store.toml", s.base, "http://127.0.0.1:1")(s)
	}, "not for http://127.0.0.1:1", "store build"},
	{"a tree without its manifest", "serve", gone("public/current/.well-known/manifest.json"), "manifest",
		"store build"},
	{"a tree that is a file", "serve", func(s *soldHere) { gone("public")(s); put("public", "x")(s) }, "x/.well-known",
		"store build"},
	{"no content", "build", gone("content"), "content", "store init"},
	{"no site.toml", "build", gone("content/site.toml"), "site.toml", "store init"},
	{"no shelf", "build", gone("content/shelf"), "shelf", "store init"},
	{"no first page", "build", gone("content/pages/index.md"), "index.md", "store init"},
	{"no stock", "build", gone("var/stock"), "stock", "store init"},
	{"site.toml with an unknown key", "build", swap("content/site.toml", "title", "titel"), "site.toml", "titel"},
	{"a good without front matter", "build", put(good, "Hello.\n"), "hello.md:1", "+++"},
	{"a good with an unknown key", "build", swap(good, "price", "prise"), "hello.md", "prise"},
	{"a good at no price", "build", swap(good, "price = ", "price = \"free\" # "), "hello.md", "such as"},
	{"a good at a negative price", "build", swap(good, "price = ", "price = \"-1\" # "), "hello.md", "such as"},
	{"a good at a price of seven places", "build", swap(good, "price = ", "price = \"0.1234567\" # "), "hello.md",
		"such as"},
	{"a good at a number", "build", swap(good, "price = ", "price = 1 # "), "hello.md", "price"},
	{"a good of an unknown kind", "build", swap(good, "kind = ", "kind = \"dream\" # "), "hello.md", "dream"},
	{"a good without a name", "build", swap(good, "name = ", "name = \"\" # "), "hello.md", "name"},
	{"a good by a bad name of its file", "build", put("content/shelf/My Good.md", "+++\n+++\n"), "My Good.md",
		"lower-case words joined by underscores"},
	{"a page with a dead link", "build", put("content/pages/about.md",
		"+++\ntitle = \"About\"\nsummary = \"Us.\"\n+++\n\n[there](/nowhere)\n"), "about.md:6", "/nowhere"},
	{"a page with HTML", "build", put("content/pages/about.md",
		"+++\ntitle = \"About\"\nsummary = \"Us.\"\n+++\n\n<b>us</b>\n"), "about.md:6", "HTML"},
	{"a page without a title", "build", put("content/pages/about.md", "+++\nsummary = \"Us.\"\n+++\n\nUs.\n"),
		"about.md", "title"},
	{"a page that is not UTF-8", "build", put("content/pages/about.md",
		"+++\ntitle = \"About\"\nsummary = \"Us.\"\n+++\n\n\xff\n"), "about.md", "UTF-8"},

	{"a node that does not answer", "doctor", func(s *soldHere) {
		swap("store.toml", s.net.Chains[0].URL, "http://127.0.0.1:1")(s)
	}, "eip155:8453", "rpc"},
	{"a node of another chain", "doctor", swap("store.toml", `id = "eip155:8453"`, `id = "eip155:137"`), "eip155:137",
		"rpc"},
	{"a node of another genesis", "doctor", swap("store.toml", "genesis_hash = \"any\"\n", ""), "eip155:8453",
		"first block"},
	{"a node that is no URL", "serve", func(s *soldHere) {
		swap("store.toml", s.net.Chains[0].URL, "base-mainnet")(s)
	}, "eip155:8453", "an http or https URL"},
	{"an address that is taken", "serve", func(s *soldHere) {
		swap("store.toml", `listen = "`+strings.TrimPrefix(s.base, "http://"), `listen = "`+
			strings.TrimPrefix(s.net.Chains[0].URL, "http://"))(s)
	}, "listen", "another"},
	{"the program's own keeper in public", "serve", func(s *soldHere) {
		swap("store.toml", `listen = "`+strings.TrimPrefix(s.base, "http://"), `listen = "192.0.2.1:4020`)(s)
	}, "site.toml", "write your own there, then run store build"},
	{"a ledger that is text", "serve", put("var/ledger.bolt", "hello\n"), "ledger.bolt", "restore"},
	{"a ledger that is a folder", "serve", folder("var/ledger.bolt"), "ledger.bolt", "file"},
	{"a ledger in no folder", "serve", swap("store.toml", "var/ledger.bolt", "elsewhere/ledger.bolt"), "elsewhere",
		"folder"},
	{"a PostgreSQL that does not answer", "serve", swap("store.toml", "bolt:var/ledger.bolt",
		"postgres://store@127.0.0.1:1/store"), "PostgreSQL", "127.0.0.1:1"},
}

// TestMisconfigurations: whatever is wrong with a store, the verb that meets it ends, and says
// where and how it is mended.
func TestMisconfigurations(t *testing.T) {
	s := newSoldHere(t)
	s.build()
	whole := t.TempDir()
	s.must(os.CopyFS(whole, os.DirFS(s.dir)))
	for _, m := range misconfigurations {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			mine := &soldHere{t: t, dir: s.dir, base: s.base, net: s.net}
			defer func() {
				// A store that began to open may have made a ledger.
				for _, name := range append(mine.changed, "var/ledger.bolt") {
					mine.must(os.RemoveAll(filepath.Join(s.dir, name)))
					mine.mend(whole, name)
				}
			}()
			m.spoil(mine)
			code, said := mine.store(m.verb)
			said = strings.ReplaceAll(said, mine.dir, "")
			if code == 0 || code == opened {
				t.Errorf("store %s: exit code %d: %s", m.verb, code, said)
			}
			if !strings.Contains(said, m.where) || !strings.Contains(said, m.mend) {
				t.Errorf("store %s does not say %q and %q: %s", m.verb, m.where, m.mend, said)
			}
			if strings.Contains(said, "goroutine ") {
				t.Errorf("store %s panics: %s", m.verb, said)
			}
		})
	}
}
