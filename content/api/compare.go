package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Breaking is one way in which a description breaks what a client of the older one relied on.
type Breaking struct {
	Where string // GET /what: response 200 application/json: goods[].price
	What  string // removed; type changed from string to integer; …
}

// String renders it on one line.
func (b Breaking) String() string { return b.Where + ": " + b.What }

// Compatible lists what a newer OpenAPI description takes away from an older one. Within a version things are only
// added: paths, optional inputs, values an input may have, members of an answer. What a client sends must go on being
// taken, and what it reads must go on being there with its type.
func Compatible(old, new []byte) ([]Breaking, error) {
	var a, b map[string]any
	if err := json.Unmarshal(old, &a); err != nil {
		return nil, fmt.Errorf("reading the older description: %w", err)
	}
	if err := json.Unmarshal(new, &b); err != nil {
		return nil, fmt.Errorf("reading the newer description: %w", err)
	}
	c := &comparison{old: a, new: b}
	c.paths(child(a, "paths"), child(b, "paths"))
	return c.found, nil
}

type comparison struct {
	old, new map[string]any // whole documents, for references
	found    []Breaking
	depth    int
}

func (c *comparison) breaks(where, format string, args ...any) {
	c.found = append(c.found, Breaking{where, fmt.Sprintf(format, args...)})
}

func (c *comparison) paths(old, new map[string]any) {
	for _, path := range keys(old) {
		for _, method := range keys(child(old, path)) {
			where := strings.ToUpper(method) + " " + path
			was := child(child(old, path), method)
			is := child(child(new, path), method)
			if is == nil {
				c.breaks(where, "removed")
				continue
			}
			if was["operationId"] != is["operationId"] {
				c.breaks(where, "operationId changed from %v to %v", was["operationId"], is["operationId"])
			}
			c.params(where, list(was["parameters"]), list(is["parameters"]))
			c.body(where, child(was, "requestBody"), child(is, "requestBody"))
			c.responses(where, child(was, "responses"), child(is, "responses"))
			if was["x-payment-info"] == nil && is["x-payment-info"] != nil {
				c.breaks(where, "now asks for a payment")
			}
			if !reflect.DeepEqual(was["security"], is["security"]) {
				c.breaks(where, "other credentials are asked for")
			}
		}
	}
}

func (c *comparison) params(where string, old, new []any) {
	byKey := func(all []any) map[string]map[string]any {
		m := make(map[string]map[string]any)
		for _, p := range all {
			if o, ok := p.(map[string]any); ok {
				m[fmt.Sprintf("%v parameter %v", o["in"], o["name"])] = o
			}
		}
		return m
	}
	was, is := byKey(old), byKey(new)
	for _, k := range slices.Sorted(maps.Keys(was)) {
		at := where + ": " + k
		if is[k] == nil {
			c.breaks(at, "removed")
			continue
		}
		if was[k]["required"] != true && is[k]["required"] == true {
			c.breaks(at, "became required")
		}
		c.input(at, child(was[k], "schema"), child(is[k], "schema"))
	}
	for _, k := range slices.Sorted(maps.Keys(is)) {
		if was[k] == nil && is[k]["required"] == true {
			c.breaks(where+": "+k, "is new and required")
		}
	}
}

func (c *comparison) body(where string, old, new map[string]any) {
	where += ": body"
	switch {
	case old == nil && new != nil && new["required"] == true:
		c.breaks(where, "is new and required")
		return
	case old == nil:
		return
	case new == nil:
		c.breaks(where, "removed")
		return
	}
	if old["required"] != true && new["required"] == true {
		c.breaks(where, "became required")
	}
	for _, t := range keys(child(old, "content")) {
		is := child(child(new, "content"), t)
		if is == nil {
			c.breaks(where+" "+t, "removed")
			continue
		}
		c.input(where+" "+t, child(child(child(old, "content"), t), "schema"), child(is, "schema"))
	}
}

func (c *comparison) responses(where string, old, new map[string]any) {
	for _, status := range keys(old) {
		at := where + ": response " + status
		was, is := child(old, status), child(new, status)
		if is == nil {
			// An answer that is never given any more hurts nobody, unless it is the one that was asked for.
			if strings.HasPrefix(status, "2") {
				c.breaks(at, "removed")
			}
			continue
		}
		for _, h := range keys(child(was, "headers")) {
			if child(child(is, "headers"), h) == nil {
				c.breaks(at+": header "+h, "removed")
			}
		}
		for _, t := range keys(child(was, "content")) {
			media := child(child(is, "content"), t)
			if media == nil {
				c.breaks(at+" "+t, "removed")
				continue
			}
			c.output(at+" "+t, child(child(child(was, "content"), t), "schema"), child(media, "schema"))
		}
	}
}

