package probe

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// MaxDiscovery bounds a discovery file.
const MaxDiscovery = 256 << 10

// maxDoors bounds how many doors of one file are read.
const maxDoors = 1000

// DeclaredDoor is a door that a discovery file names. Method is upper case, "" when the file does not say.
type DeclaredDoor struct {
	URL    string `json:"url"`
	Method string `json:"method"`
}

// ErrDiscovery is returned for a file that names no doors in any shape known here.
var ErrDiscovery = errors.New("not a discovery file")

// ParseDiscovery reads the doors out of a file that a seller or a catalogue publishes: /.well-known/x402 with resources
// or items, a bazaar list, or an OpenAPI document whose operations answer 402. base is the address the file was read
// from. Doors beyond the first thousand are left out, and so is what is no absolute http(s) URL. An object that has none
// of these shapes is ErrDiscovery; one of these shapes with nothing in it is an empty list.
func ParseDiscovery(raw []byte, base string) ([]DeclaredDoor, error) {
	if len(raw) > MaxDiscovery {
		return nil, ErrDiscovery
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, ErrDiscovery
	}
	from, err := url.Parse(base)
	if err != nil {
		return nil, ErrDiscovery
	}
	d := &discovery{from: from, doors: []DeclaredDoor{}}
	known := false
	for _, name := range []string{"resources", "items"} {
		if list, ok := file[name].([]any); ok {
			known = true
			for _, item := range list {
				d.item(item)
			}
		}
	}
	if paths := obj(file, "paths"); paths != nil && str(file, "openapi") != "" {
		known = true
		d.openAPI(file, paths)
	}
	if !known {
		return nil, ErrDiscovery
	}
	return d.doors, nil
}

// Declared finds how a discovery file wants one door to be asked. by is the file's name in reports.
func Declared(doors []DeclaredDoor, door, by string) Declaration {
	var d Declaration
	for _, named := range doors {
		if !sameURL(named.URL, door) {
			continue
		}
		if named.Method == http.MethodGet {
			return Declaration{} // a door that takes GET is asked with GET
		}
		if named.Method == http.MethodPost {
			d = Declaration{Method: http.MethodPost, By: by}
		}
	}
	return d
}

// methodForm is an HTTP method as files spell it before a URL.
var methodForm = regexp.MustCompile(`^[A-Z]{3,7}$`)

type discovery struct {
	from  *url.URL
	doors []DeclaredDoor
}

func (d *discovery) add(ref, method string) {
	u, err := d.from.Parse(ref)
	if err != nil || ref == "" || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(d.doors) >= maxDoors {
		return
	}
	d.doors = append(d.doors, DeclaredDoor{URL: u.String(), Method: strings.ToUpper(method)})
}

// item reads one door: a URL, a method and a URL or path, or an object with the URL in url or resource.
func (d *discovery) item(item any) {
	if ref, ok := item.(string); ok {
		method := ""
		if m, rest, two := strings.Cut(strings.TrimSpace(ref), " "); two && methodForm.MatchString(m) {
			method, ref = m, strings.TrimSpace(rest)
		}
		d.add(ref, method)
		return
	}
	entry, _ := item.(map[string]any)
	ref := str(entry, "url")
	if ref == "" {
		ref = str(entry, "resource")
	}
	if ref == "" {
		ref = str(obj(entry, "resource"), "url")
	}
	if ref == "" {
		ref = str(entry, "path")
	}
	d.add(ref, methodOf(entry))
}

// methodOf finds the method in the places where sellers put it.
func methodOf(entry map[string]any) string {
	for _, holder := range []map[string]any{
		entry,
		obj(entry, "input"),
		obj(obj(obj(obj(entry, "extensions"), "bazaar"), "info"), "input"),
		obj(obj(entry, "outputSchema"), "input"),
		obj(obj(entry, "metadata"), "input"),
	} {
		if method := str(holder, "method"); method != "" {
			return method
		}
	}
	list, _ := entry["accepts"].([]any)
	for i, item := range list {
		if i == MaxEntries {
			break
		}
		way, _ := item.(map[string]any)
		if method := str(obj(obj(way, "outputSchema"), "input"), "method"); method != "" {
			return method
		}
	}
	return ""
}

func (d *discovery) openAPI(file, paths map[string]any) {
	root := &url.URL{Scheme: d.from.Scheme, Host: d.from.Host}
	if servers, _ := file["servers"].([]any); len(servers) > 0 {
		first, _ := servers[0].(map[string]any)
		if u, err := d.from.Parse(str(first, "url")); err == nil && u.Host != "" {
			root = u
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			operation := obj(obj(paths, path), method)
			if operation != nil && (has(operation, "x-payment-info") || has(obj(operation, "responses"), "402")) && !strings.Contains(path, "{") {
				d.add(strings.TrimSuffix(root.String(), "/")+path, method)
			}
		}
	}
}
