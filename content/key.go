package content

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Key is one key of the front matter of a good. The rows of goodKeys are what the loader reads,
// what its errors say, what a new file is made of and what /docs/goods shows: a key has no other
// description.
type Key struct {
	Name string
	// Table is where it stands: "" for the head of the file, else certificate, input or upstream.
	Table string
	Type  KeyType
	// Max is the most characters of a text, or of each in a list, and the highest number; 0 is no
	// limit of its own.
	Max int
	// Need says that there is no default: the file has to say.
	Need bool
	// Meaning is one sentence, and Example a value as it is written in a file.
	Meaning, Example string
	// standard is what stands in a file that does not say, by kind; nil is nothing.
	standard func(kindRow) string
	// of says which kinds have it; nil is all.
	of func(kindRow) bool
}

// KeyType is what the value of a key is.
type KeyType string

// The types of keys.
const (
	KeyText   KeyType = "text"          // one line
	KeyPrice  KeyType = "price"         // a decimal of USDC, between quotation marks
	KeyNumber KeyType = "number"        // a whole one, not below 0
	KeySwitch KeyType = "true or false" // false where it is left out
	KeyList   KeyType = "list of texts"
)

// KeyTables are the tables of a good's front matter, with what each is for.
var KeyTables = []struct{ Name, Says string }{
	{"", "The head of the file, between the lines of +++."},
	{"certificate", "A table [certificate]: texts that go onto every certificate of the good."},
	{"input", "A table [[input]] for each thing that an order says."},
	{"upstream", "A table [upstream]: the HTTP address that makes the good."},
}

// Keys are all keys of the front matter of a good, in the order in which they are described.
func Keys() []Key { return slices.Clone(goodKeys) }

// Kinds are the names of the kinds that have the key, nil for all.
func (k Key) Kinds() []string {
	if k.of == nil {
		return nil
	}
	var names []string
	for _, kind := range kinds {
		if k.of(kind) {
			names = append(names, kind.name)
		}
	}
	return names
}

// Default says what stands where the key is left out: a value, then those of kinds that differ from
// it. It is "" for nothing.
func (k Key) Default() string {
	if k.standard == nil {
		return ""
	}
	most := k.standard(kindRow{})
	var others []string // in the order of the kinds
	by := make(map[string][]string)
	for _, kind := range kinds {
		v := k.standard(kind)
		if v == most || k.of != nil && !k.of(kind) {
			continue
		}
		if by[v] == nil {
			others = append(others, v)
		}
		by[v] = append(by[v], kind.name)
	}
	says := most
	for _, v := range others {
		says = strings.TrimPrefix(says+"; ", "; ") + strings.Join(by[v], ", ") + ": " + v
	}
	return says
}

func always(v string) func(kindRow) string { return func(kindRow) string { return v } }

func only(names ...string) func(kindRow) bool {
	return func(k kindRow) bool { return slices.Contains(names, k.name) }
}

// ArtifactNone is the artifact of goods that come without a certificate: no patron number, no
// badge, a signed receipt alone.
const ArtifactNone = "none"

func draws(k kindRow) bool  { return k.max > 0 }
func byHand(k kindRow) bool { return k.fulfilment == Human }

