// Package declarations reads what a host declares of its own doors: the file at /.well-known/x402,
// in every shape that is in use, and, where there is none, the file that the x402Discovery of the
// agent card at /.well-known/agent.json names. It judges recorded exchanges and makes no request
// itself.
//
//	report, _, err := fetch.Walk(ctx, client, Checker{Host: "shop.example"}, fetch.WalkStart{URL: Start("shop.example"), Kinds: []string{"get"}})
//	own := report.File.On("shop.example", parse)
package declarations

import (
	"encoding/json/v2"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// The bounds of a declaration.
const (
	MaxFile = 256 << 10 // bytes of a file
	MaxOwn  = 20        // doors of a host
	maxList = 10_000    // entries of a file that are looked at
)

// The shapes of a file.
const (
	ShapeStrings     = "v1-strings"       // resources are texts: a URL, or a method and a URL or path
	ShapeObjects     = "v1-objects"       // resources are objects with resource or url
	ShapeMixed       = "v1-mixed"         // both
	ShapeEmpty       = "v1-empty"         // resources is an empty list
	ShapeFacilitator = "facilitator-like" // resources or items are a facilitator's discovered resources, with accepts
	ShapeProposal    = "proposal"         // x402Version with kind and facilitator, the form of the DNS discovery draft
	ShapeUnknown     = "unknown"
)

// Shapes are the shapes and what tells them.
func Shapes() map[string]string {
	return map[string]string{
		ShapeStrings:     `{"version":1,"resources":["GET https://host/a","/b"]}`,
		ShapeObjects:     `{"version":1,"resources":[{"resource":"https://host/a","type":"http"}]}`,
		ShapeMixed:       "version 1 with resources of both kinds",
		ShapeEmpty:       `{"version":1,"resources":[]}`,
		ShapeFacilitator: `{"x402Version":2,"items":[{"resource":"https://host/a","type":"http","accepts":[…]}]}, or the same in resources`,
		ShapeProposal:    `{"x402Version":1,"kind":…,"facilitator":{…}}; read only where it has resources beside`,
	}
}

// ErrUnreadable is returned by Parse; what is wrong stands in its text, for the host's owner.
var ErrUnreadable = errors.New("the file cannot be read")

type unreadable string

func (u unreadable) Error() string     { return string(u) }
func (u unreadable) Is(err error) bool { return err == ErrUnreadable }

// File is a declaration file as it was read.
type File struct {
	Shape string
	// Entries are what it lists, in its order; URLs are absolute.
	Entries []probe.DeclaredDoor
	// OptOut is that the host asks not to be walked: "census": "no". Such a file needs no
	// resources.
	OptOut bool
	// Refused counts entries that name no http resource: not a URL, another type.
	Refused int64
}

// Parse reads a file that stood at an address. The shape is told for many files that are unreadable
// too.
func Parse(raw []byte, at string) (File, error) {
	from, err := url.Parse(at)
	if err != nil {
		return File{Shape: ShapeUnknown}, err
	}
	if len(raw) > MaxFile {
		return File{Shape: ShapeUnknown}, unreadable("it is larger than 256 KiB")
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return File{Shape: ShapeUnknown}, unreadable("it is not JSON, or holds a name twice or text that is not UTF-8")
	}
	file, ok := value.(map[string]any)
	if !ok {
		return File{Shape: ShapeUnknown}, unreadable("it is not a JSON object")
	}
	f := File{Shape: shape(file), OptOut: file["census"] == "no"}
	if v, has := file["version"]; has && v != float64(1) {
		return f, unreadable("its version is not the number 1")
	}
	list, named := file["resources"].([]any)
	if !named && f.Shape == ShapeFacilitator {
		list, named = file["items"].([]any)
	}
	if !named && f.OptOut {
		return f, nil
	}
	if !named {
		return f, unreadable("it is an object without a list of resources")
	}
	if len(list) > maxList {
		return f, unreadable("it lists more than 10000 resources")
	}
	for _, item := range list {
		d, ok := door(item, from)
		if !ok {
			f.Refused++
			continue
		}
		f.Entries = append(f.Entries, d)
	}
	return f, nil
}

// OptsOut reports whether the answer to the request for a host's file (Start) asks not to be
// walked. What cannot be read asks for nothing.
func OptsOut(x exchange.Exchange) bool {
	if x.Error.Stage != "" || x.Response.Status != http.StatusOK || x.Response.Truncated {
		return false
	}
	f, _ := Parse(x.Response.Body, x.Request.URL)
	return f.OptOut
}

// shape tells the shape of a file by its members.
func shape(file map[string]any) string {
	_, kind := file["kind"]
	_, facilitator := file["facilitator"].(map[string]any)
	_, x402 := file["x402Version"].(float64)
	if x402 && (kind || facilitator) {
		return ShapeProposal
	}
	list, named := file["resources"].([]any)
	if !named {
		if list, named = file["items"].([]any); !named || !x402 && !slices.ContainsFunc(list, discovered) {
			return ShapeUnknown
		}
		return ShapeFacilitator
	}
	texts, objects, resources := 0, 0, 0
	for _, item := range list {
		switch item.(type) {
		case string:
			texts++
		case map[string]any:
			objects++
		}
		if discovered(item) {
			resources++
		}
	}
	switch {
	case len(list) == 0:
		return ShapeEmpty
	case resources > 0 && resources == objects && texts == 0:
		return ShapeFacilitator
	case objects == 0 && texts > 0:
		return ShapeStrings
	case texts == 0 && objects > 0:
		return ShapeObjects
	case texts > 0:
		return ShapeMixed
	}
	return ShapeUnknown
}

// discovered tells a facilitator's DiscoveredResource.
func discovered(item any) bool {
	o, _ := item.(map[string]any)
	_, accepts := o["accepts"].([]any)
	return accepts
}

// door reads one entry.
func door(item any, from *url.URL) (probe.DeclaredDoor, bool) {
	var ref, method string
	switch v := item.(type) {
	case string:
		ref = strings.TrimSpace(v)
		if m, rest, ok := strings.Cut(ref, " "); ok && isMethod(m) {
			method, ref = m, strings.TrimSpace(rest)
		}
	case map[string]any:
		if t, has := v["type"]; has && t != "http" {
			return probe.DeclaredDoor{}, false
		}
		ref, _ = v["resource"].(string)
		if o, ok := v["resource"].(map[string]any); ok {
			ref, _ = o["url"].(string)
		}
		if ref == "" {
			ref, _ = v["url"].(string)
		}
		if m, ok := v["method"].(string); ok && isMethod(strings.ToUpper(m)) {
			method = strings.ToUpper(m)
		}
	}
	// A relative reference is a path of the host: what stands beside the file is no door.
	if !strings.HasPrefix(ref, "/") && !strings.Contains(ref, "://") || strings.HasPrefix(ref, "//") {
		return probe.DeclaredDoor{}, false
	}
	u, err := from.Parse(ref)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return probe.DeclaredDoor{}, false
	}
	// A name that its owner spells as people do is written by url in percent signs, which are in no
	// name.
	escaped := (&url.URL{Host: u.Host}).String()
	return probe.DeclaredDoor{URL: strings.Replace(u.String(), escaped, "//"+u.Host, 1), Method: method}, true
}

