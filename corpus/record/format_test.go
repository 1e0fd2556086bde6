package record_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/attesttest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

func TestRowRoundTrip(t *testing.T) {
	k := recordtest.Key(t, 1)
	for _, r := range []record.Row{recordtest.ReadyRow(), recordtest.UnprobedRow()} {
		raw := recordtest.SignRow(t, r, k)
		got, err := record.VerifyRow(raw, k.Public())
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		want := r
		want.Format, want.KID, want.Signature = record.RowFormat, k.KID(), got.Signature
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
	}
}

// TestRowBytes fixes the order and spelling of the format for ever.
func TestRowBytes(t *testing.T) {
	k := recordtest.Key(t, 1)
	raw := string(recordtest.SignRow(t, recordtest.ReadyRow(), k))
	body, signature, ok := strings.Cut(raw, `,"signature":"`)
	want := `{"format":"store-row/v1","origin":"store.example/corpus","sequence":3,"week":"2026-W47","host":"door.example",` +
		`"url":"https://door.example/pay?<&>","listed":true,"source":"discovery","catalog":"bazaar","verdict":"ready",` +
		`"reached_level":"L4","failed":[],"advisories":["no-signed-offers"],"also_under":[{"version":"v1","verdict":"ready"}],` +
		`"protocols":["x402"],"probe_method":{"used":"GET","attempted":["GET"]},"offer":{"networks":["eip155:8453"],"schemes":["exact"],` +
		`"min_usdc":"0.001","max_usdc":"1","pay_to":[{"network":"eip155:8453","digest":"` +
		recordtest.Digest("address") + `"}]},"battery":"v2",` +
		`"fault":"none","observed_at":"2026-11-20T10:11:12Z","evidence_digest":"` + recordtest.Digest("evidence") +
		`","previous_leaf":0,"kid":"` + k.KID() + `"`
	if !ok || body != want {
		t.Errorf("row\n got %s\nwant %s", body, want)
	}
	sum := fmt.Sprintf("%x", ed25519.Sign(recordtest.PrivateHalf(1), []byte(want+"}")))
	if signature != sum+`"}` {
		t.Errorf("the signature is not over the row without it")
	}
}

func TestEveryChangedByteOfARowIsRefused(t *testing.T) {
	t.Parallel()
	k := recordtest.Key(t, 1)
	attesttest.EveryByteChange(t, recordtest.SignRow(t, recordtest.UnprobedRow(), k), func(raw []byte) bool {
		_, err := record.VerifyRow(raw, k.Public())
		return err == nil
	})
}

// TestARowHasOneSpelling signs rows that mean what a row means and are spelt in another way.
func TestARowHasOneSpelling(t *testing.T) {
	k := recordtest.Key(t, 1)
	body, _, _ := bytes.Cut(recordtest.SignRow(t, recordtest.ReadyRow(), k), []byte(`,"signature":`))
	for old, other := range map[string]string{
		"": "", `,"week"`: `, "week"`, `"door.example"`: `"d\u006for.example"`, `"sequence":3`: `"sequence":3.0`,
		`"listed":true`: `"listed":true,"late":false`, `"fault":"none"`: `"fault":"none","more":1`,
		`"host":"door.example"`: `"host":"door.example","host":"door.example"`, `"sequence"`: `"Sequence"`,
		`"sequence":3,"week":"2026-W47"`: `"week":"2026-W47","sequence":3`, `"failed":[]`: `"failed":null`,
	} {
		payload := bytes.Replace(body, []byte(old), []byte(other), 1)
		raw := fmt.Appendf(nil, `%s,"signature":"%x"}`, payload, []byte(k.Sign(append(payload, '}'))))
		if _, err := record.VerifyRow(raw, k.Public()); (err == nil) != (old == "") {
			t.Errorf("%s for %s: %v", other, old, err)
		}
	}
}

