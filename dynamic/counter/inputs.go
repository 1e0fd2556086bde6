package counter

import (
	"context"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// maxInputs bounds the body of a purchase, in bytes: the longest text is 4000 characters, each at
// most twelve when escaped.
const maxInputs = 64 << 10

// Inputs are those of an order as they came: in a query, or as the members of a JSON object.
type Inputs struct {
	Query string
	Body  []byte
	read  func() ([]byte, error) // gets Body when it is wanted
	offer *till.Offer            // that they are for, once it was found
	// client is the address that they came from.
	client string
}

// bare reports that nothing came, or an object without members.
func (from *Inputs) bare() bool {
	var body map[string]jsontext.Value
	empty := len(from.Body) == 0 || jsonx.Unmarshal(from.Body, &body) == nil && body != nil && len(body) == 0
	return from.Query == "" && empty
}

// readInputs reads the inputs of an offer. Everything else is refused: who misspells an input must
// not pay for a good made without it. The error is a *problem.Error.
func (c *Counter) readInputs(ctx context.Context, o *till.Offer, from *Inputs) (map[string]string, error) {
	inputs, fields, err := judge(o, from)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		fields = c.checkCallback(ctx, from.client, inputs["callback_url"])
	}
	if len(fields) > 0 {
		detail := fmt.Sprintf("%s cannot be ordered like this: %s.", o.ID, joinFields(fields))
		if o.About != "" {
			detail += " Its inputs are listed at " + c.BaseURL + o.About + "."
		}
		return nil, &problem.Error{Code: "invalid_input", Fields: fields, Detail: detail}
	}
	return inputs, nil
}

// ReadInputs reads the inputs of an order as every door does. The error is a *problem.Error.
func (c *Counter) ReadInputs(ctx context.Context, o *till.Offer, body []byte) (map[string]string, error) {
	return c.readInputs(ctx, o, &Inputs{Body: body})
}

// open takes the inputs apart, those of the query and those of the body, of which there is one.
// What is wrong with the whole is a field; the error is that of a body that did not come.
func (from *Inputs) open() (query url.Values, body map[string]jsontext.Value, bad []problem.Field, err error) {
	fault := func(field, format string, args ...any) (url.Values, map[string]jsontext.Value, []problem.Field, error) {
		return nil, nil, []problem.Field{{Field: field, Problem: fmt.Sprintf(format, args...)}}, nil
	}
	if query, err = parseQuery(from.Query); err != nil {
		return fault("query", "cannot be read: %v", err)
	}
	if from.read != nil {
		if from.Body, err = from.read(); err != nil {
			return nil, nil, nil, err
		}
	}
	switch {
	case len(from.Body) > maxInputs:
		return fault("body", "is longer than %d bytes", maxInputs)
	case len(from.Body) > 0 && (jsonx.Unmarshal(from.Body, &body) != nil || body == nil):
		return fault("body", "must be one JSON object in which no member stands twice")
	case len(query) > 0 && len(body) > 0:
		return fault("body", "has inputs, and so has the query: send them all in one of the two")
	}
	return query, body, nil, nil
}

// judge checks the inputs of an order against those of an offer and returns them in their one
// spelling, and their faults.
func judge(o *till.Offer, from *Inputs) (map[string]string, []problem.Field, error) {
	query, body, fields, err := from.open()
	if err != nil || fields != nil {
		return nil, fields, err
	}
	bad := func(name, format string, args ...any) {
		fields = append(fields, problem.Field{Field: name, Problem: fmt.Sprintf(format, args...)})
	}
	inputs := make(map[string]string)
	for _, in := range o.Inputs {
		var v string
		if value, ok := body[in.Name]; ok {
			delete(body, in.Name)
			if v, ok = fromJSON(in, value); !ok {
				bad(in.Name, "must be a %s", in.Type)
				continue
			}
		}
		vs := query[in.Name]
		delete(query, in.Name)
		if len(vs) > 1 {
			bad(in.Name, "may be given once")
			continue
		}
		if len(vs) == 1 {
			v = vs[0]
		}
		if strings.TrimSpace(v) == "" {
			if in.Required {
				bad(in.Name, "is required")
			}
			continue
		}
		plain, ok := plainValue(in.Type, v)
		switch {
		case !ok:
			bad(in.Name, "must be a %s", in.Type)
		case !utf8.ValidString(v):
			bad(in.Name, "is not UTF-8")
		case in.Max > 0 && utf8.RuneCountInString(plain) > in.Max:
			bad(in.Name, "is longer than %d characters", in.Max)
		case hasControl(v, in.Multiline):
			bad(in.Name, "holds control characters")
		case in.Pattern != "" && !pattern(in.Pattern).MatchString(v):
			bad(in.Name, "must match %s", in.Pattern)
		default:
			inputs[in.Name] = plain
		}
	}
	for name := range query {
		bad(screen.Clip(name, 40), "is not an input of %s", o.ID)
	}
	for name := range body {
		bad(screen.Clip(name, 40), "is not an input of %s", o.ID)
	}
	return inputs, fields, nil
}

// fromJSON is a member of the body as a query would spell it; null is an input that was left out.
func fromJSON(in content.Input, v jsontext.Value) (string, bool) {
	switch kind := v.Kind(); {
	case kind == 'n':
		return "", true
	case kind == '"' && in.Type == "string":
		var s string
		err := jsonx.Unmarshal(v, &s)
		return s, err == nil
	case kind == '0' && in.Type == "number", (kind == 't' || kind == 'f') && in.Type == "boolean":
		return strings.TrimSpace(string(v)), true
	}
	return "", false
}

// plainValue is the one spelling of a value, so that equal orders have equal fingerprints however
// they were sent.
func plainValue(kind, v string) (string, bool) {
	switch kind {
	case "number":
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsInf(f, 0) || strings.Trim(v, "0123456789.-+eE") != "" {
			return "", false
		}
		return strconv.FormatFloat(f, 'f', -1, 64), true
	case "boolean":
		return v, v == "true" || v == "false"
	}
	return v, true
}

// patterns are the expressions of inputs, compiled once.
var patterns sync.Map // text → *regexp.Regexp

func pattern(text string) *regexp.Regexp {
	if re, ok := patterns.Load(text); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(text) // content.Load has compiled it
	patterns.Store(text, re)
	return re
}

func hasControl(s string, multiline bool) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		if multiline && (r == '\n' || r == '\t' || r == '\r') {
			return false
		}
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2066' && r <= '\u2069'
	})
}

func joinFields(fields []problem.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Problem
	}
	return strings.Join(parts, "; ")
}

// parseQuery reads a query string in whole or not at all.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	v, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("it is not a form-encoded query")
	}
	return v, nil
}
