package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/internal/tilltest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// signsIn signs in at a path as an address on a network, by a key, and says afterwards that it was
// on another, "" for no other.
func (s *shop) signsIn(path string, key chaintest.Key, address common.Address, chainID uint64,
	says string) tilltest.Reply {
	s.t.Helper()
	in := s.challenge(path)["extensions"].(map[string]any)["sign-in-with-x"].(map[string]any)["info"].(map[string]any)
	at := func(name string) string { return in[name].(string) }
	text, err := wallet.SignIn{Domain: at("domain"), Address: address.Hex(), Statement: at("statement"),
		URI: at("uri"), Version: at("version"), ChainID: fmt.Sprint(chainID), Nonce: at("nonce"),
		IssuedAt: at("issuedAt"), ExpirationTime: at("expirationTime")}.Ethereum()
	if err != nil {
		s.t.Fatal(err)
	}
	digest := crypto.Keccak256Hash(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text))
	in["address"], in["type"], in["chainId"] = address.Hex(), "eip191", fmt.Sprintf("eip155:%d", chainID)
	in["signature"] = hexutil.Encode(s.net.SignDigest(key, digest))
	if says != "" {
		in["chainId"] = says
	}
	b, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("GET", path, map[string]string{"SIGN-IN-WITH-X": base64.StdEncoding.EncodeToString(b)}, "")
}

// A contract signs in for what it bought on its own network, as it answers now, within what the
// asking of contracts may cost; a key for what it bought on any.
func TestContractsSignIn(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	const path = "/api/buy/small_blessing"
	w, buyer, stranger := s.net.Wallet, s.net.Buyers[0], s.net.Buyers[1]
	ch := s.challenge(path)
	bought := s.present(path, s.signAs(ch, 1, w.Owner, w.Address, nil))
	s.want("a contract buys on the second network", bought, 200, "")
	s.want("it signs in on the first", s.signsIn(path, w.Owner, w.Address, 8453, ""), 402, "payment_required")
	for what, r := range map[string]tilltest.Reply{
		"a stranger for it":            s.signsIn(path, stranger, w.Address, 137, ""),
		"a sign-in of another network": s.signsIn(path, w.Owner, w.Address, 8453, "eip155:137"),
		"code that accepts nothing":    s.signsIn(path, stranger, chain.Multicall, 137, ""),
	} {
		if r.Status != 402 || r.Str("reason") != "invalid_siwx_signature" || r.Str("billed") != "no" {
			t.Errorf("%s: %d %s", what, r.Status, r.Raw)
		}
	}
	s.sameAnswer("it signs in where it bought", bought, s.signsIn(path, w.Owner, w.Address, 137, ""))

	plain := s.present(path, s.sign(s.challenge(path), 1, buyer, nil))
	s.want("a key buys on the second network", plain, 200, "")
	s.sameAnswer("it signs in on the first", plain, s.signsIn(path, buyer, buyer.Address, 8453, ""))

	refused := 0
	for range 40 {
		r := s.signsIn(path, stranger, w.Address, 137, "")
		if r.Status == 429 && r.Str("billed") == "no" && r.Header.Get("Retry-After") != "" &&
			r.Header.Get("PAYMENT-REQUIRED") == "" && strings.Contains(r.Str("next_step"), "do not pay again") {
			refused++
		} else if r.Status != 402 {
			t.Errorf("a wrong signature is answered %d %s", r.Status, r.Raw)
		}
	}
	if refused < 15 {
		t.Errorf("of 40 wrong signatures for a contract %d asked nobody", refused)
	}
	s.audit()
}
