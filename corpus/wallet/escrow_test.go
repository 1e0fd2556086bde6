package wallet

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

func hash32(t *testing.T, s string) (h [32]byte) {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || len(b) != 32 {
		t.Fatalf("%q is no hash", s)
	}
	return [32]byte(b)
}

// What the stock clients of x402 2.27 signed is what is signed here, byte for byte.
func TestEscrowsAsStockClientsSign(t *testing.T) {
	payer, err := ParseKey("0x0000000000000000000000000000000000000000000000000000000000000b0b")
	if err != nil {
		t.Fatal(err)
	}
	a := func(s string) Address {
		t.Helper()
		a, err := ParseChecksummed(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	receiver, signs := a("0xAd29D7a8aD3639F97798c768202F27C1dE81DC55"), a("0x563Bd9e11d18b6eA60c2f159F8D3062d30E8039e")
	usd := a("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
	separator := Domain{Name: "USD Coin", Version: "2", ChainID: 8453, VerifyingContract: usd}.Separator()
	c := Channel{Payer: payer.Address(), Signer: payer.Address(), Receiver: receiver, Authorizer: signs, Token: usd,
		Delay: 900}
	id := c.ID(8453)
	deposit := Authorization{From: payer.Address(), To: BatchCollector, Value: NewUint256(5000),
		ValidBefore: NewUint256(1795930022),
		Nonce:       DepositNonce(id, hash32(t, "444a2cb1aecb6d7bd89b0ebe8ab8f7d7ea7911fc6c5c718c660d1a587c3343b3"))}
	nonce := hash32(t, "e9d2bb4cb3ceef1563077007445cec217d24024ab4fadc0bd7b1eea12da36ab2")
	h := Hold{Operator: a("0xF1482d99f9C66F8A498077d4f7f90F68B67905AC"), Payer: payer.Address(), Receiver: receiver,
		Token: usd, Amount: 250_000, PreApproval: 1795930140, Capture: 1796541840, Refund: 1797139440,
		Salt: BoundSalt(signs, Address{}, nonce)}
	held := Authorization{From: payer.Address(), To: CaptureCollector, Value: NewUint256(250_000),
		ValidBefore: NewUint256(1795930140), Nonce: h.Nonce(8453)}
	x := func(b []byte) string { return hex.EncodeToString(b) }
	of := func(h [32]byte) string { return x(h[:]) }
	for _, tt := range []struct{ name, got, want string }{
		{"channel", of(id), "1367c436411c4e34527330b8395c394dfde6b5924e05d8883b7cdaba5af9054e"},
		{"voucher", x(payer.Sign(VoucherDigest(8453, id, 1000))), "5c6e77f23be8d01b08f4cb04e1ff6a6c6dc0ac4feeee7341" +
			"4a92a40388fef5aa5650ab53d9e74906a4e5843277bc6ea5d19070800bb00d21f517e5629dd4d8971c"},
		{"deposit's nonce", of(deposit.Nonce), "328e145e38068cf4cb19a9ec1deed724227956671a1a09848b508b2f6810e55d"},
		{"deposit", x(payer.Sign(deposit.ReceiveDigest(separator))), "b14fb18ef03ebdbf30334a19b68de5961b90da03e555" +
			"da0dcd5372efda171d0a4e7c5dc6f11a6b0f2b469af2dc388cbc98e02f508acd4c9a30f72c074af344111b"},
		{"salt", of(h.Salt), "7bbdd148772dfb88e078df90b6630574e8b0d8cad7c1a16334a7415858171ded"},
		{"hold", of(h.Hash(8453)), "9ed566fb86d5875b64e05ddcd19477f38676f9f964079adb90882328d1a55863"},
		{"hold's nonce", of(held.Nonce), "37bd86e85e20a5c5da2a8e4b0b30a3b155aefd735c3a01ca76369c6e959c9afb"},
		{"authorization", x(payer.Sign(held.ReceiveDigest(separator))), "c42db51bb1784123157214c166c7a35527e29635e" +
			"8b785e74b1a5ad656448fdc696e02f87ee3b5d043a7200a68ce3941560e289ffd0ef7df51f6c5cd53b5de801c"},
	} {
		if got := tt.got; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What a wallet sends is what go-ethereum reads: sender, hash and every member, at the lengths at
// which the encoding changes.
func TestTransactionsAsGoEthereumReadsThem(t *testing.T) {
	key, err := ParseKey(strings.Repeat("7", 64))
	if err != nil {
		t.Fatal(err)
	}
	for n, size := range []int{0, 1, 55, 56, 260, 70_000} {
		tx := Transaction{ChainID: 8453, Nonce: uint64(n * 100), Gas: 90_000, Tip: big.NewInt(int64(n)),
			MaxFee: big.NewInt(3_000_000_000), To: BatchEscrow, Data: make([]byte, size)}
		raw, hash := key.SignTransaction(tx)
		var got types.Transaction
		if err := got.UnmarshalBinary(raw); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(8453)), &got)
		if err != nil || from != common.Address(key.Address()) || got.Hash() != common.Hash(hash) ||
			got.Nonce() != tx.Nonce || got.Gas() != tx.Gas || got.GasTipCap().Cmp(tx.Tip) != 0 ||
			got.GasFeeCap().Cmp(tx.MaxFee) != 0 || *got.To() != common.Address(tx.To) || len(got.Data()) != size ||
			got.Value().Sign() != 0 {
			t.Errorf("%d bytes: from %s, %+v, %v", size, from, &got, err)
		}
	}
}
