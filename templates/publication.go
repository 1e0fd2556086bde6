package templates

// PublicationView is the index of what is paid for by the page: /almanac, /gazette.
type PublicationView struct {
	Chrome  *Chrome
	Page    Page
	Body    Prose
	Drawing Markup // "" for none
	Price   string // of one, USDC
	Issues  []IssueLine
}

// IssueLine is one page of an index.
type IssueLine struct {
	Title, Summary, Href string
	Date                 string // UTC, YYYY-MM-DD
	By                   string // who is credited with it, "" for the keeper
	Words                int
}

// Empty says why the index is empty.
func (v PublicationView) Empty() Emptiness {
	return Emptiness{Says: "Nothing has been published yet.",
		Why: "The keeper writes when there is something to say, and not on a schedule."}
}

func (*PublicationView) template() string { return "publication" }
