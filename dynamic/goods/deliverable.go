package goods

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/ledger"

	"github.com/google/jsonschema-go/jsonschema"
)

// Deliver sets what the buyer gets: the members of v, a struct, behind the name of its kind.
func (m *Made) Deliver(kind string, v any) {
	head, err := json.Marshal(struct {
		Kind string `json:"kind"`
	}{kind})
	if err != nil {
		panic(err)
	}
	body, err := json.Marshal(v)
	if err != nil { // a deliverable is made of text and numbers
		panic(err)
	}
	if len(body) > len("{}") {
		head = append(append(head[:len(head)-1], ','), body[1:]...)
	}
	m.Deliverable = head
}

// Delivered reads what Deliver wrote.
func Delivered[T any](m *Made) (v T, err error) {
	err = json.Unmarshal(m.Deliverable, &v)
	return v, err
}

// With is a step of a kind that needs its deliverable.
func With[T any](f func(m Maker, tx ledger.Tx, o *Order, d T) error) func(Maker, ledger.Tx, *Order, *Made) error {
	return func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		d, err := Delivered[T](g)
		if err != nil {
			return err
		}
		return f(m, tx, o, d)
	}
}

// Settled is the step that says in a deliverable what only a paid order knows.
func Settled[T any](f func(tx ledger.Tx, o *Order, d *T) error) func(Maker, ledger.Tx, *Order, *Made) error {
	return func(_ Maker, tx ledger.Tx, o *Order, g *Made) error {
		d, err := Delivered[T](g)
		if err == nil {
			err = f(tx, o, &d)
		}
		if err == nil {
			g.Deliver(o.Good.Kind, d)
		}
		return err
	}
}

// described is the order in which members of deliverables are described; further ones follow.
var described = []string{"kind", "text", "name", "animal", "strength", "temperament", "word", "date", "number", "day",
	"svg", "digest", "salt", "how_to_check", "held_for", "characters", "how_to_read",
	"label", "proof_existed_before", "how_to_get_the_proof", "starts", "ends", "how_to_extend",
	"window_hours", "due_at", "completed_at", "link", "file", "answer_digest", "how_to_check_answer",
	"url", "target", "readings",
	"every_hours", "summary", "read_at", "verdict", "evidence_sha256", "door", "method", "cap_usdc", "audit_id",
	"report_url", "report_sha256", "network", "transaction", "usdc", "not_walked", "at_door",
	"answer", "file_name", "media_type", "bytes", "sha256", "how_to_fetch"}

// Schema describes the deliverables of kinds as one object: what a kind does not use is left out.
func Schema(kinds []Kind) *jsonschema.Schema {
	all := api.SchemaFor[struct {
		Kind string `json:"kind"`
	}]()
	for _, k := range kinds {
		for name, p := range api.SchemaOf(k.Delivers).Properties {
			if all.Properties[name] == nil {
				all.Properties[name] = p
			}
		}
	}
	all.PropertyOrder = slices.DeleteFunc(slices.Clone(described),
		func(name string) bool { return all.Properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(all.Properties)) {
		if !slices.Contains(described, name) {
			all.PropertyOrder = append(all.PropertyOrder, name)
		}
	}
	return all
}

// text is the deliverable of kinds that give a text and nothing else.
type text struct {
	Text string `json:"text,omitzero"`
}

// sealed is the salted digest of a buyer's private text. Digest is SHA-256(salt ‖ text), hex; Salt
// is 32 bytes in hex and in nobody else's hands: with both the buyer can show what was said,
// without them nobody can.
type sealed struct {
	Digest string `json:"digest,omitzero"`
	Salt   string `json:"salt,omitzero"`
	HowTo  string `json:"how_to_check,omitzero"`
}

// digestOf is the digest of another private text under the same salt.
func (s sealed) digestOf(text string) (string, error) {
	salt, err := hex.DecodeString(s.Salt)
	if err != nil || len(salt) != 32 {
		return "", errors.New("goods: the salt of a sealed text is not 32 bytes of hex")
	}
	sum := sha256.Sum256(append(salt, text...))
	return hex.EncodeToString(sum[:]), nil
}

// seal makes the digest of a private text, and what a certificate attests by it.
func seal(text string) (s sealed, attests string) {
	var salt [32]byte
	rand.Read(salt[:])
	h := sha256.New()
	h.Write(salt[:])
	h.Write([]byte(text))
	s = sealed{Digest: hex.EncodeToString(h.Sum(nil)), Salt: hex.EncodeToString(salt[:]),
		HowTo: "digest = SHA-256(salt bytes followed by the UTF-8 text you sent). Keep the salt: only you have it."}
	return s, "sha256-salted:" + s.Digest
}
