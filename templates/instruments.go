package templates

// TryView is the page where a person pastes a URL, empty or with what came of it.
type TryView struct {
	Chrome *Chrome
	Page   Page
	// Body is the keeper's prose below the empty form.
	Body Prose
	// Asked is the URL in the form, Battery the version.
	Asked, Battery string
	// Examples are addresses to begin with, each with what is seen there.
	Examples []Pointer
	// Refusal says why nothing was read; Reading is what was. At most one is set.
	Refusal *Refusal
	Reading *Reading
}

// Refusal is why nothing was read.
type Refusal struct {
	Code, Title, Says string
	Status            int
}

// Reading is one look at a door.
type Reading struct {
	URL, Host string
	// Verdict is the word, Mark its class: good, bad or unknown.
	Verdict, Mark string
	Battery       string
	// Passed of Asked checks passed.
	Passed, Asked       int
	Level, LevelMeaning string
	Fault, ObservedAt   string
	// AlsoUnder is the other battery's verdict in words, Difference why it is another.
	AlsoUnder, Difference string
	Method, Protocols     string
	Checks                []CheckLine
	Advisories, Remedies  []Fact
	Stakes                []Fact // what vouchers and holds put at risk
	Evidence              EvidenceView
	Note                  string
	Cannot, Next          []string
	// Digest is of the published evidence.
	Digest string
	// Private says that the reading was made inside a private corpus.
	Private bool
}

// CheckLine is one check of a battery with what became of it.
type CheckLine struct {
	Name, State, Mark, Detail string
}

func (*TryView) template() string { return "try" }

// CriteriaView is the page /criteria.
type CriteriaView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Facts are the short statements at the head.
	Facts      []Fact
	Verdicts   []Fact
	Classes    []Fact
	Ladder     []Fact
	Checks     []CriterionLine
	Advisories []CriterionLine
	Artifacts  []ArtifactLine
	// Order says how the rules of Tiers are tested, in their order; Counting how labels and
	// coverage are counted, Gaps what each reason of a gap means.
	Order    string
	Tiers    []Fact
	Counting []Fact
	Gaps     []Fact
	// Rule says how a result class is reached, Limit where all of it ends.
	Rule, Limit string
}

// CriterionLine is one check or advisory.
type CriterionLine struct {
	Name, Battery, Title, Reason, Citation, Fix, Since string
}

// ArtifactLine is what one kind of signed artifact is worth.
type ArtifactLine struct {
	Name, TrustModel, Signs, DoesNotProve, VerifyURL string
}

func (*CriteriaView) template() string { return "criteria" }

// DefectsView is the vocabulary of defects, /defects.
type DefectsView struct {
	Chrome  *Chrome
	Page    Page
	Body    Prose
	Version string
	Defects []DefectLine
}

// DefectLine is one row of the index.
type DefectLine struct {
	ID, Title, Detectable string
}

func (*DefectsView) template() string { return "defects" }

// DefectView is the page of one defect, /defects/{id}.
type DefectView struct {
	Chrome *Chrome
	Page   Page
	ID     string
	// Seen says who can see it: an unpaid probe, or a purchase only.
	Seen    string
	Asserts string
	Facts   []Fact
}

func (*DefectView) template() string { return "defect" }

// ConformanceView is the page /conformance.
type ConformanceView struct {
	Chrome   *Chrome
	Page     Page
	Body     Prose
	Fixtures []FixtureLine
	// SetDigest is of the fixture set.
	SetDigest string
	Practice  []PracticeLine
}

// FixtureLine is one fixture with what it must come to.
type FixtureLine struct {
	ID, Verdict, Live, Note string
}

// PracticeLine is one practice door.
type PracticeLine struct {
	ID, Teaches, RightBuyer string
}

func (*ConformanceView) template() string { return "conformance" }