var goodKeys = []Key{
	{Name: "name", Type: KeyText, Max: 60, Need: true, Example: `"Green tea"`,
		Meaning: "What people read. No two goods share it."},
	{Name: "price", Type: KeyPrice, Max: maxPrice, Need: true, Example: `"0.10"`,
		Meaning: "What it costs in USDC, with at most six decimals."},
	{Name: "description", Type: KeyText, Max: 300, Need: true, Example: `"A cup of tea, described."`,
		Meaning: "One sentence or two, for lists and for machines that choose."},
	{Name: "subtitle", Type: KeyText, Max: 100, Meaning: "A line below the name."},
	{Name: "kind", Type: KeyText, Meaning: "How the good is made: one of the kinds below. A file with file or folder " +
		"is a file, one with text a text, one with [upstream] an upstream, one with window_hours a human, one with a " +
		"pool and nothing else a greeting.", Example: `"file"`},
	{Name: "order", Type: KeyNumber, Meaning: "Its place on the shelf, the lowest first; goods without one follow, " +
		"by name. No two goods share it.", Example: "10"},
	{Name: "pay_what_it_deserves", Type: KeySwitch, Meaning: "Offers twice and five times the price as well; what is " +
		"above the price is the tip."},
	{Name: "file", Type: KeyText, Max: 200, of: only(KindFile), Example: `"tea.pdf"`,
		Meaning: "The file that every buyer gets, below the folder files of the stock; at most 64 MiB."},
	{Name: "folder", Type: KeyText, Max: 200, of: only(KindFile), Example: `"licences"`,
		Meaning: "In place of file: a folder below files, of which each file is sold once."},
	{Name: "media_type", Type: KeyText, Max: 100, of: only(KindFile, KindUpstream), Example: `"application/pdf"`,
		Meaning: "The media type of what is delivered. Left out, it follows from the ending of a file's name, and of " +
			"an answer it is application/json.", standard: always("")},
	{Name: "text", Type: KeyText, Max: 200, of: only(KindText), Example: `"letter.md"`,
		Meaning: "The Markdown that is sold, below the folder texts of the stock; at most 64 KiB. {detail} in it is " +
			"what the order says for the input detail; the words base_url, base_host, did, keeper, title and " +
			"good, the cheapest, in braces are facts of the site."},
	{Name: "pool", Type: KeyText, of: draws, Example: `"tea"`,
		Meaning: "The pool that it draws from: NAME.toml in the stock, of [[entry]] tables."},
	{Name: "stock", Type: KeySwitch, of: draws, Meaning: "Each entry of the pool is given once, so that the good can " +
		"sell out. For kinds whose entries are given once for ever."},
	{Name: "fulfilment", Type: KeyText, Meaning: "How it reaches its buyer: instant, human or term.",
		standard: func(k kindRow) string { return string(cmp.Or(k.fulfilment, Instant)) }, Example: `"instant"`},
	{Name: "window_hours", Type: KeyNumber, of: byHand, Max: 8760,
		Meaning: "Within how many hours the keeper delivers; what is late is owed.", Example: "168"},
	{Name: "weekly_inventory", Type: KeyNumber, of: byHand, Max: 10_000,
		Meaning: "How many orders are taken in an ISO week.", Example: "5"},
	{Name: "cadence", Type: KeyText, Meaning: "one_off, or term for what goes on for days. It follows from fulfilment.",
		standard: func(k kindRow) string { return cadenceOf(cmp.Or(k.fulfilment, Instant)) }, Example: `"one_off"`},
	{Name: "artifact", Type: KeyText, Meaning: "What is signed for its buyer: " +
		strings.Join(artifacts[:len(artifacts)-1], ", ") + ", or none for goods of the kinds file, text and upstream " +
		"that come with a signed receipt alone.",
		standard: func(k kindRow) string { return cmp.Or(k.artifact, artifacts[0]) }, Example: `"certificate"`},
	{Name: "what_it_reads", Type: KeyText, Max: 240, Meaning: "What outside the store the good reads.",
		standard: func(k kindRow) string { return cmp.Or(k.reads, "Nothing outside the store.") }},
	{Name: "signs", Type: KeyText, Max: 240, Meaning: "Which facts the signature covers.",
		standard: func(k kindRow) string {
			return cmp.Or(k.signs, "What you were given, the date, your name if you gave one, and the facts of the "+
				"payment.")
		}},
	{Name: "does_not_prove", Type: KeyText, Max: 240, Meaning: "What nobody should conclude from the certificate.",
		standard: func(k kindRow) string {
			return cmp.Or(k.proves, "Anything about the world. It proves what was given to whoever paid, and when.")
		}},
	{Name: "constraints", Type: KeyList, Max: 240, Meaning: "Further facts that a buyer should know, each a sentence.",
		Example: `["Tea is drunk at your own risk."]`},

	{Table: "certificate", Name: "note", Type: KeyText, Max: 240, Meaning: "Stands for the goods themselves where " +
		"those are not put on the public certificate. Left out, the kind writes it."},
	{Table: "certificate", Name: "attests", Type: KeyText, Max: 240, Meaning: "What the certificate attests. Left " +
		"out, the kind writes it."},
	{Table: "certificate", Name: "purpose", Type: KeyText, Max: 240, Meaning: "What it is for."},

	{Table: "input", Name: "name", Type: KeyText, Need: true, Meaning: "Which of the inputs below it is.",
		Example: `"detail"`},
	{Table: "input", Name: "help", Type: KeyText, Max: 160, Need: true, Meaning: "One sentence for the buyer.",
		Example: `"What the letter is about."`},
	{Table: "input", Name: "required", Type: KeySwitch, Meaning: "No order is taken without it."},
	{Table: "input", Name: "max", Type: KeyNumber, Meaning: "The most characters, at most those below; left out, it " +
		"is these.", Example: "200"},
	{Table: "input", Name: "pattern", Type: KeyText, Meaning: "An anchored RE2 expression that the value matches.",
		Example: `"^[a-z]+$"`},
	{Table: "input", Name: "example", Type: KeyText, Max: maxExample, Meaning: "A value that an order may have. An " +
		"input that is required has one.", Example: `"Kyoto"`},

	{Table: "upstream", Name: "url", Type: KeyText, Max: 1024, Need: true, of: only(KindUpstream),
		Meaning: "The address that is asked. The keeper allows it in store.toml, by an [[upstream]] table.",
		Example: `"http://127.0.0.1:9000/forecast"`},
	{Table: "upstream", Name: "method", Type: KeyText, of: only(KindUpstream), standard: always("POST"),
		Meaning: "POST sends the order's inputs as a JSON object, GET as a query.", Example: `"POST"`},
	{Table: "upstream", Name: "repeatable", Type: KeySwitch, of: only(KindUpstream), Meaning: "true: asking costs " +
		"nothing that matters, so the address is asked before the payment is settled, and an answer that cannot be " +
		"had costs nobody anything. false: it is asked once the payment has settled, and an answer that cannot be " +
		"had within an hour is owed back. Either way it is asked at least once, and always with the same " +
		"Idempotency-Key."},
	{Table: "upstream", Name: "answer", Type: KeyText, of: only(KindUpstream), standard: always("json"),
		Meaning: "json puts the answer into the deliverable, file has it fetched like a file; at most 4 MiB.",
		Example: `"json"`},
	{Table: "upstream", Name: "seconds", Type: KeyNumber, Max: 30, of: only(KindUpstream), standard: always("30"),
		Meaning: "How long one request may take.", Example: "10"},
	{Table: "upstream", Name: "unpaid_a_day", Type: KeyNumber, Max: 100_000, of: only(KindUpstream),
		standard: always("200"), Meaning: "How many requests within 24 hours may stay unpaid, of a repeatable one. " +
			"Beyond it only wallets go on that have bought such a good here before.", Example: "200"},
}

