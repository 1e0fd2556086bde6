package vectors

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// Some files of the full record.
const (
	pack1  = "evidence/000000001/000001.jsonl.gz"
	index1 = "evidence/000000001/000001.index.json"
	part1  = "rounds/1/part-0001.jsonl"
	end1   = 8 // leaves when the first round ended
	proof1 = "proofs/1/c.example-1.ots"
	proof2 = "proofs/2/c.example-1.ots"
)

// Sizes of the full record's log.
const end2 = 8 + 8 + 3 + 8

// words of the full record.
func wordsFile(text string) string {
	f := newForge(new(made), nil)
	return record.WordsPath(f.said(text).SHA256)
}

// logKID is the kid of a key that is not for rows, rounds and observations.
func logKID() string { return `"` + attest.SpecimenKeyFor(attest.PurposeLog).KID() + `"` }

// digit changes a digit, counted from the end where it is less than zero.
func digit(at string, place int) edit {
	return with(at, func(raw []byte) []byte {
		c := &raw[(place+len(raw))%len(raw)]
		if *c == '0' {
			*c = '1'
		} else {
			*c = '0'
		}
		return raw
	})
}

// inDigest changes the first digit of a member that is a digest.
func inDigest(at, name string) edit {
	return with(at, func(raw []byte) []byte {
		place := bytes.Index(raw, []byte(`"`+name+`":"`)) + len(name) + 4
		if raw[place] == '0' {
			raw[place] = '1'
		} else {
			raw[place] = '0'
		}
		return raw
	})
}

func then(do func(*forge)) func(*forge) {
	return func(f *forge) {
		full(f)
		do(f)
	}
}

func set(do func(*forge)) func(*forge) {
	return func(f *forge) {
		do(f)
		full(f)
	}
}

func remove(name string) func(map[string][]byte) {
	return func(files map[string][]byte) { delete(files, name) }
}

func put(name, data string) func(map[string][]byte) {
	return func(files map[string][]byte) { files[name] = []byte(data) }
}

// broken are the bad vectors. At least one is of each rule.
func broken() []bad {
	return slices.Concat(brokenFiles(), brokenKeys(), brokenRounds(), brokenObservations(),
		brokenCounts(), brokenRows(), brokenEvidence(), brokenLog())
}

func brokenFiles() []bad {
	return []bad{
		{rule: rule.FileKind, why: "a part is a link to another",
			links: map[string]string{part1: "../2/part-0001.jsonl"}},
		{rule: rule.FileName, why: "a second header whose name differs in case", base: "small",
			after: put("rounds/1/HEADER.json", "{}")},
		{rule: rule.FileSize, why: "an observation of more than 16,384 bytes",
			edits: []edit{swap("observation 14", "It shows a name.", strings.Repeat("x", 17_000))}},
		{rule: rule.FileMissing, why: "the checkpoint at the end of a round is not there",
			after: remove(fmt.Sprintf("log/checkpoints/%d", end1))},
		{rule: rule.FileMissing, name: "part", why: "a part is not there", base: "small", after: remove(part1)},
		{rule: rule.FileMissing, name: "header", why: "the first of two headers is not there",
			after: remove("rounds/1/header.json")},
		{rule: rule.FileMissing, name: "ring", why: "the ring is not there", base: "small",
			after: remove(record.RingFile)},
		{rule: rule.FileMissing, name: "hosts", why: "a host index has no table of first hosts", base: "small",
			after: remove("rounds/1/hosts/first.txt")},
		{rule: rule.FileUnknown, why: "a file that nothing asks for", base: "small",
			after: put("proofs/1/notes.txt", "x")},
		{rule: rule.FileUnknown, name: "round", why: "a further part", base: "small",
			after: put("rounds/1/part-0002.jsonl", "\n")},
		{rule: rule.FileUnknown, name: "observation", why: "an observation behind a gap", base: "small",
			after: put("observations/000000002.json", "{}")},
	}
}

