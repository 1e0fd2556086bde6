package rule_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/vectors"
)

var (
	aList = regexp.MustCompile(`^(\w+)[*+](\d*)(\^([\w,]*))?$`)
	aText = regexp.MustCompile(`^[ts]\d*$`)
)

// table are the forms by their names.
func table(t *testing.T) map[string]rule.Form {
	t.Helper()
	forms, err := rule.FormTable()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]rule.Form, len(forms))
	for _, f := range forms {
		all[f.Name] = f
	}
	return all
}

// objects are the forms of the table that types of ours are written in.
var objects = map[string]any{
	"row": record.Row{}, "also_under": record.AlsoUnder{}, "probe_method": record.ProbeMethod{},
	"offer": record.RowOffer{}, "pay_to": record.PayTo{}, "vantage": record.Vantage{},
	"round": record.Round{}, "roster": record.Roster{}, "source": record.RosterSource{}, "lot": record.Lot{},
	"coverage": record.Coverage{}, "control": record.Control{}, "inflows": record.Inflows{},
	"inflow": record.NetworkInflow{}, "part": record.Part{},
	"observation": record.Observation{}, "words": record.Said{}, "refresh": record.Refresh{},
	"walk": record.PaidWalk{}, "unpaid": record.UnpaidWalk{}, "claim": record.WalkClaim{},
	"declaration": record.Declaration{}, "note": record.StandingNote{}, "tip": record.Tip{},
	"issued": record.Issued{}, "class": record.IssuedClass{},
	"certificates": record.IssuedTree{}, "withdrawn": record.Withdrawn{}, "closed_roster": record.ClosedRoster{},
	"erratum": record.Erratum{},
	"ring":    attest.Ring{}, "key": attest.PublicKey{}, "retired_key": attest.RetiredKey{},
	"handover": attest.Handover{}, "head": attest.LogHead{}, "walker": attest.Walker{},
	"manifest": attest.Manifest{}, "left_out": attest.LeftOut{}, "manifest_part": attest.PartRef{},
	"file": attest.Entry{}, "index": record.EvidenceIndex{}, "entry": record.EvidenceEntry{},
	"exchange": exchange.Redacted{}, "header": exchange.HeaderLine{}, "body": exchange.BodyFacts{},
	"challenge": exchange.Challenge{}, "stand_in": exchange.StandIn{}, "error": exchange.Error{},
}

// unwritten are members that types have besides, which travel with an object and stand in no
// record.
var unwritten = map[string][]string{"words": {"salt", "text"}, "observation": {"judgement"}}

// field is a member as a type writes it.
type field struct {
	name     string
	optional bool
	of       reflect.Type
}

func fieldsOf(t reflect.Type, but []string) (all []field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, fieldsOf(f.Type, but)...)
		case f.IsExported() && name != "-" && !slices.Contains(but, name):
			// What is signed always has its digest and its signature.
			signed := name == "signature" || name == "digest" && t == reflect.TypeFor[record.Round]()
			all = append(all, field{name, strings.HasPrefix(options, "omit") && !signed, f.Type})
		}
	}
	return all
}

// TestFormsAreThoseOfTheCode holds the published forms to the types by which records are written:
// the same members in the same order, left out by the same, of a kind that the type can be.
func TestFormsAreThoseOfTheCode(t *testing.T) {
	all := table(t)
	told := map[string]bool{"words_file": true, "manifest_files": true, "judgement": true, "declared": true,
		"opt_out": true, "known": true} // by the test below, or by that of the batteries
	for name, value := range objects {
		fields := fieldsOf(reflect.TypeOf(value), unwritten[name])
		if _, there := all[name]; !there {
			t.Errorf("there is no form %s", name)
		}
		ways := []string{name}
		if kinds := all[name].Kinds; kinds != nil {
			ways = kinds
		}
		told[name] = true
		seen := make(map[string]bool)
		for _, way := range ways {
			told[way] = true
			agree(t, all, way, fields, len(ways) > 1)
			for _, m := range all[way].Members {
				seen[m.Name] = true
			}
		}
		for _, f := range fields {
			if !seen[f.name] {
				t.Errorf("%s: no form has the member %s, which %T is written with", name, f.name, value)
			}
		}
	}
	for name, f := range all {
		for _, kind := range f.Kinds {
			told[kind] = told[kind] || told[name]
		}
	}
	for name, f := range all {
		if f.Members != nil && !told[name] {
			t.Errorf("%s is the form of nothing", name)
		}
	}
}

