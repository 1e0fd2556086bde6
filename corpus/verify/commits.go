package verify

import (
	"errors"
	"fmt"
	"iter"

	"store.example/agentstore/corpus/attest"
)

// Commit is one of a clone by git.
type Commit struct {
	ID  string
	Raw []byte // as git cat-file gives it
}

// CommitsReport says by whom the commits of a clone are signed. What they hold is not compared with
// the files: those are checked by themselves.
type CommitsReport struct {
	Head     string `json:"head"` // the newest
	Signed   int64  `json:"signed"`
	Unsigned int64  `json:"unsigned"`
}

// commits checks that whoever signed a commit was the store's own git key, in its time. One that is
// not signed is counted: nothing was claimed.
func (r *CloneReport) commits(all iter.Seq2[Commit, error], keys attest.Ring) {
	out := &CommitsReport{}
	for c, err := range all {
		if err != nil {
			r.NotChecked = append(r.NotChecked, "the signatures of commits: "+err.Error())
			return
		}
		if out.Head == "" {
			out.Head = c.ID
		}
		switch _, err := attest.VerifyCommit(c.Raw, keys); {
		case errors.Is(err, attest.ErrUnsignedCommit):
			out.Unsigned++
		case err != nil:
			r.Problems = append(r.Problems, Problem{Path: ".git", Kind: attest.ProblemUnsigned,
				Detail: fmt.Sprintf("commit %s: %v", c.ID, err)})
		default:
			out.Signed++
		}
	}
	r.Commits = out
}
