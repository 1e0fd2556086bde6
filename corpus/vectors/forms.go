package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/rule"
)

// FormVector holds, of a form of the table, values that are of it and values that are not, as JSON.
// They are made by the table, so that none has none.
type FormVector struct {
	Form string            `json:"form"`
	Good []json.RawMessage `json:"good"`
	Bad  []json.RawMessage `json:"bad"`
}

// sample are values of a kind that no table could make up, and some that are not of it.
type sample struct{ good, bad []string }

// samples are those of the kinds that the table begins with, and of the texts that match an
// expression which is more than words to choose from.
var samples = map[string]sample{
	"n":    {[]string{"0", "9007199254740991"}, []string{"-1", "9007199254740992", "0.5", `"0"`, "true", "null"}},
	"n1":   {[]string{"1", "9007199254740991"}, []string{"0", "-1", "9007199254740992", `"1"`, "null"}},
	"bool": {[]string{"true", "false"}, []string{"0", `"true"`, "null"}},
	"true": {[]string{"true"}, []string{"false", "1", "null"}},
	"any":  {[]string{`{"a":[]}`, "1.50"}, nil},
	"date": {[]string{`"2026-11-20"`}, []string{`"2026-02-30"`, `"2026-11-2"`, "20261120", "null"}},
	"time": {[]string{`"2026-11-20T10:11:12Z"`}, []string{`"2026-11-20T10:11:12.5Z"`, `"2026-11-20T24:00:00Z"`,
		`"2026-11-20T10:11:12+00:00"`, `"2026-02-30T00:00:00Z"`, `""`, "null"}},
	"week": {[]string{`"2026-W47"`, `"2026-W53"`}, []string{`"2025-W53"`, `"2026-W00"`, `"2026-W1"`, `""`, "null"}},

	"digest":    {[]string{hexText(64)}, []string{hexText(63), strings.ToUpper(hexText(64)), `""`, "null"}},
	"signature": {[]string{hexText(128)}, []string{hexText(127), hexText(130), "null"}},
	"block":     {[]string{hexText(160)}, []string{hexText(158), `""`, "null"}},
	"kid": {[]string{`"QSkJWB30mej_M5r1cuFBHuHgB7cGoww1A9bGB9UdHkU"`}, []string{
		`"QSkJWB30mej_M5r1cuFBHuHgB7cGoww1A9bGB9UdHk"`, `"QSkJWB30mej+M5r1cuFBHuHgB7cGoww1A9bGB9UdHkU"`, "null"}},
	"host": {[]string{`"a.example"`}, []string{`"A.example"`, `"a/b"`, `"a b"`, `""`, long("h", 254), "null"}},
	"network": {[]string{`"eip155:8453"`, `"other"`, `"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"`}, []string{
		`"eip155:08453"`, `"x"`, `""`, `"<script>"`, `"eip155:x"`, long("solana:a", 40), "null"}},
	"offered": {[]string{`"base"`, `"eip155:8453"`, `"other"`}, []string{`"x"`, `""`, `"<script>"`, "null"}},
	"amount": {[]string{`"0"`, `"0.01"`, `"1.5"`}, []string{`"01"`, `"1."`, `"-1"`, `"0.0000001"`, `""`,
		`"` + strings.Repeat("9", 400) + `"`, "null"}},
	"transaction": {[]string{`"0xab"`}, []string{`""`, `"a b"`, long("0x", 129), "null"}},
	"media":       {[]string{`"application/json"`, `"other"`, `""`}, []string{`"Application/json"`, `"json"`, "null"}},
	"level":       {[]string{`"L0"`, `"L6"`}, []string{`"L7"`, `"l0"`, `""`, "null"}},
	"ready_level": {[]string{`"L4"`}, []string{`"L2"`, `"L7"`, `""`, "null"}},
	"commit":      {[]string{hexText(40), hexText(64)}, []string{hexText(41), `""`, "null"}},
	"tag":         {[]string{`"v1.0.0-rc.1+x"`}, []string{`".v1"`, `"v 1"`, `""`, long("v", 65), "null"}},
	"filename":    {[]string{`"store-v1.zip"`}, []string{`"../a"`, `""`, long("a", 101), "null"}},
	"nothing":     {[]string{`""`}, []string{`"x"`, "0", "null"}},
	"stand_in_address": {[]string{`"0x73756273746974757465abcdef00000000000001"`, `"stand-in-1.invalid"`,
		`"Substituteoooooooooooooooooooooooooooooooo1"`, `"(stand-in 1)"`}, []string{
		`"0x73756273746974757465ABCDEF00000000000001"`, `"0x70997970c51812dc3a010c7d01b50e0d17dc79c8"`, `"shop.eth"`,
		`""`, "null"}},
}

