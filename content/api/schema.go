package api

import (
	"encoding"
	jsonv1 "encoding/json"
	"encoding/json/v2"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor is the JSON Schema of T as it stands in JSON. The description of a member is its
// field's tag `jsonschema`; a member is required unless its tag `json` says omitempty or omitzero,
// or it is of an embedded pointer.
// Members may be added later, so an object allows others than its own. No list is null, for an
// empty one is written as [] (see [Marshal]), and no member is that is left out where there is
// none. It panics for a type that has no schema: types are fixed when the program is built.
func SchemaFor[T any]() *jsonschema.Schema {
	s := strict(reflect.TypeFor[T]())
	open(s)
	return s
}

// StrictSchemaFor is SchemaFor for what the service is sent: members that it does not know are
// refused. Nothing in it has two types, which clients of models refuse; null is left out wherever
// something may be.
func StrictSchemaFor[T any]() *jsonschema.Schema {
	s := strict(reflect.TypeFor[T]())
	oneType(s)
	return s
}

// oneType takes null out of the types of a schema and of all below it.
func oneType(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	notNull(s)
	oneType(s.Items)
	for _, p := range s.Properties {
		oneType(p)
	}
}

// SchemaOf is SchemaFor for the type of v.
func SchemaOf(v any) *jsonschema.Schema {
	s := strict(reflect.TypeOf(v))
	open(s)
	return s
}

// known are the schemas that strict has made, by their types: what a type is does not change.
var known sync.Map

// strict returns a schema that is the caller's: each part of it may be changed.
func strict(t reflect.Type) *jsonschema.Schema {
	s, ok := known.Load(t)
	if !ok {
		s, _ = known.LoadOrStore(t, reflected(t))
	}
	return s.(*jsonschema.Schema).CloneSchemas()
}

func reflected(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: written(t)})
	if err != nil {
		panic(fmt.Sprintf("api: schema of %s: %v", t, err))
	}
	optional(t, s)
	return s
}

// optional takes out of what a schema and those below it require the members of embedded pointers,
// which are left out where these are nil.
func optional(t reflect.Type, s *jsonschema.Schema) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && s.Items != nil {
		if t.Kind() == reflect.Slice {
			s = s.Items
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if p := s.Properties[name]; p != nil {
			optional(f.Type, p)
		}
		for i := range f.Index[1:] {
			if t.FieldByIndex(f.Index[:i+1]).Type.Kind() == reflect.Pointer {
				s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
			}
		}
	}
}

// written has the schemas of the types below t that do not stand in JSON as what they are in Go:
// bytes that write themselves as text, other bytes (base64), and ready JSON, which may be anything.
func written(t reflect.Type) map[reflect.Type]*jsonschema.Schema {
	seen := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[big.Int](): {Type: "string", Pattern: "^[0-9]+$"}}
	visited := make(map[reflect.Type]bool)
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		if visited[t] || seen[t] != nil {
			return
		}
		visited[t] = true
		switch t.Kind() {
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(t) {
				if f.IsExported() || f.Anonymous {
					walk(f.Type)
				}
			}
		case reflect.Slice, reflect.Array:
			if t.Elem().Kind() != reflect.Uint8 {
				walk(t.Elem())
				return
			}
			switch {
			case t.Implements(reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()):
				seen[t] = &jsonschema.Schema{Description: "any JSON"}
			case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
				seen[t] = &jsonschema.Schema{Type: "string"}
			default:
				seen[t] = &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
			}
		case reflect.Map, reflect.Pointer:
			walk(t.Elem())
		}
	}
	walk(t)
	return seen
}

// open drops from a schema and all below it additionalProperties: false, which is {"not": {}} in
// version 0.4 of the library, and null where an answer has none.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	if slices.Contains(s.Types, "array") {
		notNull(s)
	}
	open(s.AdditionalProperties)
	open(s.Items)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			notNull(s.Properties[name])
		}
		open(s.Properties[name])
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, each := range list {
			open(each)
		}
	}
}

// notNull takes null out of the types of a schema.
func notNull(s *jsonschema.Schema) {
	types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	switch len(types) {
	case len(s.Types):
	case 1:
		s.Type, s.Types = types[0], nil
	default:
		s.Types = types
	}
}

// asBefore writes what encoding/json does, but for lists without elements.
var asBefore = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false))

// Marshal writes an answer as [SchemaFor] describes it: as encoding/json does, and a list without
// elements as [] even where it is nil.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, asBefore) }
