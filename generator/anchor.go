package generator

import (
	"iter"

	"store.example/agentstore/corpus/attest"
)

// anchorLogUnit streams the anchor log, where there is a record for it to follow from.
func anchorLogUnit(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if s.record == nil {
			return
		}
		l, err := s.record.AnchorLog(s.feed)
		if err != nil {
			yield(unit{}, err)
			return
		}
		raw, err := l.Encode()
		if err != nil {
			yield(unit{}, err)
			return
		}
		yield(unit{value: raw, made: func(d *digester) { d.text(string(raw)) }}, nil)
	}
}

// renderHeld hands out the bytes that a unit holds.
func renderHeld(_ *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
