package vectors

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
)

// The hosts of the vectors, each with a part of its own.
const (
	ready    = "a.example" // ready in each round
	unready  = "b.example" // not ready; its first judgement is withdrawn
	missed   = "c.example" // not probed, which an erratum corrects
	optedOut = "d.example" // asked not to be walked
	beyond   = "e.example" // beyond the cap
	late     = "f.example" // came after the roster was closed
)

// former is a key of the vectors that was handed over.
func former(p attest.Purpose) *attest.Key {
	seed := sha256.Sum256([]byte("former vector key " + p))
	k, err := attest.Generate(bytes.NewReader(seed[:]))
	if err != nil {
		panic(err) // 32 bytes were given
	}
	return k
}

// walkerKey is the key of a walker at another place.
func walkerKey() *attest.Key { return former("walker") }

// elsewhere is the full record, in which a walker at another place saw a door too.
func elsewhere(f *forge) {
	f.seen = true
	full(f)
}

// begin gives the forge the keys of the first day.
func (f *forge) begin(identity, log *attest.Key) {
	f.identity, f.logKey = identity, log
	keys := map[attest.Purpose]ed25519.PublicKey{}
	for _, p := range attest.Purposes() {
		keys[p] = attest.SpecimenKeyFor(p).Public()
	}
	keys[attest.PurposeIdentity], keys[attest.PurposeLog] = identity.Public(), log.Public()
	ring, err := attest.NewRing("2026-08-17", keys)
	f.check(err)
	f.ring = ring
}

// small is a record of one round with one host that was not probed.
func small(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	f.round(plainRound(1), []record.Row{unprobed(ready, "interrupted")})
}

// full is a record with something of every kind in it.
func full(f *forge) {
	f.begin(former(attest.PurposeIdentity), former(attest.PurposeLog))
	if f.seen {
		key := walkerKey()
		f.ring.Walkers = []attest.Walker{{Public: attest.Hex(key.Public()), KID: key.KID(), Since: "2026-09-01"}}
	}
	hosts := []string{ready, unready, missed, optedOut, beyond}
	own := seedFor(0, hosts...)
	f.observe(roster(1, "2026-08-31T00:00:00Z", 0, hosts...))
	r := plainRound(1)
	r.Lot = &record.Lot{RosterDigest: rosterDigest(r.Week, hosts), Own: own}
	r.Roster.Capped = true
	rows, kept := f.walked(1)
	judged, control := f.judge("control.example", true, 1)
	r.Control = record.Control{Walks: 1, Evidence: []string{digestOf(control)}}
	f.pack(record.ControlPack(1), record.ControlIndexPath(1), packed{judged.Host, control})
	f.round(r, rows)
	f.pack(record.EvidencePack(1, 0), record.EvidenceIndexPath(1, 0), kept...)
	f.between()
	f.handOver(attest.PurposeIdentity, "2026-09-08", attest.SpecimenKey())
	f.handOver(attest.PurposeLog, "2026-09-08", attest.SpecimenKeyFor(attest.PurposeLog))
	f.observe(roster(2, "2026-09-08T00:00:00Z", 900_000, hosts...))
	r = plainRound(2)
	r.Lot = &record.Lot{RosterDigest: rosterDigest(r.Week, hosts), Height: 900_000,
		Header: f.block(cmp.Or(f.as["block-at"], "2026-09-08T01:00:00Z"), hosts)}
	r.Roster.Capped = true
	rows, kept = f.walked(2)
	lateRow := unprobed(late, "interrupted")
	lateRow.Late = true
	f.round(r, append(rows, lateRow))
	f.identity = attest.SpecimenKey() // also where the former one has signed on
	f.pack(record.EvidencePack(2, 0), record.EvidenceIndexPath(2, 0), kept...)
	f.after(digestOf(f.judgement(unready, 1)))
	f.proofs()
}

