package probe

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []DeclaredDoor
	}{
		"resources as texts":              {`{"resources":["https://door.example/a","/b","ftp://door.example/c",7]}`, []DeclaredDoor{{"https://door.example/a", ""}, {"https://door.example/b", ""}}},
		"resources as texts with methods": {`{"resources":["POST /a","GET https://door.example/b"]}`, []DeclaredDoor{{"https://door.example/a", "POST"}, {"https://door.example/b", "GET"}}},
		"resources with methods": {`{"resources":[{"url":"/a","method":"post"},{"resource":"https://door.example/b","outputSchema":{"input":{"method":"GET"}}}]}`,
			[]DeclaredDoor{{"https://door.example/a", "POST"}, {"https://door.example/b", "GET"}}},
		"items": {`{"x402Version":2,"items":[{"resource":{"url":"/a"},"input":{"method":"POST"}},{"resource":"/b","extensions":{"bazaar":{"info":{"input":{"method":"POST"}}}}},{"resource":"/c","accepts":[{"outputSchema":{"input":{"method":"POST"}}}]}]}`,
			[]DeclaredDoor{{"https://door.example/a", "POST"}, {"https://door.example/b", "POST"}, {"https://door.example/c", "POST"}}},
		"OpenAPI": {`{"openapi":"3.1.0","paths":{"/pay":{"post":{"x-payment-info":{}},"get":{"responses":{"200":{}}}},"/also":{"get":{"responses":{"402":{}}}},"/{id}":{"get":{"responses":{"402":{}}}}}}`,
			[]DeclaredDoor{{"https://door.example/also", "GET"}, {"https://door.example/pay", "POST"}}},
		"OpenAPI with a server": {`{"openapi":"3.1.0","servers":[{"url":"https://api.example/v1/"}],"paths":{"/pay":{"post":{"x-payment-info":{}}}}}`, []DeclaredDoor{{"https://api.example/v1/pay", "POST"}}},
		"nothing declared":      {`{"resources":[]}`, []DeclaredDoor{}},
	} {
		got, err := ParseDiscovery([]byte(c.file), "https://door.example/.well-known/x402")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, bad := range map[string]string{"no JSON": "<html>", "an array": "[]", "no doors": `{"name":"x"}`, "a name twice": `{"resources":[],"resources":[]}`,
		"bad UTF-8": "{\"resources\":[\"\xff\"]}", "large": `{"resources":["` + strings.Repeat("x", MaxDiscovery) + `"]}`} {
		if _, err := ParseDiscovery([]byte(bad), "https://door.example/"); !errors.Is(err, ErrDiscovery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many, err := ParseDiscovery([]byte(`{"resources":["/a"`+strings.Repeat(`,"/a"`, 2*maxDoors)+`]}`), "https://door.example/")
	if err != nil || len(many) != maxDoors {
		t.Errorf("%d doors, %v", len(many), err)
	}
}

func TestDeclared(t *testing.T) {
	doors := []DeclaredDoor{{"https://door.example/a", "POST"}, {"https://door.example/b", "POST"}, {"https://door.example/b", "GET"}, {"https://door.example/c", ""}, {"https://door.example/d", "PUT"}}
	for door, want := range map[string]Declaration{
		"https://DOOR.example/a/": {"POST", "well-known"},
		"https://door.example/b":  {},
		"https://door.example/c":  {},
		"https://door.example/d":  {},
		"https://door.example/a?": {"POST", "well-known"},
		"https://other.example/a": {},
	} {
		if got := Declared(doors, door, "well-known"); got != want {
			t.Errorf("Declared(%q) = %v, want %v", door, got, want)
		}
	}
}
