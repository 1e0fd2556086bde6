package mcp

import (
	"encoding/json"
	jsonx "encoding/json/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/content/api"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resource is a published document that is read without a payment.
type resource struct {
	name, title, path, mediaType string
}

func (r resource) uri() string { return "store://" + r.name }

// resources are all of them, in the order in which they are best read.
var resources = []resource{
	{"guide", "The guide for language models", "/llms.txt", "text/plain"},
	{"menu", "Every good with its price", "/menu.json", api.JSON},
	{"spending", "For whoever approves a spending", "/what.md", "text/markdown"},
	{"pricing", "All prices in one table", "/pricing.md", "text/markdown"},
	{"criteria", "What is asked of a door", "/criteria.md", "text/markdown"},
	{"defects", "The vocabulary of defects", "/defects.json", api.JSON},
	{"brief", "The newest week of the record in brief", "/corpus/brief.md", "text/markdown"},
}

func (d *Doors) listResources(q *request) (any, error) {
	list := []sdk.Resource{}
	if q.place.resources {
		for _, r := range resources {
			list = append(list, sdk.Resource{URI: r.uri(), Name: r.name, Title: r.title, MIMEType: r.mediaType})
		}
	}
	return map[string]any{"resources": list}, q.onePage()
}

func (d *Doors) readResource(q *request) (any, error) {
	i := slices.IndexFunc(resources, func(r resource) bool { return r.uri() == q.URI })
	if i < 0 || !q.place.resources {
		return nil, d.noResource(q)
	}
	c, ok := d.contents(q, resources[i])
	if !ok {
		return nil, d.noResource(q)
	}
	return map[string]any{"contents": []*sdk.ResourceContents{c}}, nil
}

func (d *Doors) noResource(q *request) error {
	e := fault(q.revision.noResource, "there is no such resource: resources/list has those that there are")
	e.Data, _ = json.Marshal(map[string]string{"uri": q.URI})
	return e
}

// contents is a resource as it is published now, false where it is not.
func (d *Doors) contents(q *request, r resource) (*sdk.ResourceContents, bool) {
	a := d.ask(q, &http.Request{Method: http.MethodGet, Header: http.Header{"Accept": {r.mediaType}},
		URL: &url.URL{Path: r.path}})
	if a.status != http.StatusOK {
		return nil, false
	}
	return &sdk.ResourceContents{URI: r.uri(), MIMEType: r.mediaType, Text: a.body.String()}, true
}

// getDocument gives a resource by its name, for clients whose models do not read resources.
var getDocument = func() *tool {
	var names []string
	for _, r := range resources {
		names = append(names, r.name)
	}
	t := &tool{}
	t.Name, t.Title, t.Annotations = "get_document", "Read a document of the store", reads(false)
	t.Description = "Free. Gives one of the store's documents whole, by name: " + strings.Join(names, ", ") +
		". The same texts are the resources store://NAME. It acts on nothing."
	t.InputSchema = map[string]any{"type": "object", "additionalProperties": false, "required": []string{"name"},
		"properties": map[string]any{"name": map[string]any{"type": "string", "enum": names}}}
	return t
}()

func (d *Doors) docsTools(*shelf) []*tool {
	t := *getDocument
	t.call = (*Doors).giveDocument
	return []*tool{&t}
}

func (d *Doors) giveDocument(q *request) (any, error) {
	var args struct {
		Name string `json:"name"`
	}
	if q.Arguments != nil && jsonx.Unmarshal(q.Arguments, &args, jsonx.RejectUnknownMembers(true)) != nil {
		return d.wrong(q, q.place.Path, "arguments", "must be one object with name alone")
	}
	i := slices.IndexFunc(resources, func(r resource) bool { return r.name == args.Name })
	if i < 0 {
		return d.wrong(q, q.place.Path, "name", "must be one of those that the tool's description lists")
	}
	c, ok := d.contents(q, resources[i])
	if !ok {
		return d.wrong(q, q.place.Path, "name", "is not published at present")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: c}}}, nil
}
