// Package vectors makes the test vectors of store-corpus/v1: small records that hold, and records
// in which one rule is broken each, mostly by somebody with all keys. They are signed by the
// specimen's keys, public by design, and come out the same byte for byte.
//
// It writes records with no help of those parts of package record that do, so that it can write
// what these never would.
package vectors

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// Good is a record that holds.
type Good struct {
	Name, Why string
	Files     map[string][]byte
}

// Bad is a record in which a rule is broken, as what differs from a good one.
type Bad struct {
	Name, Why string
	Rule      rule.Rule
	Base      string // the good one
	Files     map[string][]byte
	Links     map[string]string // symbolic links, with where they lead
	Keys      []byte            // a ring that the verifier held before, nil for none
	Seen      []byte            // a checkpoint that it saw before, nil for none
	// Battery says that only who has the battery can see it: without it the record holds.
	Battery bool
}

// bad says how a record is made.
type bad struct {
	rule  rule.Rule
	name  string // the rule's, and what follows it behind a dash but for the first of a rule
	why   string
	base  string
	as    map[string]string
	draft func(*forge) // instead of the base's
	edits []edit
	after []func(map[string][]byte)
	links map[string]string
	keys  func() []byte
	seen  func() []byte
}

// good says how a record is made that holds.
type good struct {
	name, why string
	make      func(*forge)
	covered   bool // it has its manifest
}

// bases are the good records.
var bases = []good{
	{"small", "one round with one host that was not probed", small, false},
	{"full", "something of every kind: two rounds, observations of all kinds, what was withdrawn, keys that changed " +
		"hands, proofs of time", full, false},
	{"elsewhere", "the full one, where a walker at another place saw a door too", elsewhere, false},
	{"corrected", "the full one with errata to a better verdict, on a look that is kept and on a purchase", corrected,
		false},
	{"covered", "the small one with its manifest", small, true},
	{"observed", "observations and no round", observed, false},
	{"cut", "the full one without words and evidence, as git brings it", full, false},
	{"flooded", "one round whose inflows leave out two addresses of a network", flooded, false},
	{"bought", "purchases at a door with every outcome, and no round", bought, false},
	{"certified", "two counts of artifacts with the trees of their certificates, and no round", certified, false},
}

// observed is a record of observations alone.
func observed(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	f.between()
}

func flooded(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	r := plainRound(1)
	r.Inflows.Networks = []record.NetworkInflow{{Network: "eip155:8453", Read: true, Transfers: 3, Addresses: 1,
		AddressesLeftOut: 2, USDC: "1.5"}}
	f.round(r, []record.Row{unprobed(ready, "interrupted")})
}

// bought is a record of purchases alone.
func bought(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	const at, url, network, usdc = "2026-08-24T00:00:00Z", "https://" + ready + "/paid", "eip155:8453", "0.01"
	answered := func(status int64) *record.WalkClaim {
		return &record.WalkClaim{Status: status, BodySHA256: strings.Repeat("ab", 32), Bytes: 9, LatencyMS: 40,
			ContentType: "application/json"}
	}
	paid := func(by string, claim *record.WalkClaim, twice, second string) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: ready,
			URL: url, Network: network, Transaction: "0x" + strings.Repeat("ab", 32), USDC: usdc, Claim: claim, By: by,
			ChargedTwice: twice, Second: second}}
	}
	unpaid := func(claim *record.WalkClaim) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationUnpaidWalk, Unpaid: &record.UnpaidWalk{Host: ready,
			URL: url, Network: network, USDC: usdc, Claim: claim}}
	}
	f.observe(paid(record.BoughtByStore, answered(200), record.ChargedNo, ""),
		paid(record.BoughtBySeller, answered(200), record.ChargedYes, "0x"+strings.Repeat("cd", 32)),
		paid(record.BoughtByStore, nil, "", ""), unpaid(answered(200)), unpaid(answered(402)), unpaid(nil))
}

// certified is a record of two counts of certificates, with the trees of what was delivered.
func certified(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	count := func(at string, total, size int64, through string) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: total,
			Classes:      []record.IssuedClass{{Class: "certificate", Total: total}},
			Certificates: &record.IssuedTree{Through: through, Size: size, Root: strings.Repeat("ab", 32)}}}
	}
	// The last moment of a week is of the week, and the next one is not.
	f.observe(count("2026-08-24T00:00:00Z", 3, 2, "2026-W34"), count("2027-01-04T00:00:00Z", 4, 1, "2026-W53"))
}

// build makes one record.
func build(m *made, base string, b bad) (map[string][]byte, error) {
	i := slices.IndexFunc(bases, func(g good) bool { return g.name == base })
	if i < 0 {
		return nil, fmt.Errorf("no good record is named %q", base)
	}
	f := newForge(m, b.edits, b.as)
	if b.draft == nil {
		b.draft = bases[i].make
	}
	b.draft(f)
	files, err := f.close(bases[i].covered)
	if base == "cut" {
		maps.DeleteFunc(files, func(name string, _ []byte) bool {
			return strings.HasPrefix(name, "words/") || strings.HasPrefix(name, "evidence/")
		})
	}
	if err != nil {
		err = fmt.Errorf("making a vector of %s: %w", base, err)
	}
	return files, err
}

