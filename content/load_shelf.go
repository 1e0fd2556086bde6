package content

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	shelfFolder = "shelf/"
	poolFolder  = "pools/"
)

// artifacts are the classes of what a good signs.
var artifacts = []string{"certificate", "context_anchor", "bitcoin_anchor", "service_audit", "onpage_audit",
	"provenance_check"}

// rawGood is the front matter of a shelf file.
type rawGood struct {
	Name              string   `toml:"name"`
	Subtitle          string   `toml:"subtitle"`
	Kind              string   `toml:"kind"`
	Order             int      `toml:"order"`
	Price             string   `toml:"price"`
	PayWhatItDeserves bool     `toml:"pay_what_it_deserves"`
	Fulfilment        string   `toml:"fulfilment"`
	WindowHours       int      `toml:"window_hours"`
	WeeklyInventory   int      `toml:"weekly_inventory"`
	Cadence           string   `toml:"cadence"`
	Artifact          string   `toml:"artifact"`
	Pool              string   `toml:"pool"`
	Stock             bool     `toml:"stock"`
	Description       string   `toml:"description"`
	WhatItReads       string   `toml:"what_it_reads"`
	Signs             string   `toml:"signs"`
	DoesNotProve      string   `toml:"does_not_prove"`
	Constraints       []string `toml:"constraints"`
	Certificate       struct {
		Note    string `toml:"note"`
		Attests string `toml:"attests"`
		Purpose string `toml:"purpose"`
	} `toml:"certificate"`
	Input []rawInput `toml:"input"`
}

type rawInput struct {
	Name     string `toml:"name"`
	Required bool   `toml:"required"`
	Max      int    `toml:"max"`
	Pattern  string `toml:"pattern"`
	Help     string `toml:"help"`
	Example  string `toml:"example"`
}

// maxExample is how long an example may be: it stands in the terms of every 402.
const maxExample = 80

func (l *loader) goods() []Good {
	var goods []Good
	for _, file := range l.under(shelfFolder) {
		id, md := strings.CutSuffix(strings.TrimPrefix(file, shelfFolder), ".md")
		if !md || strings.Contains(id, "/") {
			continue // refused as an unknown file at the end
		}
		var raw rawGood
		front, body, line, ok := l.cut(file)
		if !ok || !l.decode(file, front, &raw) {
			l.lost = true
			continue
		}
		g := sourceFile{l: l, name: file, text: front}.good(id, raw, body)
		g.Line = line
		goods = append(goods, g)
	}
	if len(goods) == 0 {
		l.fail("shelf", 0, "has no goods: put one into the folder; store init makes a site that has one")
	}
	slices.SortStableFunc(goods, func(a, b Good) int { return cmp.Compare(a.Order, b.Order) })
	for i := 1; i < len(goods); i++ {
		if goods[i].Order == goods[i-1].Order {
			l.fail(shelfFolder+goods[i].ID+".md", 0, "order: %d is also that of %s", goods[i].Order, goods[i-1].ID)
		}
	}
	names := make(map[string]string)
	for _, g := range goods {
		if other, is := names[strings.ToLower(g.Name)]; is {
			l.fail(shelfFolder+g.ID+".md", 0, "name: %q is also that of %s", g.Name, other)
		}
		names[strings.ToLower(g.Name)] = g.ID
	}
	return goods
}

