package probe

// Doc says what a row is about, why it matters, and where the rule is written.
type Doc struct {
	Title    string `json:"title"`
	Reason   string `json:"reason"`
	Citation string `json:"citation"`
}

// Finding is a check's answer about one door.
type Finding struct {
	State  State
	Detail string
	// NotJudged says, of NotReached, that there is something to judge and this battery cannot.
	NotJudged bool
}

// A Check is one question of a battery. Its name is permanent: signed history mentions it.
type Check struct {
	Name    string
	Doc     Doc
	Fix     string // what the seller does when it fails
	After   string // the check that must have passed before this one can be asked, "" for none
	Since   string // date
	Retired string // date, "" while in force
	Run     func(*View) Finding
}

// An Advisory is an observation that changes no verdict. Run returns "" when there is nothing to
// say.
type Advisory struct {
	Name    string
	Doc     Doc
	Fix     string
	Since   string
	Retired string
	// Scheme is of which entries alone it speaks, "" where that is not one scheme. The form of a
	// row has room for 44 names, so that those of schemes stand in reports only.
	Scheme string
	Run    func(*View) string
}

// A Battery is a versioned, ordered list of checks.
type Battery struct {
	Version string
	Since   string // date
	Post    bool   // it may use a declared POST; otherwise it judges the GET alone
	Replays bool   // it judges what the stock client would sign, and no answer that is a wall's
	Checks  []Check
	About   string // how it looks at a door, for those who ask for it
}
