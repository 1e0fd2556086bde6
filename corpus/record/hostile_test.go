package record_test

import (
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
)

// placed is a row as Seal places it.
func placed(row record.Row, host string) record.Row {
	row.Origin, row.Sequence, row.Week, row.Host, row.Source = "store.example/corpus", 1, "2026-W37", host,
		record.SourceDiscovery
	return row
}

// TestSourcesOfARow holds how a host came onto the roster against the words that are published: one
// that declared itself rides under its own file, and a row that says otherwise is not signed.
func TestSourcesOfARow(t *testing.T) {
	for source, good := range map[string]bool{"discovery": true, "well-known": true, "list": true, "revisit": true,
		"declared": false, "": false} {
		row := placed(recordtest.Walked("door.example", record.VerdictReady), "door.example")
		row.Source = source
		if _, err := record.SignRow(row, attest.SpecimenKey()); (err == nil) != good {
			t.Errorf("source %q: %v", source, err)
		}
	}
}

// asking is a 402 with these entries of accepts.
func asking(t testing.TB, entries ...map[string]any) practice.Answer {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"x402Version": 2,
		"resource": map[string]any{"url": "https://door.example/"}, "accepts": entries})
	if err != nil {
		t.Fatal(err)
	}
	return practice.Answer{Status: http.StatusPaymentRequired,
		Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString(raw)}}}
}

// TestOneHostileDoorSeals is a 402 of 64 entries whose networks and schemes are control characters,
// at a long path: its row is sealed beside that of an honest door, is bounded, and repeats none of
// the door's words.
func TestOneHostileDoorSeals(t *testing.T) {
	var entries []map[string]any
	for i := range 64 {
		// Each is another one, and six bytes for each character as JSON writes it.
		unlike := string([]rune{rune(1 + i%7), rune(1 + i/7%7), rune(1 + i/49)})
		entries = append(entries, map[string]any{"scheme": unlike + strings.Repeat("\x01", 39), "network": unlike +
			strings.Repeat("\x02", 55),
			"payTo": fmt.Sprintf("0x%040x", i+1)})
	}
	url := "https://door.example/" + strings.Repeat("p", 600)
	report, judgement := recordtest.Look(t, url, asking(t, entries...), exchange.Error{}, recordtest.LookedAt)
	row := rejudge.RowFrom(report, judgement)
	raw, err := record.SignRow(placed(row, "door.example"), attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 16<<10 || strings.Contains(string(raw), `\u0001`) {
		t.Errorf("%d bytes: %.300s", len(raw), raw)
	}
	w := recordtest.Writer(t)
	honest, judged := recordtest.Look(t, "https://honest.example/paid",
		practice.All()[0].Answer("https://honest.example/paid"), exchange.Error{}, recordtest.LookedAt)
	other := rejudge.RowFrom(honest, judged)
	row.Host, other.Host = "door.example", "honest.example"
	row.Source, other.Source = record.SourceDiscovery, record.SourceDiscovery
	d := recordtest.Draft(1)
	d.Rows = recordtest.Each(row, other)
	d.Evidence = nil
	if _, err := w.Seal(t.Context(), d); err != nil {
		t.Errorf("the week was not sealed: %v", err)
	}
}

// TestLargestEvidenceGivesWay fills a pack with what one door answered: the small judgements beside
// it are kept, and its own row holds no verdict, since nobody could judge it again.
func TestLargestEvidenceGivesWay(t *testing.T) {
	var entries []map[string]any
	for i := range 300 {
		entries = append(entries, map[string]any{"scheme": "exact", "network": "eip155:8453",
			"payTo": fmt.Sprintf("0x%040x", uint64(i)*0x9e3779b97f4a7c15)})
	}
	kept := map[string][]byte{}
	var rows []record.Row
	for i := range 9 {
		host := fmt.Sprintf("h%d.example", i)
		url := "https://" + host + "/paid"
		answer := practice.All()[0].Answer(url)
		if i == 4 {
			answer = asking(t, entries...)
		}
		report, judgement := recordtest.Look(t, url, answer, exchange.Error{}, recordtest.LookedAt)
		row := rejudge.RowFrom(report, judgement)
		row.Host, row.Source = host, record.SourceDiscovery
		rows = append(rows, row)
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		kept[host] = raw
	}
	w := recordtest.Writer(t)
	w.Pack = 12_000
	d := recordtest.Draft(1)
	d.Rows, d.Evidence = recordtest.Each(rows...), func(host, _ string) ([]byte, error) { return kept[host], nil }
	recordtest.Seal(t, w, d)
	report := audited(t, w)
	if v := report.Verdicts; len(report.Problems) > 0 || v.Again != 8 || v.Without != 1 || v.NotKept != 0 {
		t.Errorf("%+v %v", report.Verdicts, report.Problems)
	}
	r := recordtest.Open(t, w)
	for row, err := range r.Rows(1) {
		if err != nil {
			t.Fatal(err)
		}
		if unjudged := row.Reason == record.ReasonNotJudged && row.Verdict == record.VerdictNotProbed &&
			row.EvidenceDigest == ""; unjudged != (row.Host == "h4.example") {
			t.Errorf("%+v", row.Row)
		}
	}
	if c := r.Rounds()[0].Coverage; c.Probed != 8 || c.NotProbed != 1 {
		t.Errorf("coverage %+v", c)
	}
}
