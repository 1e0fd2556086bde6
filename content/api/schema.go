package api

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor is the JSON Schema of T as it stands in JSON. The description of a member is its field's tag `jsonschema`;
// a member is required unless its tag `json` says omitempty or omitzero. Members may be added later, so an object
// allows others than its own. It panics for a type that has no schema: types are fixed when the program is built.
func SchemaFor[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[big.Int](): {Type: "string", Pattern: "^[0-9]+$"},
	}})
	if err != nil {
		panic(fmt.Sprintf("api: schema of %s: %v", reflect.TypeFor[T](), err))
	}
	open(s)
	return s
}

// StrictSchemaFor is SchemaFor for what the service is sent: members that it does not know are refused.
func StrictSchemaFor[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("api: schema of %s: %v", reflect.TypeFor[T](), err))
	}
	return s
}

// open drops additionalProperties: false from a schema and all below it. In version 0.4 of the library a false schema
// is {"not": {}}.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	open(s.AdditionalProperties)
	open(s.Items)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		open(s.Properties[name])
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, each := range list {
			open(each)
		}
	}
}