func (f sourceFile) good(id string, raw rawGood, body string) Good {
	if !IsID(id) {
		f.fail("file name", "%q is not an id: lower-case words joined by underscores", id)
	}
	price, err := ParseUSDC(raw.Price)
	switch {
	case err != nil:
		f.fail("price", "%q is %v", raw.Price, err)
	case price <= 0 || price > 10_000*USDC:
		f.fail("price", "must be more than 0 and at most 10000")
	case FormatUSDC(price) != raw.Price:
		f.fail("price", "write it %q", FormatUSDC(price))
	}
	if raw.Order <= 0 {
		f.fail("order", "must be a positive number")
	}
	kind, known := kindOf(raw.Kind)
	if !known {
		f.fail("kind", "%q is none of: %s", raw.Kind, strings.Join(Kinds(), ", "))
	}
	f.oneOf("fulfilment", raw.Fulfilment, string(Instant), string(Human), string(Term))
	human := raw.Fulfilment == string(Human)
	if human != (raw.WindowHours > 0) || raw.WindowHours < 0 {
		f.fail("window_hours", "human goods need one, others have none")
	}
	if human != (raw.WeeklyInventory > 0) || raw.WeeklyInventory < 0 {
		f.fail("weekly_inventory", "human goods need one, others have none")
	}
	if want := map[bool]string{true: "term", false: "one_off"}[raw.Fulfilment == string(Term)]; raw.Cadence != want {
		f.fail("cadence", "is %q, must be %q", raw.Cadence, want)
	}
	f.oneOf("artifact", raw.Artifact, artifacts...)
	switch {
	case known && kind.max == 0:
		if raw.Pool != "" || raw.Stock {
			f.fail("pool", "a %s draws from none", raw.Kind)
		}
	case !IsID(raw.Pool):
		f.fail("pool", "%q is not the name of a pool", raw.Pool)
	}
	f.prose("name", raw.Name, 60)
	f.optional("subtitle", raw.Subtitle, 100)
	f.prose("description", raw.Description, 300)
	f.prose("what_it_reads", raw.WhatItReads, 240)
	f.prose("signs", raw.Signs, 240)
	f.prose("does_not_prove", raw.DoesNotProve, 240)
	for _, c := range raw.Constraints {
		f.prose("constraints", c, 240)
	}
	f.optional("note", raw.Certificate.Note, 240)
	f.optional("attests", raw.Certificate.Attests, 240)
	f.optional("purpose", raw.Certificate.Purpose, 240)
	if body == "" {
		f.fail("body", "missing")
	}
	f.l.checkPlaceholders(f.name, body)
	return Good{
		ID: id, Name: raw.Name, Subtitle: raw.Subtitle, Kind: raw.Kind, Order: raw.Order,
		Price: price, PayWhatItDeserves: raw.PayWhatItDeserves,
		Fulfilment: Fulfilment(raw.Fulfilment), WindowHours: raw.WindowHours, WeeklyInventory: raw.WeeklyInventory,
		Cadence: raw.Cadence, Artifact: raw.Artifact, Pool: raw.Pool, Stock: raw.Stock,
		Inputs:      f.inputs(raw.Input),
		Description: raw.Description, WhatItReads: raw.WhatItReads, Signs: raw.Signs, DoesNotProve: raw.DoesNotProve,
		Constraints: raw.Constraints, Certificate: CertificateText(raw.Certificate), Body: body,
	}
}

func (f sourceFile) inputs(raw []rawInput) []Input {
	lines := linesOf(f.text, "input")
	seen := make(map[string]bool)
	var inputs []Input
	for i, r := range raw {
		if i < len(lines) {
			f.line = lines[i]
		}
		in, known := ownInput(r.Name)
		if !known {
			f.fail("input", "%q is not an input a good can have", r.Name)
			continue
		}
		if seen[r.Name] {
			f.fail("input", "%s stands twice", r.Name)
		}
		seen[r.Name] = true
		if r.Max < 0 || r.Max > in.Max {
			f.fail("max", "%d, must be at most %d", r.Max, in.Max)
		}
		if r.Max > 0 {
			in.Max = r.Max
		}
		in.Required, in.Pattern, in.Help, in.Example = r.Required, r.Pattern, r.Help, r.Example
		f.prose("help", in.Help, 160)
		f.example(in, f.anchored(in.Pattern))
		inputs = append(inputs, in)
	}
	return inputs
}

// anchored is the expression of a pattern, nil for none.
func (f sourceFile) anchored(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil || pattern[0] != '^' || pattern[len(pattern)-1] != '$' {
		f.fail("pattern", "must be an anchored RE2 expression")
		return nil
	}
	return re
}

// example checks that the example of an input is one that an order may have. What is required has
// one, but in what an older program packed.
func (f sourceFile) example(in Input, pattern *regexp.Regexp) {
	const key = "example"
	if in.Example == "" && (!in.Required || f.l.packed) {
		return
	}
	f.prose(key, in.Example, min(in.Max, maxExample))
	_, err := strconv.ParseFloat(in.Example, 64)
	at, wrong := url.Parse(in.Example)
	switch {
	case in.Example == "": // said already
	case in.Type == "number" && (err != nil || !json.Valid([]byte(in.Example))):
		f.fail(key, "%q is not a number", in.Example)
	case in.Type == "boolean" && in.Example != "true" && in.Example != "false":
		f.fail(key, "%q is neither true nor false", in.Example)
	case in.Format == "uri" && (wrong != nil || at.Scheme == "" || at.Host == ""):
		f.fail(key, "%q is not a URL", in.Example)
	case pattern != nil && !pattern.MatchString(in.Example):
		f.fail(key, "%q does not match %s", in.Example, in.Pattern)
	}
}

