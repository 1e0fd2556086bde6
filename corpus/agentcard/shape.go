package agentcard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A shape says what members an object has. Unknown members are allowed everywhere, as in the
// official schemas.
type shape []field

// A field is one member of a shape.
type field struct {
	name     string
	kind     kind
	of       *shape // of objects, lists and maps of objects
	required bool
	enum     []string // of texts
	// the value that the Python SDK leaves out, and for 1.0 the protobuf default of a member
	// without presence
	implicit node
}

type kind int

const (
	kindText kind = iota
	kindTexts
	kindBool
	kindObject
	kindList     // of objects
	kindMap      // of objects
	kindTextMap  // of texts
	kindListMaps // of maps of lists of texts: 0.3 security
	kindAny      // an object of anything
	kindScheme   // one of schemes03, by its type
)

// The shapes of A2A 0.3.0, from its JSON schema (draft-07).
var (
	card03 = shape{
		{name: "name", required: true}, {name: "description", required: true}, {name: "url", required: true},
		{name: "version", required: true}, {name: "protocolVersion", required: true, implicit: "0.3.0"},
		{name: "preferredTransport", implicit: "JSONRPC"}, {name: "additionalInterfaces", kind: kindList,
			of: &interface03}, {name: "capabilities", kind: kindObject,
			of: &capabilities03, required: true},
		{name: "defaultInputModes", kind: kindTexts, required: true}, {name: "defaultOutputModes", kind: kindTexts,
			required: true},
		{name: "skills", kind: kindList, of: &skill03, required: true},
		{name: "provider", kind: kindObject, of: &provider03}, {name: "iconUrl"}, {name: "documentationUrl"},
		{name: "securitySchemes", kind: kindScheme}, {name: "security", kind: kindListMaps},
		{name: "supportsAuthenticatedExtendedCard", kind: kindBool},
		{name: "signatures", kind: kindList, of: &signature03},
	}
	interface03 = shape{{name: "url", required: true}, {name: "transport", required: true}}
	provider03  = shape{{name: "organization", required: true}, {name: "url", required: true}}
	signature03 = shape{{name: "protected", required: true}, {name: "signature", required: true},
		{name: "header", kind: kindAny}}
	capabilities03 = shape{{name: "streaming", kind: kindBool}, {name: "pushNotifications", kind: kindBool},
		{name: "stateTransitionHistory", kind: kindBool}, {name: "extensions", kind: kindList, of: &extension03}}
	extension03 = shape{{name: "uri", required: true}, {name: "description"}, {name: "required", kind: kindBool},
		{name: "params", kind: kindAny}}
	skill03 = shape{{name: "id", required: true}, {name: "name", required: true},
		{name: "description", required: true},
		{name: "tags", kind: kindTexts, required: true}, {name: "examples", kind: kindTexts},
		{name: "inputModes", kind: kindTexts}, {name: "outputModes", kind: kindTexts},
		{name: "security", kind: kindListMaps}}
	flows03 = shape{{name: "authorizationCode", kind: kindObject, of: &codeFlow},
		{name: "clientCredentials", kind: kindObject, of: &tokenFlow},
		{name: "implicit", kind: kindObject, of: &implicitFlow}, {name: "password", kind: kindObject, of: &tokenFlow}}
	codeFlow = shape{{name: "authorizationUrl", required: true}, {name: "tokenUrl", required: true},
		{name: "refreshUrl"},
		{name: "scopes", kind: kindTextMap, required: true}}
	tokenFlow = shape{{name: "tokenUrl", required: true}, {name: "refreshUrl"},
		{name: "scopes", kind: kindTextMap, required: true}}
	implicitFlow = shape{{name: "authorizationUrl", required: true}, {name: "refreshUrl"},
		{name: "scopes", kind: kindTextMap, required: true}}
)

// schemes03 are the security schemes of 0.3.0 by their type.
var schemes03 = map[string]shape{
	"apiKey": {{name: "type", required: true}, {name: "description"}, {name: "name", required: true},
		{name: "in", required: true, enum: []string{"cookie", "header", "query"}}},
	"http": {{name: "type", required: true}, {name: "description"}, {name: "scheme", required: true},
		{name: "bearerFormat"}},
	"oauth2": {{name: "type", required: true}, {name: "description"},
		{name: "flows", kind: kindObject, of: &flows03, required: true}, {name: "oauth2MetadataUrl"}},
	"openIdConnect": {{name: "type", required: true}, {name: "description"},
		{name: "openIdConnectUrl", required: true}},
	"mutualTLS": {{name: "type", required: true}, {name: "description"}},
}

