package vectors

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// Some places of the full record.
const (
	pack1  = "evidence/000000001/000001.jsonl.gz"
	index1 = "evidence/000000001/000001.index.json"
	end1   = 8             // leaves when the first round ended
	end2   = 8 + 8 + 3 + 8 // and the second
)

// wordsFile is where the full record has the words of a text.
func wordsFile(text string) string {
	return record.WordsPath(newForge(new(made), nil, nil).said(text).SHA256)
}

//go:embed broken.txt
var lines string

// does are what a line of broken.txt has done to a record.
var does = map[string]func(b *bad, of [3]string, place int){
	"swap":   func(b *bad, of [3]string, _ int) { b.edit(swap(of[0], of[1], of[2], 1)) },
	"first":  func(b *bad, of [3]string, _ int) { b.edit(swap(of[0], of[1], of[2], 99)) },
	"member": func(b *bad, of [3]string, _ int) { b.edit(member(of[0], of[1], of[2])) },
	"digit":  func(b *bad, of [3]string, place int) { b.edit(digit(of[0], place)) },
	"digest": func(b *bad, of [3]string, _ int) { b.edit(inDigest(of[0], of[1])) },
	"flip":   func(b *bad, of [3]string, place int) { b.edit(flip(of[0], place)) },
	"as":     func(b *bad, of [3]string, _ int) { b.as[of[0]] = cmp.Or(of[1], "yes") },
	"link":   func(b *bad, of [3]string, _ int) { b.links = map[string]string{of[0]: of[1]} },
	"put": func(b *bad, of [3]string, _ int) {
		b.after = append(b.after, func(files map[string][]byte) { files[of[0]] = []byte(of[1]) })
	},
	"remove": func(b *bad, of [3]string, _ int) {
		b.after = append(b.after, func(files map[string][]byte) { delete(files, of[0]) })
	},
}

func (b *bad) edit(e edit) { b.edits = append(b.edits, e) }

// broken are the bad vectors. At least one is of each rule.
func broken() ([]bad, error) {
	names := strings.NewReplacer(`\n`, "\n", "{log}", attest.SpecimenKeyFor(attest.PurposeLog).KID(), "{walker}",
		walkerKey().KID(), "{petrichor}", wordsFile("petrichor"))
	more := coded()
	var all []bad
	for line := range strings.Lines(lines) {
		line = names.Replace(strings.TrimSuffix(line, "\n"))
		if line == "" || line[0] == '#' {
			continue
		}
		if what, below := strings.CutPrefix(line, "\t"); below {
			verb, rest, _ := strings.Cut(what, " ")
			var of [3]string
			copy(of[:], strings.Split(rest, " | "))
			place, _ := strconv.Atoi(of[1]) // no number where none belongs
			do, known := does[verb]
			if !known || len(all) == 0 {
				return nil, fmt.Errorf("reading the bad vectors: nothing is done by %q", what)
			}
			do(&all[len(all)-1], of, place)
			continue
		}
		of, why, _ := strings.Cut(line, ": ")
		name, base, _ := strings.Cut(of, " of ")
		b := more[name]
		delete(more, name)
		broken, _, _ := strings.Cut(name, "-")
		b.rule, b.name, b.why, b.base, b.as = rule.Rule(broken), name, why, cmp.Or(base, "full"), map[string]string{}
		all = append(all, b)
	}
	for name := range more {
		return nil, fmt.Errorf("reading the bad vectors: none is named %s", name)
	}
	return all, nil
}

// other is another digit than c.
func other(c byte) byte {
	if c == '0' {
		return '1'
	}
	return '0'
}

// digit changes a digit, counted from the end where it is less than zero.
func digit(at string, place int) edit {
	return with(at, func(raw []byte) []byte {
		i := (place + len(raw)) % len(raw)
		raw[i] = other(raw[i])
		return raw
	})
}

// inDigest changes the first digit of a member that is a digest.
func inDigest(at, name string) edit {
	return with(at, func(raw []byte) []byte {
		i := bytes.Index(raw, []byte(`"`+name+`":"`)) + len(name) + 4
		raw[i] = other(raw[i])
		return raw
	})
}
