package generator

import (
	"crypto/sha256"
	"errors"
	"iter"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/vectors"
)

// The test vectors of store-corpus/v1, which are the same on every site: made once in a process.
var vectorFiles = sync.OnceValues(vectors.Files)

// vectorUnits streams the vectors but their index.
func vectorUnits(*source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		files, err := vectorFiles()
		if err != nil {
			yield(unit{}, err)
			return
		}
		for _, f := range files {
			key := strings.TrimSuffix(f.Path, ".json")
			if key != "index" && !yield(unit{key: key, value: f.Body, made: func(d *digester) {
				d.digest(sha256.Sum256(f.Body))
			}}, nil) {
				return
			}
		}
	}
}

// vectorIndex streams their index.
func vectorIndex(*source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		files, err := vectorFiles()
		if err == nil && len(files) == 0 {
			err = errors.New("there are no vectors")
		}
		if err != nil {
			yield(unit{}, err)
			return
		}
		body := files[0].Body
		yield(unit{value: body, made: func(d *digester) { d.digest(attest.Digest(sha256.Sum256(body))) }}, nil)
	}
}