// rawEntry is one [[entry]] of a pool file.
type rawEntry struct {
	Text        string `toml:"text"`
	Name        string `toml:"name"`
	Word        string `toml:"word"`
	Animal      string `toml:"animal"`
	Strength    string `toml:"strength"`
	Temperament string `toml:"temperament"`
	Date        string `toml:"date"`
}

// pools reads the pools that the goods draw from; a pool nobody draws from is
// an unknown file.
func (l *loader) pools(goods []Good) map[string]Pool {
	pools := make(map[string]Pool)
	drawnBy := make(map[string]Good)
	texts := make(map[string]string) // text → where it stands
	for _, g := range goods {
		kind, known := kindOf(g.Kind)
		if !known || kind.max == 0 || !IsID(g.Pool) {
			continue // it draws from none, or was reported already
		}
		if first, twice := drawnBy[g.Pool]; twice {
			if first.Kind != g.Kind || first.Stock || g.Stock {
				l.fail(shelfFolder+g.ID+".md", 0, "pool: %s is also drawn from by %s", g.Pool, first.ID)
			}
			continue
		}
		drawnBy[g.Pool] = g
		file := poolFolder + g.Pool + ".toml"
		text, ok := l.text(file)
		if !ok {
			l.missing(file, ", "+g.ID+" draws from it")
			continue
		}
		var raw struct {
			Entry []rawEntry `toml:"entry"`
		}
		if !l.decode(file, text, &raw) {
			continue
		}
		pools[g.Pool] = Pool{Name: g.Pool, Entries: sourceFile{l: l, name: file, text: text}.entries(raw.Entry, kind,
			texts)}
	}
	return pools
}

func (f sourceFile) entries(raw []rawEntry, kind kindRow, texts map[string]string) []Entry {
	if len(raw) < MinEntries {
		f.l.fail(f.name, 0, "holds %d entries, must hold at least %d", len(raw), MinEntries)
	}
	lines := linesOf(f.text, "entry")
	uniques := make(map[string]bool)
	entries := make([]Entry, 0, len(raw))
	for i, r := range raw {
		if i < len(lines) {
			f.line = lines[i]
		}
		e := Entry{Text: r.Text, Name: r.Name, Word: r.Word, Animal: r.Animal, Strength: r.Strength,
			Temperament: r.Temperament}
		if r.Date != "" {
			e.Date = f.date("date", r.Date)
		}
		f.prose("text", e.Text, kind.max)
		key := strings.ToLower(e.Text)
		if where, is := texts[key]; is {
			f.fail("text", "stands already in %s", where)
		}
		texts[key] = f.name
		f.fields(e, kind)
		if kind.unique != "" {
			u := strings.ToLower(e.field(kind.unique))
			if u != "" && uniques[u] {
				f.fail(string(kind.unique), "%s stands twice", u)
			}
			uniques[u] = true
		}
		e.Digest = e.digest()
		entries = append(entries, e)
	}
	return entries
}

// fields checks that an entry has exactly the fields of its kind.
func (f sourceFile) fields(e Entry, kind kindRow) {
	for _, field := range []Field{FieldName, FieldWord, FieldAnimal, FieldStrength, FieldTemperament, FieldDate} {
		value := e.field(field)
		if !slices.Contains(kind.fields, field) {
			if value != "" {
				f.fail(string(field), "has no place in the pool of a %s", kind.name)
			}
			continue
		}
		f.prose(string(field), value, 60)
		switch {
		case value == "":
		case field == FieldStrength:
			f.oneOf(string(field), value, strengths...)
		case field == FieldAnimal && value != strings.ToLower(value):
			f.fail(string(field), "must be lower case")
		case field == FieldDate && e.Date.Weekday().String() != "Tuesday":
			f.fail(string(field), "%s was a %s, must be a Tuesday", value, e.Date.Weekday())
		}
	}
}
