package kit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/verify"
)

// maxArtifact bounds the file of an artifact, in bytes: an answer to a purchase holds a text of
// 4000 characters several times.
const maxArtifact = 4 << 20

// ArtifactReport is what was found of the signed artifacts in one file.
type ArtifactReport struct {
	Artifacts []ArtifactFinding `json:"artifacts"`
	// Delivery says for which payment the answer was given, where it brings its delivery receipt.
	Delivery *DeliveryFinding `json:"delivery,omitempty"`
	Problems []string         `json:"problems"`
	// Trusted says that the keys are those of -ring. Otherwise a signature shows that the bytes are
	// as somebody signed them, and not who that was.
	Trusted bool `json:"trusted"`
}

// ArtifactFinding is one artifact that holds.
type ArtifactFinding struct {
	Class     string `json:"artifact_class"`
	ID        string `json:"id"`
	Date      string `json:"date"`
	PublicKey string `json:"public_key"` // hex
	Status    string `json:"status"`     // of the key: current, retired, or not_known
	SHA256    string `json:"artifact_hash"`
	// Issued says where the log counts a certificate, where the file shows that.
	Issued *IssuedFinding `json:"issued,omitempty"`
}

// DeliveryFinding is a delivery receipt that binds the answer it came in.
type DeliveryFinding struct {
	attest.Delivery
	Binds string `json:"binds"`      // attest.BodyRaw or attest.BodyJCS
	KID   string `json:"kid"`        // of the key that signed it
	State string `json:"key_status"` // current or retired
	// Logged says that the log of a clone shows the key at the leaf that keyLog names.
	Logged bool `json:"key_in_log"`
}

// Sound implements Report.
func (r ArtifactReport) Sound() bool { return r.Trusted && !r.Refused() }

// Refused implements Report.
func (r ArtifactReport) Refused() bool { return len(r.Problems) > 0 }

