package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/readers"
	"store.example/agentstore/content/api"
)

// acceptance is one row: a document, and its reader or why it has none.
type acceptance struct{ path, by, exempt string }

// accepted says which reader that is not ours accepts each document that agents and readers of the
// API look for. by is a check of readers/readers.mjs that asks the store for it, or a test, as
// folder.TestName, that has another program read it. A document without one has the reason why.
// Pages are not in it: axe-core reads one of each class, in generator.TestPagesInABrowser.
var accepted = []acceptance{
	{path: "/openapi.json", by: "@agentcash/discovery: paid endpoints"},
	{path: "/openapi.json", by: "OpenAPI schema 3.1 of the OpenAPI Initiative"},
	{path: "/openapi.json", by: "cmd/devnet.TestStockReaders"}, // spectral, redocly, kin-openapi
	{path: "/openapi-tools.json", by: "ajv: the schemas of openapi-tools.json"},
	{path: "/llms.txt", exempt: "its one parser is in Python: generator.TestLLMsGrammar follows it"},
	{path: "/llms-full.txt", exempt: "the bytes of /llms.txt"},
	{path: "/agents.md", exempt: prose},
	{path: "/auth.md", exempt: prose},
	{path: "/index.md", exempt: prose},
	{path: "/pricing.md", exempt: prose},
	{path: "/api.md", exempt: prose},
	{path: "/skill.md", by: "skills-ref: the skill"},
	{path: "/.well-known/agent-skills/agent-store/SKILL.md", by: "skills-ref: the skill"},
	{path: "/.well-known/agent-skills/index.json", by: "skills-ref: the skill"},
	{path: "/verify/run.js", by: "cmd/verify/wasm.TestLongVerifierInChromium"},
	{path: "/verify/worker.js", by: "cmd/verify/wasm.TestLongVerifierInChromium"},
	{path: "/.well-known/api-catalog", by: "linkset: api-catalog"},
	{path: "/.well-known/agent-card.json", by: "A2A schema 0.3.0"},
	{path: "/.well-known/agent-card.json", by: "@a2a-js/sdk 0.3: message/send and tasks/get"},
	{path: "/.well-known/agent-card.json", by: "@a2a-js/sdk 1: SendMessage, GetTask and CancelTask"},
	{path: "/.well-known/ucp", by: "UCP schema 2026-08-25"},
	{path: "/listings/server.json", by: "MCP Registry schema 2025-12-11"},
	{path: "/listings/mpp.json", by: "mpp.dev: the rules of its services, and the prices of the doors"},
	{path: "/listings/PAY.md", by: "pay-skills: the frontmatter of PAY.md"},
	{path: "/listings/a2a-directory.md", by: "A2A Directory: a row of its table"},
	{path: "/.well-known/oauth-protected-resource", exempt: "readers of RFC 9728 take none without an authorization " +
		"server, and there is none; stock MCP clients connect with it in place, as in TestLongMCPSuites"},
	{path: "/.well-known/did.json", by: "did-jwt: offers, a receipt and the vectors under did:web"},
	{path: "/.well-known/trust.json", by: "trust.json by its own schema"},
	{path: "/spec/store-trust-v1.schema.json", by: "trust.json by its own schema"},
	{path: "/.well-known/security.txt", exempt: "no reader of RFC 9116 is kept; its dates are held by " +
		"content.TestLoadRefusesWhatIsMalformed"},
	{path: "/.well-known/conformance/offer-receipt-vectors.json", by: "jose: conformance vectors"},
	{path: "/.well-known/http-message-signatures-directory", by: "http-message-sig: the key directory"},
	{path: "/discovery/resources", by: "@x402/extensions: the bazaar extension of every door"},
	{path: "/.well-known/x402", exempt: "the stock reader does not parse it any more; our own of the census does, in " +
		"TestStockReaders/own_checkers"},
	{path: "/.well-known/store-signing-key", exempt: "a form of our own: corpus/attest parses it"},
	{path: "/.well-known/anchor-log.json", exempt: "a form of our own: corpus/verify parses it"},
	{path: "/robots.txt", exempt: "crawlers alone read it"},
	{path: "/sitemap.xml", exempt: "crawlers alone read it; generator holds its addresses against the tree"},
	{path: "/spec/vectors/index.json", by: "cmd/verify.TestVectorsByTheVerifierFromThePage"},
	{path: "/spec/store-corpus/v1/forms.txt", by: "cmd/verify.TestVectorsByTheVerifierFromThePage"},
	{path: "/atlas.json", exempt: "a form of our own"},
	{path: "/.well-known/mcp", exempt: "a locator of our own: TestGoMCPClientBuys asks every door that it names"},
	{path: "/mcp/server-card", exempt: card},
	{path: "/mcp/verifier/server-card", exempt: card},
	{path: "/mcp/docs/server-card", exempt: card},
	{path: "/.well-known/ai-catalog.json", exempt: "no reader of AI catalogues is published; " +
		"TestGoMCPClientBuys asks every address in it"},
	{path: "/webmcp.js", by: "cmd/devnet.TestWebMCP"},
	{path: "/webmcp-demo.js", by: "cmd/devnet.TestWebMCP"},
}

const (
	prose = "prose, which has no reader but models and people; TestStockReaders/addresses asks every address in it"
	card  = "the schema of server cards is at an address alone; TestGoMCPClientBuys asks every address in it"
)

// named are what the store promises by name beside the documents of the tables, or under other
// tags.
var named = []string{"/index.md", "/.well-known/http-message-signatures-directory", "/discovery/resources",
	"/pricing.md", "/skill.md"}

// everyDocumentIsRead: each document that agents look for has a reader that asked for it and
// accepts it, or a reason why there is none.
func everyDocumentIsRead(t *testing.T, found []readers.Finding) {
	want := slices.Clone(named)
	for _, d := range api.Documents {
		agents := d.Tag == "agents" || d.Tag == "signing"
		page := slices.ContainsFunc(d.Files, func(f api.Representation) bool { return f.MediaType == api.HTML })
		if d.Path != "" && agents && !page && !d.Hidden && !strings.ContainsRune(d.Path, '{') &&
			!strings.HasPrefix(d.Path, "/corpus/") { // the record has verifiers of its own
			want = append(want, d.Path)
		}
	}
	for _, path := range want {
		if !slices.ContainsFunc(accepted, func(row acceptance) bool { return row.path == path }) {
			t.Errorf("%s: no reader that is not ours accepts it, and no reason is given", path)
		}
	}
	test := regexp.MustCompile(`^([a-z0-9/]+)\.(Test[A-Za-z0-9]+)$`)
	for _, row := range accepted {
		i := slices.IndexFunc(found, func(f readers.Finding) bool { return f.Check == row.by })
		m := test.FindStringSubmatch(row.by)
		switch {
		case row.by == "" && row.exempt == "" || row.by != "" && row.exempt != "":
			t.Errorf("%s: want either a reader or a reason", row.path)
		case row.exempt != "":
		case m != nil:
			if !hasTest(t, filepath.Join("../..", m[1]), m[2]) {
				t.Errorf("%s: there is no test %s", row.path, row.by)
			}
		case i < 0 || !slices.Contains(found[i].Read, row.path):
			t.Errorf("%s: %q did not ask for it", row.path, row.by)
		}
	}
}

// hasTest reports whether a folder holds a test of a name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(t ")
	})
}
