package solana

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"store.example/agentstore/corpus/networks"

	sol "github.com/gagliardetto/solana-go"
)

// wires are the transactions of the table, as solana-go and the stock client's library wrote them.
func wires(t testing.TB) (list [][]byte) {
	b, err := os.ReadFile("testdata/wires.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := json.Unmarshal(b, &texts); err != nil {
		t.Fatal(err)
	}
	for _, s := range texts {
		w, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	return list
}

// What is read is what another implementation reads.
func TestReadsWhatAnotherReads(t *testing.T) {
	for i, w := range wires(t) {
		if err := differ(w); err != "" {
			t.Errorf("wire %d: %s", i, err)
		}
		if _, err := parseTransaction(w); err != nil {
			t.Errorf("wire %d: %v", i, err)
		}
	}
}

// differ says how another implementation reads a transaction otherwise than this one, which is
// empty where this one refuses it: it is stricter.
func differ(wire []byte) string {
	t, err := parseTransaction(wire)
	if err != nil {
		return ""
	}
	if again := t.wire(); !bytes.Equal(again, wire) {
		return "it is not written as it was read"
	}
	if again := t.encode(); !bytes.Equal(again, t.message) {
		return "its message is not written as it was read"
	}
	if t.version == 1 {
		return "" // which the other does not know
	}
	o, err := sol.TransactionFromBytes(wire)
	if err != nil {
		return "the other refuses it: " + err.Error()
	}
	h := o.Message.Header
	same := len(o.Signatures) == len(t.signatures) && int(h.NumRequiredSignatures) == t.signers &&
		int(h.NumReadonlySignedAccounts) == t.readonlySigned &&
		int(h.NumReadonlyUnsignedAccounts) == t.readonlyUnsigned &&
		key(o.Message.RecentBlockhash) == t.blockhash && len(o.Message.AccountKeys) == len(t.keys) &&
		len(o.Message.Instructions) == len(t.instructions) &&
		len(o.Message.AddressTableLookups) == len(t.lookups) && o.Message.IsVersioned() == (t.version == 0)
	if !same {
		return "the other reads another message"
	}
	for i, s := range o.Signatures {
		same = same && s == sol.Signature(t.signatures[i])
	}
	for i, k := range o.Message.AccountKeys {
		same = same && key(k) == t.keys[i]
	}
	for i, ix := range o.Message.Instructions {
		same = same && ix.ProgramIDIndex == uint16(t.instructions[i].program) &&
			bytes.Equal(ix.Data, t.instructions[i].data) &&
			slices.EqualFunc(ix.Accounts, t.instructions[i].accounts,
				func(a uint16, b byte) bool { return a == uint16(b) })
	}
	for i, l := range o.Message.AddressTableLookups {
		same = same && key(l.AccountKey) == t.lookups[i].table &&
			bytes.Equal(l.WritableIndexes, t.lookups[i].writable) &&
			bytes.Equal(l.ReadonlyIndexes, t.lookups[i].readonly)
	}
	if !same {
		return "the other reads other parts"
	}
	return ""
}

// inV1 is a transaction of version 1 with all that it can set, and its two signatures.
func inV1(t testing.TB) []byte {
	one, err := parseTransaction(wires(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	m := one.parts
	m.version, m.lookups = 1, nil
	m.config = configuration{mask: configAll, values: []uint32{7, 0, 20_000, 1 << 16, 32 << 10}}
	two := transaction{signatures: one.signatures, message: m.encode(), parts: m}
	return two.wire()
}

// Transactions of version 1 are read as strictly as others: none has a second spelling, and what no
// node takes is refused.
func TestVersionOne(t *testing.T) {
	wire := inV1(t)
	one, err := parseTransaction(wire)
	if err != nil {
		t.Fatal(err)
	}
	if one.config.value(configUnits) != 20_000 || one.config.value(configHeap) != 32<<10 || len(one.signatures) != 2 {
		t.Errorf("read as %+v", one.parts)
	}
	for i := range wire {
		c := slices.Clone(wire)
		c[i] ^= 1
		if two, err := parseTransaction(c); err == nil && bytes.Equal(two.message, one.message) &&
			slices.Equal(two.signatures, one.signatures) {
			t.Fatalf("byte %d changes nothing", i)
		}
		if _, err := parseTransaction(wire[:i]); err == nil {
			t.Fatalf("cut at %d it is accepted", i)
		}
	}
	for name, change := range map[string]func(*parts){
		"half a fee":                func(m *parts) { m.config = configuration{mask: 1, values: []uint32{7}} },
		"what there is not":         func(m *parts) { m.config = configuration{mask: 32, values: []uint32{7}} },
		"no instructions":           func(m *parts) { m.instructions = nil },
		"an account twice":          func(m *parts) { m.keys[3] = m.keys[2] },
		"a program not there":       func(m *parts) { m.instructions[0].program = 63 },
		"65 accounts":               func(m *parts) { m.keys = otherKeys(65) },
		"more than 65 instructions": func(m *parts) { m.instructions = slices.Repeat(m.instructions[:1], 65) },
	} {
		m := one.parts
		m.keys, m.instructions = slices.Clone(m.keys), slices.Clone(m.instructions)
		change(&m)
		two := transaction{signatures: one.signatures, message: m.encode(), parts: m}
		if _, err := parseTransaction(two.wire()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := parseTransaction(append(wire, 0)); err == nil {
		t.Error("something behind it is accepted")
	}
}

// otherKeys are so many accounts.
func otherKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{byte(i), 0xee}
	}
	return keys
}

// FuzzTransaction: nothing panics, whatever is accepted is written back byte for byte, so that no
// transaction has a second spelling, and another implementation reads the same parts.
func FuzzTransaction(f *testing.F) {
	for _, w := range append(wires(f), inV1(f)) {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		if err := differ(wire); err != "" {
			t.Errorf("%x: %s", wire, err)
		}
	})
}

// Every byte of a transaction matters: with one changed it is refused, or is another transaction.
func TestNoTransactionHasTwoSpellings(t *testing.T) {
	for _, w := range wires(t) {
		one, err := parseTransaction(w)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w {
			for _, flip := range []byte{1, 0x80, 0xff} {
				c := slices.Clone(w)
				c[i] ^= flip
				two, err := parseTransaction(c)
				if err == nil && bytes.Equal(two.message, one.message) && slices.Equal(two.signatures, one.signatures) {
					t.Fatalf("byte %d changes nothing", i)
				}
			}
		}
		for _, c := range [][]byte{append(slices.Clone(w), 0), w[:len(w)-1], append([]byte{w[0] | 0x80, 0}, w[1:]...),
			append([]byte{0}, w...)} {
			if _, err := parseTransaction(c); err == nil {
				t.Errorf("%x is accepted", c[:16])
			}
		}
	}
}

// What no node takes is refused where it is read.
func TestInsaneMessages(t *testing.T) {
	sane := func() *parts {
		one, err := parseTransaction(wires(t)[0])
		if err != nil {
			t.Fatal(err)
		}
		return &one.parts
	}
	if _, err := parseMessage(sane().encode()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*parts){
		"an account twice":                   func(m *parts) { m.keys[3] = m.keys[2] },
		"no signer":                          func(m *parts) { m.signers = 0 },
		"only readers sign":                  func(m *parts) { m.readonlySigned = m.signers },
		"more signers than accounts":         func(m *parts) { m.signers = 100 },
		"more readers than accounts":         func(m *parts) { m.readonlyUnsigned = len(m.keys) },
		"the fee payer as a program":         func(m *parts) { m.instructions[0].program = 0 },
		"a program that is not there":        func(m *parts) { m.instructions[0].program = byte(len(m.keys)) },
		"an account that is not there":       func(m *parts) { m.instructions[2].accounts = []byte{byte(len(m.keys))} },
		"a table of which nothing is loaded": func(m *parts) { m.lookups = []lookup{{table: key{1}}} },
		"more than 256 accounts": func(m *parts) {
			m.lookups = []lookup{{table: key{1}, writable: make([]byte, 200), readonly: make([]byte, 100)}}
		},
		"a program that a table loads": func(m *parts) {
			m.lookups = []lookup{{table: key{1}, writable: []byte{1}}}
			m.instructions[0].program = byte(len(m.keys))
		},
	} {
		m := sane()
		change(m)
		if _, err := parseMessage(m.encode()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 129, 16383, 16384, 65535} {
		b := appendCount(nil, n)
		r := &reader{rest: append(b, make([]byte, n)...)}
		if got := r.count(1); got != n || r.failed {
			t.Errorf("%d is read as %d, failed %v", n, got, r.failed)
		}
	}
	for _, b := range [][]byte{{}, {0x80}, {0x80, 0}, {0xff, 0}, {0x80, 0x80, 0}, {0xff, 0xff, 4},
		{0xff, 0xff, 0x80, 1}, {5, 1, 2}} {
		if r := (&reader{rest: b}); r.count(1) != 0 || !r.failed {
			t.Errorf("%x is read as a count", b)
		}
	}
}

// Addresses that programs derive are those of another implementation, which knows the curve by
// another way.
func TestDerivedAddresses(t *testing.T) {
	mint := mustKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	on := 0
	for i := range 300 {
		owner := key(sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		want, _, err := sol.FindAssociatedTokenAddress(sol.PublicKey(owner), sol.PublicKey(mint))
		if err != nil {
			t.Fatal(err)
		}
		if got := associated(owner, mint); sol.PublicKey(got) != want {
			t.Errorf("the token account of %s is %s, want %s", owner, got, want)
		}
		if networks.OnSolanaCurve(owner) != sol.IsOnCurve(owner[:]) {
			t.Errorf("%s: on the curve %v", owner, networks.OnSolanaCurve(owner))
		}
		if networks.OnSolanaCurve(owner) {
			on++
		}
	}
	if on < 100 || on > 200 {
		t.Errorf("%d of 300 are on the curve", on)
	}
}
