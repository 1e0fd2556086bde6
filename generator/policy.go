package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// policyUnit is the policy by which a stranger may judge heads of the record's log, if there is a
// log.
func policyUnit(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if s.record == nil || s.record.Log.Head().Size == 0 {
			return
		}
		text, err := s.policy()
		yield(unit{value: text, made: func(d *digester) { d.text(string(text)) }}, err)
	}
}

func renderPolicy(_ *source, u unit, mediaType string, _ attest.Digest) ([]byte, error) {
	if mediaType != api.PlainText {
		return unknown(mediaType)
	}
	return u.value.([]byte), nil
}

// policy demands the log's key that is in force, and more than half of the witnesses. A key that
// was handed over may sign no new head, which a policy could not say of it.
func (s *source) policy() ([]byte, error) {
	key, ok := s.Ring.For(attest.PurposeLog)
	if !ok {
		return nil, fmt.Errorf("%w: a record, and no key of its log", ErrInput)
	}
	origin := s.record.Log.Head().Origin
	p := tlog.Policy{Logs: []tlog.PolicyLog{{Origin: origin, Public: key.Public, URL: s.base + "/corpus/log"}},
		Quorum: "none"}
	demands := "No witness is named here: the signature of the log's key is all that is demanded."
	cosigned, err := fs.ReadDir(s.Corpus, tlog.Path("cosignatures"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if n := len(cosigned); n > 0 {
		demands += fmt.Sprintf("\n# Others cosigned %d of its checkpoints: their lines stand in "+
			"log/cosignatures of a clone, "+
			"for who knows their keys.", n)
	}
	if n := len(s.Witnesses); n > 0 {
		group := tlog.PolicyGroup{Name: "witnesses", Least: n/2 + 1}
		for i, w := range s.Witnesses {
			as := fmt.Sprintf("W%d", i+1)
			p.Witnesses = append(p.Witnesses, tlog.PolicyWitness{As: as, Witness: w})
			group.Members = append(group.Members, as)
		}
		p.Groups, p.Quorum = []tlog.PolicyGroup{group}, group.Name
		demands = fmt.Sprintf("It demands the signature of the log's key and the cosignatures of %d of %d witnesses, "+
			"under one head.", group.Least, n)
	}
	comment := []string{
		"How to tell a head of the log " + origin + " that everybody sees (c2sp.org/tlog-policy).",
		demands,
		"Heads that were signed before the log's key was handed over are signed by an older key of",
		"/.well-known/store-signing-key, which this file does not name.",
		"Whom to trust is yours to say: change this file, and then: verify -policy FILE CLONE",
	}
	text := append([]byte("# "+strings.Join(comment, "\n# ")+"\n\n"), p.Text()...)
	// What is published is what others can read.
	_, err = tlog.ParsePolicy(text)
	return text, err
}
