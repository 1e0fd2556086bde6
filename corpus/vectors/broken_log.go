package vectors

import (
	"bytes"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

func brokenLog() []bad {
	first := fmt.Sprintf(" %d", end1)
	tile := func(level string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			for name, data := range files {
				if strings.HasPrefix(name, "log/tile/"+level+"/") {
					data = bytes.Clone(data)
					data[40] ^= 1
					files[name] = data
				}
			}
		}
	}
	return []bad{
		{rule: rule.LogTile, why: "a hash of the log is another", after: tile("0")},
		{rule: rule.LogTile, name: "entries", why: "a byte of an entry is another", after: tile("entries")},
		{rule: rule.LogHandover, why: "a key that was handed over at another root than the log has there",
			draft: set(func(f *forge) { f.forked = true })},
		{rule: rule.CheckpointForm, why: "a checkpoint with a further line",
			edits: []edit{with("file log/checkpoints/"+first[1:], func(raw []byte) []byte {
				key := attest.SpecimenKeyFor(attest.PurposeGit)
				return append(raw, noteLine("witness.example", 1, key.Public(), key.Sign(raw))...)
			})}},
		{rule: rule.CheckpointForm, name: "size", why: "a size with a leading zero",
			edits: []edit{swap("checkpoint"+first, "\n8\n", "\n08\n")}},
		{rule: rule.CheckpointKey, why: "a checkpoint by a key that was handed over before",
			draft: then(func(f *forge) { f.heads[end2] = former(attest.PurposeLog) })},
		{rule: rule.CheckpointKey, name: "purpose", why: "a checkpoint by the identity key",
			draft: then(func(f *forge) { f.heads[end2] = attest.SpecimenKey() })},
		{rule: rule.CheckpointSignature, why: "a letter of the signature is another",
			edits: []edit{with("checkpoint-signed"+first, func(raw []byte) []byte {
				c := &raw[len(raw)-20]
				if *c == 'A' {
					*c = 'B'
				} else {
					*c = 'A'
				}
				return raw
			})}},
		{rule: rule.CheckpointTree, why: "a checkpoint with another root", edits: []edit{with("checkpoint"+first,
			func([]byte) []byte { return fmt.Appendf(nil, "%s\n%d\n%s=\n", origin, end1, strings.Repeat("A", 43)) })}},
		{rule: rule.CosignatureForm, why: "a line that is no signature",
			after: put("log/cosignatures/"+first[1:], "witness.example\n")},
		{rule: rule.LogRemembered, why: "another log than the one that was seen, signed by the same key",
			base: "small",
			seen: func() []byte { return otherHead(3) }},
	}
}

// otherHead is a checkpoint of another log under the small one's name and key.
func otherHead(size int64) []byte {
	text := fmt.Appendf(nil, "%s\n%d\n%s=\n", origin, size, strings.Repeat("A", 43))
	return newForge(new(made), nil).signHead(size, text, attest.SpecimenKeyFor(attest.PurposeLog))
}