func TestRowShape(t *testing.T) {
	k := recordtest.Key(t, 1)
	for name, change := range map[string]func(*record.Row){
		"origin": func(r *record.Row) { r.Origin = "" }, "sequence": func(r *record.Row) { r.Sequence = 0 },
		"week": func(r *record.Row) { r.Week = "2026-W54" }, "week zero": func(r *record.Row) { r.Week = "2026-W00" },
		"host case": func(r *record.Row) { r.Host = "Door.example" }, "no host": func(r *record.Row) { r.Host = "" },
		"host of a path": func(r *record.Row) { r.Host = "door.example/x" },
		"source":         func(r *record.Row) { r.Source = "leaderboard" },
		"verdict":        func(r *record.Row) { r.Verdict = "fine" }, "fault": func(r *record.Row) { r.Fault = "" },
		"level": func(r *record.Row) { r.ReachedLevel = "L7" }, "no level": func(r *record.Row) { r.ReachedLevel = "" },
		"time":             func(r *record.Row) { r.ObservedAt = "2026-11-20" },
		"zone":             func(r *record.Row) { r.ObservedAt = "2026-11-20T10:11:12+01:00" },
		"evidence":         func(r *record.Row) { r.EvidenceDigest = strings.ToUpper(recordtest.Digest("x")) },
		"ready but failed": func(r *record.Row) { r.Failed = []string{"accepts"} },
		"amount":           func(r *record.Row) { r.Offer.MinUSDC = "1.2345678" },
		"address": func(
			r *record.Row) {
			r.Offer.PayTo[0].Digest = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
		}, "negative leaf": func(r *record.Row) { n := int64(-1); r.PreviousLeaf = &n },
		"battery":        func(r *record.Row) { r.Battery = "" },
		"unreasoned":     func(r *record.Row) { *r = recordtest.UnprobedRow(); r.Reason = "" },
		"unprobed level": func(r *record.Row) { *r = recordtest.UnprobedRow(); r.ReachedLevel = "L0" },
		"unprobed time": func(
			r *record.Row) {
			*r = recordtest.UnprobedRow()
			r.ObservedAt = "2026-11-20T10:11:12Z"
		},
		"unprobed failure": func(r *record.Row) { *r = recordtest.UnprobedRow(); r.Failed = []string{"reachable"} },
		"bad text":         func(r *record.Row) { r.URL = "\xff" },
		"too large":        func(r *record.Row) { r.URL = strings.Repeat("a", record.MaxRow) },
	} {
		r := recordtest.ReadyRow()
		change(&r)
		if raw, err := record.SignRow(r, k); err == nil {
			t.Errorf("%s is signed: %s", name, raw)
		}
	}
	if _, err := record.VerifyRow(recordtest.SignRow(t, recordtest.ReadyRow(), k),
		recordtest.Key(t, 2).Public()); err == nil {
		t.Error("another key verifies a row")
	}
}

// rows returns n signed rows of one round, sorted.
func rows(t testing.TB, n int, k *attest.Key) [][]byte {
	t.Helper()
	var out [][]byte
	for i := range n {
		r := recordtest.UnprobedRow()
		r.Host = fmt.Sprintf("h%06d.example", i)
		r.URL = "https://" + r.Host + "/"
		out = append(out, recordtest.SignRow(t, r, k))
	}
	return out
}

// part returns the bytes of a part and what commits to them.
func part(rows [][]byte) ([]byte, record.Part) {
	file := append(bytes.Join(rows, []byte{'\n'}), '\n')
	return file, record.Part{Rows: int64(len(rows)), SHA256: sha256.Sum256(file)}
}

func TestRoundCommitsToItsRows(t *testing.T) {
	k := recordtest.Key(t, 1)
	all := rows(t, record.MaxPartRows+3, k)
	var parts []record.Part
	var files [][]byte
	for chunk := range slices.Chunk(all, record.MaxPartRows) {
		file, p := part(chunk)
		parts, files = append(parts, p), append(files, file)
	}
	round, raw := recordtest.SignRound(t, recordtest.Round(parts...), k)
	back, err := record.VerifyRound(raw, k.Public())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(round, back); diff != "" {
		t.Errorf("round (-want +got):\n%s", diff)
	}
	n := 0
	for i, p := range back.Parts {
		got, err := record.SplitPart(files[i], p)
		if err != nil {
			t.Fatal(err)
		}
		for _, rowBytes := range got {
			row, err := record.VerifyRow(rowBytes, k.Public())
			if err != nil {
				t.Fatal(err)
			}
			if err := back.Belongs(&row); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rowBytes, all[n]) {
				t.Fatalf("row %d came back changed", n)
			}
			n++
		}
	}
	if n != len(all) || back.Rows != int64(n) {
		t.Errorf("%d rows of %d", n, len(all))
	}
}

