package probe

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"store.example/agentstore/corpus/exchange"
)

// schemaSteps bounds the work that one stranger's schema can ask for.
const schemaSteps = 20_000

// violation validates an instance against the part of JSON Schema 2020-12 that doors use, and
// returns the first violation, "" for none. A schema that asks for more than that part, or for too
// much work, is not judged: nothing is held against a door that the battery cannot read.
func violation(schema *exchange.Object, instance any) string {
	s := &schemaRun{left: schemaSteps}
	if said := s.check(schema, instance, "info"); said != "" && !s.unjudged && s.left > 0 {
		return said
	}
	return ""
}

type schemaRun struct {
	left     int
	unjudged bool // a keyword or pattern that is not understood was met
}

// unjudgedKeywords change what an instance must be. Where one stands, no fault is told of it.
var unjudgedKeywords = []string{"$ref", "$dynamicRef", "if", "then", "else", "not", "oneOf", "anyOf", "allOf",
	"dependentRequired", "dependentSchemas",
	"patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "prefixItems", "contains",
	"uniqueItems", "multipleOf"}

func (s *schemaRun) check(schema any, instance any, at string) string {
	if s.left--; s.left <= 0 {
		return ""
	}
	rules, ok := schema.(*exchange.Object)
	if !ok {
		if schema == false {
			return at + " is not allowed"
		}
		return ""
	}
	for _, keyword := range unjudgedKeywords {
		if has(rules, keyword) {
			s.unjudged = true
			return ""
		}
	}
	if said := typeViolation(member(rules, "type"), instance); said != "" {
		return at + said
	}
	if text, ok := instance.(string); ok && exchange.HasStandIn(text) {
		return "" // what stood there is not shown
	}
	required := items(rules, "required")
	enum, listed := member(rules, "enum").([]any)
	s.left -= len(required) + len(enum)
	if c, ok := rules.Get("const"); ok && !equal(c, instance) {
		return at + " is not the constant that its schema names"
	}
	if listed && !slices.ContainsFunc(enum, func(v any) bool { return equal(v, instance) }) {
		return at + " is none of the values that its schema lists"
	}
	switch v := instance.(type) {
	case *exchange.Object:
		return s.object(rules, required, v, at)
	case []any:
		return s.array(rules, v, at)
	case string:
		return s.text(rules, v, at)
	case float64:
		return bounds(rules, v, at, limits{"minimum", "maximum", ""})
	}
	return ""
}

func (s *schemaRun) object(rules *exchange.Object, required []any, v *exchange.Object, at string) string {
	for _, name := range required {
		if name, ok := name.(string); ok {
			if _, present := v.Get(name); !present {
				return fmt.Sprintf("%s lacks %s", at, quoted(name))
			}
		}
	}
	properties := obj(rules, "properties")
	for _, name := range namesOf(v) {
		rule, known := properties.Get(name)
		if !known {
			var present bool
			if rule, present = rules.Get("additionalProperties"); !present {
				continue
			}
		}
		if said := s.check(rule, member(v, name), at+"."+short(name)); said != "" || s.unjudged {
			return said
		}
	}
	return bounds(rules, float64(v.Len()), at, limits{"minProperties", "maxProperties", " members"})
}

func (s *schemaRun) array(rules *exchange.Object, v []any, at string) string {
	if rule, ok := rules.Get("items"); ok {
		for i, item := range v {
			if said := s.check(rule, item, fmt.Sprintf("%s[%d]", at, i)); said != "" || s.unjudged || s.left <= 0 {
				return said
			}
		}
	}
	return bounds(rules, float64(len(v)), at, limits{"minItems", "maxItems", " items"})
}

func (s *schemaRun) text(rules *exchange.Object, v, at string) string {
	const maxPattern = 256
	if p := str(rules, "pattern"); p != "" {
		re, err := regexp.Compile(p)
		switch {
		case len(p) > maxPattern || err != nil:
			s.unjudged = true
			return ""
		case !re.MatchString(v):
			return at + " does not match its pattern"
		}
	}
	return bounds(rules, float64(utf8.RuneCountInString(v)), at, limits{"minLength", "maxLength", " characters"})
}

// limits are the names of a schema's two limits of one kind, and the unit of what they count.
type limits struct {
	least string
	most  string
	unit  string
}

func bounds(rules *exchange.Object, n float64, at string, l limits) string {
	if limit := number(rules, l.least); n < limit {
		return fmt.Sprintf("%s has %v%s, fewer than %v", at, n, l.unit, limit)
	}
	if limit := number(rules, l.most); n > limit {
		return fmt.Sprintf("%s has %v%s, more than %v", at, n, l.unit, limit)
	}
	return ""
}

func typeViolation(rule any, instance any) string {
	var names []string
	switch rule := rule.(type) {
	case string:
		names = []string{rule}
	case []any:
		for _, name := range rule {
			if name, ok := name.(string); ok {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	is := typesOf(instance)
	if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(is, name) }) {
		return ""
	}
	return fmt.Sprintf(" is %s, not %s", is[0], quoted(names[0]))
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	case float64:
		if v == math.Trunc(v) {
			return []string{"integer", "number"}
		}
		return []string{"number"}
	}
	return []string{"object"}
}

func short(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 40)])
}

// namesOf are the names of an object, sorted.
func namesOf(o *exchange.Object) []string {
	names := make([]string, 0, o.Len())
	for name := range o.All() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// equal compares two JSON values; the order of an object's members does not count.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case *exchange.Object:
		b, ok := b.(*exchange.Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for name, v := range a.All() {
			if other, ok := b.Get(name); !ok || !equal(v, other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, *exchange.Object:
		return false
	}
	return a == b
}
