package kit

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// openAPIPath is where a host describes its routes.
const openAPIPath = "/openapi.json"

// maxDiscovered bounds the doors of one host that are read.
const maxDiscovered = 200

// A door is one to read.
type door struct {
	url      string
	declared probe.Declaration
}

// inputless reports whether a door that a host's own files name was asked without inputs, and said
// that some are lacking. A request with inputs that the files themselves give as an example is
// judged as any other.
func (d door) inputless(r probe.Report) bool {
	u, err := url.Parse(d.url)
	return err == nil && u.RawQuery == "" && (r.Verdict == probe.NotReady || r.Reason == probe.ReasonInputs) &&
		(r.Evidence.Status == http.StatusBadRequest || r.Evidence.Status == http.StatusUnprocessableEntity)
}

// errInputs is what is said of such a door, with what to do.
var errInputs = errors.New("not judged: inputs needed; it answers a request without any that they lack. Give its URL " +
	"with inputs in the place of -discover, with -data where it takes POST, or declare an example of each required " +
	"parameter of its query in " + openAPIPath)

// discover lists the doors that a host names in its own files: /.well-known/x402, and every route
// of /openapi.json that may answer 402. A route with a parameter in its path names no door.
func (s *settings) discover(ctx context.Context, client *fetch.Client, host string) ([]door, error) {
	base, err := url.Parse(host)
	if err != nil || base.Host == "" || base.Path != "" || base.RawQuery != "" {
		return nil, fmt.Errorf("-discover %s: it takes a host, or an origin such as http://localhost:3000", host)
	}
	var all []door
	var why []error
	for _, file := range []struct {
		path, by string
		read     func([]byte, *url.URL) ([]door, error)
	}{{declarations.FilePath, "well-known", wellKnown}, {openAPIPath, "openapi", openAPI}} {
		at := base.JoinPath(file.path)
		x, err := client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at.String()}, s.rule())
		switch {
		case err != nil:
			return nil, fmt.Errorf("-discover: reading %s: %w", at, err)
		case x.Error.Stage != "":
			why = append(why, fmt.Errorf("%s: %s", at, x.Error.Text))
			continue
		case x.Response.Status != http.StatusOK:
			why = append(why, fmt.Errorf("%s: status %d", at, x.Response.Status))
			continue
		}
		found, err := file.read(x.Response.Body, at)
		if err != nil {
			why = append(why, fmt.Errorf("%s: %w", at, err))
		}
		for _, d := range found {
			u, err := url.Parse(d.url)
			if err != nil || u.Host != base.Host {
				continue
			}
			d.declared.By = file.by
			u.RawQuery = ""
			same := slices.IndexFunc(all, func(o door) bool { return o.url == d.url || o.url == u.String() })
			switch {
			case same < 0:
				all = append(all, d)
			case all[same].declared.Method == "" || all[same].declared.Method == d.declared.Method:
				all[same] = d // with its method, and examples of its inputs
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("-discover %s: its own files name no door of its own:\n%w", host, errors.Join(why...))
	}
	if len(all) > maxDiscovered {
		return nil, fmt.Errorf("-discover %s: its own files name %d doors, of which at most %d are read at once; "+
			"give URLs instead", host, len(all), maxDiscovered)
	}
	return all, nil
}

func wellKnown(raw []byte, at *url.URL) ([]door, error) {
	f, err := declarations.Parse(raw, at.String())
	var all []door
	for _, e := range f.Entries {
		all = append(all, door{url: e.URL, declared: probe.Declaration{Method: e.Method}})
	}
	return all, err
}

// openAPI finds the routes that may answer 402.
func openAPI(raw []byte, at *url.URL) ([]door, error) {
	var doc struct {
		Paths map[string]map[string]jsontext.Value `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, errors.New("it is no OpenAPI document in JSON")
	}
	var all []door
	for path, item := range doc.Paths {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{}") {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			var operation struct {
				Responses map[string]jsontext.Value `json:"responses"`
			}
			described := item[strings.ToLower(method)]
			if json.Unmarshal(described, &operation) != nil {
				continue
			}
			if _, paid := operation.Responses["402"]; paid {
				to := url.URL{Path: path, RawQuery: exampleQuery(described, item["parameters"])}
				all = append(all, door{at.ResolveReference(&to).String(), probe.Declaration{Method: method}})
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b door) int { return strings.Compare(a.url, b.url) })
	return all, nil
}
