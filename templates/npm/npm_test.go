package npm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/templates/npm"
)

// node runs a script of testdata in the package; what it prints is what does not hold.
func node(t *testing.T, script string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), npmtest.Node(t), append([]string{script}, args...)...)
	c.Dir, c.Stderr = npmtest.Own(t, "testdata", "*.mjs"), t.Output()
	if out, err := c.Output(); err != nil || len(out) > 0 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestVectors holds the package to what is committed: the vectors of the record and of its forms,
// the offers and receipts of the conformance set, and the manifest over all public files.
func TestVectors(t *testing.T) {
	t.Parallel()
	public, err := filepath.Abs("../../public")
	if err != nil {
		t.Fatal(err)
	}
	node(t, "vectors.mjs", public)
}

// inBrowser is a page whose modules find what the package depends on.
const inBrowser = `<!doctype html><title>package</title><script type="importmap">{"imports": {
"@noble/curves/ed25519": "/node_modules/@noble/curves/esm/ed25519.js",
"@noble/hashes/": "/node_modules/@noble/hashes/esm/",
"@noble/hashes/sha2": "/node_modules/@noble/hashes/esm/sha2.js",
"@noble/hashes/utils": "/node_modules/@noble/hashes/esm/utils.js",
"@noble/hashes/crypto": "/node_modules/@noble/hashes/esm/crypto.js"}}</script>`

// checksInBrowser reads the store's keys, checks its manifest and each fixture of the conformance
// set, and keeps a purchase in localStorage twice, once of which is too much.
const checksInBrowser = `(async () => {
	const { checkManifest, Keys, openOffer, openReceipt } = await import("/verify.js");
	const { storageJournal } = await import("/journal.js");
	const get = async (path) => (await fetch("/public/.well-known/" + path)).text();
	const keys = new Keys(await get("store-signing-key"));
	const { files } = checkManifest(await get("manifest.json"), keys);
	const { fixtures } = JSON.parse(await get("conformance/offer-receipt-vectors.json"));
	const holds = ({ artifact, expect }) => {
		try { return !!(expect.kind === "offer" ? openOffer : openReceipt)(artifact, keys); } catch { return false; }
	};
	const wrong = fixtures.filter((f) => holds(f) !== (f.expect.verdict === "conforms")).map((f) => f.id);
	const journal = storageJournal(), id = "0".repeat(64);
	const kept = await Promise.all([journal.create({ id }), journal.create({ id })]);
	return { files, fixtures: fixtures.length, wrong, kept: kept.join(), all: (await journal.all()).length };
})()`

// TestLongInABrowser: the verifier and the journal are modules that a browser loads as they are.
func TestLongInABrowser(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, inBrowser)
	})
	mux.Handle("/", http.FileServer(http.Dir(npmtest.Own(t, "."))))
	mux.Handle("/public/", http.StripPrefix("/public/", http.FileServer(http.Dir("../../public"))))
	served := httptest.NewServer(mux)
	t.Cleanup(served.Close)
	p := browser.Start(t).Open(served.URL+"/", browser.Screen{Width: 390})
	var got struct {
		Files, Fixtures, All int
		Wrong                []string
		Kept                 string
	}
	p.Eval(checksInBrowser, &got)
	if got.Files < 1000 || got.Fixtures < 6 || len(got.Wrong) > 0 || got.Kept != "true,false" || got.All != 1 {
		t.Errorf("in a browser: %+v", got)
	}
}

// TestLongTypes: the declarations are what a strict program in TypeScript reads them as.
func TestLongTypes(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), npmtest.Node(t), "node_modules/typescript/bin/tsc", "--noEmit", "--strict",
		"--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,esnext",
		"--types", "node", "typed.ts")
	c.Dir = npmtest.Own(t, "testdata", "typed.ts")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestVersion: a tag is the version, and a commit without one is before all of them.
func TestVersion(t *testing.T) {
	t.Parallel()
	for described, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-4-gabcdef0": "1.2.3-4-gabcdef0",
		"0123456": "0.0.0-g0123456", "v2": "0.0.0-gv2"} {
		if got := npm.Version(described); got != want {
			t.Errorf("%s is %s, want %s", described, got, want)
		}
	}
}