func hexText(n int) string { return `"` + strings.Repeat("a", n) + `"` }

// long is a text that begins in a way and has so many bytes.
func long(begin string, n int) string { return `"` + begin + strings.Repeat("a", n-len(begin)) + `"` }

var (
	textKind = regexp.MustCompile(`^([ts])(\d*)$`)
	listKind = regexp.MustCompile(`^(\w+)([*+])(\d*)(\^?)([\w,]*)$`)
	choices  = regexp.MustCompile(`^[-/_0-9A-Za-z]*(\|[-/_0-9A-Za-z]*)*$`)
)

// maxFilled is the longest list that is filled to show that one more is too many.
const maxFilled = 64

// forms makes values by the table.
type forms map[string]rule.Form

// Forms returns a vector for each form of the table, in its order.
func Forms() ([]FormVector, error) {
	table, err := rule.FormTable()
	if err != nil {
		return nil, err
	}
	all, out := make(forms), []FormVector{}
	for _, f := range table {
		all[f.Name] = f
	}
	for _, f := range table {
		v := FormVector{Form: f.Name}
		for _, good := range all.good(f.Name) {
			v.Good = append(v.Good, json.RawMessage(good))
		}
		for _, bad := range all.bad(f.Name) {
			v.Bad = append(v.Bad, json.RawMessage(bad))
		}
		if len(v.Good) == 0 || len(v.Bad) == 0 {
			return nil, fmt.Errorf("making vectors of the forms: nothing is known that is of the form %s, or "+
				"that is not; "+
				"hint: a row of samples", f.Name)
		}
		out = append(out, v)
	}
	return out, nil
}

// good are values of a kind, the first one with every member.
func (t forms) good(kind string) []string {
	if m := textKind.FindStringSubmatch(kind); m != nil {
		return []string{`"x"`}
	}
	if m := listKind.FindStringSubmatch(kind); m != nil {
		one := t.good(m[1])
		if len(one) == 0 {
			return nil
		}
		if m[2] == "+" {
			return []string{"[" + one[0] + "]"}
		}
		if m[3] == "0" {
			return []string{"[]"}
		}
		return []string{"[" + one[0] + "]", "[]"}
	}
	if s, ok := samples[kind]; ok {
		return s.good
	}
	f, ok := t[kind]
	switch {
	case kind == "place":
		return samples["n"].good
	case !ok:
		return nil
	case f.Expression != "" || f.Members == nil && f.Kinds == nil:
		return chosen(f.Expression).good
	case f.Kinds != nil:
		var out []string
		for _, k := range f.Kinds {
			out = append(out, t.good(k)[:1]...)
		}
		return out
	}
	var whole, least []string
	for _, m := range f.Members {
		value := t.goodOf(m)
		whole = append(whole, value)
		if !m.Optional {
			least = append(least, value)
		}
	}
	out := []string{object(f.Members, whole)}
	if len(least) < len(whole) {
		out = append(out, object(slices.DeleteFunc(slices.Clone(f.Members), func(m rule.Member) bool {
			return m.Optional
		}), least))
	}
	return out
}