func brokenKeys() []bad {
	git := attest.SpecimenKeyFor(attest.PurposeGit).KID()
	return []bad{
		{rule: rule.RingForm, why: "a ring with another space", edits: []edit{swap("ring", `"current": `,
			`"current":  `)}},
		{rule: rule.RingForm, name: "member", why: "an unknown member",
			edits: []edit{swap("ring", "\n  \"current\": ", "\n  \"note\": \"\",\n  \"current\": ")}},
		{rule: rule.RingKey, why: "a kid that is not the thumbprint of its key",
			edits: []edit{swap("ring", git, "A"+git[1:])}},
		{rule: rule.RingKey, name: "walker", why: "the key of the log as that of a walker", base: "small",
			edits: []edit{with("ring", func(raw []byte) []byte {
				key := attest.SpecimenKeyFor(attest.PurposeLog)
				return fmt.Appendf(bytes.TrimSuffix(raw, []byte("\n}\n")), ",\n  \"walkers\": [\n    {\n      "+
					"\"public_key\": \"%x\",\n      \"kid\": \"%s\",\n      \"since\": \"2026-09-01\"\n    }\n  ]\n}\n",
					[]byte(key.Public()), key.KID())
			})}},
		{rule: rule.RingHandover, why: "a key that is retired on another day than its handover says",
			edits: []edit{with("ring", func(raw []byte) []byte {
				return bytes.Replace(raw, []byte(`"retired_on": "2026-09-08"`),
					[]byte(`"retired_on": "2026-09-09"`), 1)
			})}},
		{rule: rule.RingSignature, why: "a handover whose reason was changed",
			edits: []edit{with("ring", func(raw []byte) []byte {
				return bytes.Replace(raw, []byte("A new key."), []byte("An old key"), 1)
			})}},
		{rule: rule.RingKnown, why: "a ring whose keys are not those that the verifier holds", base: "small",
			keys: func() []byte {
				f := newForge(new(made), nil)
				f.begin(former(attest.PurposeIdentity), former(attest.PurposeLog))
				raw, err := f.ring.Encode()
				if err != nil {
					panic(err) // fixed input
				}
				return raw
			}},
		{rule: rule.ManifestForm, why: "a space in the manifest", base: "covered",
			edits: []edit{swap("file manifest.json", `{"format"`, `{ "format"`)}},
		{rule: rule.ManifestKey, why: "a kid that is not that of the key", base: "covered",
			edits: []edit{member("manifest", "kid", logKID())}},
		{rule: rule.ManifestKey, name: "purpose", why: "a manifest by the key of the log", base: "covered",
			edits: []edit{member("manifest", "kid", logKID()), member("manifest", "public_key",
				fmt.Sprintf(`"%x"`, attest.SpecimenKeyFor(attest.PurposeLog).Public())),
				with("file manifest.json", func(raw []byte) []byte {
					body, _, _ := strings.Cut(string(raw), `,"signature":"`)
					of := []byte(body + "}")
					return append(closed(of, attest.SpecimenKeyFor(attest.PurposeLog).Sign(of)), '\n')
				})}},
		{rule: rule.ManifestSignature, why: "a digit of the signature is another", base: "covered",
			edits: []edit{digit("file manifest.json", -5)}},
		{rule: rule.ManifestRoot, why: "a root that is not that of its parts", base: "covered",
			edits: []edit{with("manifest", func(raw []byte) []byte {
				i := bytes.LastIndex(raw, []byte(`"root":"`)) + len(`"root":"`)
				raw[i] = "10"[raw[i]&1]
				return raw
			})}},
		{rule: rule.ManifestPart, why: "a part of the manifest is another", base: "covered",
			edits: []edit{swap("file manifest/log/all.json", `"directory":"log"`, `"directory":"lag"`)}},
		{rule: rule.ManifestPart, name: "missing", why: "a part of the manifest is not there", base: "covered",
			after: remove("manifest/log/all.json")},
		{rule: rule.ManifestMissing, why: "a file that the manifest lists is not there", base: "covered",
			after: remove("rounds/1/hosts/first.txt")},
		{rule: rule.ManifestAdded, why: "a file that the manifest does not list", base: "covered",
			after: put("proofs/1/c.example-1.ots", "x")},
		{rule: rule.ManifestChanged, why: "a file that has another digest than the manifest says", base: "covered",
			after: put("rounds/1/hosts/first.txt", "b.example\n")},
	}
}