// plainRound is a round without a lot.
func plainRound(n int64) record.Round {
	at := time.Date(2026, 8, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(n))
	return record.Round{Sequence: n, Week: record.ISOWeek(at), TakenAt: at.Format(time.RFC3339), Battery: probe.V2,
		Roster: record.Roster{Listed: 6, Sources: []record.RosterSource{{Name: "list", Kind: record.SourceList,
			Hosts:    6,
			Complete: true}}},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{{Network: "eip155:8453", USDC: "0",
				Reason: "no endpoint is configured"}}}}
}

func unprobed(host, reason string) record.Row {
	return record.Row{Host: host, URL: "https://" + host + "/", Source: record.SourceList, Battery: probe.V2,
		Verdict: record.VerdictNotProbed, Reason: reason, Fault: record.FaultInstrument, Failed: []string{},
		Advisories: []string{}, Protocols: []string{}}
}

// walked are the rows of a round, and what is kept of their walks. Of the first round the judgement
// of the broken one is not kept, because it is withdrawn later.
func (f *forge) walked(n int64) (rows []record.Row, kept []packed) {
	for _, host := range []string{ready, unready} {
		row, raw := f.judge(host, host == ready, n)
		if f.seen && host == ready && n == 2 {
			f.look = 1
			there, other := f.judge(host, true, n)
			f.look = 0
			row.Vantages = []record.Vantage{{ID: walkerKey().KID(), Verdict: there.Verdict,
				EvidenceDigest: there.EvidenceDigest}}
			kept = append(kept, packed{host, raw}, packed{host, other})
			slices.SortFunc(kept, func(a, b packed) int { return strings.Compare(digestOf(a.raw), digestOf(b.raw)) })
			rows = append(rows, row)
			continue
		}
		if rows = append(rows, row); host == ready || n > 1 || f.as["withdrawn-kept"] != "" {
			kept = append(kept, packed{host, raw})
		}
	}
	rows = append(rows, unprobed(missed, "interrupted"))
	o, err := probe.NewOptOut(exchange.Exchange{
		Request:   exchange.Request{Method: http.MethodGet, URL: "https://" + optedOut + "/.well-known/x402"},
		StartedAt: walkTime(n), Duration: time.Second, Response: exchange.Response{Status: 200, Proto: "HTTP/2.0",
			Header: http.Header{}, Body: []byte(`{"census":"no"}`)}}, probe.Salt{byte(n), 1})
	f.check(err)
	raw, err := o.Encode()
	f.check(err)
	row := unprobed(optedOut, record.ReasonOptedOut)
	row.Fault, row.EvidenceDigest = record.FaultNone, digestOf(raw)
	return append(rows, row, unprobed(beyond, record.ReasonBeyondCap)), append(kept, packed{optedOut, raw})
}

func walkTime(n int64) time.Time {
	return time.Date(2026, 8, 29, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(n))
}

// judge walks to a host and judges what it answers.
func (f *forge) judge(host string, good bool, n int64) (record.Row, []byte) {
	type walk struct {
		host string
		good bool
		n    int64
		look byte
	}
	type judged struct {
		row record.Row
		raw []byte
	}
	j := once(&f.made.walks, walk{host, good, n, f.look}, func() (j judged) {
		var err error
		j.row, j.raw, err = judgedWalk(host, good, probe.Salt{byte(n), 2, f.look}, walkTime(n))
		f.check(err)
		return j
	})
	raw := f.edit(fmt.Sprintf("walk %d %s", n, host), j.raw)
	j.row.EvidenceDigest = digestOf(raw)
	return j.row, raw
}