// The shapes of A2A 1.0, from its protobuf definition.
var (
	card10 = shape{
		{name: "name", required: true}, {name: "description", required: true}, {name: "version", required: true},
		{name: "supportedInterfaces", kind: kindList, of: &interface10, required: true},
		{name: "provider", kind: kindObject, of: &provider03}, {name: "documentationUrl"}, {name: "iconUrl"},
		{name: "capabilities", kind: kindObject, of: &capabilities10, required: true},
		{name: "securitySchemes", kind: kindMap, of: &scheme10}, {name: "securityRequirements", kind: kindList,
			of: &requirement10},
		{name: "defaultInputModes", kind: kindTexts, required: true}, {name: "defaultOutputModes", kind: kindTexts,
			required: true},
		{name: "skills", kind: kindList, of: &skill10, required: true},
		{name: "signatures", kind: kindList, of: &signature03},
	}
	interface10 = shape{{name: "url", required: true}, {name: "protocolBinding", required: true},
		{name: "protocolVersion", required: true}, {name: "tenant"}}
	capabilities10 = shape{{name: "streaming", kind: kindBool}, {name: "pushNotifications", kind: kindBool},
		{name: "extensions", kind: kindList, of: &extension10}, {name: "extendedAgentCard", kind: kindBool}}
	extension10 = shape{{name: "uri"}, {name: "description"}, {name: "required", kind: kindBool, implicit: false},
		{name: "params", kind: kindAny}}
	requirement10 = shape{{name: "schemes", kind: kindMap, of: &texts10}}
	texts10       = shape{{name: "list", kind: kindTexts}}
	skill10       = shape{{name: "id", required: true}, {name: "name", required: true},
		{name: "description", required: true},
		{name: "tags", kind: kindTexts, required: true}, {name: "examples", kind: kindTexts},
		{name: "inputModes", kind: kindTexts}, {name: "outputModes", kind: kindTexts},
		{name: "securityRequirements", kind: kindList, of: &requirement10}}
	scheme10 = shape{{name: "apiKeySecurityScheme", kind: kindObject, of: &apiKey10},
		{name: "httpAuthSecurityScheme", kind: kindObject, of: &http10},
		{name: "oauth2SecurityScheme", kind: kindObject, of: &oauth10},
		{name: "openIdConnectSecurityScheme", kind: kindObject, of: &openID10},
		{name: "mtlsSecurityScheme", kind: kindObject, of: &described10}}
	apiKey10 = shape{{name: "description"}, {name: "location", required: true}, {name: "name", required: true}}
	http10   = shape{{name: "description"}, {name: "scheme", required: true}, {name: "bearerFormat"}}
	oauth10  = shape{{name: "description"}, {name: "flows", kind: kindObject, of: &flows10, required: true},
		{name: "oauth2MetadataUrl"}}
	openID10    = shape{{name: "description"}, {name: "openIdConnectUrl", required: true}}
	described10 = shape{{name: "description"}}
	flows10     = shape{{name: "authorizationCode", kind: kindObject, of: &codeFlow10},
		{name: "clientCredentials", kind: kindObject, of: &tokenFlow},
		{name: "implicit", kind: kindObject, of: &looseFlow10}, {name: "password", kind: kindObject, of: &looseFlow10},
		{name: "deviceCode", kind: kindObject, of: &deviceFlow10}}
	codeFlow10 = append(slices.Clone(codeFlow), field{name: "pkceRequired", kind: kindBool, implicit: false})
	// Both deprecated flows; each has one of the two URLs.
	looseFlow10 = shape{{name: "authorizationUrl"}, {name: "tokenUrl"}, {name: "refreshUrl"},
		{name: "scopes", kind: kindTextMap}}
	deviceFlow10 = shape{{name: "deviceAuthorizationUrl", required: true}, {name: "tokenUrl", required: true},
		{name: "refreshUrl"}, {name: "scopes", kind: kindTextMap, required: true}}
)

// maxProblems bounds what a report says of one card's shape.
const maxProblems = 20

