package vectors

import (
	"bytes"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// coded is what broken.txt cannot say, by the names of vectors: what a record is made of, changes
// that follow from what stands there, and what a verifier had before.
func coded() map[string]bad {
	const at = "2026-09-15T00:00:00Z"
	log := attest.SpecimenKeyFor(attest.PurposeLog)
	changed := func(edits ...edit) bad { return bad{edits: edits} }
	salt := func([]byte) []byte { return bytes.Repeat([]byte{9}, 32) }
	word := func(at string) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "petrichor"}}
	}
	return map[string]bad{
		"file.size":         changed(swap("observation 14", "It shows a name.", strings.Repeat("x", 17_000), 1)),
		"round.form-amount": changed(member("header 1", "usdc", `"`+strings.Repeat("9", 400)+`"`)),
		"ring.key-walker": changed(with("ring", func(raw []byte) []byte {
			return fmt.Appendf(bytes.TrimSuffix(raw, []byte("\n}\n")), ",\n  \"walkers\": [\n    {\n      "+
				"\"public_key\": \"%x\",\n      \"kid\": \"%s\",\n      \"since\": \"2026-09-01\"\n    }\n  ]\n}\n",
				[]byte(log.Public()), log.KID())
		})),
		"ring.known": {keys: func() []byte {
			f := newForge(new(made), nil, nil)
			f.begin(former(attest.PurposeIdentity), former(attest.PurposeLog))
			raw, err := f.ring.Encode()
			if err != nil {
				panic(err) // fixed input
			}
			return raw
		}},
		"manifest.key-purpose": changed(with("file manifest.json", func(raw []byte) []byte {
			body, _, _ := strings.Cut(string(raw), `,"signature":"`)
			of := []byte(body + "}")
			return append(closed(of, log.Sign(of)), '\n')
		})),
		"manifest.root": changed(with("manifest", func(raw []byte) []byte {
			i := bytes.LastIndex(raw, []byte(`"root":"`)) + len(`"root":"`)
			raw[i] = "10"[raw[i]&1]
			return raw
		})),
		"part.rows": changed(with("part 1", func(raw []byte) []byte { return raw[:len(raw)-1] })),
		"part.rows-more": changed(with("part 1", func(raw []byte) []byte {
			return append(raw, raw[bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1:]...)
		})),
		"lot.twice": then(func(f *forge) { f.observe(roster(2, at, 900_000, ready, beyond)) }),
		"handover.told": then(func(f *forge) {
			h := f.ring.Handovers[0]
			f.observe(record.Observation{At: at, Kind: record.ObservationKeyEvent, Handover: &h})
		}),
		"withdrawn.basis": {draft: func(f *forge) {
			corrected(f)
			f.withdraw(at, f.feed[16].Erratum.EvidenceDigest)
		}},
		"withdrawn.basis-week": then(func(f *forge) {
			f.withdraw("2026-09-12T00:00:00Z", f.feed[3].Refresh.EvidenceDigest)
		}),
		"observation.date": {draft: func(f *forge) {
			small(f)
			f.observe(word("2999-01-01T00:00:00Z"))
			f.round(plainRound(2), []record.Row{unprobed(ready, "interrupted")})
		}},
		"observation.date-early": {draft: func(f *forge) {
			small(f)
			f.observe(word("2026-09-01T00:00:00Z"))
		}},
		"proof.date": changed(with("file proofs/1/850000.header", func(raw []byte) []byte {
			return append(append(raw[:136:136], "8015966a"...), raw[144:]...)
		})),
		"proof.digest": {after: []func(map[string][]byte){func(files map[string][]byte) {
			files["proofs/2/c.example-1.ots"] = files["proofs/anchor-1/c.example-1.ots"]
		}}},
		"words.withdrawn": then(func(f *forge) { f.said("withdrawn") }),
		"words.salt":      changed(with("salt We moved.", salt), with("salt Somebody", salt)),
		"row.vantage-copy": changed(with("row 2 "+ready, func(raw []byte) []byte {
			const name = `"evidence_digest":"`
			own, its := bytes.Index(raw, []byte(name)), bytes.LastIndex(raw, []byte(name))
			copy(raw[its:], raw[own:own+len(name)+64])
			return raw
		})),
		"row.sorted": changed(with("part 2", func(raw []byte) []byte {
			lines := bytes.SplitAfter(raw, []byte("\n"))
			lines[2], lines[3] = lines[3], lines[2]
			return bytes.Join(lines, nil)
		})),
		"evidence.index-short": changed(with("file "+pack1, func(raw []byte) []byte { return append(raw, 0) })),
		"log.tile":             tile("0"),
		"log.tile-entries":     tile("entries"),
		"checkpoint.form": changed(with("file log/checkpoints/8", func(raw []byte) []byte {
			key := attest.SpecimenKeyFor(attest.PurposeGit)
			return append(raw, noteLine("witness.example", 1, key.Public(), key.Sign(raw))...)
		})),
		"checkpoint.key":         then(func(f *forge) { f.heads[end2] = former(attest.PurposeLog) }),
		"checkpoint.key-purpose": then(func(f *forge) { f.heads[end2] = attest.SpecimenKey() }),
		"checkpoint.signature": changed(with("checkpoint-signed 8", func(raw []byte) []byte {
			i := len(raw) - 20
			raw[i] = map[bool]byte{true: 'B', false: 'A'}[raw[i] == 'A']
			return raw
		})),
		"checkpoint.tree": changed(with("checkpoint 8", func([]byte) []byte { return otherHead(end1) })),
		"log.remembered": {seen: func() []byte {
			return newForge(new(made), nil, nil).signHead(3, otherHead(3), log)
		}},
	}
}

// then is the full record with something more at its end.
func then(do func(*forge)) bad {
	return bad{draft: func(f *forge) {
		full(f)
		do(f)
	}}
}

// tile changes a byte in the tiles of a level.
func tile(level string) bad {
	return bad{after: []func(map[string][]byte){func(files map[string][]byte) {
		for name, data := range files {
			if strings.HasPrefix(name, "log/tile/"+level+"/") {
				files[name] = bytes.Clone(data)
				files[name][40] ^= 1
			}
		}
	}}}
}

// otherHead is what a checkpoint of another log under the vectors' name says.
func otherHead(size int64) []byte {
	return fmt.Appendf(nil, "%s\n%d\n%s=\n", origin, size, strings.Repeat("A", 43))
}