// input compares what a client may send: the newer schema must take all that the older took.
func (c *comparison) input(where string, old, new map[string]any) {
	old, new = c.resolve(c.old, old), c.resolve(c.new, new)
	if !c.enter(where) {
		return
	}
	defer c.leave()
	c.types(where, old, new)
	if enum := list(new["enum"]); enum != nil {
		if list(old["enum"]) == nil {
			c.breaks(where, "is limited to certain values")
		}
		for _, v := range list(old["enum"]) {
			if !slices.Contains(enum, v) {
				c.breaks(where, "value %v removed", v)
			}
		}
	}
	if p := new["pattern"]; p != nil && p != old["pattern"] {
		c.breaks(where, "pattern changed to %v", p)
	}
	c.tighter(where, old, new, "maxLength", -1)
	c.tighter(where, old, new, "maximum", -1)
	c.tighter(where, old, new, "maxItems", -1)
	c.tighter(where, old, new, "minLength", 1)
	c.tighter(where, old, new, "minimum", 1)
	required := list(old["required"])
	for _, name := range list(new["required"]) {
		if !slices.Contains(required, name) {
			c.breaks(fmt.Sprintf("%s: %v", where, name), "became required")
		}
	}
	for _, name := range keys(child(old, "properties")) {
		at := where + ": " + name
		if is := child(child(new, "properties"), name); is == nil {
			c.breaks(at, "removed")
		} else {
			c.input(at, child(child(old, "properties"), name), is)
		}
	}
	if items := child(old, "items"); items != nil {
		c.input(where+"[]", items, child(new, "items"))
	}
}

// tighter reports a limit that is new or moved in the direction that takes less (-1: smaller is tighter).
func (c *comparison) tighter(where string, old, new map[string]any, limit string, direction float64) {
	is, limited := new[limit].(float64)
	was, had := old[limit].(float64)
	switch {
	case limited && !had:
		if limit == "minLength" && is == 0 {
			return
		}
		c.breaks(where, "%s %v is new", limit, is)
	case limited && (is-was)*direction > 0:
		c.breaks(where, "%s changed from %v to %v", limit, was, is)
	}
}

// output compares what a client reads: all that the older schema promised must still be there.
func (c *comparison) output(where string, old, new map[string]any) {
	old, new = c.resolve(c.old, old), c.resolve(c.new, new)
	if !c.enter(where) {
		return
	}
	defer c.leave()
	c.types(where, old, new)
	if enum := list(old["enum"]); enum != nil {
		for _, v := range enum {
			if is := list(new["enum"]); is != nil && !slices.Contains(is, v) {
				c.breaks(where, "value %v removed", v)
			}
		}
	}
	required := list(new["required"])
	for _, name := range list(old["required"]) {
		if !slices.Contains(required, name) && child(child(new, "properties"), fmt.Sprint(name)) != nil {
			c.breaks(fmt.Sprintf("%s: %v", where, name), "is no longer always there")
		}
	}
	for _, name := range keys(child(old, "properties")) {
		at := where + ": " + name
		if is := child(child(new, "properties"), name); is == nil {
			c.breaks(at, "removed")
		} else {
			c.output(at, child(child(old, "properties"), name), is)
		}
	}
	if items := child(old, "items"); items != nil {
		c.output(where+"[]", items, child(new, "items"))
	}
	if values := child(old, "additionalProperties"); values != nil {
		c.output(where+"{}", values, child(new, "additionalProperties"))
	}
}

func (c *comparison) types(where string, old, new map[string]any) {
	was, is := typeSet(old["type"]), typeSet(new["type"])
	if !slices.Equal(was, is) {
		c.breaks(where, "type changed from %s to %s", strings.Join(was, "|"), strings.Join(is, "|"))
	}
	if old["format"] != new["format"] && old["format"] != nil {
		c.breaks(where, "format changed from %v to %v", old["format"], new["format"])
	}
}

// maxDepth ends the comparison of a schema that refers to itself.
const maxDepth = 40

func (c *comparison) enter(string) bool {
	c.depth++
	if c.depth > maxDepth {
		c.depth--
		return false
	}
	return true
}

func (c *comparison) leave() { c.depth-- }

// resolve follows a reference into the document's own components.
func (c *comparison) resolve(doc, schema map[string]any) map[string]any {
	for range maxDepth {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		schema = doc
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			schema = child(schema, part)
		}
	}
	return nil
}

func typeSet(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, t := range v {
			all = append(all, fmt.Sprint(t))
		}
		slices.Sort(all)
		return all
	}
	return nil
}

func child(m map[string]any, name string) map[string]any {
	o, _ := m[name].(map[string]any)
	return o
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
