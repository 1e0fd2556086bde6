package lint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/lint"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/generator"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestPublishedDescription checks /openapi.json as the specimen's build writes it.
func TestPublishedDescription(t *testing.T) {
	dir := t.TempDir()
	site, err := shop.LoadSpecimen()
	if err != nil {
		t.Fatal(err)
	}
	in, err := shop.BuildInput(&shop.Config{BaseURL: site.Config.BaseURL, Public: dir,
		Keys: shop.KeysConfig{Identity: "specimen", Ring: "specimen", Log: "specimen"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generator.Build(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "openapi.json")
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("kin-openapi: %v", err)
	}
	lint.OpenAPI(t, file)
	// Registries give up on long descriptions.
	if info, err := os.Stat(file); err != nil || info.Size() > 345_000 {
		t.Errorf("the description has %v bytes, want at most 345,000, %v", info.Size(), err)
	}
	// Who pays finds the network at the paid door, and who checks the record finds its files.
	info, err := json.Marshal(doc.Paths.Value("/api/buy/{item_id}").Get.Extensions["x-payment-info"])
	if err != nil || !strings.Contains(string(info), `"x402":{"networks":["eip155:8453"]}`) {
		t.Errorf("x-payment-info of the paid door is %s, %v", info, err)
	}
	for _, path := range []string{"/corpus/log/tile/{tile}", "/corpus/evidence/{part}.jsonl.gz",
		"/corpus/bulk/rows-{week}.jsonl.gz", "/okf/{concept}.md"} {
		if doc.Paths.Value(path) == nil {
			t.Errorf("%s is not described", path)
		}
	}
}

// TestLintersComplain gives each linter a description with one mistake, which it has to name.
func TestLintersComplain(t *testing.T) {
	const text = `{"openapi": "3.1.0", "info": {"title": "Store", "version": "1"}, "servers": [{"url": "https://store.example"}],
		"paths": {"/a/{id}": {"get": {"operationId": "a", "responses": {"200": {"description": "ok"}}}}}}`
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, l := range lint.Linters {
		if said, ok := l.Check(t, file); ok || !strings.Contains(said, "path-param") {
			t.Errorf("%s, of a path parameter that is not declared: ok %v, says\n%s", l.Name, ok, said)
		}
	}
}
