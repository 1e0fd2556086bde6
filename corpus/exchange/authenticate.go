package exchange

import "strings"

// AuthChallenge is one challenge of a WWW-Authenticate field (RFC 9110, section 11.6.1).
type AuthChallenge struct {
	Scheme  string
	Token68 string       // what some schemes have in the place of parameters
	Params  []HeaderLine // in their order, with names in lower case
	Bytes   int          // of the field that it takes
	// Malformed says that a value's quotes are open or that a parameter has no name: readers refuse
	// the challenge.
	Malformed bool
}

// AuthChallenges reads one WWW-Authenticate field, in which proxies fold several: a list of
// challenges whose parameters are a list too, so that a comma ends either. A scheme stands at the
// begin or behind a comma and has no "=" behind it. As the stock client of MPP does, it takes
// blanks between parameters for commas, and leaves out what follows a word that is none.
func AuthChallenges(field string) []AuthChallenge {
	var all []AuthChallenge
	var into *AuthChallenge // nil: what is read belongs to none
	rest, begin, comma := field, 0, true
	for {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool {
			comma = comma || r == ','
			return r == ',' || isBlank(r)
		})
		if rest == "" {
			return all
		}
		at := len(field) - len(rest)
		name := word(rest)
		rest = rest[len(name):]
		value, after, whole, is := param(rest)
		switch {
		case is || name == "":
			rest = after
			if into != nil && is && name != "" {
				into.Params = append(into.Params, HeaderLine{Name: strings.ToLower(name), Value: value})
			}
			if into != nil && (!whole || name == "") {
				into.Malformed = true
			}
		case comma:
			all = append(all, AuthChallenge{Scheme: name})
			into, begin = &all[len(all)-1], at
			into.Token68, rest = token68(rest)
		default:
			into = nil
		}
		if comma = false; into != nil {
			into.Bytes = len(field) - len(rest) - begin
		}
	}
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// word reads up to what ends a name.
func word(s string) string {
	if n := strings.IndexAny(s, " \t,=\""); n >= 0 {
		return s[:n]
	}
	return s
}

// param reads what follows a parameter's name; is is false where no "=" does, whole where the
// quotes are closed.
func param(s string) (value, rest string, whole, is bool) {
	after, is := strings.CutPrefix(strings.TrimLeftFunc(s, isBlank), "=")
	if !is {
		return "", strings.TrimLeft(s, `"`), true, false
	}
	after = strings.TrimLeftFunc(after, isBlank)
	quoted, ok := strings.CutPrefix(after, `"`)
	if !ok {
		value, _, _ = strings.Cut(after, ",")
		return strings.TrimRightFunc(value, isBlank), after[len(value):], true, true
	}
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch quoted[i] {
		case '"':
			return b.String(), quoted[i+1:], true, true
		case '\\':
			if i++; i == len(quoted) {
				continue
			}
		}
		b.WriteByte(quoted[i])
	}
	return b.String(), "", false, true
}

// token68 reads what stands behind a scheme in the place of parameters, "" where it is none.
func token68(s string) (token, rest string) {
	t := strings.TrimLeftFunc(s, isBlank)
	element, _, _ := strings.Cut(t, ",")
	token = strings.TrimRightFunc(element, isBlank)
	if len(t) == len(s) || strings.Trim(strings.TrimRight(token, "="),
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/") != "" {
		return "", s
	}
	return token, t[len(element):]
}