// Print implements Report.
func (r ArtifactReport) Print(w io.Writer, name string) {
	verdict := "verified"
	switch {
	case r.Refused():
		verdict = "NOT verified"
	case !r.Trusted:
		verdict = "UNPROVEN: the bytes are as they were signed; name the store's keys with -ring to know by whom"
	}
	fmt.Fprintf(w, "%s: %s\n", name, verdict)
	for _, a := range r.Artifacts {
		fmt.Fprintf(w, "  %s %s of %s, signed by %s (%s), SHA-256 %s\n", a.Class, screen.Text(a.ID), a.Date,
			a.PublicKey, a.Status, a.SHA256)
	}
	for _, a := range r.Artifacts {
		if i := a.Issued; i != nil {
			fmt.Fprintf(w, "  In the log, under its head of %d leaves: certificate %d of those through %s, whose tree "+
				"observation %d of %s has\n", i.LogSize, i.Index, i.Through, i.Observation, i.At)
		}
	}
	if d := r.Delivery; d != nil {
		fmt.Fprintf(w, "  the answer itself (%s), given for %s of %s on %s by %s in %s, signed by %s (%s)\n", d.Binds,
			screen.Text(d.Amount), screen.Text(d.Asset), screen.Text(d.Network), screen.Text(d.Payer),
			screen.Text(d.Transaction), d.KID, d.State)
		if p := d.KeyLog; d.Logged {
			fmt.Fprintf(w, "  leaf %d of the log %s shows that key\n", p.Leaf, screen.Text(p.Origin))
		} else if p != nil {
			fmt.Fprintf(w, "  which says that leaf %d of the log %s shows that key: -record DIR looks there\n", p.Leaf,
				screen.Text(p.Origin))
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  problem: %s\n", screen.Text(p))
	}
}

// CheckArtifact checks the signed artifacts in an answer of the store: what it gives at
// /api/verify/{id}, or the whole answer to a purchase, whose certificate must name what was signed
// beside it. A ring of nil trusts nobody. Bytes that hold nothing signed are an error.
func CheckArtifact(raw []byte, ring *attest.Ring) (ArtifactReport, error) {
	if len(raw) > maxArtifact {
		return ArtifactReport{}, fmt.Errorf("%d bytes, and the file of an artifact has at most %d", len(raw),
			maxArtifact)
	}
	var file struct {
		attest.Proof
		Certificate json.RawMessage `json:"certificate"` // as it is shown
		Artifact    *attest.Proof   `json:"artifact"`
		Note        *attest.Proof   `json:"monthly_note"`
		Issued      *issuedIn       `json:"issued"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return ArtifactReport{}, fmt.Errorf("reading an artifact: %w", err)
	}
	r := ArtifactReport{Artifacts: []ArtifactFinding{}, Problems: []string{}, Trusted: ring != nil}
	for _, p := range []*attest.Proof{&file.Proof, file.Artifact, file.Note} {
		if p != nil && p.SignedPayload != "" {
			r.check(*p, ring)
		}
	}
	r.delivered(raw, ring)
	if len(r.Artifacts)+len(r.Problems) == 0 && r.Delivery == nil {
		return r, errors.New("the file holds no signed_payload: save the answer of /api/verify/{id}")
	}
	if file.Issued != nil && ring != nil && r.begins(file.SignedPayload) {
		if found, err := file.Issued.check(file.SignedPayload, *ring); err != nil {
			r.Problems = append(r.Problems, err.Error())
		} else {
			r.Artifacts[0].Issued = &found
		}
	}
	if file.Certificate != nil {
		r.shows(file.Proof, file.Certificate)
	}
	if file.Artifact != nil && file.SignedPayload != "" {
		r.refers(file.Proof, *file.Artifact)
	}
	return r, nil
}

// delivered checks the delivery receipt of an answer, by the keys that are trusted.
func (r *ArtifactReport) delivered(raw []byte, ring *attest.Ring) {
	jws, err := attest.DeliveryOf(raw)
	if jws == "" && err == nil || ring == nil {
		return
	}
	d := DeliveryFinding{}
	var by attest.Signer
	if err == nil {
		d.Delivery, by, err = ring.OpenDelivery(jws)
	}
	if err == nil {
		d.Binds, err = d.Delivery.Binds(raw)
	}
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return
	}
	d.KID, d.State = by.Key, by.Status
	r.Delivery = &d
}

// begins reports whether the first artifact that holds is the one of a payload.
func (r *ArtifactReport) begins(payload string) bool {
	return payload != "" && len(r.Artifacts) > 0 && r.Artifacts[0].SHA256 == digest(payload)
}

func (r *ArtifactReport) check(p attest.Proof, ring *attest.Ring) {
	a, err := p.Artifact()
	status := "not_known"
	if err == nil && ring != nil {
		var by attest.Signer
		if a, by, err = attest.OpenArtifact(p, *ring); err == nil {
			status = by.Status
		}
	}
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return
	}
	r.Artifacts = append(r.Artifacts, ArtifactFinding{a.Class, a.ID, a.Date, p.PublicKey.String(), status,
		digest(p.SignedPayload), nil})
}

// shows demands that a certificate is shown as it was signed.
func (r *ArtifactReport) shows(signed attest.Proof, certificate []byte) {
	shown, err := attest.JCSBytes(certificate)
	if err == nil {
		var is []byte
		if is, err = attest.JCSBytes([]byte(signed.SignedPayload)); err == nil && bytes.Equal(is, shown) {
			return
		}
	}
	r.Problems = append(r.Problems, "the certificate that is shown is not the one that was signed")
}

// refers demands that a certificate names what was signed beside it.
func (r *ArtifactReport) refers(certificate, beside attest.Proof) {
	c, err := attest.ParseCertificate([]byte(certificate.SignedPayload))
	if err == nil && c.CrossRef != "sha256:"+digest(beside.SignedPayload) {
		r.Problems = append(r.Problems, "the certificate does not name the artifact beside it in cross_ref")
	}
}

func digest(payload string) string {
	sum := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(sum[:])
}

// artifact checks a file with the keys to trust, in either form of a ring; nil for none. The key of
// a delivery receipt is looked up in the log of a clone, where one is named.
func artifact(name string, keys []byte, clone string) (Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxArtifact+1))
	if err != nil {
		return nil, err
	}
	if keys == nil {
		return CheckArtifact(raw, nil)
	}
	ring, err := verify.TrustedKeys(keys, nil)
	if err != nil {
		return nil, err
	}
	r, err := CheckArtifact(raw, &ring)
	if err == nil && clone != "" {
		err = r.lookUp(clone, ring)
	}
	return r, err
}

// lookUp looks for the key of a delivery receipt at the leaf that it names.
func (r *ArtifactReport) lookUp(clone string, ring attest.Ring) error {
	if r.Delivery == nil || r.Delivery.KeyLog == nil {
		return errors.New("the file has no delivery receipt with keyLog, which -record is for")
	}
	p := r.Delivery.KeyLog
	found, ok := verify.FindRecord(verify.Plain(os.DirFS(clone)))
	if !ok {
		return fmt.Errorf("%s holds no record", clone)
	}
	rec, err := record.Open(found, ring)
	if err != nil {
		return err
	}
	entry, err := rec.Log.Entry(p.Leaf)
	if err != nil {
		return err
	}
	if origin := rec.Log.Head().Origin; origin != p.Origin {
		err = fmt.Errorf("the record is of the log %s, and keyLog names %s", origin, p.Origin)
	} else {
		err = p.Shows(entry, r.Delivery.KID)
	}
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return nil
	}
	r.Delivery.Logged = true
	return nil
}
