package solana_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// stockTransfer is a payment of the first buyer.
func stockTransfer(blockhash, memo string) solana.Transfer {
	return solana.Transfer{
		Payer: person("buyer-0").PublicKey().String(), FeePayer: person("feepayer").PublicKey().String(),
		PayTo: person("payto").PublicKey().String(), Mint: usdc.String(), Amount: price, Decimals: 6, Memo: memo,
		Blockhash: blockhash,
	}
}

// signedBy is the payload of a transfer.
func signedBy(t *testing.T, x solana.Transfer, who sol.PrivateKey) []byte {
	t.Helper()
	m, err := x.Message()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{
		"transaction": solana.Wire(m, [64]byte(ed25519.Sign(ed25519.PrivateKey(who), m)))})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A transfer is taken by the rail and paid on the real token program, and an independent reader
// finds in it what was asked for and nothing else.
func TestTransferIsPaid(t *testing.T) {
	m := openMachine(t, svm.Start(t))
	h, err := solana.Latest(t.Context(), networks.Solana, []string{m.URL})
	if err != nil {
		t.Fatal(err)
	}
	want := m.rail.Requirement(price)
	want.Extra["memo"] = "of one offer"
	data := signedBy(t, stockTransfer(h.Blockhash, "of one offer"), person("buyer-0"))
	p, err := m.rail.Parse(data, want)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := m.rail.Verify(t.Context(), p, want, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.rail.Draft(t.Context(), []*rail.Payment{p})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := d.Sign(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.rail.Send(t.Context(), signed); err != nil {
		t.Fatal(err)
	}
	m.Seal()
	f, err := newRail(t, m.cfg).Status(t.Context(), p, []rail.Signed{signed}, seen, time.Now())
	if err != nil || f.State != rail.Paid || m.Balance() != price {
		t.Fatalf("Status = %+v, %v; the receiver has %d", f, err, m.Balance())
	}

	var w struct{ Transaction string }
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	tx, err := sol.TransactionFromBase64(w.Transaction)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tx.Message.Instructions); n != 4 || tx.Message.Header.NumRequiredSignatures != 2 ||
		len(tx.Message.AddressTableLookups) != 0 {
		t.Errorf("%d instructions, header %+v", n, tx.Message.Header)
	}
	for i, in := range tx.Message.Instructions {
		for _, a := range in.Accounts {
			if tx.Message.AccountKeys[a] == person("feepayer").PublicKey() {
				t.Errorf("the fee payer is among the accounts of instruction %d", i)
			}
		}
	}
	again, err := tx.MarshalBinary()
	if err != nil || base64.StdEncoding.EncodeToString(again) != w.Transaction {
		t.Errorf("another reader writes it otherwise: %v", err)
	}
}

// The stock facilitator takes it with the same terms.
func TestTransferIsTheStockFacilitators(t *testing.T) {
	h := open(t)
	var qs []question
	for _, memo := range []string{"of one offer", strings.Repeat("é", 128)} {
		h.mu.Lock()
		hash := h.head().hash.String()
		h.mu.Unlock()
		want := h.rail.Requirement(price)
		want.Extra["memo"] = memo
		qs = append(qs, question{name: memo, want: want,
			payload: signedBy(t, stockTransfer(hash, memo), person("buyer-0"))})
	}
	url := startStock(t, h.srv.URL)
	for _, q := range qs {
		if a := ask(t, url, "/verify", q); !a.IsValid {
			t.Errorf("memo %.20q: %q", q.name, a.word())
		}
	}
}

// Nothing is made to sign that would pay for more than the transfer, or that no rail takes.
func TestTransfersThatAreNotMade(t *testing.T) {
	h := open(t)
	hash := h.head().hash.String()
	for name, change := range map[string]func(*solana.Transfer){
		"the fee payer pays": func(x *solana.Transfer) { x.FeePayer = x.Payer },
		"the fee payer is the source": func(x *solana.Transfer) {
			x.FeePayer = ata(t, person("buyer-0").PublicKey(), usdc).String()
		},
		"the fee payer is a program":    func(x *solana.Transfer) { x.FeePayer = sol.TokenProgramID.String() },
		"the payer is paid":             func(x *solana.Transfer) { x.PayTo = x.Payer },
		"nothing":                       func(x *solana.Transfer) { x.Amount = 0 },
		"no memo":                       func(x *solana.Transfer) { x.Memo = "" },
		"a long memo":                   func(x *solana.Transfer) { x.Memo = strings.Repeat("m", 257) },
		"a memo that is no text":        func(x *solana.Transfer) { x.Memo = "\xff" },
		"no blockhash":                  func(x *solana.Transfer) { x.Blockhash = "" },
		"a receiver in another writing": func(x *solana.Transfer) { x.PayTo = "1" + x.PayTo },
		"a lower-cased receiver":        func(x *solana.Transfer) { x.PayTo = strings.ToLower(x.PayTo) },
		"an Ethereum address": func(x *solana.Transfer) {
			x.PayTo = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
		},
	} {
		x := stockTransfer(hash, "a memo")
		change(&x)
		if m, err := x.Message(); err == nil {
			t.Errorf("%s: a message of %d bytes", name, len(m))
		}
	}
}

// A blockhash of another cluster's node is not taken.
func TestLatestIsOfTheCluster(t *testing.T) {
	h := open(t)
	if got, err := solana.Latest(t.Context(), networks.Solana, []string{h.srv.URL}); err != nil ||
		got.Blockhash == "" || got.LastValid == 0 {
		t.Errorf("Latest = %+v, %v", got, err)
	}
	if _, err := solana.Latest(t.Context(), networks.SolanaDevnet, []string{h.srv.URL}); err == nil {
		t.Error("a node of another cluster was believed")
	}
	if _, err := solana.Latest(t.Context(), networks.Solana, nil); err == nil {
		t.Error("no node at all")
	}
}