// agree holds the members of a form to those of a type, of which one way of several has some.
func agree(t *testing.T, all map[string]rule.Form, name string, fields []field, some bool) {
	t.Helper()
	left := fields
	for _, m := range all[name].Members {
		i := slices.IndexFunc(left, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			t.Errorf("%s: %s stands in another place than it is written in, or in none", name, m.Name)
			continue
		}
		skipped, f := left[:i], left[i]
		left = left[i+1:]
		if !some && (len(skipped) > 0 || m.Optional != f.optional) {
			t.Errorf("%s: %s stands behind %v, and is left out: %v", name, m.Name, skipped, f.optional)
		}
		for _, s := range skipped {
			if !s.optional {
				t.Errorf("%s: %s is missing", name, s.name)
			}
		}
		if m.Optional && !f.optional || !isOf(all, m, f.of) {
			t.Errorf("%s: %s is %s, left out: %v; it is written of %v", name, m.Name, m.Kind, m.Optional, f.of)
		}
	}
	for _, f := range left {
		if !f.optional || !some {
			t.Errorf("%s: %s is missing", name, f.name)
		}
	}
}

// isOf reports whether a type can be of a member's kind.
func isOf(all map[string]rule.Form, m rule.Member, of reflect.Type) bool {
	if of.Kind() == reflect.Pointer {
		return (m.Kind != "place" || of.Elem().Kind() == reflect.Int64) && isOf(all, m, of.Elem())
	}
	written := of == reflect.TypeFor[attest.Hex]() || of == reflect.TypeFor[attest.Digest]() ||
		of.Kind() == reflect.String
	switch list := aList.FindStringSubmatch(m.Kind); {
	case m.Text || aText.MatchString(m.Kind):
		return written
	case list != nil:
		return !written && of.Kind() == reflect.Slice && isOf(all, rule.Member{Kind: list[1]}, of.Elem())
	}
	switch m.Kind {
	case "n", "n1", "place":
		return of.Kind() == reflect.Int64 || of.Kind() == reflect.Int
	case "bool", "true":
		return of.Kind() == reflect.Bool
	case "date", "time", "week":
		return written
	case "any":
		return true
	}
	if value, ok := objects[m.Kind]; ok {
		return of == reflect.TypeOf(value)
	}
	f, ok := all[m.Kind]
	for _, kind := range f.Kinds {
		ok = ok && isOf(all, rule.Member{Kind: kind}, of)
	}
	return ok && f.Members == nil && written
}

// TestFormsOfWhatIsWrittenElsewhere holds the forms of what is written by types that nobody else
// sees to how it stands in the vectors.
func TestFormsOfWhatIsWrittenElsewhere(t *testing.T) {
	all, left := table(t), map[string]bool{"words_file": true, "manifest_files": true, "judgement": true,
		"declared": true, "opt_out": true}
	good, _, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	see := func(name string, raw []byte) {
		var want []string
		ways := all[name].Kinds
		if ways == nil {
			ways = []string{name}
		}
		for _, m := range all[ways[0]].Members {
			want = append(want, m.Name)
		}
		if names := namesOf(t, raw); !slices.Equal(names, want) {
			t.Errorf("%s has %v, and is written as %s", name, want, raw)
		}
		delete(left, name)
	}
	for _, g := range good {
		for path, raw := range g.Files {
			switch {
			case strings.HasPrefix(path, "words/"):
				see("words_file", raw)
			case strings.HasPrefix(path, "manifest/"):
				see("manifest_files", raw)
			case strings.HasPrefix(path, "evidence/") && strings.HasSuffix(path, ".gz"):
				for line := range bytes.Lines(unzipped(t, raw)) {
					if bytes.HasPrefix(line, []byte(`{"format":"store-opt-out/`)) {
						see("opt_out", line)
					}
					if bytes.HasPrefix(line, []byte(`{"format":"store-judgement/`)) {
						see("judgement", line)
						var head struct{ Declared json.RawMessage }
						if err := json.Unmarshal(line, &head); err != nil {
							t.Fatal(err)
						}
						see("declared", head.Declared)
					}
				}
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("no vector has %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestFormsKnowTheBatteries holds the batteries of the table to those that a round may cite.
func TestFormsKnowTheBatteries(t *testing.T) {
	all, known := table(t), make(map[string]string)
	for _, kind := range all["known"].Kinds {
		if m := all[kind].Members; len(m) == 2 {
			known[m[0].Kind] = m[1].Kind
		}
	}
	if !maps.Equal(known, record.Batteries) {
		t.Errorf("the forms know %v, a round may cite %v", known, record.Batteries)
	}
}

// namesOf are the names of an object's members in their order.
func namesOf(t *testing.T, raw []byte) (names []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func unzipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
