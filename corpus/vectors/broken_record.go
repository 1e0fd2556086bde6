package vectors

import (
	"bytes"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

func brokenRounds() []bad {
	return []bad{
		{rule: rule.RoundForm, why: "a number where true or false belongs", base: "small",
			edits: []edit{member("header 1", "capped", "1")}},
		{rule: rule.RoundForm, name: "space", why: "a space in the header", base: "small",
			edits: []edit{swap("header 1", `{"format"`, `{ "format"`)}},
		{rule: rule.RoundForm, name: "twice", why: "a member twice", base: "small",
			edits: []edit{swap("header 1", `"battery":"v2"`, `"battery":"v2","battery":"v2"`)}},
		{rule: rule.RoundForm, name: "seed", why: "a lot with two seeds", edits: []edit{swap("header 1", `"own":"`,
			`"header":"`+strings.Repeat("00", 80)+`","own":"`)}},
		{rule: rule.RoundBattery, why: "the digest of another battery", base: "small",
			edits: []edit{inDigest("header 1", "battery_digest")}},
		{rule: rule.RoundBattery, name: "unknown", why: "a battery that nobody knows", base: "small",
			edits: []edit{member("header 1", "battery", `"v9"`)}},
		{rule: rule.RoundParts, why: "another number of rows than its parts hold", base: "small",
			edits: []edit{member("header 1", "rows",
				"7")}},
		{rule: rule.RoundControl, why: "more control walks than are named",
			edits: []edit{member("header 1", "walks", "2")}},
		{rule: rule.RoundInflows, why: "a network that was not read, and no reason", base: "small",
			edits: []edit{member("header 1", "reason", "")}},
		{rule: rule.RoundInflows, name: "left-out", why: "addresses left out of a network that was not read",
			base: "small", edits: []edit{swap("header 1", `"addresses":0,`, `"addresses":0,"addresses_left_out":1,`)}},
		{rule: rule.RoundDigest, why: "the digest is not that of the header", base: "small",
			edits: []edit{inDigest("header-signed 1", "digest")}},
		{rule: rule.RoundWeek, why: "a round that was taken fourteen weeks after its week", base: "small",
			edits: []edit{member("header 1", "taken_at", `"2026-12-13T00:00:00Z"`)}},
		{rule: rule.RoundWeek, name: "early", why: "a round that was taken before its week", base: "small",
			edits: []edit{member("header 1", "taken_at", `"2026-08-30T23:59:59Z"`)}},
		{rule: rule.RoundKey, why: "a header by the key of the log", base: "small",
			edits: []edit{member("header 1", "kid", logKID())}},
		{rule: rule.RoundKey, name: "retired", why: "a header by an identity key that was retired before",
			draft: set(func(f *forge) { f.keepIdentity = true })},
		{rule: rule.RoundSignature, why: "a digit of the signature is another", base: "small",
			edits: []edit{digit("header-signed 1", -5)}},
		{rule: rule.RoundSequence, why: "a header with the number of another", edits: []edit{member("header 2",
			"sequence",
			"3")}},
		{rule: rule.RoundPrevious, why: "another round before", edits: []edit{inDigest("header 2",
			"previous_digest")}},
		{rule: rule.RoundOrigin, why: "another log than the round before",
			edits: []edit{member("header 2", "origin", `"other.example/corpus"`)}},
		{rule: rule.RoundLater, why: "the week of the round before",
			draft: set(func(f *forge) { f.keepIdentity = true }), edits: []edit{member("header 2", "week", `"2026-W36"`),
				member("header 2", "taken_at", `"2026-09-07T12:00:00Z"`)}},
		{rule: rule.RoundLot, why: "no lot, though the round before has one", edits: []edit{member("header 2",
			"lot", "")}},
		{rule: rule.RoundProbed, why: "another count of the round before",
			edits: []edit{member("header 2", "previous_probed", "1")}},
		{rule: rule.RoundProbed, name: "first", why: "a count of a round before, in the first", base: "small",
			edits: []edit{member("header 1", "previous_probed", "1")}},
		{rule: rule.RoundForm, name: "network", why: "inflows of what is no network", base: "flooded",
			edits: []edit{member("header 1", "network", `"<script>"`)}},
		{rule: rule.RoundForm, name: "amount", why: "an amount of 400 digits", base: "flooded",
			edits: []edit{member("header 1", "usdc", `"`+strings.Repeat("9", 400)+`"`)}},
		{rule: rule.RoundPlace, why: "rows that begin far behind where what stands before them ends",
			edits: []edit{member("header 2", "first_leaf", "100")}},
		{rule: rule.RoundCoverage, why: "more hosts due than there are rows", base: "small",
			edits: []edit{member("header 1", "due", "7")}},
		{rule: rule.RoundCoverage, name: "suspect", why: "a capped round that is not called suspect",
			edits: []edit{member("header 2", "suspect", "false")}},
		{rule: rule.RoundCoverage, name: "walked", why: "more hosts walked than were probed", base: "small",
			edits: []edit{member("header 1", "walked", "3")}},
		{rule: rule.PartDigest, why: "a part is not of its digest", base: "small",
			edits: []edit{inDigest("header 1", "sha256")}},
		{rule: rule.PartRows, why: "a part without a newline at its end", base: "small",
			edits: []edit{with("part 1", func(raw []byte) []byte { return raw[:len(raw)-1] })}},
		{rule: rule.PartRows, name: "more", why: "a row more than the round says", base: "small",
			edits: []edit{with("part 1", func(raw []byte) []byte {
				return append(raw, raw[bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1:]...)
			})}},
		{rule: rule.LotClosed, why: "no observation closes the roster of the week",
			edits: []edit{member("observation 1", "week", `"2026-W35"`)}},
		{rule: rule.LotRoster, why: "a roster that was closed with another number of hosts",
			edits: []edit{member("observation 1", "hosts", "6")}},
		{rule: rule.LotTurn, why: "a host beyond the cap had its turn before one that has its place",
			edits: []edit{member("row 2 "+missed, "reason", `"beyond_cap"`),
				member("row 2 "+beyond, "reason", `"interrupted"`)}},
		{rule: rule.LotHeight, why: "a lot by another block than the one that was fixed",
			edits: []edit{member("header 2", "height", "900001")}},
		{rule: rule.LotOwn, why: "a value of the keeper's own that is not the one that was fixed",
			edits: []edit{member("header 1", "own", `"`+attest.Hex(otherSeed()).String()+`"`)}},
		{rule: rule.LotDate, why: "a block that was there when the roster was closed",
			edits: []edit{member("observation 12", "at", `"2026-09-08T05:00:00Z"`)}},
		{rule: rule.LotWork, why: "a block that does not meet the difficulty that it states",
			draft: set(func(f *forge) { f.noWork = true })},
		{rule: rule.LotWalk, why: "a roster that was closed an hour after a host of it was walked",
			edits: []edit{member("observation 1", "at", `"2026-09-05T01:00:00Z"`)}},
		{rule: rule.LotWalk, name: "block", why: "a block that was made three hours after a host was walked",
			draft: set(func(f *forge) { f.drawn = "2026-09-12T03:00:00Z" })},
		{rule: rule.LotTwice, why: "a roster that is closed twice", draft: then(func(f *forge) {
			f.observe(roster(2, "2026-09-15T00:00:00Z", 900_000, ready, beyond))
		})},
		{rule: rule.IndexFold, why: "a host that has a row more than there are",
			edits: []edit{member("entry 2 "+ready, "rows", "3")}},
		{rule: rule.IndexFold, name: "head", why: "a digest over other rows", edits: []edit{inDigest("entry 2 "+missed,
			"head")}},
		{rule: rule.IndexFold, name: "first", why: "a table of first hosts with another host",
			edits: []edit{swap("file rounds/2/hosts/first.txt", ready, missed)}},
	}
}

// otherSeed is a value by which the host beyond the cap has the last turn too.
func otherSeed() []byte {
	hosts := []string{ready, unready, missed, optedOut, beyond}
	return seedFor(seedFor(0, hosts...)[0]+1, hosts...)
}

func brokenObservations() []bad {
	at := "2026-09-15T00:00:00Z"
	return []bad{
		{rule: rule.ObservationForm, why: "an unknown member", base: "observed",
			edits: []edit{swap("observation 1", `"epitaph":`, `"note":"","epitaph":`)}},
		{rule: rule.ObservationForm, name: "text", why: "a text in the observation", base: "observed",
			edits: []edit{swap("observation 1", `"},"epitaph"`, `","text":"petrichor"},"epitaph"`)}},
		{rule: rule.ObservationForm, name: "kind", why: "the members of another kind", base: "observed",
			edits: []edit{member("observation 1", "kind", `"withdrawn"`)}},
		{rule: rule.ObservationForm, name: "total", why: "counts that do not add up", base: "observed",
			edits: []edit{member("observation 8", "total", "9")}},
		{rule: rule.ObservationForm, name: "null", why: "null where nothing belongs", base: "observed",
			edits: []edit{member("observation 1", "epitaph", "null")}},
		{rule: rule.ObservationForm, name: "lane", why: "a note by a wallet that names none", base: "observed",
			edits: []edit{member("observation 6", "pay_to", "")}},
		{rule: rule.ObservationKey, why: "an observation by the key of the log", base: "observed",
			edits: []edit{member("observation 8", "kid", logKID())}},
		{rule: rule.ObservationKey, name: "early", why: "an observation dated before its key was in force",
			edits: []edit{member("observation 16", "at", `"2026-09-07T00:00:00Z"`)}},
		{rule: rule.ObservationSignature, why: "a digit of the signature is another", base: "observed",
			edits: []edit{digit("observation-signed 8", -5)}},
		{rule: rule.ObservationNumber, why: "the number of another", base: "observed",
			edits: []edit{member("observation 8", "number",
				"9")}},
		{rule: rule.HandoverTold, why: "a handover that is told twice", draft: then(func(f *forge) {
			h := f.ring.Handovers[0]
			f.observe(record.Observation{At: at, Kind: record.ObservationKeyEvent, Handover: &h})
		})},
		{rule: rule.IssuedFalls, why: "fewer artifacts than before", edits: []edit{member("observation 16",
			"total", "2"),
			swap("observation 16", `"class":"certificate","total":3`, `"class":"certificate","total":1`)}},
		{rule: rule.ErratumRow, why: "an erratum of a leaf that is no row",
			edits: []edit{member("observation 15", "leaf",
				"0")}},
		{rule: rule.ErratumRow, name: "later", why: "an erratum that is dated before the round of its row",
			edits: []edit{member("observation 15", "at", `"2026-09-12T12:00:00Z"`)}},
		{rule: rule.ErratumBasis, base: "corrected", why: "an erratum that rests on a look of another week " +
			"than its row",
			edits: []edit{member("observation 17", "leaf", fmt.Sprint(secondUnready))}},
		{rule: rule.ErratumBasis, name: "battery", base: "corrected", why: "an erratum that rests on a look by an " +
			"older battery than its row",
			draft: func(f *forge) {
				f.oldBasis = true
				corrected(f)
			}},
		{rule: rule.ErratumBasis, name: "walk", base: "corrected", why: "an erratum that rests on a purchase " +
			"of another week than its row",
			edits: []edit{member("observation 19", "leaf", fmt.Sprint(firstUnready))}},
		{rule: rule.ErratumBasis, name: "refused", base: "corrected", why: "an erratum that rests on a " +
			"purchase, and says unreachable",
			edits: []edit{member("observation 19", "verdict_now", `"unreachable"`)}},
		{rule: rule.WithdrawnBasis, base: "corrected", why: "what an erratum rests on, which counts, is withdrawn",
			draft: func(f *forge) {
				corrected(f)
				f.withdraw(at, f.feed[16].Erratum.EvidenceDigest)
			}},
		{rule: rule.WithdrawnBasis, name: "week", why: "what a refresh rests on is withdrawn in its own week",
			draft: then(func(f *forge) { f.withdraw("2026-09-12T00:00:00Z", f.feed[3].Refresh.EvidenceDigest) })},
		{rule: rule.ObservationDate, why: "an observation of the year 2999 before another round", base: "small",
			draft: func(f *forge) {
				small(f)
				f.observe(record.Observation{At: "2999-01-01T00:00:00Z", Kind: record.ObservationRetiredWord,
					Word: &record.Said{Text: "petrichor"}})
				f.round(plainRound(2), []record.Row{unprobed(ready, "interrupted")})
			}},
		{rule: rule.ObservationDate, name: "early", why: "an observation dated days before the round that it follows",
			base: "small", draft: func(f *forge) {
				small(f)
				f.observe(record.Observation{At: "2026-09-01T00:00:00Z", Kind: record.ObservationRetiredWord,
					Word: &record.Said{Text: "petrichor"}})
			}},
		{rule: rule.ProofDate, why: "a block that was made before the round that its proof is of",
			edits: []edit{with("file proofs/1/850000.header", func(raw []byte) []byte {
				return append(append(raw[:136:136], "8015966a"...), raw[144:]...)
			})}},
		{rule: rule.ProofHeader, why: "a block header without a newline",
			edits: []edit{swap("file proofs/1/850000.header", "\n", "")}},
		{rule: rule.ProofForm, why: "a file that is no proof", edits: []edit{flip("file "+proof2, 1)}},
		{rule: rule.ProofDigest, why: "a proof of the digest of another", after: func(files map[string][]byte) {
			files[proof2] = files["proofs/anchor-1/c.example-1.ots"]
		}},
		{rule: rule.ProofBlock, why: "a block header at hand that does not commit to it",
			edits: []edit{digit("file proofs/1/850000.header", 80)}},
		{rule: rule.WordsMissing, why: "words that nobody withdrew", after: remove(wordsFile("petrichor"))},
		{rule: rule.WordsWithdrawn, why: "words that were withdrawn",
			draft: then(func(f *forge) { f.said("withdrawn") })},
		{rule: rule.WordsForm, why: "a file of words in another format",
			edits: []edit{swap("file "+wordsFile("petrichor"), "store-words/v1", "store-words/v2")}},
		{rule: rule.WordsDigest, why: "words that are not of their digest",
			edits: []edit{swap("file "+wordsFile("petrichor"), "petrichor", "petrichoR")}},
		{rule: rule.WordsSalt, why: "two words under one salt", edits: []edit{with("salt We moved.",
			func([]byte) []byte { return bytes.Repeat([]byte{9}, 32) }), with("salt Somebody",
			func([]byte) []byte { return bytes.Repeat([]byte{9}, 32) })}},
	}
}

func brokenRows() []bad {
	a, plain := "row 2 "+ready, "row 1 "+ready // of the full record, and of the small one
	return []bad{
		{rule: rule.RowForm, why: "a number where true or false belongs", base: "small",
			edits: []edit{member(plain, "listed", "1")}},
		{rule: rule.RowForm, name: "space", why: "a space in the row", base: "small", edits: []edit{swap(plain,
			`{"format"`, `{ "format"`)}},
		{rule: rule.RowForm, name: "member", why: "an unknown member", base: "small",
			edits: []edit{swap(plain, `"catalog":`, `"note":"","catalog":`)}},
		{rule: rule.RowForm, name: "twice", why: "a member twice", base: "small",
			edits: []edit{swap(plain, `"catalog":""`, `"catalog":"","catalog":""`)}},
		{rule: rule.RowForm, name: "order", why: "members in another order", base: "small",
			edits: []edit{swap(plain, `"source":"list","catalog":""`, `"catalog":"","source":"list"`)}},
		{rule: rule.RowForm, name: "empty", why: "a member that is left out where it is empty", base: "small",
			edits: []edit{swap(plain, `"catalog":"",`, `"catalog":"","late":false,`)}},
		{rule: rule.RowForm, name: "host", why: "a host with a capital letter", base: "small",
			edits: []edit{member(plain, "host",
				`"A.example"`)}},
		{rule: rule.RowForm, name: "level", why: "a level that there is not", edits: []edit{member(a, "reached_level",
			`"L9"`)}},
		{rule: rule.RowForm, name: "number", why: "a number beyond 2^53", edits: []edit{member(a, "previous_leaf",
			"9007199254740993")}},
		{rule: rule.RowForm, name: "network", why: "an offer on what is no network",
			edits: []edit{swap(a, `"networks":["eip155:8453"`, `"networks":["<script>"`)}},
		{rule: rule.RowForm, name: "long", why: "a reason of 65 bytes", base: "small",
			edits: []edit{member(plain, "reason",
				`"`+strings.Repeat("x", 65)+`"`)}},
		{rule: rule.RowForm, name: "time", why: "a time that is not in whole seconds", edits: []edit{member(a,
			"observed_at",
			`"2026-09-12T00:00:00.5Z"`)}},
		{rule: rule.RowWalk, why: "not probed, and no reason", base: "small", edits: []edit{member(plain,
			"reason", "")}},
		{rule: rule.RowWalk, name: "failed", why: "ready, and a check failed", edits: []edit{member(a, "failed",
			`["status-402"]`)}},
		{rule: rule.RowWalk, name: "unseen", why: "ready, and not observed at any time", edits: []edit{member(a,
			"observed_at", "")}},
		{rule: rule.RowWalk, name: "evidence", why: "not probed for another reason than an opt-out, by evidence",
			edits: []edit{member("row 2 "+optedOut, "reason", `"interrupted"`)}},
		{rule: rule.RowWalk, name: "level", why: "ready at a level where nothing usable answered",
			edits: []edit{member(a, "reached_level", `"L0"`)}},
		{rule: rule.RowURL, why: "a row whose url is that of another door", base: "small",
			edits: []edit{member(plain, "url", `"https://a.example.evil.example/"`)}},
		{rule: rule.RowURL, name: "script", why: "a row whose url is a program", base: "small",
			edits: []edit{member(plain, "url", `"javascript:alert(1)"`)}},
		{rule: rule.RowForm, name: "battery", why: "a row by a battery that there is not", base: "small",
			edits: []edit{member(plain, "battery", `"v9"`)}},
		{rule: rule.RowKey, why: "a row by another key than its round", base: "small",
			edits: []edit{member(plain, "kid", logKID())}},
		{rule: rule.RowSignature, why: "a digit of the signature is another", base: "small",
			edits: []edit{digit("row-signed 1 "+ready,
				-5)}},
		{rule: rule.RowRound, why: "a row of the week before", base: "small", edits: []edit{member(plain,
			"week", `"2026-W35"`)}},
		{rule: rule.RowRound, name: "origin", why: "a row of another log", base: "small",
			edits: []edit{member(plain, "origin",
				`"other.example/corpus"`)}},
		{rule: rule.RowKey, name: "walker", why: "a row by the key of a walker", base: "elsewhere",
			edits: []edit{member(a, "kid", `"`+walkerKey().KID()+`"`)}},
		{rule: rule.RowDate, why: "a walk after the round was taken",
			edits: []edit{member(a, "observed_at", `"2026-09-13T01:00:00Z"`)}},
		{rule: rule.RowDate, name: "week", why: "a walk of the week before",
			edits: []edit{member(a, "observed_at", `"2026-09-06T00:00:00Z"`)}},
		{rule: rule.RowVantage, why: "a vantage by the store's own identity", base: "elsewhere",
			edits: []edit{member(a, "id", `"`+attest.SpecimenKey().KID()+`"`)}},
		{rule: rule.RowVantage, name: "early", why: "a walker's key that is in force only after the round",
			base: "elsewhere", edits: []edit{with("ring", func(raw []byte) []byte {
				return bytes.Replace(raw, []byte(`"2026-09-01"`), []byte(`"2026-09-14"`), 1)
			})}},
		{rule: rule.RowVantage, name: "late", why: "a walker's key that was retired before the round",
			base: "elsewhere", edits: []edit{with("ring", func(raw []byte) []byte {
				return bytes.Replace(raw, []byte(`"2026-09-01"`), []byte("\"2026-09-01\",\n      "+
					"\"retired_on\": \"2026-09-12\""), 1)
			})}},
		{rule: rule.RowVantage, name: "copy", why: "a vantage that rests on the row's own judgement",
			base: "elsewhere", edits: []edit{with(a, func(raw []byte) []byte {
				own := bytes.Index(raw, []byte(`"evidence_digest":"`))
				its := bytes.LastIndex(raw, []byte(`"evidence_digest":"`))
				copy(raw[its:], raw[own:own+len(`"evidence_digest":"`)+64])
				return raw
			})}},
		{rule: rule.RowSorted, why: "two rows in another order", edits: []edit{with("part 2", func(raw []byte) []byte {
			lines := bytes.SplitAfter(raw, []byte("\n"))
			lines[2], lines[3] = lines[3], lines[2]
			return bytes.Join(lines, nil)
		})}},
		{rule: rule.RowPrevious, why: "another row before than the host's", edits: []edit{member(a,
			"previous_leaf", "2")}},
		{rule: rule.RowPrevious, name: "none", why: "no row before, though the host has one",
			edits: []edit{member(a, "previous_leaf", "")}},
	}
}

func brokenEvidence() []bad {
	member1 := "member " + pack1 + " " + ready
	return []bad{
		{rule: rule.EvidencePair, why: "a pack without its index", after: remove(index1)},
		{rule: rule.EvidenceIndex, why: "an index with a gap", edits: []edit{member("file "+index1, "offset", "1")}},
		{rule: rule.EvidenceIndex, name: "short", why: "a pack that is longer than its index says",
			edits: []edit{with("file "+pack1, func(raw []byte) []byte { return append(raw, 0) })}},
		{rule: rule.EvidenceWithdrawn, why: "a judgement that was withdrawn", draft: set(func(f *forge) {
			f.keepAll = true
		})},
		{rule: rule.EvidenceMissing, why: "a judgement that nobody withdrew is not there",
			draft: set(func(f *forge) { f.unkept = optedOut })},
		{rule: rule.EvidenceMissing, name: "invented", base: "corrected", why: "an erratum that rests on a " +
			"digest of nothing",
			edits: []edit{inDigest("observation 17", "evidence_digest")}},
		{rule: rule.EvidenceMissing, name: "own", base: "corrected", why: "an erratum that rests on what gave " +
			"the row's own verdict",
			draft: func(f *forge) {
				f.ownBasis = true
				corrected(f)
			}},
		{rule: rule.EvidenceNamed, why: "an index that names another digest than the row",
			edits: []edit{inDigest("file "+index1, "sha256")}},
		{rule: rule.EvidenceGzip, why: "a member with another head", edits: []edit{flip(member1, 9)}},
		{rule: rule.EvidenceGzip, name: "sum", why: "a member that is not of its sum",
			edits: []edit{flip(member1, -6)}},
		{rule: rule.EvidenceDigest, why: "a judgement that is not of its digest",
			edits: []edit{with("judgement "+pack1+" "+ready, func(raw []byte) []byte {
				return bytes.Replace(raw, []byte("https://a"), []byte("https://b"), 1)
			})}},
		{rule: rule.JudgementForm, why: "a judgement without a salt", edits: []edit{member("walk 2 "+ready, "salt",
			`"`+strings.Repeat("0", 64)+`"`)}},
		{rule: rule.JudgementDoor, why: "a judgement of another door than the row's",
			edits: []edit{member("row 2 "+ready, "url", `"https://a.example/other"`)}},
		{rule: rule.JudgementDoor, name: "erratum", base: "corrected", why: "an erratum that rests on a look " +
			"at another host",
			edits: []edit{member("observation 17", "leaf", "1")}},
		{rule: rule.JudgementDoor, name: "time", why: "a row that was observed at another time than it was looked at",
			edits: []edit{member("row 2 "+ready, "observed_at", `"2026-09-12T00:00:01Z"`)}},
		{rule: rule.JudgementVerdict, why: "a row that blames the path for what the door did",
			edits: []edit{member("row 2 "+unready, "fault", `"path"`)}},
	}
}