// judgedWalk is the row of a walk to a host that is ready or is not, and its judgement.
func judgedWalk(host string, good bool, salt probe.Salt, at time.Time) (record.Row, []byte, error) {
	url := "https://" + host + "/paid"
	i := slices.IndexFunc(practice.All(), func(p practice.Door) bool { return (p.Verdict == probe.Ready) == good })
	p, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
	if err != nil {
		return record.Row{}, nil, err
	}
	_, next, err := p.Step(nil)
	if err != nil {
		return record.Row{}, nil, err
	}
	a := practice.All()[i].Answer(url)
	walk := []exchange.Exchange{{Request: next.Request, StartedAt: at, Response: exchange.Response{
		Status: a.Status, Proto: "HTTP/2.0", Header: a.Header, Body: a.Body}}}
	report, _, err := p.Step(walk)
	if err != nil {
		return record.Row{}, nil, err
	}
	j, err := p.Judgement(walk, salt)
	if err != nil {
		return record.Row{}, nil, err
	}
	row := rejudge.RowFrom(report, j)
	row.Host, row.Listed, row.Source = host, true, record.SourceList
	raw, err := j.Encode()
	return row, raw, err
}

func (f *forge) judgement(host string, n int64) []byte {
	_, raw := f.judge(host, host == ready, n)
	return raw
}

func digestOf(raw []byte) string { return attest.Digest(sha256.Sum256(raw)).String() }

// packed is a judgement that is kept of a host.
type packed struct {
	host string
	raw  []byte
}

func (f *forge) zipped(raw []byte) []byte {
	return once(&f.made.zips, string(raw), func() []byte {
		out, err := seal.Gzip(raw)
		f.check(err)
		return out
	})
}

// pack writes a pack and its index.
func (f *forge) pack(name, at string, all ...packed) {
	index := record.EvidenceIndex{Format: record.EvidenceIndexFormat}
	var pack []byte
	for _, p := range all {
		if p.host == f.as["unkept"] {
			continue
		}
		z := f.edit("member "+name+" "+p.host, f.zipped(f.edit("judgement "+name+" "+p.host, p.raw)))
		index.Entries = append(index.Entries, record.EvidenceEntry{Host: p.host, SHA256: digestOf(p.raw),
			Offset: int64(len(pack)), Bytes: int64(len(z))})
		pack = append(pack, z...)
	}
	f.put(name, pack)
	f.put(at, append(f.canonical(index), '\n'))
}

func rosterDigest(week string, hosts []string) attest.Digest {
	h := record.NewRosterHash(week)
	for _, host := range hosts {
		if err := h.Add(host); err != nil {
			panic(err) // fixed input
		}
	}
	_, digest := h.Sum()
	return digest
}

// roster closes the roster of a round.
func roster(n int64, at string, height int64, hosts ...string) record.Observation {
	week := plainRound(n).Week
	return record.Observation{At: at, Kind: record.ObservationRoster, Roster: &record.ClosedRoster{Week: week,
		Hosts: int64(len(hosts)), Digest: rosterDigest(week, hosts), Height: height,
		Own: sha256.Sum256(seedFor(0, hosts...))}}
}

// seedFor is a value of the keeper's own, the first from a byte on, by which the host beyond the
// cap has the last turn.
func seedFor(from byte, hosts ...string) []byte {
	for i := from; i < 255; i++ {
		if seed := bytes.Repeat([]byte{i}, 32); lastTurn([32]byte(seed), hosts) == beyond {
			return seed
		}
	}
	panic("no seed gives the host beyond the cap the last turn") // fixed input
}

func lastTurn(seed [32]byte, hosts []string) string {
	return slices.MaxFunc(hosts, func(a, b string) int {
		x, y := record.Turn(seed, a), record.Turn(seed, b)
		return bytes.Compare(x[:], y[:])
	})
}

