package goods_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// What a buyer said in private is signed by a salted digest, under a salt that nobody can guess and
// only the buyer has.
func TestPrivateTextsAreSalted(t *testing.T) {
	w := newWorld(t, 1, nil)
	const said = "I push to main."
	salts := map[string]bool{}
	for _, item := range []string{"the_confession", "grudge"} {
		g, ok := w.makers[0].Pools.(*content.Site).Good(item)
		kind, err := goods.Of(goods.Kinds(goods.Reader{}, nil), g)
		if !ok || err != nil {
			t.Fatalf("no %s on the shelf: %v", item, err)
		}
		for range 4 {
			o := &goods.Order{ID: "order", Good: g, Payer: "payer", Paid: g.Price,
				Inputs: map[string]string{"detail": said}, At: w.now}
			if err := w.update(func(tx ledger.Tx) error { return kind.Take(w.makers[0], tx, o) }); err != nil {
				t.Fatal(err)
			}
			m, err := kind.Make(t.Context(), w.makers[0], o)
			if err != nil {
				t.Fatal(err)
			}
			var d struct{ Digest, Salt string }
			if err := json.Unmarshal(m.Deliverable, &d); err != nil {
				t.Fatal(err)
			}
			salt, err := hex.DecodeString(d.Salt)
			if sum := sha256.Sum256(append(salt, said...)); err != nil || len(salt) != 32 ||
				d.Digest != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: digest %s under salt %s is not that of what was said", item, d.Digest, d.Salt)
			}
			if salts[d.Salt] || d.Salt == strings.Repeat("0", 64) {
				t.Errorf("%s: salt %s again", item, d.Salt)
			}
			salts[d.Salt] = true
			if !strings.HasSuffix(m.Attests, "sha256-salted:"+d.Digest) || strings.Contains(m.Attests, d.Salt) ||
				strings.Contains(string(m.Deliverable), said) {
				t.Errorf("%s attests %s with %s", item, m.Attests, m.Deliverable)
			}
		}
	}
}