// TestDigestRule recomputes a round's digest the way a stranger would, from
// the published bytes alone.
func TestDigestRule(t *testing.T) {
	k := recordtest.Key(t, 1)
	round, raw := recordtest.SignRound(t, recordtest.Round(record.Part{Rows: 1, SHA256: sha256.Sum256(nil)}), k)
	body, tail, ok := strings.Cut(string(raw), `,"digest":"`)
	if !ok {
		t.Fatal("no digest in the header")
	}
	if got := recordtest.Digest(body + "}"); got != round.Digest.String() ||
		!strings.HasPrefix(tail, got+`","signature":"`) {
		t.Errorf("digest %s, recomputed %s, tail %s", round.Digest, got, tail)
	}
	if !attest.Verify(k.Public(), []byte(body+"}"), round.Signature) {
		t.Error("the signature is not over the same bytes")
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("format origin sequence week taken_at previous_digest battery battery_digest roster " +
		"coverage control inflows first_leaf rows parts kid digest signature")
	at := 0
	for _, name := range want {
		i := strings.Index(string(raw)[at:], `"`+name+`":`)
		if i < 0 {
			t.Fatalf("%s is not in its place", name)
		}
		at += i
	}
	if len(names) != len(want) {
		t.Errorf("%d fields, want %d", len(names), len(want))
	}
}

func TestEveryChangedByteOfARoundIsRefused(t *testing.T) {
	t.Parallel()
	k := recordtest.Key(t, 1)
	r := recordtest.Round(record.Part{Rows: 1, SHA256: sha256.Sum256(nil)})
	r.Roster.Sources, r.Inflows.Networks = []record.RosterSource{}, []record.NetworkInflow{}
	_, raw := recordtest.SignRound(t, r, k)
	attesttest.EveryByteChange(t, raw, func(raw []byte) bool {
		_, err := record.VerifyRound(raw, k.Public())
		return err == nil
	})
}

func TestPartsAreStrict(t *testing.T) {
	k := recordtest.Key(t, 1)
	file, p := part(rows(t, 3, k))
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1
		if _, err := record.SplitPart(changed, p); err == nil {
			t.Fatalf("byte %d of a part can change", i)
		}
	}
	p.Rows = 2
	if _, err := record.SplitPart(file, p); err == nil {
		t.Error("a part with another number of rows is read")
	}
	if _, err := record.SplitPart(nil, record.Part{SHA256: sha256.Sum256(nil)}); err == nil {
		t.Error("an empty part is read")
	}
}

func TestRoundShape(t *testing.T) {
	full := record.Part{Rows: record.MaxPartRows, SHA256: sha256.Sum256(nil)}
	for name, change := range map[string]func(*record.Round){
		"origin": func(r *record.Round) { r.Origin = "" }, "sequence": func(r *record.Round) { r.Sequence = 0 },
		"week":                  func(r *record.Round) { r.Week = "W47" },
		"first with a previous": func(r *record.Round) { r.Sequence = 1 },
		"no previous":           func(r *record.Round) { r.PreviousDigest = attest.Digest{} },
		"time":                  func(r *record.Round) { r.TakenAt = "now" }, "sum": func(r *record.Round) { r.Rows++ },
		"leaf": func(r *record.Round) { r.FirstLeaf = -1 }, "short part inside": func(r *record.Round) {
			r.Parts = []record.Part{{Rows: 1},
				full}
			r.Rows = record.MaxPartRows + 1
		}, "large part": func(r *record.Round) {
			r.Parts = []record.Part{{Rows: record.MaxPartRows + 1}}
			r.Rows = record.MaxPartRows + 1
		},
		"empty part":     func(r *record.Round) { r.Parts = []record.Part{{}}; r.Rows = 0 },
		"unread network": func(r *record.Round) { r.Inflows.Networks[0].Read = false },
		"amount":         func(r *record.Round) { r.Inflows.Networks[0].USDC = "-1" },
		"left out":       func(r *record.Round) { r.Inflows.Networks[0].AddressesLeftOut = -1 },
		"left out unread": func(r *record.Round) {
			n := &r.Inflows.Networks[0]
			n.Read, n.Reason, n.AddressesLeftOut = false, "no endpoint is configured", 1
		},
	} {
		r := recordtest.Round(full)
		change(&r)
		if _, _, err := record.SignRound(r, recordtest.Key(t, 1)); err == nil {
			t.Errorf("%s: the round is signed", name)
		}
	}
	_, raw := recordtest.SignRound(t, recordtest.Round(full), recordtest.Key(t, 1))
	if _, err := record.VerifyRound(raw, recordtest.Key(t, 2).Public()); err == nil {
		t.Error("another key verifies a round")
	}
}