// block is a header that meets the little difficulty that it states, and gives the host beyond the
// cap the last turn.
func (f *forge) block(at string, hosts []string) attest.Hex {
	when, err := time.Parse(time.RFC3339, at)
	f.check(err)
	header := make([]byte, ots.HeaderSize)
	binary.LittleEndian.PutUint32(header[68:], uint32(when.Unix()))
	bits := uint32(0x207fffff) // each second try meets it
	idle := f.as["no-work"] != ""
	if idle {
		bits = 0x1d00ffff
	}
	binary.LittleEndian.PutUint32(header[72:], bits)
	target := new(big.Int).Lsh(big.NewInt(int64(bits&0x7fffff)), uint(8*(bits>>24-3)))
	for nonce := range uint32(1 << 20) {
		binary.LittleEndian.PutUint32(header[76:], nonce)
		lot := record.Lot{Header: header}
		seed := lot.Seed()
		if met := new(big.Int).SetBytes(seed[:]).Cmp(target) <= 0; met != idle && lastTurn(seed, hosts) == beyond {
			return header
		}
	}
	f.check(fmt.Errorf("no block"))
	return header
}

// between are observations of each kind that stand between the rounds.
func (f *forge) between() {
	refreshed := f.judgement(ready, 0)
	row, _ := f.judge(ready, true, 0)
	at := "2026-09-07T00:00:00Z"
	digest := strings.Repeat("ab", 32)
	pay := record.PayTo{Network: "eip155:8453", Digest: digest}
	f.put(record.ObservedEvidence(digestOf(refreshed)), f.edit("member refresh", f.zipped(refreshed)))
	f.observe(
		record.Observation{At: at, Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "petrichor"},
			Epitaph: "It rained."},
		record.Observation{At: at, Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "withdrawn"}},
		record.Observation{At: at, Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{
			Host: ready, URL: row.URL, Verdict: row.Verdict, ReachedLevel: row.ReachedLevel, Failed: row.Failed,
			Battery: row.Battery, Fault: row.Fault, EvidenceDigest: row.EvidenceDigest}},
		record.Observation{At: at, Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: ready, URL: row.URL,
			Network: "eip155:8453", Transaction: "0x" + digest, USDC: "0.01", Claim: &record.WalkClaim{Status: 200,
				BodySHA256: digest, Bytes: 812, LatencyMS: 340, ContentType: "application/json"}}},
		record.Observation{At: at, Kind: record.ObservationDeclaration, Declaration: &record.Declaration{Host: ready,
			Shape: "x402-v1", Doors: []string{row.URL}, Foreign: 1}},
		record.Observation{At: at, Kind: record.ObservationStandingNote, Note: &record.StandingNote{Host: ready,
			Lane: "wallet", Statement: record.Said{Text: "We moved."}, SignedAt: at, PayTo: &pay}},
		record.Observation{At: at, Kind: record.ObservationPublishedTip, Tip: &record.Tip{ID: "tip-1",
			Title: record.Said{Text: "A title"}, Text: record.Said{SHA256: digest},
			By: &record.Said{Text: "Somebody"}}},
		record.Observation{At: at, Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: 3,
			Classes: []record.IssuedClass{{Class: "certificate", Total: 2}, {Class: "pass", Total: 1}}}},
	)
}

// after are observations behind the second round: what was withdrawn, and an erratum.
func (f *forge) after(judgement string) {
	at := "2026-09-14T00:00:00Z"
	gone := f.feed[2].Word.SHA256
	delete(f.files, record.WordsPath(gone))
	f.observe(
		record.Observation{At: at, Kind: record.ObservationWithdrawn, Withdrawn: &record.Withdrawn{SHA256: gone,
			Reason: "The author asked."}},
		record.Observation{At: at, Kind: record.ObservationWithdrawn, Withdrawn: &record.Withdrawn{SHA256: judgement,
			Reason: "It shows a name."}},
		record.Observation{At: at, Kind: record.ObservationErratum, Erratum: &record.Erratum{Leaf: f.last[missed],
			Reason: "It was up.", VerdictNow: record.VerdictNotProbed}},
		record.Observation{At: at, Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: 4,
			Classes: []record.IssuedClass{{Class: "certificate", Total: 3}, {Class: "pass", Total: 1}}}},
	)
}