// goodOf is a value of a member.
func (t forms) goodOf(m rule.Member) string {
	values := t.good(m.Kind)
	if m.Text {
		values = chosen(m.Kind).good
	}
	for _, v := range values {
		if !m.Optional || !slices.Contains([]string{`""`, "[]", "{}", "false"}, v) && (v != "0" || m.Kind == "place") {
			return v
		}
	}
	return "null"
}

// chosen are the words that an expression lets choose from, and others.
func chosen(expression string) (s sample) {
	if !choices.MatchString(expression) {
		return s
	}
	for word := range strings.SplitSeq(expression, "|") {
		s.good = append(s.good, strconv.Quote(word))
	}
	return sample{s.good, []string{`"another"`, "1", "null"}}
}

// bad are values that are not of a kind.
func (t forms) bad(kind string) (out []string) {
	if m := textKind.FindStringSubmatch(kind); m != nil {
		out = []string{"1", "null"}
		if m[1] == "s" {
			out = append(out, `""`)
		}
		if most, err := strconv.Atoi(m[2]); err == nil {
			out = append(out, `"`+strings.Repeat("x", most+1)+`"`)
		}
		return out
	}
	if m := listKind.FindStringSubmatch(kind); m != nil {
		return t.badList(m[1], m[2], m[3], m[4])
	}
	if s, ok := samples[kind]; ok {
		return s.bad
	}
	f, ok := t[kind]
	switch {
	case kind == "place":
		return samples["n"].bad
	case !ok:
		return nil
	case f.Expression != "" || f.Members == nil && f.Kinds == nil:
		return chosen(f.Expression).bad
	case f.Kinds != nil:
		for _, k := range f.Kinds {
			for _, b := range t.bad(k) {
				if !slices.ContainsFunc(f.Kinds, func(k string) bool { return slices.Contains(t.good(k), b) }) {
					out = append(out, b)
				}
			}
		}
		return t.without(f, out)
	}
	whole := t.good(kind)[0]
	for _, c := range t.changes(kind, whole, false) {
		out = append(out, c.value)
	}
	return append(out, "null", "[]")
}

// without are the bad values of kinds of which one fits, less those that are of another of them.
func (t forms) without(f rule.Form, bad []string) []string {
	if !slices.ContainsFunc(f.Kinds, func(k string) bool { return len(t[k].Members) > 0 }) {
		return slices.Compact(bad)
	}
	return slices.DeleteFunc(bad, func(b string) bool {
		names, _ := split(b)
		for _, k := range f.Kinds {
			if same(t[k].Members, names) && b[0] == '{' && t.fitsAnother(k, b) {
				return true
			}
		}
		return false
	})
}

// fitsAnother reports whether an object, whose members are those of a form, has none that is bad.
func (t forms) fitsAnother(kind, b string) bool {
	names, values := split(b)
	for _, m := range t[kind].Members {
		i := slices.Index(names, m.Name)
		bad := t.badMember(m)
		if m.Text {
			if !slices.Contains(chosen(m.Kind).good, values[max(i, 0)]) {
				return false
			}
		}
		if i >= 0 && (slices.Contains(bad, values[i]) || m.Optional && values[i] == "0") {
			return false
		}
	}
	return true
}

// same reports whether names are those of an object's members, with all that are always there.
func same(members []rule.Member, names []string) bool {
	i := 0
	for _, m := range members {
		if i < len(names) && names[i] == m.Name {
			i++
		} else if !m.Optional {
			return false
		}
	}
	return i == len(names)
}

func (t forms) badList(of, sign, most, sorted string) []string {
	out := []string{"null", "{}"}
	good := t.good(of)
	switch bad := t.bad(of); {
	case most == "0":
	case t.isObject(of):
		out = append(out, "[null]")
	case len(bad) > 0:
		out = append(out, "["+bad[0]+"]")
	}
	if sign == "+" {
		out = append(out, "[]")
	}
	if sorted != "" && len(good) > 0 {
		out = append(out, "["+good[0]+","+good[0]+"]")
	}
	if n, err := strconv.Atoi(most); err == nil && n <= maxFilled && sorted == "" && len(good) > 0 {
		out = append(out, "["+strings.Repeat(good[0]+",", n)+good[0]+"]")
	}
	return out
}