func TestChain(t *testing.T) {
	k := recordtest.Key(t, 1)
	p := record.Part{Rows: 1, SHA256: sha256.Sum256(nil)}
	first := recordtest.Round(p)
	first.Sequence, first.PreviousDigest, first.Week, first.TakenAt, first.FirstLeaf = 1, attest.Digest{}, "2026-W45",
		"2026-11-08T00:00:00Z", 0
	first, _ = recordtest.SignRound(t, first, k)
	follower := func() record.Round {
		r := recordtest.Round(p)
		r.Sequence, r.PreviousDigest, r.Week, r.FirstLeaf = 2, first.Digest, "2026-W46", 1
		return r
	}
	if err := follower().Follows(first); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*record.Round){
		"number": func(r *record.Round) { r.Sequence = 3 },
		"digest": func(r *record.Round) { r.PreviousDigest[0] ^= 1 },
		"origin": func(r *record.Round) { r.Origin = "x" }, "week": func(r *record.Round) { r.Week = first.Week },
		"time": func(r *record.Round) { r.TakenAt = first.TakenAt }, "leaf": func(r *record.Round) { r.FirstLeaf = 0 },
	} {
		r := follower()
		change(&r)
		if err := r.Follows(first); err == nil {
			t.Errorf("another %s follows", name)
		}
	}
	row := recordtest.UnprobedRow()
	for name, change := range map[string]func(*record.Row){"week": func(r *record.Row) { r.Week = "2026-W46" },
		"sequence": func(r *record.Row) { r.Sequence = 2 }, "origin": func(r *record.Row) { r.Origin = "x" }} {
		moved := row
		change(&moved)
		if new(recordtest.Round(p)).Belongs(&moved) == nil {
			t.Errorf("a row of another %s belongs", name)
		}
	}
}

func TestISOWeek(t *testing.T) {
	for at, want := range map[string]string{"2026-11-20T00:00:00Z": "2026-W47", "2027-01-01T00:00:00Z": "2026-W53",
		"2024-12-30T00:00:00Z": "2025-W01", "2026-11-23T00:30:00+01:00": "2026-W47"} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := record.ISOWeek(when); got != want {
			t.Errorf("ISOWeek(%s) = %s, want %s", at, got, want)
		}
	}
}

// FuzzParseRow holds what reads most rows against what reads any JSON.
func FuzzParseRow(f *testing.F) {
	k := recordtest.Key(f, 1)
	f.Add(recordtest.SignRow(f, recordtest.ReadyRow(), k))
	f.Add(recordtest.SignRow(f, recordtest.UnprobedRow(), k))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := record.ParseRow(raw)
		if len(raw) > record.MaxRow {
			if err == nil {
				t.Errorf("a row of %d bytes was read", len(raw))
			}
			return
		}
		var want record.Row
		wantErr := attest.ParseCanonical(raw, &want)
		if wantErr == nil {
			wantErr = want.Check()
		}
		switch {
		case (err == nil) != (wantErr == nil):
			t.Errorf("%q is read with %v, as any JSON with %v", raw, err, wantErr)
		case err == nil && !reflect.DeepEqual(got, want):
			t.Errorf("%q is read as %+v, as any JSON as %+v", raw, got, want)
		}
	})
}

func FuzzParseRound(f *testing.F) {
	_, raw := recordtest.SignRound(f, recordtest.Round(record.Part{Rows: 1, SHA256: sha256.Sum256(nil)}),
		recordtest.Key(f, 1))
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := record.ParseRound(raw)
		if err != nil {
			return
		}
		if again, err := attest.Canonical(r); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%q is written %q, %v", raw, again, err)
		}
	})
}
