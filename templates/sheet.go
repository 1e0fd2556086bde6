package templates

// SheetView is a page of figures out of the record: prose, then sections of facts, drawings and
// tables. All derived pages but those of hosts are sheets, so that each has its twin without a
// second template.
type SheetView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Empty says why there is nothing yet; nil for a record that holds something.
	Empty    *Emptiness
	Sections []Section
	// First stand before the prose, the first of them beside the others where there is room: none,
	// or two and more.
	First []Section
	// Search puts the form that looks for a host before the prose.
	Search bool
}

// Section is one part of a sheet. What is empty is left out.
type Section struct {
	ID, Title string
	Says      []string
	Steps     []string // what to do, one after the other
	Figure    *Figure
	Facts     []Fact
	Table     *Table
	Quotes    []Quote
	Links     []Pointer
	// Inline puts the links on one line.
	Inline bool
	// Pre is text to be copied as it stands.
	Pre string
}

// Quote is what somebody else said, and who that is.
type Quote struct{ Text, By string }

// Figure is a drawing with what it shows in words.
type Figure struct {
	SVG    Markup
	Legend string
}

// Table is a table of evidence.
type Table struct {
	Caption string
	Head    []Column
	Rows    [][]Cell
	// Dense lets the heads wrap, for many columns.
	Dense bool
	// Lines keeps each row of a dense table in one line.
	Lines bool
}

// Column is the head of a column; Number says that it holds numbers.
type Column struct {
	Name   string
	Number bool
}

// Cell is one field of a table. Href makes a link of it, Mark is a class: good, bad or unknown.
type Cell struct {
	Text, Href, Mark string
	Mono             bool
}

func (*SheetView) template() string { return "sheet" }

// FindView is the page with the one search over goods, pages and hosts.
type FindView struct {
	Chrome *Chrome
	Page   Page
	// Sections list what there is but hosts, for who has neither a server nor a script.
	Sections []Section
	// Asked is what is looked for, Found says how much there is of it, and Hits are the first.
	Asked, Found string
	Hits         []Pointer
}

func (*FindView) template() string { return "find" }