// All returns the vectors: the good ones, then the bad ones in the order of the rules.
func All() ([]Good, []Bad, error) {
	var holds []Good
	held, m := make(map[string]map[string][]byte), new(made)
	for _, b := range bases {
		files, err := build(m, b.name, bad{})
		if err != nil {
			return nil, nil, err
		}
		held[b.name] = files
		holds = append(holds, Good{b.name, b.why, files})
	}
	var ordered []bad
	defects, err := broken()
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range rule.RuleTable() {
		for _, b := range defects {
			if b.rule == entry.Rule {
				ordered = append(ordered, b)
			}
		}
	}
	out, errs := make([]Bad, len(ordered)), make([]error, len(ordered))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, b := range ordered {
		g.Go(func() (err error) {
			if out[i], err = b.make(m, held); err != nil {
				errs[i] = fmt.Errorf("vector %s: %w", out[i].Name, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return holds, out, errors.Join(errs...)
}

// make returns a vector as what differs from its base.
func (b bad) make(m *made, held map[string]map[string][]byte) (Bad, error) {
	v := Bad{Name: b.name, Why: b.why, Rule: b.rule, Base: b.base, Files: make(map[string][]byte), Links: b.links,
		Battery: b.rule == rule.JudgementVerdict}
	files, err := build(m, b.base, b)
	if err != nil {
		return v, err
	}
	for _, after := range b.after {
		after(files)
	}
	if b.keys != nil {
		v.Keys = b.keys()
	}
	if b.seen != nil {
		v.Seen = b.seen()
	}
	for name, data := range files {
		if was, there := held[b.base][name]; !there || string(was) != string(data) {
			v.Files[name] = data
		}
	}
	for name := range held[b.base] {
		if _, there := files[name]; !there {
			v.Files[name] = nil
		}
	}
	return v, nil
}

// cover adds the manifest.
func (f *forge) cover() {
	if f.err != nil {
		return
	}
	m := filetree.NewTree(attest.CorpusLayout())
	for name, data := range f.files {
		f.check(m.Put(name, int64(len(data)), sha256.Sum256(data)))
	}
	sealed, err := m.Seal(f.identity, filetree.Meta{BaseURL: "https://vectors.store.example",
		ContentDigest: strings.Repeat("0", 64)})
	f.check(err)
	for _, file := range sealed.Write {
		if file.Path != attest.CorpusLayout().Head() {
			f.put(file.Path, file.Body)
			continue
		}
		body, _, _ := strings.Cut(string(file.Body), `,"signature":"`)
		raw := f.sign(f.edit("manifest", []byte(body+"}")), f.identity)
		f.put(file.Path, append(raw, '\n'))
	}
}

// A File is one of the published files.
type File struct {
	Path string
	Body []byte
}

// file is a vector as it is published.
type file struct {
	Format  string            `json:"format"`
	Name    string            `json:"name"`
	Why     string            `json:"why"`
	Rule    rule.Rule         `json:"rule,omitempty"`
	Base    string            `json:"base,omitempty"`
	Files   map[string]string `json:"files"` // base64
	Gone    []string          `json:"gone,omitempty"`
	Links   map[string]string `json:"links,omitempty"`
	Keys    string            `json:"keys,omitempty"` // base64, as is
	Seen    string            `json:"seen,omitempty"`
	Battery bool              `json:"battery,omitempty"`
}

// line is a vector in the index.
type line struct {
	Name    string    `json:"name"`
	Rule    rule.Rule `json:"rule,omitempty"`
	Why     string    `json:"why"`
	Base    string    `json:"base,omitempty"`
	Battery bool      `json:"battery,omitempty"`
}

// FormsFormat names the form of the published vectors of forms.
const FormsFormat = "store-form-vectors/v1"

// Format names the form of a published vector.
const Format = "store-corpus-vector/v1"

// Files returns the vectors as they are published: index.json, and a file for each, sorted by their
// names without .json.
func Files() ([]File, error) {
	good, all, err := All()
	if err != nil {
		return nil, err
	}
	var index struct {
		Format string `json:"format"`
		Good   []line `json:"good"`
		Bad    []line `json:"bad"`
	}
	index.Format = Format
	out := []File{{Path: "index.json"}}
	add := func(folder string, v file) {
		v.Format = Format
		raw, e := json.Marshal(v)
		err = errors.Join(err, e)
		out = append(out, File{folder + "/" + v.Name + ".json", append(raw, '\n')})
	}
	for _, g := range good {
		index.Good = append(index.Good, line{Name: g.Name, Why: g.Why})
		add("good", file{Name: g.Name, Why: g.Why, Files: encoded(g.Files)})
	}
	for _, b := range all {
		index.Bad = append(index.Bad, line{b.Name, b.Rule, b.Why, b.Base, b.Battery})
		v := file{Name: b.Name, Why: b.Why, Rule: b.Rule, Base: b.Base, Files: encoded(b.Files), Links: b.Links,
			Keys:    base64.StdEncoding.EncodeToString(b.Keys),
			Seen:    base64.StdEncoding.EncodeToString(b.Seen),
			Battery: b.Battery}
		for _, name := range slices.Sorted(maps.Keys(b.Files)) {
			if b.Files[name] == nil {
				v.Gone = append(v.Gone, name)
			}
		}
		add("bad", v)
	}
	forms, e := Forms()
	err = errors.Join(err, e)
	of, e := json.Marshal(struct {
		Format string       `json:"format"`
		Forms  []FormVector `json:"forms"`
	}{FormsFormat, forms})
	err = errors.Join(err, e)
	out = append(out, File{"forms.json", append(of, '\n')})
	slices.SortFunc(out[1:], func(a, b File) int {
		return strings.Compare(strings.TrimSuffix(a.Path, ".json"), strings.TrimSuffix(b.Path, ".json"))
	})
	raw, e := json.MarshalIndent(index, "", "  ")
	out[0].Body = append(raw, '\n')
	return out, errors.Join(err, e)
}

func encoded(files map[string][]byte) map[string]string {
	out := make(map[string]string, len(files))
	for name, data := range files {
		if data != nil {
			out[name] = base64.StdEncoding.EncodeToString(data)
		}
	}
	return out
}