func isMethod(s string) bool {
	return slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, s)
}

// Own is what a file says of one host.
type Own struct {
	Doors   []probe.DeclaredDoor // of the host, in the form in which they are requested, each URL once, at most MaxOwn
	Foreign int64                // entries of other hosts, which are never walked
	Refused int64                // entries that are no doors that may be read
	Capped  int64                // further doors of the host
}

func isAt(raw, host string, parse func(string) (string, error)) bool {
	at, err := parse(raw)
	if err != nil {
		return false
	}
	u, err := url.Parse(at)
	return err == nil && u.Hostname() == host
}

// On sorts a file's entries by whether they are the host's. parse returns the form in which a URL
// is requested, or an error for one that is never contacted; host is in that form too.
func (f File) On(host string, parse func(string) (string, error)) Own {
	out := Own{Doors: []probe.DeclaredDoor{}, Refused: f.Refused}
	for _, e := range f.Entries {
		u, err := url.Parse(e.URL)
		if err != nil {
			out.Refused++
			continue
		}
		// A name in another spelling is the host's if it is requested as that.
		if u.Hostname() != host && !isAt("https://"+u.Hostname()+"/", host, parse) {
			out.Foreign++
			continue
		}
		at, err := parse(e.URL)
		if err != nil || !isAt(at, host, parse) {
			out.Refused++
			continue
		}
		i := slices.IndexFunc(out.Doors, func(d probe.DeclaredDoor) bool { return d.URL == at })
		switch {
		case i >= 0:
			if e.Method == "GET" || out.Doors[i].Method == "" {
				out.Doors[i].Method = e.Method // a door that takes GET is asked with GET
			}
		case len(out.Doors) == MaxOwn:
			out.Capped++
		default:
			out.Doors = append(out.Doors, probe.DeclaredDoor{URL: at, Method: e.Method})
		}
	}
	return out
}
