package verify

import (
	"fmt"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// WordsReport counts the public texts of a record's observations.
type WordsReport struct {
	Kept      int64 `json:"kept"`      // each is of its digest
	Withdrawn int64 `json:"withdrawn"` // by an observation that says why
	NotHere   int64 `json:"not_here"`  // this copy of the record has no folder of words
}

// words checks the file of every public text: there, or withdrawn and gone; under a salt of its
// own.
func (c *checker) words() {
	here := c.holds("words")
	salts := map[string]string{}
	for _, o := range c.feed {
		for _, s := range o.Texts() {
			name := record.WordsPath(s.SHA256)
			by, gone := c.withdrawn[s.SHA256]
			switch _, there := c.files[name]; {
			case there && gone:
				c.files[name] = true
				c.problem(rule.WordsWithdrawn, name, attest.ProblemAdded,
					fmt.Sprintf("observation %d withdrew it", by))
				continue
			case gone:
				c.out.Words.Withdrawn++
				continue
			case !there && !here:
				c.out.Words.NotHere++
				continue
			case !there:
				c.problem(rule.WordsMissing, name, attest.ProblemMissing,
					fmt.Sprintf("observation %d has such a text, and none withdrew it", o.Number))
				continue
			}
			c.files[name] = true
			read, err := record.ReadWords(c.fsys, s.SHA256)
			if err == nil && o.Note != nil && utf8.RuneCountInString(read.Text) > record.MaxStatement {
				err = rule.WordsForm.Errorf("a statement of more than %d characters", record.MaxStatement)
			}
			if err != nil {
				c.problem(rule.Or(err, rule.WordsForm), name, attest.ProblemChanged, err.Error())
				continue
			}
			// Under a salt that is known from elsewhere, texts could be tried against the digest.
			if other, twice := salts[read.Salt.String()]; twice && other != name {
				c.problem(rule.WordsSalt, name, attest.ProblemChanged, "it has the salt of "+other)
			}
			salts[read.Salt.String()] = name
			c.out.Words.Kept++
		}
	}
}
