package route_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

// A row describes a route once; what it says of its inputs is what is enforced.
func Example() {
	row := route.Row{
		Name: "greet", Method: http.MethodGet, Pattern: "/greet", Summary: "Greets.",
		Params: []api.Param{{Name: "name", In: api.QueryP, Type: "string", Required: true, MaxLength: 5}},
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			_, err := io.WriteString(w, "hello, "+route.Inputs(r)["name"])
			return err
		},
	}
	validator, err := route.NewValidator(&row.Route)
	if err != nil {
		panic(err)
	}
	for _, target := range []string{"/greet?name=ann", "/greet?name=barnaby", "/greet?nam=ann"} {
		r := httptest.NewRequest(row.Method, target, nil)
		r = r.WithContext(route.With(r.Context(), &route.Request{Validator: validator}))
		if problem := route.Validate(r, &row.Route); problem != nil {
			fmt.Println(problem.Code, problem.Fields)
			continue
		}
		w := httptest.NewRecorder()
		if err := row.Handle(w, r); err != nil {
			panic(err)
		}
		fmt.Println(w.Body)
	}
	// Output:
	// hello, ann
	// invalid_input [{name is longer than 5 characters}]
	// invalid_input [{nam is not a parameter of this route} {name is required}]
}
