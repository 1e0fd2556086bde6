package counter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/till"
)

// The classes of what is signed beside certificates. Their ids are in nobody's hands but the
// buyer's: whoever has one reads what it names.
var (
	// Anchors of both kinds share one id space; what was signed says which it is.
	Anchors = Class{Name: attest.ClassContextAnchor, Prefix: "anchor_", Private: true,
		Load: loader(attest.ClassContextAnchor, attest.ClassBitcoinAnchor),
		DoesNotProve: "That what was anchored is true, whose it is, or that anybody should follow it. An anchor " +
			"proves that this store was given these words, or this digest, byte for byte, by that date."}
	Passes = Class{Name: attest.ClassPass, Prefix: "pass_", Private: true, Load: loader(attest.ClassPass),
		DoesNotProve: "A share, a say or a right to anything but the monthly note and the nicer badge. A pass proves " +
			"that its period was paid for."}
	Orders = Class{Name: attest.ClassOrder, Prefix: "order_", Private: true, Load: loader(attest.ClassOrder),
		DoesNotProve: "That the keeper is right. An order proves what was promised and by when, and once it is " +
			"completed, when that was and the digest of what was delivered."}
	// Reports are of both classes of audits; a watch has one for each slot.
	Reports = Class{Name: attest.ClassServiceAudit, Prefix: "audit_",
		Load: loader(attest.ClassServiceAudit, attest.ClassOnpageAudit),
		DoesNotProve: "That the door was so before or after, or is so for anybody else, or that whoever runs it can " +
			"be relied on. A report proves what this store was answered at that moment, and what it made of it."}
	Provenances = Class{Name: attest.ClassProvenance, Prefix: "prov_", Private: true,
		Load: loader(attest.ClassProvenance),
		DoesNotProve: "Who holds the address, or what was ever paid to it. It proves what the public record held " +
			"about it by then."}
	// Stamps are keepsakes.
	Stamps = Class{Name: attest.ClassPorchLine, Prefix: "stamp_", Load: loader(attest.ClassPorchLine),
		DoesNotProve: "Who sat on the porch, or that anybody did. A keepsake proves that this store said that line " +
			"in that hour, and that somebody paid to have it signed."}
)

// Debts are what the store owes, with the authorization that pays it.
var Debts = Class{Name: attest.ClassDebt, Prefix: attest.PrefixDebt, Load: loader(attest.ClassDebt),
	DoesNotProve: "That it has been paid. A debt proves that this store owes this amount to this address, and holds " +
		"the authorization by which anybody may have its token pay it, once, until its end."}

// Checks are promised looks, and what was seen.
var Checks = Class{Name: attest.ClassCheck, Prefix: "check_", Private: true, Load: loader(attest.ClassCheck),
	DoesNotProve: "What anybody else was shown, or what stood there at another time. A check proves what one visitor " +
		"was given, and when; or, while it is scheduled, that it was promised."}

// Issued are the classes that this store signs for what it sells.
var Issued = []Class{Certificates, Anchors, Passes, Orders, Reports, Provenances, Checks, Debts, Stamps}

// prefixes lists with what the ids of classes begin.
func prefixes(classes []Class) string {
	var all []string
	for _, c := range classes {
		if !slices.Contains(all, c.Prefix) {
			all = append(all, c.Prefix)
		}
	}
	return strings.Join(all, ", ")
}

func loader(classes ...string) func(*Counter, context.Context, string) (*Verification, error) {
	return func(c *Counter, ctx context.Context, id string) (*Verification, error) {
		a, _, err := c.artifact(ctx, id, classes...)
		if a == nil || err != nil {
			return nil, err
		}
		return c.checked(a)
	}
}

// artifact finds what was signed under an id: nil for an unknown one, and for one that was extended
// the newest whose payment stands. all is every one of them.
func (c *Counter) artifact(ctx context.Context, id string, classes ...string) (newest *till.Issued, all []till.Issued,
	err error) {
	if all, err = c.till.Artifacts(ctx, id); err != nil {
		return nil, nil, c.problem(err, request{})
	}
	ends := ""
	for i, a := range all {
		if !slices.Contains(classes, a.Class) {
			return nil, nil, nil
		}
		var p struct {
			Ends   string `json:"ends"`   // of a pass alone
			Status string `json:"status"` // of a check: what came of a promise follows it
			Class  string `json:"class"`
		}
		if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &p); err != nil {
			return nil, nil, err
		}
		if p.Class == attest.ClassCheck && p.Status != attest.CheckScheduled {
			p.Ends = p.Status
		}
		if newest == nil || newest.Reversed && !a.Reversed || newest.Reversed == a.Reversed && p.Ends > ends {
			newest, ends = &all[i], p.Ends
		}
	}
	return newest, all, nil
}

// Artifact finds what was signed under an id, and verifies it: of is what its class says, class its
// own name, and what names it in the refusal of an id under which there is none.
func (c *Counter) Artifact(ctx context.Context, id string, of Class, class, what string) (*till.Issued, *Verification,
	error) {
	a, _, err := c.artifact(ctx, id, class)
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		return nil, nil, NoSuch(what)
	}
	v, err := c.checked(a)
	if err == nil {
		v.DoesNotProve = of.DoesNotProve
	}
	return a, v, err
}

// checked verifies an artifact from the exact bytes that were signed.
func (c *Counter) checked(a *till.Issued) (*Verification, error) {
	v, err := c.Checked(a.ID, a.Class, a.Proof)
	if err == nil && a.Reversed {
		v.Status = "reversed"
	}
	return v, err
}

// Checked verifies something of a class that was signed under an id, from the exact bytes that were
// signed.
func (c *Counter) Checked(id, class string, proof attest.Proof) (*Verification, error) {
	v := &Verification{ArtifactClass: class, Status: "active", Proof: &proof, NotCovered: []string{}}
	sum := sha256.Sum256([]byte(proof.SignedPayload))
	v.ArtifactHash = hex.EncodeToString(sum[:])
	v.HowTo = c.howToCheck()
	what, signer, err := attest.OpenArtifact(proof, c.Ring)
	switch {
	case errors.Is(err, attest.ErrUnknownKey):
		v.Reason = "no_published_key"
		return v, nil
	case err != nil || what.ID != id || what.Class != class:
		v.Reason = "signature"
		return v, nil
	}
	// What is shown is read from what was signed, so that the signature covers all of it.
	shown := &v.Report
	if class == attest.ClassContextAnchor || class == attest.ClassBitcoinAnchor {
		shown = &v.Anchor
	}
	if err := json.Unmarshal([]byte(proof.SignedPayload), shown); err != nil {
		return nil, err
	}
	v.Valid, v.SignedBy = true, &signer
	return v, nil
}

func (c *Counter) howToCheck() string {
	return "Check signature (ed25519, hex) over the bytes of signed_payload with public_key, and find that key at " +
		c.BaseURL + "/.well-known/store-signing-key. The format is described at " + c.BaseURL +
		"/spec/store-attestation/v1."
}

// stampOf is a time, "" for none.
func stampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
