package route

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/problem"
)

// maxQuery bounds the raw query of any request, in bytes: the longest text a route takes is 4000
// code points, each at most twelve bytes when escaped.
const maxQuery = 64 << 10

// Validator checks requests against one row. It is made once and may be used by many goroutines at
// once.
type Validator struct {
	name    string
	params  []param
	allowed map[string]int // query parameter → index in params
}

type param struct {
	api.Param
	pattern *regexp.Regexp
}

// NewValidator prepares the checks of a row. It fails for a row that does not describe its inputs
// well: see [Check].
func NewValidator(row *api.Route) (*Validator, error) {
	v := &Validator{name: row.Name, allowed: make(map[string]int)}
	for _, p := range row.Params {
		q := param{Param: p}
		if p.Pattern != "" {
			re, err := regexp.Compile(p.Pattern)
			if err != nil {
				return nil, fmt.Errorf("route %s: pattern of %s: %w", row.Name, p.Name, err)
			}
			q.pattern = re
		}
		if p.In == api.QueryP {
			v.allowed[p.Name] = len(v.params)
		}
		v.params = append(v.params, q)
	}
	return v, nil
}

// Validate checks the inputs of r against row and returns invalid_input with every field that is
// wrong, or nil. For a row with ValidateLate it is the handler's to call; [Inputs] holds the values
// from then on. Compare the result with nil before it becomes an error.
func Validate(r *http.Request, row *api.Route) *problem.Error {
	q := Of(r)
	v := q.Validator
	if v == nil || v.name != row.Name {
		var err error
		if v, err = NewValidator(row); err != nil {
			return &problem.Error{Code: "internal", Err: err}
		}
	}
	values, bad := v.Read(r)
	if bad != nil {
		return bad
	}
	q.Inputs = values
	return nil
}

// Inputs returns the validated inputs of a request: query and header parameters, and path values.
func Inputs(r *http.Request) Values { return Of(r).Inputs }

// Read checks all inputs of a request and returns their values.
func (v *Validator) Read(r *http.Request) (Values, *problem.Error) {
	values := Values{}
	var bad []problem.Field
	refuse := func(name, why string) { bad = append(bad, problem.Field{Field: name, Problem: why}) }

	query, why := parseQuery(r.URL.RawQuery)
	if why != "" {
		refuse("query", why)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch _, known := v.allowed[name]; {
		case !known:
			refuse(shown(name), "is not a parameter of this route")
		case len(query[name]) > 1:
			refuse(name, "is given more than once")
		}
	}
	for _, p := range v.params {
		text, given, again := p.find(r, query)
		switch {
		case again:
			if p.In != api.QueryP {
				refuse(p.Name, "is given more than once")
			}
			continue
		case !given:
			if p.Required {
				refuse(p.Name, "is required")
			}
			continue
		}
		if why := p.judge(text); why != "" {
			if p.In == api.Path {
				return nil, nothingNamed(p.Name, why)
			}
			refuse(p.Name, why)
			continue
		}
		values[p.Name] = text
	}
	if len(bad) == 0 {
		return values, nil
	}
	return nil, Invalid(bad...)
}

// PathValue checks a value of a path parameter that the handler took from the path itself.
func (v *Validator) PathValue(name, text string) *problem.Error {
	i := slices.IndexFunc(v.params, func(p param) bool { return p.In == api.Path && p.Name == name })
	if i < 0 {
		return nil
	}
	if why := v.params[i].judge(text); why != "" {
		return nothingNamed(name, why)
	}
	return nil
}

// nothingNamed answers for a value of a path parameter that nothing can be named by.
func nothingNamed(name, why string) *problem.Error {
	return &problem.Error{Code: "not_found", Detail: "There is nothing at this address: " + name + " " + why + "."}
}

// Invalid is the refusal of inputs, naming each. It never repeats a value.
func Invalid(fields ...problem.Field) *problem.Error {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Problem
	}
	return &problem.Error{Code: "invalid_input", Fields: fields,
		Detail: "Nothing was done, because an input is not valid: " + strings.Join(parts, "; ") + "."}
}

func (p *param) find(r *http.Request, query url.Values) (text string, given, again bool) {
	var all []string
	switch p.In {
	case api.Path:
		text = r.PathValue(p.Name)
		return text, text != "", false
	case api.Header:
		all = r.Header.Values(p.Name)
	default:
		all = query[p.Name]
	}
	if len(all) == 0 {
		return "", false, false
	}
	return all[0], true, len(all) > 1
}

// judge says what is wrong with a value, as the rest of a sentence that begins with the parameter's
// name.
func (p *param) judge(text string) string {
	if !utf8.ValidString(text) {
		return "is not valid UTF-8"
	}
	n := utf8.RuneCountInString(text)
	switch {
	case p.MaxLength > 0 && n > p.MaxLength:
		return fmt.Sprintf("is longer than %d characters", p.MaxLength)
	case n < p.MinLength:
		return fmt.Sprintf("is shorter than %d characters", p.MinLength)
	case strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) &&
			!(p.Multiline && strings.ContainsRune("\n\r\t", c))
	}):
		return "holds a control character"
	}
	if why := p.judgeType(text); why != "" {
		return why
	}
	switch {
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
		return "is not one of " + strings.Join(p.Enum, ", ")
	case p.pattern != nil && !p.pattern.MatchString(text):
		return "does not have the form " + p.Pattern
	}
	return ""
}

func (p *param) judgeType(text string) string {
	var number float64
	switch p.Type {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text {
			return "is not a whole number"
		}
		number = float64(n)
	case "number":
		// strconv accepts hexadecimal, underscores and names besides.
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.Trim(text, "0123456789.-+eE") != "" {
			return "is not a number"
		}
		number = n
	case "boolean":
		if text != "true" && text != "false" {
			return "is neither true nor false"
		}
		return ""
	default:
		return ""
	}
	switch {
	case p.Minimum != nil && number < *p.Minimum:
		return "is less than " + strconv.FormatFloat(*p.Minimum, 'f', -1, 64)
	case p.Maximum != nil && number > *p.Maximum:
		return "is more than " + strconv.FormatFloat(*p.Maximum, 'f', -1, 64)
	}
	return ""
}

// parseQuery splits a raw query strictly: bad escapes and semicolons are refused, not dropped.
func parseQuery(raw string) (url.Values, string) {
	if raw == "" {
		return nil, ""
	}
	if len(raw) > maxQuery {
		return nil, fmt.Sprintf("is longer than %d bytes", maxQuery)
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return query, "is not well-formed"
	}
	return query, ""
}

// shown makes a name that a stranger chose fit for a message.
func shown(name string) string {
	return strings.Trim(strconv.QuoteToASCII(screen.Clip(name, 40)), `"`)
}
