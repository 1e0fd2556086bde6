package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"store.example/agentstore/content/api"
)

// The fields of the header that repeat the body, the members of _meta in which a request of
// 2026-07-28 says who asks, and that of a result which says who answers.
const (
	headerRevision   = "MCP-Protocol-Version"
	headerMethod     = "Mcp-Method"
	headerName       = "Mcp-Name"
	maxRevision      = 40   // bytes of a revision's name
	maxHeader        = 2048 // characters of Mcp-Method and Mcp-Name
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	// extensionPayment is announced by who takes terms as a result of a kind of its own
	// (x402 v2, MCP transport).
	extensionPayment = "org.x402/payment"
	kindPayment      = "payment_required"
)

// speak finds the revision of a request: what its header and its _meta name, which is one.
func (q *request) speak() error {
	var meta string
	header := q.http.Header.Get(headerRevision)
	if v, given := q.Meta[metaRevision]; given {
		q.revision = &revision2026 // only such a request names it there
		if jsonx.Unmarshal(v, &meta) != nil || meta == "" || len(meta) > maxRevision {
			return fault(codeInvalidParams, "%s in _meta must be a text of at most %d bytes", metaRevision, maxRevision)
		}
	}
	if header != "" && meta != "" && header != meta {
		return fault(codeHeaders, "%s and %s in _meta name two revisions: name one", headerRevision, metaRevision)
	}
	name := cmp.Or(meta, header, oldest.name)
	i := slices.IndexFunc(revisions, func(r *revision) bool { return r.name == name })
	if i < 0 {
		e := fault(codeWrongRevision, "this door speaks the revisions %s", strings.Join(api.MCPRevisions, " and "))
		e.Data, _ = json.Marshal(map[string]any{"supported": api.MCPRevisions, "requested": name})
		return e
	}
	q.revision = revisions[i]
	return nil
}

// repeats holds the fields of the header that repeat the body against it, by which others may have
// let the request through (Streamable HTTP, Server Validation). Where they are not required, those
// that are there are held all the same.
func (q *request) repeats(m method, required bool) error {
	fields := [][2]string{{headerRevision, q.revision.name}, {headerMethod, q.method}}
	if m.named != nil {
		fields = append(fields, [2]string{headerName, m.named(q)})
	}
	for _, f := range fields {
		given := q.http.Header.Get(f[0])
		value, ok := given, true
		if f[0] == headerName {
			value, ok = decoded(given)
		}
		switch {
		case given == "" && !required:
		case given == "":
			return fault(codeHeaders, "revision %s wants the field %s in the header", q.revision.name, f[0])
		case !ok || value != f[1]:
			return fault(codeHeaders, "the field %s in the header is not what the body says", f[0])
		}
	}
	return nil
}

// decoded is the value of a field that may be encoded (Streamable HTTP, Value Encoding), and
// whether it is one.
func decoded(field string) (string, bool) {
	if strings.ContainsFunc(field, func(c rune) bool { return c < ' ' && c != '\t' || c > '~' }) {
		return "", false
	}
	text, begins := strings.CutPrefix(field, "=?base64?")
	text, ends := strings.CutSuffix(text, "?=")
	if !begins || !ends {
		return field, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return string(b), err == nil && utf8.Valid(b)
}

// declares reads what a request of 2026-07-28 says of its client.
func (q *request) declares() error {
	var capabilities struct {
		Extensions map[string]jsontext.Value `json:"extensions"`
	}
	var client struct {
		Name    *string `json:"name"`
		Version *string `json:"version"`
	}
	wants := func(name string, into any) bool {
		v := jsontext.Value(q.Meta[name])
		return v.Kind() == '{' && jsonx.Unmarshal(v, into) == nil
	}
	_, named := q.Meta[metaClient]
	switch {
	case q.Meta[metaRevision] == nil:
		return fault(codeInvalidParams, "revision %s wants %s in _meta", q.revision.name, metaRevision)
	case !wants(metaCapabilities, &capabilities):
		return fault(codeInvalidParams, "revision %s wants %s in _meta, an object", q.revision.name, metaCapabilities)
	case named && (!wants(metaClient, &client) || client.Name == nil || client.Version == nil):
		return fault(codeInvalidParams, "%s in _meta must have a name and a version", metaClient)
	}
	q.paysByExtension = capabilities.Extensions[extensionPayment].Kind() == '{'
	return nil
}
