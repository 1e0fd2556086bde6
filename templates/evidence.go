package templates

// EvidenceView is the piece that shows what a door answered.
type EvidenceView struct {
	// Status is the status line, Headers the fields as they came.
	Status  string
	Headers []Fact
	// SHA256 is of the body, in hex, and Bytes its length.
	SHA256 string
	Bytes  int64
	// Raw is the body, or as much of it as was kept; "" shows none. RawIs names it where it is
	// something else.
	Raw, RawIs string
}