// check appends what is wrong with v under s, as JSON pointers.
func (s shape) check(problems []string, at string, v node) []string {
	o, ok := v.(map[string]node)
	if !ok {
		return note(problems, at, "is not an object")
	}
	for _, f := range s {
		m, there := o[f.name]
		switch {
		case there:
			problems = f.check(problems, at+"/"+f.name, m)
		case f.required:
			problems = note(problems, at+"/"+f.name, "is missing")
		}
	}
	return problems
}

func note(problems []string, at, what string) []string {
	if len(problems) >= maxProblems {
		return problems
	}
	if len(at) > 200 {
		at = at[:200]
	}
	return append(problems, strings.ToValidUTF8(fmt.Sprintf("%s %s", at, what), "?"))
}

func (f field) check(problems []string, at string, v node) []string {
	switch f.kind {
	case kindText:
		s, ok := v.(string)
		if !ok {
			return note(problems, at, "is not a text")
		}
		if f.enum != nil && !slices.Contains(f.enum, s) {
			return note(problems, at, "is none of "+strings.Join(f.enum, ", "))
		}
	case kindTexts:
		problems = texts(problems, at, v)
	case kindBool:
		if _, ok := v.(bool); !ok {
			return note(problems, at, "is not true or false")
		}
	case kindAny:
		if object(v) == nil {
			return note(problems, at, "is not an object")
		}
	case kindObject:
		return f.of.check(problems, at, v)
	case kindList:
		if list(v) == nil {
			return note(problems, at, "is not an array")
		}
		for i, m := range list(v) {
			problems = f.of.check(problems, fmt.Sprintf("%s/%d", at, i), m)
		}
	case kindListMaps:
		if list(v) == nil {
			return note(problems, at, "is not an array")
		}
		for i, m := range list(v) {
			problems = each(problems, fmt.Sprintf("%s/%d", at, i), m, texts)
		}
	case kindMap:
		problems = each(problems, at, v, f.of.check)
	case kindTextMap:
		problems = each(problems, at, v, field{}.check)
	case kindScheme:
		problems = each(problems, at, v, func(p []string, at string, v node) []string {
			s, ok := schemes03[text(object(v)["type"])]
			if !ok {
				return note(p, at, "is no security scheme: its type is none of apiKey, http, oauth2, openIdConnect, "+
					"mutualTLS")
			}
			return s.check(p, at, v)
		})
	}
	return problems
}

func texts(problems []string, at string, v node) []string {
	if list(v) == nil {
		return note(problems, at, "is not an array")
	}
	for i, m := range list(v) {
		problems = field{}.check(problems, fmt.Sprintf("%s/%d", at, i), m)
	}
	return problems
}

func each(problems []string, at string, v node, check func([]string, string, node) []string) []string {
	o := object(v)
	if o == nil {
		return note(problems, at, "is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		problems = check(problems, at+"/"+name, o[name])
	}
	return problems
}

// keep returns v with the members that s knows, without those at their implicit value.
func (s shape) keep(v node) node {
	o := object(v)
	if o == nil {
		return v
	}
	out := map[string]node{}
	for _, f := range s {
		m, there := o[f.name]
		if !there || m == nil {
			continue
		}
		if _, plain := m.(string); plain && f.implicit == m {
			continue
		}
		if _, plain := m.(bool); plain && f.implicit == m {
			continue
		}
		out[f.name] = f.keep(m)
	}
	return out
}

func (f field) keep(v node) node {
	switch f.kind {
	case kindObject:
		return f.of.keep(v)
	case kindList:
		if l, ok := v.([]node); ok {
			out := make([]node, len(l))
			for i, m := range l {
				out[i] = f.of.keep(m)
			}
			return out
		}
	case kindMap:
		if o := object(v); o != nil {
			out := map[string]node{}
			for name, m := range o {
				out[name] = f.of.keep(m)
			}
			return out
		}
	case kindScheme:
		if o := object(v); o != nil {
			out := map[string]node{}
			for name, m := range o {
				if s, ok := schemes03[text(object(m)["type"])]; ok {
					m = s.keep(m)
				}
				out[name] = m
			}
			return out
		}
	}
	return v
}

// clean drops null, "", [] and {} at every depth; nil means that nothing is left.
func clean(v node) node {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []node:
		var out []node
		for _, m := range v {
			if c := clean(m); c != nil {
				out = append(out, c)
			}
		}
		if out == nil {
			return nil
		}
		return out
	case map[string]node:
		out := map[string]node{}
		for name, m := range v {
			if c := clean(m); c != nil {
				out[name] = c
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}
