package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// earlier is a transaction of two weeks before: of the last one, the tree may not be due.
type earlier struct{ ledger.Tx }

func (e earlier) Now() time.Time { return e.Tx.Now().AddDate(0, 0, -14) }

// TestCertificatesAreFoundInTheLog delivers certificates, counts them a week later, puts the count
// on the record, and has the verifier check one with nothing but the answer and the ring.
func TestCertificatesAreFoundInTheLog(t *testing.T) {
	s, w := openRecorded(t)
	find := s.issuedIn()
	corpustest.Append(t, w, 1, 3)
	certs := make([]till.CertRecord, 5)
	for i := range certs {
		cert := attest.Certificate{CertID: fmt.Sprintf("cert_abcdefghij234567234%d", i+2), Item: "hello",
			Date: "2026-11-01T00:00:00Z"}
		signed, err := cert.Sign(attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		certs[i] = till.CertRecord{Certificate: cert, Proof: signed.Proof}
	}
	later := certs[len(certs)-1]
	deliver := func(tx ledger.Tx, rec *till.CertRecord) error {
		_, err := ledger.Next(tx, till.CounterPatron)
		if err == nil {
			rec.Week, err = feed.Certified(tx, rec.Proof.SignedPayload)
		}
		return err
	}
	if err := s.DB.Update(t.Context(), func(tx ledger.Tx) (err error) {
		for i := range certs[:4] {
			err = errors.Join(err, deliver(earlier{tx}, &certs[i]))
		}
		return errors.Join(err, deliver(tx, &later))
	}); err != nil {
		t.Fatal(err)
	}
	in := func(rec till.CertRecord) *counter.IssuedIn {
		t.Helper()
		found, err := find(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	s.look(t)
	if in := in(certs[0]); in != nil {
		t.Errorf("before it is counted: %+v", in)
	}
	n, err := feed.Export(t.Context(), w, func(after int64) ([]record.Observation, error) {
		return s.Config.feed(s.DB, s.Ring).Page(t.Context(), after)
	})
	if err != nil || n != 1 {
		t.Fatalf("%d observations, %v", n, err)
	}
	if in := in(certs[0]); in != nil {
		t.Errorf("before the shop knows the record: %+v", in)
	}
	s.look(t)
	if p := s.keyPlace(attest.SpecimenKey().KID()); p == nil || p.Leaf != 0 {
		t.Errorf("the log shows the identity at %+v", p)
	}
	for _, rec := range certs[:4] {
		answer := counter.Verification{Proof: &rec.Proof, Certificate: &rec.Certificate, Issued: in(rec)}
		raw, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		r, err := kit.CheckArtifact(raw, &w.Ring)
		if err != nil || !r.Sound() || r.Artifacts[0].Issued == nil || r.Artifacts[0].Issued.Through < rec.Week ||
			answer.Issued.Size != 4 {
			t.Errorf("%s: %+v, %v", raw, r, err)
		}
	}
	page, err := s.certificatePage(certs[0].Certificate.CertID, counter.Verification{Valid: true,
		Proof: &certs[0].Proof, Certificate: &certs[0].Certificate, Issued: in(certs[0]),
		Voucher: &till.Paid{Channel: "0xchannel", Sum: "0.5", ClaimTx: "0xclaim"}})
	if err != nil || !strings.Contains(string(page), "one of the 4 certificates") ||
		!strings.Contains(string(page), "Transaction 0xclaim claimed it.") {
		t.Errorf("%s, %v", page, err)
	}
	id := in(certs[0]).Observation.ID
	v, err := sealed(s.archive, id)
	if err != nil || v == nil {
		t.Fatal(id, err)
	}
	if page, err = s.recordPage(id, *v); err != nil || strings.Contains(string(page), "map[") ||
		!strings.Contains(string(page), in(certs[0]).Root) {
		t.Errorf("%s, %v", page, err)
	}
	if in := in(later); in != nil {
		t.Errorf("a certificate of this week is counted: %+v", in)
	}
	if in := in(till.CertRecord{Proof: later.Proof}); in != nil {
		t.Errorf("a certificate of no week is counted: %+v", in)
	}
	if (&Shop{}).issuedIn() != nil {
		t.Error("a store without a record asks for one")
	}
}
