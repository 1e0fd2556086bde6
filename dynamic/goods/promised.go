package goods

// What is completed later by itself is delivered in two forms of one deliverable: what was
// promised, and then what came of it. Package services fills them in; the till and the counter read
// them.

// Watched is the deliverable of a term: what was promised, and once it is over what it came to.
type Watched struct {
	Target      string        `json:"target,omitzero"`
	Readings    int64         `json:"readings,omitzero"`
	EveryHours  int64         `json:"every_hours,omitzero"`
	Starts      string        `json:"starts,omitzero"`
	Ends        string        `json:"ends,omitzero"`
	DueAt       string        `json:"due_at,omitzero"` // of the closing
	CompletedAt string        `json:"completed_at,omitzero"`
	Summary     *WatchSummary `json:"summary,omitzero"`
	Answer      string        `json:"answer_digest,omitzero"` // of the summary
	HowTo       string        `json:"how_to_read,omitzero"`
}

// WatchSummary is what a watch came to.
type WatchSummary struct {
	Readings int64     `json:"readings"` // that were due
	Read     int64     `json:"read"`
	Missed   int64     `json:"missed"`
	Verdicts []Verdict `json:"verdicts"` // of those that were read, in the order in which they were first seen
	Changes  int64     `json:"changes"`  // how often the verdict was another than that of the reading before
	// ReportsSHA256 is the digest of a line for each report, in their order: sha256:, the digest of
	// its signed payload, and a line feed.
	ReportsSHA256 string `json:"reports_sha256"`
}

// Verdict counts the readings that came to it.
type Verdict struct {
	Verdict  string `json:"verdict"`
	Readings int64  `json:"readings"`
}

// ReadWatched reads the deliverable of a term, nil for what is none.
func ReadWatched(g *Made) (*Watched, error) {
	d, err := Delivered[Watched](g)
	if err != nil || d.Readings == 0 {
		return nil, err
	}
	return &d, nil
}

// Launched is the deliverable of a purchase at a door: what was promised, then what came of it.
type Launched struct {
	Target      string `json:"target,omitzero"`
	Door        string `json:"door,omitzero"`
	Method      string `json:"method,omitzero"`
	CapUSDC     string `json:"cap_usdc,omitzero"`
	DueAt       string `json:"due_at,omitzero"`
	CompletedAt string `json:"completed_at,omitzero"`
	LaunchOutcome
	Answer string `json:"answer_digest,omitzero"` // of the outcome
	HowTo  string `json:"how_to_read,omitzero"`
}

// LaunchOutcome is what came of a purchase at a door: a report, or why nothing was bought.
type LaunchOutcome struct {
	AuditID     string `json:"audit_id,omitzero"`
	ReportURL   string `json:"report_url,omitzero"`
	ReportSHA   string `json:"report_sha256,omitzero"`   // sha256: of its signed payload
	Evidence    string `json:"evidence_sha256,omitzero"` // as the report has it
	Verdict     string `json:"verdict,omitzero"`
	Network     string `json:"network,omitzero"` // where the money moved, "" where it did not
	Transaction string `json:"transaction,omitzero"`
	USDC        string `json:"usdc,omitzero"`
	NotWalked   string `json:"not_walked,omitzero"`
	// AtDoor says that nothing was bought by the door's own doing, which is what was ordered to be
	// found out.
	AtDoor bool `json:"at_door,omitzero"`
}

// Owed reports whether what was paid is owed back: nothing was bought, and not by the door's doing.
// A seller whose door turns a buyer away after it was read must not have its money back, and what
// its certificate is good for.
func (o LaunchOutcome) Owed() bool { return o.NotWalked != "" && !o.AtDoor }

// ReadLaunched reads the deliverable of a purchase at a door, nil for what is none.
func ReadLaunched(g *Made) (*Launched, error) {
	d, err := Delivered[Launched](g)
	if err != nil || d.CapUSDC == "" {
		return nil, err
	}
	return &d, nil
}
