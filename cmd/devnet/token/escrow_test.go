package token

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/crypto"
)

// escrowWorld is escrows with their collectors, the dollar, Permit2 and Multicall3, at one moment.
type escrowWorld struct {
	t    *testing.T
	db   *state.StateDB
	time uint64
	own  *strings.Replacer // what differs by right between two implementations
}

var (
	dollar    = common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
	multicall = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")
)

func newEscrowWorld(t *testing.T, code func(name string) []byte, rich ...common.Address) *escrowWorld {
	t.Helper()
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatal(err)
	}
	d := Dollar{Name: "USD Coin", Version: "2", Symbol: "USDC", Balances: map[common.Address]int64{},
		Approved: rich[:1]}
	for _, a := range rich {
		d.Balances[a] = 1_000_000
	}
	for a, account := range map[common.Address]types.Account{
		dollar: d.Account(), Permit2Address: Plain(Permit2Contract),
		multicall:             Plain(MulticallContract),
		EscrowAddress:         {Code: code(EscrowContract)},
		DepositAddress:        {Code: code(DepositContract)},
		DepositPermit2Address: {Code: code(DepositPermit2Contract)},
		CaptureAddress:        {Code: code(CaptureContract)},
		CapturePayAddress:     {Code: code(CapturePayContract)},
		CapturePermit2Address: Plain(CapturePermit2Contract),
		CaptureRefundAddress:  {Code: code(CaptureRefundContract)}} {
		db.SetCode(a, account.Code, 0)
		for k, v := range account.Storage {
			db.SetState(a, k, v)
		}
	}
	return &escrowWorld{t, db, 1_795_000_000, strings.NewReplacer()}
}

// call makes a call and says all that can be seen of it.
func (w *escrowWorld) call(from, to common.Address, data []byte) string {
	cfg := &runtime.Config{State: w.db, GasLimit: 3_000_000, Origin: from, Value: new(big.Int),
		Time: w.time, BlockNumber: common.Big1}
	before, at := len(w.db.Logs()), w.db.Snapshot()
	out, _, err := runtime.Call(to, data, cfg)
	if err != nil {
		w.db.RevertToSnapshot(at)
	}
	var logs bytes.Buffer
	for _, l := range w.db.Logs()[before:] {
		if l.Address == EscrowAddress || l.Address == CaptureAddress {
			fmt.Fprintf(&logs, " %x:%x", l.Topics, l.Data)
		}
	}
	return w.own.Replace(fmt.Sprintf("%x %v%s", out, err, logs.String()))
}

// otherCode is the code of an implementation by other hands.
func otherCode(t *testing.T, file string) func(name string) []byte {
	t.Helper()
	var other map[string]string
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &other)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) []byte { return common.FromHex(other[name]) }
}

// Ours and an implementation by other hands do and say the same to whatever is called in whatever
// order, but for the words of a token or of Permit2.
func TestEscrowBehavesAsAnother(t *testing.T) {
	other := otherCode(t, "testdata/escrow.json")
	e := Escrow{ChainID: 1}
	said := map[string]int{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		keys := make([]*ecdsa.PrivateKey, 5)
		who := make([]common.Address, len(keys))
		for i := range keys {
			key := make([]byte, 32)
			key[0], key[31] = byte(i+1), byte(seed+1)
			keys[i], _ = crypto.ToECDSA(key)
			who[i] = crypto.PubkeyToAddress(keys[i].PublicKey)
		}
		ours := newEscrowWorld(t, Code, who[0], who[1])
		theirs := newEscrowWorld(t, other, who[0], who[1])
		sign := func(i int, digest common.Hash) []byte {
			sig, err := crypto.Sign(digest[:], keys[i])
			if err != nil {
				t.Fatal(err)
			}
			sig[64] += 27
			if r.IntN(25) == 0 {
				sig[r.IntN(65)] ^= 1 << r.IntN(8)
			}
			return sig[:65-r.IntN(40)/39]
		}
		for step := range 120 {
			// Payers 0 and 1, whose vouchers sign they or 2; receiver 3 and its authorizer 4.
			payer := r.IntN(2)
			signer := []int{payer, 2}[r.IntN(8)/7]
			c := Channel{who[payer], who[signer], who[3], who[4], dollar, 900, common.Hash{byte(r.IntN(2))}}
			switch r.IntN(40) {
			case 0:
				c.Delay = []uint64{899, 2_592_001}[r.IntN(2)]
			case 1:
				c.Receiver = common.Address{}
			case 2:
				c.PayerAuthorizer = common.Address{}
			}
			id, amount := e.ID(c), big.NewInt(r.Int64N(400))
			row := func() Claim {
				total := big.NewInt(r.Int64N(800))
				max := new(big.Int).Add(total, big.NewInt(r.Int64N(40)-4))
				if max.Sign() < 0 {
					max.SetInt64(0)
				}
				return Claim{c, max, total, sign(signer, e.Voucher(id, max))}
			}
			from, to := who[r.IntN(len(who))], EscrowAddress
			var data []byte
			switch r.IntN(14) {
			case 0, 1, 2:
				a := Authorization{From: c.Payer, To: DepositAddress, Value: amount, ValidBefore: ours.time + 60}
				salt := common.Hash{byte(step), byte(r.IntN(2))}
				a.Nonce = DepositNonce(id, salt)
				data = DepositCall(c, amount, DepositAddress, CollectorData(0, a.ValidBefore, salt,
					sign(payer, a.Digest(ReceiveKind, Domain("USD Coin", "2", e.ChainID, dollar)))))
			case 3:
				nonce := big.NewInt(r.Int64N(1000))
				data = DepositCall(c, amount, DepositPermit2Address, CollectorPermitData(nonce, ours.time,
					sign(payer, e.DepositPermitDigest(c, amount, nonce, ours.time)), nil))
			case 4:
				data = ClaimCall([]Claim{row()})
			case 5, 6:
				rows := []Claim{row(), row()}[:r.IntN(3)]
				data = ClaimSignedCall(rows, sign(4, e.Claims(rows)))
			case 7:
				data = SweepCall(c.Receiver, dollar)
			case 8:
				data = WithdrawCall(c, amount)
			case 9:
				data = FinishCall(c)
			case 10:
				data = RefundCall(c, amount)
			case 11, 12:
				nonce := big.NewInt(r.Int64N(3))
				data = RefundSignedCall(c, amount, nonce, sign(4, e.Refund(id, nonce, amount)))
			case 13:
				rows := []Claim{row()}
				data = EscrowCalls(ClaimSignedCall(rows, sign(4, e.Claims(rows))), SweepCall(c.Receiver, dollar))
			}
			calls := [][]byte{data, ChannelCall(id), WithdrawalCall(id), RefundNonceCall(id),
				ReceiverCall(c.Receiver, dollar)}
			for i, data := range calls {
				got, want := ours.call(from, to, data), theirs.call(from, to, data)
				if got != want {
					t.Fatalf("seed %d, step %d, call %d, %x: ours %s\ntheirs %s", seed, step, i, data[:4], got, want)
				}
				if i == 0 {
					said[fmt.Sprintf("%x %.9s", data[:4], got)]++
				}
			}
			if r.IntN(4) == 0 {
				ours.time += 400
				theirs.time += 400
			}
		}
	}
	if len(said) < 30 { // successes and errors, by method
		t.Errorf("only %d outcomes were seen: %v", len(said), said)
	}
}