// The leaves of the rows of the host that is not ready.
const (
	firstUnready  = 2
	secondUnready = end2 - 7
)

// corrected is the full record with errata to a better verdict: on a look of the row's week that is
// kept, and on a purchase at its door in its week.
func corrected(f *forge) {
	full(f)
	at, walked := "2026-09-14T00:00:00Z", "2026-09-13T12:00:00Z"
	leaf, digest := int64(firstUnready), ""
	row, raw := f.judge(unready, true, 1)
	if f.as["error-look"] != "" {
		leaf = secondUnready
		row, raw = f.judge(unready, true, 2)
	}
	if f.as["old-basis"] != "" {
		raw = bytes.Replace(raw, []byte(`"battery":"`+probe.V2+`"`), []byte(`"battery":"`+probe.V1+`"`), 1)
	}
	if digest = digestOf(raw); f.as["own-basis"] != "" {
		leaf, digest = secondUnready, digestOf(f.judgement(unready, 2))
	} else {
		f.put(record.ObservedEvidence(digest), f.zipped(raw))
	}
	read := &record.Erratum{Leaf: leaf, Reason: "It was read wrongly.", VerdictNow: row.Verdict, EvidenceDigest: digest}
	was, _ := f.judge(unready, false, 2)
	if f.as["error-look"] != "" {
		read.Kind, read.Cause, read.Checks = record.ErratumError, record.CauseCheck, was.Failed
	}
	f.observe(
		record.Observation{At: at, Kind: record.ObservationErratum, Erratum: read},
		record.Observation{At: walked, Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: unready,
			URL: row.URL, Network: "eip155:8453", Transaction: "0x" + strings.Repeat("cd", 32), USDC: "0.01"}})
	walk := f.files["observations/"+record.Observation{Number: f.observed}.File()]
	f.observe(record.Observation{At: at, Kind: record.ObservationErratum,
		Erratum: &record.Erratum{Leaf: f.last[unready],
			Reason: "It sold that week.", VerdictNow: record.VerdictReady, EvidenceDigest: digestOf(walk),
			Kind: record.ErratumError, Cause: record.CauseClient, Checks: was.Failed}})
}

// proofs adds proofs of time: of the first round one that a block at hand holds, of the second and
// of an anchor such as calendars give first.
func (f *forge) proofs() {
	if f.err != nil {
		return
	}
	pending, _ := hex.DecodeString("f00178080083dfe30d2ef90c8e1110" + hex.EncodeToString([]byte("http://c.example")))
	mined, _ := hex.DecodeString("0800" + "0588960d73d71901" + "03" + "d0f033") // block 850,000
	add := func(folder string, d [32]byte, answer []byte) {
		p, err := ots.FromAnswer(d, answer)
		if err != nil {
			f.check(fmt.Errorf("proof of %s: %w", folder, err))
			return
		}
		f.put("proofs/"+folder+"/c.example-1.ots", p.Encode())
	}
	d := f.digests[1]
	message := sha256.Sum256(d[:])
	header := make([]byte, ots.HeaderSize)
	copy(header[36:], message[:])
	binary.LittleEndian.PutUint32(header[68:], uint32(time.Date(2026, 9, 6, 3, 0, 0, 0, time.UTC).Unix()))
	add("1", d, mined)
	f.put("proofs/1/850000.header", fmt.Appendf(nil, "%x\n", header))
	add("2", f.digests[2], pending)
	anchors, err := record.Anchors(f.ring, f.anchored())
	f.check(err)
	if f.err == nil {
		d, err := anchors[0].Digest()
		f.check(err)
		add("anchor-1", d, pending)
	}
}

// anchored are the observations that anchors follow from.
func (f *forge) anchored() []record.Observation {
	return slices.DeleteFunc(slices.Clone(f.feed), func(o record.Observation) bool {
		return o.Handover == nil && o.Issued == nil
	})
}
