package route

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strings"

	"store.example/agentstore/dynamic/problem"
)

// ReadJSON reads the body of a request as a T: one JSON value, no unknown or repeated members,
// within the limit that the row sets (the server enforces it on r.Body). The error is a
// *problem.Error: body_too_large or invalid_input. With an empty body it returns the zero T if the
// row's body is optional, and otherwise invalid_input.
func ReadJSON[T any](r *http.Request, optional bool) (T, error) {
	var zero T
	b, err := ReadBody(r)
	if err != nil || len(b) == 0 && optional {
		return zero, err
	}
	return DecodeJSON[T](b)
}

// DecodeJSON is ReadJSON of a body that was read.
func DecodeJSON[T any](b []byte) (T, error) {
	var v, zero T
	if err := json.Unmarshal(b, &v, json.RejectUnknownMembers(true)); err != nil {
		return zero, Invalid(problem.Field{Field: bodyField(err), Problem: bodyProblem(err)})
	}
	return v, nil
}

// ReadBody reads the whole body of a request within the limit of its row.
func ReadBody(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	if err == nil {
		return b, nil
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &problem.Error{Code: "body_too_large", Extra: map[string]any{"limit_bytes": tooLarge.Limit},
			Detail: "Nothing was done: the request body is larger than this route takes."}
	}
	return nil, &problem.Error{Code: "request_timeout", Err: err,
		Detail: "Nothing was done: the request body did not arrive whole."}
}

// bodyField names the member at which decoding stopped, without repeating anything that was sent
// but its name.
func bodyField(err error) string {
	var at jsontext.Pointer
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		at = e.JSONPointer
	} else if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = e.JSONPointer
	}
	if at == "" {
		return "body"
	}
	return shown(strings.TrimPrefix(string(at), "/"))
}

func bodyProblem(err error) string {
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return "is not a member of this body"
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "is given more than once"
	}
	if _, ok := errors.AsType[*json.SemanticError](err); ok {
		return "has the wrong type"
	}
	return "is not valid JSON"
}
