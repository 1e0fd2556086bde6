package route

import "strconv"

// Values are the validated inputs of a request by parameter name. Absent ones have the zero value
// of their type; the numbers and booleans were checked to be such by the row.
type Values map[string]string

// Has reports whether the parameter was given, also empty.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// String returns a parameter's text.
func (v Values) String(name string) string { return v[name] }

// Int returns an integer parameter.
func (v Values) Int(name string) int64 {
	n, _ := strconv.ParseInt(v[name], 10, 64)
	return n
}

// Float returns a number parameter.
func (v Values) Float(name string) float64 {
	n, _ := strconv.ParseFloat(v[name], 64)
	return n
}

// Bool returns a boolean parameter.
func (v Values) Bool(name string) bool { return v[name] == "true" }