// change is an object of which one thing is not as its form says.
type change struct{ what, value string }

// changes are all that may be wrong with an object of a form: each member of another kind, left
// out, or there although it is empty; one that is not known; two in each other's place. Of the
// values that a member may not have it takes one, unless all are asked for.
func (t forms) changes(kind, raw string, all bool) (out []change) {
	names, values := split(raw)
	f := t.way(kind, raw)
	put := func(what string, names, values []string) { out = append(out, change{what, join(names, values)}) }
	with := func(i int, what, value string) {
		changed := slices.Clone(values)
		changed[i] = value
		put(what, names, changed)
	}
	for _, m := range f.Members {
		i := slices.Index(names, m.Name)
		if i < 0 {
			continue
		}
		bad := t.badMember(m)
		if !all {
			bad = telling(bad)
		}
		for _, b := range bad {
			with(i, m.Name+" "+b[:min(len(b), 60)], b)
		}
		if m.Optional && m.Kind != "place" && m.Kind != "any" {
			with(i, m.Name+" there, and empty", emptyAs(values[i]))
		}
		if !m.Optional {
			put(m.Name+" left out", slices.Delete(slices.Clone(names), i, i+1), slices.Delete(slices.Clone(values),
				i, i+1))
		}
	}
	put("an unknown member", append(slices.Clone(names), "unknown"), append(slices.Clone(values), "1"))
	if len(names) > 1 {
		n, v := slices.Clone(names), slices.Clone(values)
		n[0], n[1], v[0], v[1] = n[1], n[0], v[1], v[0]
		put("two members in each other's place", n, v)
	}
	return out
}

// maxTelling is the longest value that shows a bound in the place of another fault.
const maxTelling = 700

// telling is the one of some bad values that says most: the last, which is too long, if it is not
// too long to be shown in every object.
func telling(bad []string) []string {
	if n := len(bad); n > 0 && len(bad[n-1]) <= maxTelling {
		return bad[n-1:]
	}
	return bad[:min(1, len(bad))]
}

// emptyAs is what a value is when it is empty.
func emptyAs(value string) string {
	switch value[0] {
	case '"':
		return `""`
	case '[':
		return "[]"
	case '{':
		return "{}"
	case 't':
		return "false"
	}
	return "0"
}

// badMember are values that a member may not have. What an object may not be, its own form says.
func (t forms) badMember(m rule.Member) []string {
	switch {
	case m.Text:
		return chosen(m.Kind).bad
	case t.isObject(m.Kind):
		return []string{"null", "[]"}
	}
	return t.bad(m.Kind)
}

// isObject reports whether a kind is of objects.
func (t forms) isObject(kind string) bool {
	f := t[kind]
	return f.Members != nil || slices.ContainsFunc(f.Kinds, func(k string) bool { return t[k].Members != nil })
}

// way is the form of an object: that of its kind, or of the kinds of which one fits.
func (t forms) way(kind, raw string) rule.Form {
	names, _ := split(raw)
	for _, k := range t[kind].Kinds {
		if same(t[k].Members, names) && t.fitsAnother(k, raw) {
			return t[k]
		}
	}
	return t[kind]
}

// object writes an object with these members.
func object(members []rule.Member, values []string) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return join(names, values)
}

func join(names, values []string) string {
	parts := make([]string, len(names))
	for i := range names {
		parts[i] = strconv.Quote(names[i]) + ":" + values[i]
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// split takes an object apart, none for what is no object.
func split(raw string) (names, values []string) {
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, nil
		}
		names, values = append(names, name.(string)), append(values, string(value))
	}
	return names, values
}
