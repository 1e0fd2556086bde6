package templates

// WordsView is the register of retired words, /retired-words.
type WordsView struct {
	Chrome *Chrome
	Page   Page
	// Words are in the order in which they were retired.
	Words []RetiredWord
	// HowTo is where a word is retired, "" when the shelf has no such good.
	HowTo string
}

// RetiredWord is one line of the register.
type RetiredWord struct {
	Word    string `json:"word"`
	Epitaph string `json:"epitaph,omitzero"`
	Date    string `json:"retired_on"` // UTC date, YYYY-MM-DD
	// Number is that of the signed observation it was read from.
	Number int64 `json:"observation"`
}

// Empty says why the register is empty.
func (v WordsView) Empty() Emptiness {
	return Emptiness{
		Says: "No word has been retired yet.",
		Why: "The register is written from the store's signed observations when they are published, and there is " +
			"none of a retired word in them. The language is, for now, complete.",
	}
}

// Emptiness is an empty state that says why it is empty.
type Emptiness struct{ Says, Why string }

func (*WordsView) template() string { return "words" }

// DeprecationView is the table of served versions, /deprecation.
type DeprecationView struct {
	Chrome   *Chrome
	Page     Page
	Versions []Version
}

// Version is one row of the table. Dates are UTC dates; an empty one means none.
type Version struct {
	Name       string
	Path       string
	Version    string
	Status     string // served, deprecated or retired
	Since      string
	Deprecated string
	Sunset     string
}

// Leaving is how many of the versions are being retired.
func (v DeprecationView) Leaving() int {
	n := 0
	for _, row := range v.Versions {
		if row.Deprecated != "" {
			n++
		}
	}
	return n
}

func (*DeprecationView) template() string { return "deprecation" }
