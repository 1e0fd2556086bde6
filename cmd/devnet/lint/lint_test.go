package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentstore/cmd/devnet/lint"
	"agentstore/cmd/shop"
	"agentstore/generator"

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