// rows are the keys of a table.
func keysOf(table string) (rows []Key) {
	for _, k := range goodKeys {
		if k.Table == table {
			rows = append(rows, k)
		}
	}
	return rows
}

// fields are the values of a table as it was decoded, by the names of its keys.
func fields(table any) map[string]reflect.Value {
	v := reflect.ValueOf(table).Elem()
	of := make(map[string]reflect.Value)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("toml"); name != "" {
			of[name] = v.Field(i)
		}
	}
	return of
}

// keys fills in what a table leaves out and checks the rest against the rows of its keys.
func (f sourceFile) keys(table string, raw any, kind kindRow, known bool) {
	values := fields(raw)
	for _, k := range keysOf(table) {
		v := values[k.Name]
		if known && k.of != nil && !k.of(kind) {
			if !v.IsZero() {
				f.fail(k.Name, "a %s has none: it is for %s", kind.name, strings.Join(k.Kinds(), ", "))
			}
			continue
		}
		if k.standard != nil && v.IsZero() && known {
			f.standard(k, v, kind)
		}
		switch v.Kind() {
		case reflect.String:
			f.oneLine(k, v.String())
		case reflect.Int:
			if n := v.Int(); n < 0 || k.Max > 0 && n > int64(k.Max) {
				f.fail(k.Name, "%d, must be at least 0%s", n, atMost(k.Max))
			}
		case reflect.Slice:
			for i := range v.Len() {
				f.prose(k.Name, v.Index(i).String(), k.Max)
			}
		}
	}
}

func atMost(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and at most %d", n)
}

// standard sets what stands in a file that does not say.
func (f sourceFile) standard(k Key, v reflect.Value, kind kindRow) {
	says := k.standard(kind)
	if v.Kind() == reflect.String {
		v.SetString(says)
		return
	}
	n, err := strconv.ParseInt(says, 10, 64)
	if err != nil { // a row of the table is wrong
		panic(err)
	}
	v.SetInt(n)
}

// oneLine checks one line of text against its row.
func (f sourceFile) oneLine(k Key, value string) {
	switch {
	case value == "" && k.Need:
		f.fail(k.Name, "missing: %s Example: %s = %s", k.Meaning, k.Name, k.Example)
	case value != "" && k.Max > 0 && k.Type == KeyText:
		f.prose(k.Name, value, k.Max)
	}
}
