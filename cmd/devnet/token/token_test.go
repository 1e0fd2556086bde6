package token

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
)

// The artifact is what the sources compile to, to the byte.
func TestLongArtifactIsWhatTheSourcesCompileTo(t *testing.T) {
	build := exec.CommandContext(t.Context(), npmtest.Node(t), "build/build.cjs", "sol")
	build.Env = append(os.Environ(), "NODE_PATH="+npmtest.Packages(t))
	var complaints bytes.Buffer
	build.Stderr = &complaints
	got, err := build.Output()
	if err != nil {
		t.Fatalf("compiling: %v\n%s", err, &complaints)
	}
	if !bytes.Equal(got, artifact) {
		t.Fatal("contracts.json differs from what sol compiles to; make it again with build/build.cjs")
	}
}

// Each contract of the artifact stands in the source file it names. (Read here, the sources also
// count as this test's inputs, so that a change of theirs runs it again.)
func TestArtifactNamesItsSources(t *testing.T) {
	recipe, err := os.ReadFile("build/build.cjs")
	if err != nil || len(recipe) == 0 {
		t.Fatal(err)
	}
	for _, name := range []string{DollarContract, MulticallContract, WalletContract, DelegateContract, FactoryContract,
		SpenderContract, Permit2Contract, ProxyContract, EscrowContract, DepositContract, DepositPermit2Contract,
		CaptureContract, CapturePayContract, CapturePermit2Contract, CaptureRefundContract, CaptureStoreContract} {
		source, err := os.ReadFile("sol/" + contracts()[name].Source)
		if err != nil || !strings.Contains(string(source), "\ncontract "+name+" ") {
			t.Errorf("%s is not in %q: %v", name, contracts()[name].Source, err)
		}
	}
	if got, want := len(contracts()), 16; got != want {
		t.Errorf("the artifact has %d contracts, want %d", got, want)
	}
}

// Every call packed by hand starts with the selector of a method that its contract has.
func TestCallsNameMethodsOfTheContracts(t *testing.T) {
	var (
		a   Authorization
		sig = make([]byte, 65)
		n   common.Hash
		who common.Address
		ch  Channel
		pi  = PaymentInfo{MaxAmount: common.Big1, Salt: common.Big1}
		fee = Fee{Amount: common.Big0}
	)
	rows := []Claim{{ch, common.Big1, common.Big1, sig}, {ch, common.Big1, common.Big1, nil}}
	a.Value = common.Big1
	for _, tt := range []struct {
		contract string
		calls    [][]byte
	}{
		{DollarContract, [][]byte{
			TransferCall(a, sig), TransferCall(a, nil), TransferBytesCall(a, sig), ReceiveCall(a, sig),
			CancelCall(who, n, sig), PermitCall(who, who, common.Big1, 1, sig), StateCall(who, n), BalanceCall(who),
			PayCall(who, common.Big1), MintCall(who, common.Big1), PauseCall(), UnpauseCall(), BlacklistCall(who),
			DomainCall(), ApproveCall(who, common.Big1),
		}},
		{SpenderContract, [][]byte{SpendCall(who, sig), ForgeCall(a)}},
		{ProxyContract, [][]byte{SettleCall(Permit{Amount: common.Big1, Nonce: common.Big1}, sig)}},
		{Permit2Contract, [][]byte{InvalidateCall(common.Big1)}},
		{FactoryContract, [][]byte{DeployCall(who, n), WalletAddressCall(who, n)}},
		{EscrowContract, [][]byte{
			DepositCall(ch, common.Big1, who, sig), ClaimCall(rows), ClaimSignedCall(rows, sig), SweepCall(who, who),
			WithdrawCall(ch, common.Big1), FinishCall(ch), RefundCall(ch, common.Big1),
			RefundSignedCall(ch, common.Big1, common.Big1, sig), EscrowCalls(sig, sig), ChannelCall(n),
			WithdrawalCall(n), RefundNonceCall(n), ReceiverCall(who, who),
		}},
		{CaptureContract, [][]byte{
			AuthorizeCall(pi, common.Big1, who, sig), ChargeCall(pi, common.Big1, who, sig, fee),
			CaptureCall(pi, common.Big1, fee), VoidCall(pi), ReclaimCall(pi),
			CaptureRefundCall(pi, common.Big1, who, nil), PaymentStateCall(n), HashCall(pi), StoreCall(who),
		}},
		{WalletContract, [][]byte{ExecuteCall(who, common.Big0, sig)}},
	} {
		var selectors []string
		for _, s := range contracts()[tt.contract].Methods {
			selectors = append(selectors, s)
		}
		for i, c := range tt.calls {
			if got := hex.EncodeToString(c[:4]); !slices.Contains(selectors, got) {
				t.Errorf("%s call %d: no method %s", tt.contract, i, got)
			}
			if len(c)%32 != 4 {
				t.Errorf("%s call %d: %d bytes are not whole words", tt.contract, i, len(c))
			}
		}
	}
}

// What the stock EVM client signs for a known transfer on Base.
func TestDigestOfAKnownTransfer(t *testing.T) {
	domain := Domain("USD Coin", "2", 8453, common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"))
	if got, want := domain.Hex(), "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"; got != want {
		t.Errorf("domain separator = %s, want %s", got, want)
	}
	a := Authorization{
		From:        common.HexToAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
		To:          common.HexToAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
		Value:       big.NewInt(1000),
		ValidBefore: 2_000_000_000,
		Nonce:       common.HexToHash("0x1111111111111111111111111111111111111111111111111111111111111111"),
	}
	if got, want := a.Digest(TransferKind, domain).Hex(),
		"0xbe640154cd812b6dad398ac909d8ea477815f5c4f28860c1be3a4b6d09ebb604"; got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
}

// A wrapped signature decodes as (factory, calldata, signature) in front of the magic word.
func TestWrappedSignatureDecodes(t *testing.T) {
	typ := func(name string) abi.Argument {
		a, err := abi.NewType(name, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return abi.Argument{Type: a}
	}
	factory := common.HexToAddress("0x1234")
	wrapped := Wrap6492(factory, []byte("calldata of no round length"), bytes.Repeat([]byte{7}, 65))
	body, magic := wrapped[:len(wrapped)-32], wrapped[len(wrapped)-32:]
	if got, want := hex.EncodeToString(magic), strings.Repeat("6492", 16); got != want {
		t.Errorf("ends with %s, want %s", got, want)
	}
	got, err := abi.Arguments{typ("address"), typ("bytes"), typ("bytes")}.Unpack(body)
	want := []any{factory, []byte("calldata of no round length"), bytes.Repeat([]byte{7}, 65)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("decoding: %v\n%s", err, diff)
	}
}

// What the stock EVM client signs for a known Permit2 payment on Base.
func TestDigestOfAKnownPermit(t *testing.T) {
	p := Permit{
		Token: common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), Amount: big.NewInt(1000),
		Spender: ProxyAddress, Nonce: big.NewInt(12345), Deadline: 2_000_000_000,
		To: common.HexToAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
	}
	if got, want := p.Digest(8453).Hex(),
		"0x196a99c8ddda1cc421d904f17e035c9811e494178c5900ad44a6dc5a66f4b914"; got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
}
