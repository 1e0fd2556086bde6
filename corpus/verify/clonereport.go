package verify

// Sound reports whether nothing was found wrong, and nothing that was demanded is lacking.
func (r CloneReport) Sound() bool { return len(r.Problems) == 0 && len(r.Lacking()) == 0 }

// Refused reports whether something was found wrong.
func (r CloneReport) Refused() bool { return len(r.Problems) > 0 }

// Forked reports whether the log signed two histories: a head that was seen, and this one.
func (r CloneReport) Forked() bool { return r.Record != nil && r.Record.Forked }

// Lacking is what the record does not show though it has to, or was asked to.
func (r CloneReport) Lacking() []string {
	if r.Record == nil {
		return nil
	}
	return r.Record.Unproven
}

// Unjudged is how many verdicts were not reached again though what they rest on is kept.
func (r CloneReport) Unjudged() int64 {
	if r.Record == nil {
		return 0
	}
	return r.Record.Verdicts.Unjudged + r.Record.Control.Unjudged + r.Record.Between.Unjudged
}
