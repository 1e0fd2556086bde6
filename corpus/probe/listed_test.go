package probe

import (
	"strings"
	"testing"
)

func TestListedDoor(t *testing.T) {
	for item, want := range map[string]DeclaredDoor{
		`{"url":"/a","method":"post"}`: {"https://door.example/a", "POST"},
		`{"resource":"https://door.example/b","outputSchema":{"input":{"method":"GET"}}}`: {"https://door.example/b",
			"GET"},
		`{"resource":{"url":"/a"},"input":{"method":"POST"}}`: {"https://door.example/a",
			"POST"},
		`{"resource":"/b","extensions":{"bazaar":{"info":{"input":{"method":"POST"}}}}}`: {"https://door.example/b",
			"POST"},
		`{"resource":"/c","accepts":[{"outputSchema":{"input":{"method":"POST"}}}]}`: {"https://door.example/c",
			"POST"},
		`{"resource":"/d","metadata":{"input":{"method":"put"}}}`: {"https://door.example/d",
			"PUT"},
		`{"path":"/e"}`: {"https://door.example/e", ""},
	} {
		if got, ok := ListedDoor([]byte(item), "https://door.example/list"); !ok || got != want {
			t.Errorf("%s: %v, %v", item, got, ok)
		}
	}
	for name, bad := range map[string]string{"no JSON": "<html>", "an array": "[]", "a text": `"/a"`,
		"no door": `{"name":"x"}`, "another scheme": `{"url":"ftp://door.example/c"}`,
		"a name twice": `{"url":"/a","url":"/a"}`, "bad UTF-8": "{\"url\":\"/\xff\"}", "large": `{"url":"/` +
			strings.Repeat("x", maxItem) + `"}`} {
		if got, ok := ListedDoor([]byte(bad), "https://door.example/"); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSameURL(t *testing.T) {
	for other, want := range map[string]bool{
		"https://DOOR.example/a/": true, "https://door.example/a?": true, "https://door.example/b": false,
		"https://other.example/a": false, "": false,
	} {
		if got := sameURL("https://door.example/a", other); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
}
