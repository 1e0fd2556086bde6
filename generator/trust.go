package generator

import (
	"fmt"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// trustSchema is the form of trust.json, which is ours: others use the name for other things.
const trustSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": %q,
  "title": "store-trust/v1",
  "type": "object",
  "required": ["$schema", "version", "service", "keeper", "contact", "signing_keys", "claims", "not_claimed"],
  "properties": {
    "$schema": {"type": "string", "format": "uri"},
    "version": {"const": 1},
    "service": {"type": "string", "format": "uri"},
    "keeper": {"type": "string", "minLength": 1},
    "contact": {"type": "string", "minLength": 1},
    "signing_keys": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "required": ["kid", "public_key_hex", "since", "status"],
        "properties": {
          "kid": {"type": "string", "pattern": "^did:web:"},
          "public_key_hex": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
          "since": {"type": "string"},
          "status": {"enum": ["current", "retired"]},
          "retired_on": {"type": "string"}
        }
      }
    },
    "claims": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "required": ["claim", "check"],
        "properties": {
          "claim": {"type": "string", "minLength": 1},
          "check": {"type": "string", "format": "uri"}
        }
      }
    },
    "not_claimed": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
  }
}
`

func renderTrustSchema(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return fmt.Appendf(nil, trustSchema, s.base+api.TrustSchema), nil
}

type trustKey struct {
	KID       string `json:"kid"`
	Public    string `json:"public_key_hex"`
	Since     string `json:"since"`
	Status    string `json:"status"`
	RetiredOn string `json:"retired_on,omitzero"`
}

type trustClaim struct {
	Claim string `json:"claim"`
	Check string `json:"check"`
}

// notClaimed is what nobody should read into anything that is signed here.
var notClaimed = []string{
	"It is no escrow, guarantor, dispute court, rating or ranking.",
	"A reading of a door says what one request saw at one time. It says nothing of delivery or of the operator.",
	"A certificate proves that the store issued it with those fields on that date, and nothing of what a buyer wrote " +
		"into it.",
	"Nobody else has audited the store. What can be checked is checked by you, at the addresses above.",
}

// renderTrust says who keeps the store, what is claimed with where to check it, and what is not.
func renderTrust(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	cfg := s.Site.Config
	doc := struct {
		Schema     string       `json:"$schema"`
		Version    int          `json:"version"`
		Service    string       `json:"service"`
		Keeper     string       `json:"keeper"`
		Contact    string       `json:"contact"`
		Security   string       `json:"security"`
		DID        string       `json:"did"`
		Keys       []trustKey   `json:"signing_keys"`
		Claims     []trustClaim `json:"claims"`
		NotClaimed []string     `json:"not_claimed"`
	}{
		Schema: s.base + api.TrustSchema, Version: 1, Service: s.base, Keeper: cfg.Keeper, Contact: cfg.Contact,
		Security: s.base + "/.well-known/security.txt", DID: s.base + "/.well-known/did.json", NotClaimed: notClaimed,
		Claims: []trustClaim{
			{"Everything signed here verifies free, without an account.", s.base + "/verify.md"},
			{"The files of this site are those that the signed manifest lists.",
				s.base + "/" + attest.PublicLayout().Head()},
			{"The goods are made before the payment is settled, and a delivery that fails takes no money.",
				s.base + "/agents.md"},
			{"No account, key or session is issued or asked for.", s.base + "/auth.md"},
			{"The record of readings is appended to and never rewritten.", s.base + "/corpus.json"},
		},
	}
	id := s.Ring.Identity()
	doc.Keys = append(doc.Keys, trustKey{attest.DIDURL(s.host, id.KID), id.Public.String(), id.Since, "current", ""})
	for _, k := range s.Ring.Retired {
		if k.Purpose == attest.PurposeIdentity {
			doc.Keys = append(doc.Keys, trustKey{attest.DIDURL(s.host, k.KID), k.Public.String(), k.Since, "retired",
				k.RetiredOn})
		}
	}
	return indented(doc)
}

func depsTrust(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	depsRing(s, 0, d)
}
