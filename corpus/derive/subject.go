package derive

import "store.example/agentstore/corpus/record"

// SubjectOf is the host that an observation is of, "" for none.
func SubjectOf(o record.Observation) string {
	switch {
	case o.Refresh != nil:
		return o.Refresh.Host
	case o.Walk != nil:
		return o.Walk.Host
	case o.Declaration != nil:
		return o.Declaration.Host
	case o.Note != nil:
		return o.Note.Host
	}
	return ""
}
