package evm

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/dynamic/rail"
)

// vector is testdata/eip3009.json, made with the stock packages and a public test key.
type vector struct {
	Address string
	EIP3009 struct {
		Message                            json.RawMessage
		DomainSeparator, Digest, Signature string
	}
}

func readVector(t testing.TB) vector {
	t.Helper()
	b, err := os.ReadFile("testdata/eip3009.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v vector) payload() []byte {
	return []byte(`{"signature":"` + v.EIP3009.Signature + `","authorization":` + string(v.EIP3009.Message) + `}`)
}

func offline(t testing.TB) *Rail {
	t.Helper()
	cfg, _ := Preset("eip155:8453")
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{"http://127.0.0.1:1"}, "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", key
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStockSignature(t *testing.T) {
	v, r := readVector(t), offline(t)
	if got := r.separator.Hex(); got != v.EIP3009.DomainSeparator {
		t.Errorf("separator %s, want %s", got, v.EIP3009.DomainSeparator)
	}
	p, err := r.Parse(v.payload(), r.Requirement(1000))
	if err != nil {
		t.Fatal(err)
	}
	hash := digest(r.separator, p)
	if got := hash.Hex(); got != v.EIP3009.Digest {
		t.Errorf("digest %s, want %s", got, v.EIP3009.Digest)
	}
	if who, ok := recover65(hash, p.Signature); !ok || who.Hex() != v.Address {
		t.Errorf("recovered %s, want %s", who, v.Address)
	}
}

// Whatever is spelled differently but means the same has the same claim key.
func TestOneSpelling(t *testing.T) {
	v, r := readVector(t), offline(t)
	want, err := r.Parse(v.payload(), r.Requirement(1000))
	if err != nil {
		t.Fatal(err)
	}
	text := string(v.payload())
	lower := strings.ReplaceAll(text, v.Address, strings.ToLower(v.Address))
	upper := strings.ReplaceAll(text, strings.Repeat("11", 32), strings.ToUpper(strings.Repeat("11", 32)))
	for _, s := range []string{lower, upper} {
		got, err := r.Parse([]byte(s), r.Requirement(1000))
		if err != nil {
			t.Fatal(err)
		}
		if got.ClaimKey() != want.ClaimKey() {
			t.Errorf("claim key %s, want %s", got.ClaimKey(), want.ClaimKey())
		}
	}
}

func TestReverts(t *testing.T) {
	abi := "0x08c379a0" + strings.Repeat("0", 62) + "20" + strings.Repeat("0", 62) + "04" + "6e6f7065" +
		strings.Repeat("0", 56)
	for _, c := range []struct {
		code    int
		message string
		data    string
		want    string
		is      bool
	}{
		{3, "execution reverted: nope", `"` + abi + `"`, "nope", true},
		{3, "VM Exception while processing transaction", `{"data":"` + abi + `"}`, "nope", true},
		{3, "execution reverted", `"0xdeadbeef"`, "custom error 0xdeadbeef", true},
		{3, "execution reverted", "", "execution reverted", true},
		{-32000, "execution reverted", "", "execution reverted", true},
		{-32000, "header not found", "", "", false},
		{-32005, "limit exceeded", `{"see":"http://x"}`, "", false},
	} {
		err := &rail.NodeError{Code: c.code, Message: c.message, Data: []byte(c.data)}
		if got, is := reverted(err); got != c.want || is != c.is {
			t.Errorf("reverted(%v) = %q, %v; want %q, %v", err, got, is, c.want, c.is)
		}
	}
}

func TestRaised(t *testing.T) {
	for _, n := range []int64{1, 2, 9, 10, 1e9, 1e9 + 1} {
		got := raised(big.NewInt(n))
		if min := (n*110 + 99) / 100; got.Int64() < min {
			t.Errorf("raised(%d) = %s, want at least %d", n, got, min)
		}
	}
}

// An event pays only with the token's own Transfer right behind it.
func TestUses(t *testing.T) {
	asset, other := common.Address{1}, common.Address{2}
	payer, payTo := common.BytesToHash([]byte{3}), common.BytesToHash([]byte{4})
	nonce, block, tx := common.Hash{5}, common.Hash{6}, common.Hash{7}
	value := common.BigToHash(big.NewInt(9)).Bytes()
	used := entry{Address: asset, Topics: []common.Hash{topicUsed, payer, nonce}, BlockHash: block, Tx: tx, Index: 4}
	moved := entry{Address: asset, Topics: []common.Hash{topicTransfer, payer, payTo}, Data: value, BlockHash: block,
		Tx: tx, Index: 5}
	p := &rail.Payment{
		Payer: common.BytesToAddress(payer[:]).Hex(), PayTo: common.BytesToAddress(payTo[:]).Hex(), Nonce: nonce.Hex(),
		Amount: big.NewInt(9),
	}
	change := func(l entry, f func(*entry)) entry {
		l.Topics = append([]common.Hash{}, l.Topics...)
		f(&l)
		return l
	}
	for name, c := range map[string]struct {
		logs  []entry
		found bool
		pays  bool
	}{
		"pair":             {[]entry{used, moved}, true, true},
		"any order":        {[]entry{moved, used}, true, true},
		"no transfer":      {[]entry{used}, true, false},
		"transfer alone":   {[]entry{moved}, false, false},
		"not next":         {[]entry{used, change(moved, func(l *entry) { l.Index = 6 })}, true, false},
		"before":           {[]entry{used, change(moved, func(l *entry) { l.Index = 3 })}, true, false},
		"another token":    {[]entry{used, change(moved, func(l *entry) { l.Address = other })}, true, false},
		"another contract": {[]entry{change(used, func(l *entry) { l.Address = other }), moved}, false, false},
		"another block": {[]entry{used, change(moved, func(l *entry) { l.BlockHash = common.Hash{9} })}, true,
			false},
		"another's money": {[]entry{used, change(moved, func(l *entry) { l.Topics[1] = payTo })}, true, false},
		"to another":      {[]entry{used, change(moved, func(l *entry) { l.Topics[2] = payer })}, true, false},
		"less": {[]entry{used,
			change(moved, func(l *entry) { l.Data = common.BigToHash(big.NewInt(8)).Bytes() })}, true, false},
		"cancelled": {[]entry{change(used, func(l *entry) { l.Topics[0] = topicCanceled }), moved}, true,
			false},
		"removed":           {[]entry{change(used, func(l *entry) { l.Removed = true }), moved}, false, false},
		"transfer removed":  {[]entry{used, change(moved, func(l *entry) { l.Removed = true })}, true, false},
		"truncated topics":  {[]entry{change(used, func(l *entry) { l.Topics = l.Topics[:2] }), moved}, false, false},
		"strange amount":    {[]entry{used, change(moved, func(l *entry) { l.Data = value[1:] })}, true, false},
		"another's nonce":   {[]entry{change(used, func(l *entry) { l.Topics[2] = tx }), moved}, false, false},
		"other transaction": {[]entry{used, change(moved, func(l *entry) { l.Tx = common.Hash{8} })}, true, false},
	} {
		u, found := uses(asset, c.logs)[authorizationOf(p)]
		if found != c.found || found && u.pays(p) != c.pays {
			t.Errorf("%s: found %v, pays %v; want %v, %v", name, found, u.pays(p), c.found, c.pays)
		}
	}
}

// What Parse accepts is spelled one way: made from its result, the payload parses to the same
// payment.
func FuzzParse(f *testing.F) {
	v, r := readVector(f), offline(f)
	f.Add(v.payload())
	f.Add([]byte(`{"authorization":{"from":"0x"},"signature":"0x00"}`))
	f.Add(bytes.Replace(v.payload(), []byte("1000"), []byte("01000"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := r.Parse(data, r.Requirement(1000))
		if err != nil {
			if ref, ok := err.(*rail.Refusal); !ok || ref.Reason != "invalid_payload" {
				t.Fatalf("Parse(%q) = %v", data, err)
			}
			return
		}
		again, err := json.Marshal(map[string]any{
			"authorization": map[string]string{
				"from": p.Payer, "to": p.PayTo, "value": p.Amount.String(), "nonce": p.Nonce,
				"validAfter": big.NewInt(p.ValidAfter).String(), "validBefore": big.NewInt(p.ValidBefore).String(),
			},
			"signature": hexutil.Encode(p.Signature),
		})
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.Parse(again, r.Requirement(1000))
		if err != nil {
			t.Fatalf("Parse of its own spelling %s = %v", again, err)
		}
		if d := cmp.Diff(p, q, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); d != "" {
			t.Errorf("Parse(%q) is not stable: %s", data, d)
		}
	})
}
