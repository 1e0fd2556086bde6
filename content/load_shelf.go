package content

import (
	"cmp"
	"encoding/json"
	"maps"
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

// artifacts are the classes of what a good signs, the usual one first.
var artifacts = []string{"certificate", "context_anchor", "bitcoin_anchor", "service_audit", "onpage_audit",
	"provenance_check", ArtifactNone}

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
	File              string   `toml:"file"`
	Folder            string   `toml:"folder"`
	MediaType         string   `toml:"media_type"`
	Text              string   `toml:"text"`
	Pool              string   `toml:"pool"`
	Stock             bool     `toml:"stock"`
	Description       string   `toml:"description"`
	WhatItReads       string   `toml:"what_it_reads"`
	Signs             string   `toml:"signs"`
	DoesNotProve      string   `toml:"does_not_prove"`
	Constraints       []string `toml:"constraints"`

	Certificate rawCertificate `toml:"certificate"`
	Input       []rawInput     `toml:"input"`
	Upstream    *rawUpstream   `toml:"upstream"`
}

type rawCertificate struct {
	Note    string `toml:"note"`
	Attests string `toml:"attests"`
	Purpose string `toml:"purpose"`
}

type rawUpstream struct {
	URL        string `toml:"url"`
	Method     string `toml:"method"`
	Repeatable bool   `toml:"repeatable"`
	Answer     string `toml:"answer"`
	Seconds    int    `toml:"seconds"`
	Unpaid     int    `toml:"unpaid_a_day"`
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
	inOrder(goods)
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

// inOrder sorts the shelf and gives those goods a place that have none: behind the others, by name.
func inOrder(goods []Good) {
	slices.SortStableFunc(goods, func(a, b Good) int {
		return cmp.Or(cmp.Compare(orderless(a), orderless(b)), cmp.Compare(a.Order, b.Order),
			strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	for i := range goods {
		if goods[i].Order != 0 {
			continue
		}
		goods[i].Order = 1
		if i > 0 {
			goods[i].Order = goods[i-1].Order + 1
		}
	}
}

func orderless(g Good) int {
	if g.Order == 0 {
		return 1
	}
	return 0
}

// maxPrice is the most that a good may cost, in USDC.
const maxPrice = 10_000

func (f sourceFile) good(id string, raw rawGood, body string) Good {
	if !IsID(id) {
		f.fail("file name", "%q is not an id: lower-case words joined by underscores", id)
	}
	if raw.Kind == "" {
		raw.Kind = raw.kind()
	}
	kind, known := kindOf(raw.Kind)
	switch {
	case raw.Kind == "":
		f.fail("kind", "missing: nothing in the file tells it. It is one of: %s", strings.Join(Kinds(), ", "))
	case !known:
		f.fail("kind", "%q is none of: %s", raw.Kind, strings.Join(Kinds(), ", "))
	}
	if raw.Fulfilment == "" && raw.Cadence == "" {
		raw.Cadence = cadenceOf(cmp.Or(kind.fulfilment, Instant))
	} else if raw.Cadence == "" {
		raw.Cadence = cadenceOf(Fulfilment(raw.Fulfilment))
	}
	f.keys("", &raw, kind, known)
	f.keys("certificate", &raw.Certificate, kind, known)
	g := Good{
		ID: id, Name: raw.Name, Subtitle: raw.Subtitle, Kind: raw.Kind, Order: raw.Order,
		Price: f.price(raw.Price), PayWhatItDeserves: raw.PayWhatItDeserves,
		Fulfilment: Fulfilment(raw.Fulfilment), WindowHours: raw.WindowHours, WeeklyInventory: raw.WeeklyInventory,
		Cadence: raw.Cadence, Artifact: raw.Artifact, Pool: raw.Pool, Stock: raw.Stock,
		Inputs:      f.inputs(raw.Input),
		Description: raw.Description, WhatItReads: raw.WhatItReads, Signs: raw.Signs, DoesNotProve: raw.DoesNotProve,
		Constraints: raw.Constraints, Certificate: CertificateText(raw.Certificate),
		Body: cmp.Or(body, raw.Description),
	}
	if known {
		f.promise(g)
		f.drawn(g, kind)
		f.made(&g, raw)
	}
	f.l.checkPlaceholders(f.name, body)
	return g
}

// kind is that of a good by what its file has, "" where that does not tell.
func (raw rawGood) kind() string {
	switch {
	case raw.File != "" || raw.Folder != "":
		return KindFile
	case raw.Text != "":
		return KindText
	case raw.Upstream != nil:
		return KindUpstream
	case raw.WindowHours > 0 || raw.Fulfilment == string(Human):
		return KindHuman
	case raw.Pool != "" && !raw.Stock:
		return KindGreeting
	}
	return ""
}

func (f sourceFile) price(text string) int64 {
	price, err := ParseUSDC(text)
	switch {
	case text == "": // said already
	case err != nil:
		f.fail("price", "%q is %v", text, err)
	case price <= 0 || price > maxPrice*USDC:
		f.fail("price", "must be more than 0 and at most %d", maxPrice)
	}
	return price
}

// promise checks how and when a good reaches its buyer.
func (f sourceFile) promise(g Good) {
	f.oneOf("fulfilment", string(g.Fulfilment), string(Instant), string(Human), string(Term))
	human := g.Fulfilment == Human
	if human != (g.WindowHours > 0) {
		f.fail("window_hours", "human goods need one, others have none")
	}
	if human != (g.WeeklyInventory > 0) {
		f.fail("weekly_inventory", "human goods need one, others have none")
	}
	if want := cadenceOf(g.Fulfilment); g.Cadence != want {
		f.fail("cadence", "is %q, must be %q", g.Cadence, want)
	}
}

// cadenceOf is the cadence of what reaches its buyer in a way.
func cadenceOf(by Fulfilment) string {
	if by == Term {
		return "term"
	}
	return "one_off"
}

// drawn checks what a good draws from, and what is signed for it.
func (f sourceFile) drawn(g Good, kind kindRow) {
	if kind.max > 0 && !IsID(g.Pool) {
		f.fail("pool", "%q is not the name of a pool: lower-case words joined by underscores", g.Pool)
	}
	f.oneOf("artifact", g.Artifact, artifacts...)
	if g.Artifact == ArtifactNone && !kind.bare {
		f.fail("artifact", "a %s has one: %s is for %s", kind.name, ArtifactNone, strings.Join(bareKinds(), ", "))
	}
}

// bareKinds are the kinds whose goods may come without a certificate.
func bareKinds() (names []string) {
	for _, k := range kinds {
		if k.bare {
			names = append(names, k.name)
		}
	}
	return names
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
		if r.Max > in.Max {
			f.fail("max", "%d, must be at most %d", r.Max, in.Max)
		}
		if r.Max > 0 {
			in.Max = r.Max
		}
		in.Required, in.Pattern, in.Help, in.Example = r.Required, r.Pattern, r.Help, r.Example
		f.keys("input", &r, kindRow{}, true)
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
	if in.Example == "" {
		f.fail(key, "missing: what is required has one")
	} else if in.Max < maxExample {
		f.prose(key, in.Example, in.Max)
	}
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
	pools := maps.Clone(l.units)
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
	if least := max(kind.least, 1); len(raw) < least {
		f.l.fail(f.name, 0, "holds %d entries, must hold at least %d for a %s", len(raw), least, kind.name)
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
