package wallet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
)

type vector struct {
	Domain          struct{ VerifyingContract string }
	DomainSeparator string
	Digest          string
	Signature       string
	Message         map[string]any
	Payload         json.RawMessage
}

type vectors struct {
	PrivateKey, Address string
	EIP3009             vector `json:"eip3009"`
	OfferEip712         vector `json:"offerEip712"`
	ReceiptEip712       vector `json:"receiptEip712"`
	SIWE                string `json:"siwe"`
	SIWS                string `json:"siws"`
	SIWENoStatement     string `json:"siweNoStatement"`
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	raw, err := os.ReadFile("testdata/x402.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func testKey(t testing.TB) *Key {
	t.Helper()
	k, err := ParseKey(readVectors(t).PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func parse[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// authorization reads the EIP-3009 vector.
func authorization(t testing.TB) (Domain, Authorization) {
	v := readVectors(t).EIP3009
	a := Authorization{
		From:        parse[Address](t)(ParseAddress(v.Message["from"].(string))),
		To:          parse[Address](t)(ParseAddress(v.Message["to"].(string))),
		Value:       parse[Uint256](t)(ParseUint256(v.Message["value"].(string))),
		ValidAfter:  parse[Uint256](t)(ParseUint256(v.Message["validAfter"].(string))),
		ValidBefore: parse[Uint256](t)(ParseUint256(v.Message["validBefore"].(string))),
		Nonce:       [32]byte(parse[[]byte](t)(ParseSignature(v.Message["nonce"].(string), 32))),
	}
	return Domain{"USD Coin", "2", 8453, parse[Address](t)(ParseAddress(v.Domain.VerifyingContract))}, a
}

func TestVectorsOfStockLibraries(t *testing.T) {
	v, k := readVectors(t), testKey(t)
	if k.Address().String() != v.Address {
		t.Fatalf("address = %s, want %s", k.Address(), v.Address)
	}
	domain, a := authorization(t)
	var offer struct {
		Version                                            uint64
		ResourceURL, Scheme, Network, Asset, PayTo, Amount string
		ValidUntil                                         uint64
	}
	var receipt struct {
		Version                     uint64
		Network, ResourceURL, Payer string
		IssuedAt                    uint64
		Transaction                 string
	}
	for raw, into := range map[*json.RawMessage]any{&v.OfferEip712.Payload: &offer,
		&v.ReceiptEip712.Payload: &receipt} {
		if err := json.Unmarshal(*raw, into); err != nil {
			t.Fatal(err)
		}
	}
	if got := hexOf(domain.Separator()); got != v.EIP3009.DomainSeparator {
		t.Errorf("separator = %s, want %s", got, v.EIP3009.DomainSeparator)
	}
	for _, c := range []struct {
		name      string
		digest    [32]byte
		want      string
		signature string
	}{
		{"authorization", a.Digest(domain.Separator()), v.EIP3009.Digest, v.EIP3009.Signature},
		{"offer", Offer(offer).Digest(), v.OfferEip712.Digest, v.OfferEip712.Signature},
		{"receipt", Receipt(receipt).Digest(), v.ReceiptEip712.Digest, v.ReceiptEip712.Signature},
	} {
		if hexOf(c.digest) != c.want {
			t.Errorf("%s digest = %s, want %s", c.name, hexOf(c.digest), c.want)
		}
		if got := "0x" + hex.EncodeToString(k.Sign(c.digest)); got != c.signature {
			t.Errorf("%s signature = %s, want %s", c.name, got, c.signature)
		}
	}
}

func hexOf(d [32]byte) string { return "0x" + hex.EncodeToString(d[:]) }

func TestEveryChangedByteOfASignature(t *testing.T) {
	k := testKey(t)
	domain, a := authorization(t)
	digest := a.Digest(domain.Separator())
	signature := k.Sign(digest)
	if by, err := Recover(digest, signature); err != nil || by != k.Address() {
		t.Fatalf("Recover = %s, %v", by, err)
	}
	for i := range signature {
		for x := 1 + i%17; x < 256; x += 17 {
			changed := bytes.Clone(signature)
			changed[i] ^= byte(x)
			if by, err := Recover(digest, changed); err == nil && by == k.Address() {
				t.Fatalf("byte %d changed by %#02x is accepted", i, x)
			}
		}
	}
	for i := range digest {
		changed := digest
		changed[i] ^= 1
		if by, err := Recover(changed, signature); err == nil && by == k.Address() {
			t.Fatalf("digest byte %d changed is accepted", i)
		}
	}
}

func TestSignatureHasOneSpelling(t *testing.T) {
	k, digest := testKey(t), Keccak256([]byte("x"))
	signature := k.Sign(digest)
	n := crypto.S256().Params().N
	high := bytes.Clone(signature)
	new(big.Int).Sub(n, new(big.Int).SetBytes(signature[32:64])).FillBytes(high[32:64])
	high[64] ^= 27 ^ 28
	twin := bytes.Clone(high)
	twin[64] -= 27
	if pub, err := crypto.SigToPub(digest[:], twin); err != nil ||
		crypto.PubkeyToAddress(*pub) != common.Address(k.Address()) {
		t.Fatalf("the high-s twin is not one: %v", err)
	}
	for name, s := range map[string][]byte{
		"high s": high, "v 0 or 1": twin, "short": signature[:64], "long": append(bytes.Clone(signature), 0),
		"empty": nil, "s zero": append(append(bytes.Clone(signature[:32]), make([]byte, 32)...), 27),
		"r zero": append(append(make([]byte, 32), signature[32:64]...), 27),
		"r is n": append(append(n.Bytes(), signature[32:64]...), 27),
	} {
		if by, err := Recover(digest, s); err == nil {
			t.Errorf("%s: recovers %s", name, by)
		}
	}
	low := bytes.Clone(signature)
	low[64] -= 27
	if by, err := Recover(digest, NormalizeV(low)); err != nil || by != k.Address() {
		t.Errorf("after NormalizeV: %s, %v", by, err)
	}
	if low[64] > 1 {
		t.Error("NormalizeV changed its argument")
	}
}

func TestAgainstGoEthereum(t *testing.T) {
	for i := range 50 {
		secret := Keccak256(fmt.Appendf(nil, "key %d", i))
		k := parse[*Key](t)(ParseKey(hex.EncodeToString(secret[:])))
		theirs := parse[common.Address](t)(func() (common.Address, error) {
			p, err := crypto.ToECDSA(secret[:])
			return crypto.PubkeyToAddress(p.PublicKey), err
		}())
		if k.Address().String() != theirs.Hex() {
			t.Fatalf("address = %s, theirs %s", k.Address(), theirs.Hex())
		}
		message := strings.Repeat("é", i) + "\n"
		if got, want := PersonalHash(message), accounts.TextHash([]byte(message)); !bytes.Equal(got[:], want) {
			t.Fatalf("personal hash of %q differs", message)
		}
		a := Authorization{From: k.Address(), To: Address(secret[:20]), Value: NewUint256(uint64(i) << 40),
			ValidAfter: Uint256(secret), ValidBefore: NewUint256(1 << 62), Nonce: secret}
		d := Domain{"US \"Dollar\" é", "2", uint64(i + 1), Address(secret[12:])}
		if got, want := a.Digest(d.Separator()), theirDigest(t, d, a); got != want {
			t.Fatalf("digest = %x, theirs %x", got, want)
		}
	}
}

func theirDigest(t *testing.T, d Domain, a Authorization) [32]byte {
	t.Helper()
	var members []apitypes.Type
	for _, m := range []string{"address from", "address to", "uint256 value", "uint256 validAfter",
		"uint256 validBefore", "bytes32 nonce"} {
		kind, name, _ := strings.Cut(m, " ")
		members = append(members, apitypes.Type{Name: name, Type: kind})
	}
	sum, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types: apitypes.Types{"TransferWithAuthorization": members, "EIP712Domain": {
			{Name: "name", Type: "string"}, {Name: "version", Type: "string"}, {Name: "chainId", Type: "uint256"},
			{Name: "verifyingContract", Type: "address"}}},
		PrimaryType: "TransferWithAuthorization",
		Domain: apitypes.TypedDataDomain{Name: d.Name, Version: d.Version,
			ChainId: math.NewHexOrDecimal256(int64(d.ChainID)), VerifyingContract: d.VerifyingContract.String()},
		Message: apitypes.TypedDataMessage{"from": a.From.String(), "to": a.To.String(), "value": a.Value.String(),
			"validAfter": a.ValidAfter.String(), "validBefore": a.ValidBefore.String(), "nonce": a.Nonce[:]},
	})
	if err != nil {
		t.Fatal(err)
	}
	return [32]byte(sum)
}

func TestParseAddress(t *testing.T) {
	const good = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // EIP-55's first example
	if a := parse[Address](t)(ParseAddress(good)); a.String() != good || a.Lower() != strings.ToLower(good) {
		t.Errorf("%s is written %s and %s", good, a, a.Lower())
	}
	if _, err := ParseAddress(strings.ToLower(good)); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"", "0x", good[2:], good + "0", good[:41], "0X" + good[2:], " " + good, good[:41] + "g",
		"0x" + strings.ToUpper(good[2:])} {
		if a, err := ParseAddress(s); err == nil {
			t.Errorf("ParseAddress(%q) = %s", s, a)
		}
	}
	for i := 2; i < len(good); i++ {
		for c := range 256 {
			s := good[:i] + string([]byte{byte(c)}) + good[i+1:]
			if a, err := ParseAddress(s); s != good && err == nil && a.String() == good {
				t.Fatalf("%q is taken for %s", s, good)
			}
		}
	}
	if _, err := ParseChecksummed(strings.ToLower(good)); err == nil {
		t.Error("ParseChecksummed takes lower case")
	}
}

func TestParseUint256(t *testing.T) {
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for _, s := range []string{"0", "1", "1000000", largest.String()} {
		if u := parse[Uint256](t)(ParseUint256(s)); u.String() != s {
			t.Errorf("%s is written %s", s, u)
		}
	}
	for _, s := range []string{"", "-1", "+1", "01", "00", " 1", "1 ", "1.0", "0x1", "1e3", "١",
		new(big.Int).Add(largest, big.NewInt(1)).String(), strings.Repeat("9", 100)} {
		if u, err := ParseUint256(s); err == nil {
			t.Errorf("ParseUint256(%q) = %s", s, u)
		}
	}
	if n, ok := NewUint256(1 << 63).Int64(); ok {
		t.Errorf("2^63 as int64 is %d", n)
	}
	if _, ok := parse[Uint256](t)(ParseUint256("18446744073709551616")).Uint64(); ok {
		t.Error("2^64 fits into a uint64")
	}
}

func TestKeysDoNotShowThemselves(t *testing.T) {
	k := testKey(t)
	secret := k.Secret()[2:]
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if s := fmt.Sprintf(verb, k); strings.Contains(s, secret) || !strings.Contains(s, k.Address().String()) {
			t.Errorf("%s shows %s", verb, s)
		}
	}
	if again := parse[*Key](t)(ParseKey(k.Secret())); again.Address() != k.Address() {
		t.Error("a stored key is another")
	}
	for _, bad := range []string{"", "0x00", strings.Repeat("0", 64), strings.Repeat("f", 64),
		strings.Repeat("1", 66)} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q) is accepted", bad)
		}
	}
}

// TestSmallOrderKeysAreRefused shows of each listed key that it verifies a
// signature nobody made, and is refused nevertheless.
func TestSmallOrderKeysAreRefused(t *testing.T) {
	forged := make([]byte, 64)
	forged[0] = 1 // R is the identity, S is zero: good where the challenge times the key vanishes
	for _, y := range smallOrder {
		pub := parse[[]byte](t)(hex.DecodeString(y))
		fooled := ""
		for i := range 400 {
			if message := fmt.Sprint(i); ed25519.Verify(pub, []byte(message), forged) {
				fooled = message
				break
			}
		}
		if fooled == "" {
			t.Errorf("%s is not of small order", y)
			continue
		}
		if VerifySolana([32]byte(pub), fooled, forged) {
			t.Errorf("%s is accepted", y)
		}
		pub[31] |= 0x80
		if VerifySolana([32]byte(pub), fooled, forged) {
			t.Errorf("%s with a sign is accepted", y)
		}
	}
}

// TestSmallOrderNoncesAreRefused makes a signature whose R is the identity. Go's library takes it;
// Solana's nodes do not.
func TestSmallOrderNoncesAreRefused(t *testing.T) {
	seed := sha512.Sum512(make([]byte, ed25519.SeedSize))
	pub := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	little := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	seed[0], seed[31] = seed[0]&248, seed[31]&63|64
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989",
		10)
	signature := make([]byte, 64)
	signature[0] = 1
	k := sha512.Sum512(slices.Concat(signature[:32], pub, []byte("text")))
	s := new(big.Int).Mul(little(k[:]), little(seed[:32]))
	s.Mod(s, order).FillBytes(signature[32:])
	slices.Reverse(signature[32:])
	if !ed25519.Verify(pub, []byte("text"), signature) {
		t.Fatal("the signature is not one that the library takes")
	}
	if VerifySolana([32]byte(pub), "text", signature) {
		t.Error("a signature with R of small order is accepted")
	}
	for _, short := range [][]byte{nil, signature[:63]} {
		if VerifySolana([32]byte(pub), "text", short) {
			t.Errorf("a signature of %d bytes is accepted", len(short))
		}
	}
}

func TestCAIP(t *testing.T) {
	for _, s := range []string{"eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "cosmos:cosmoshub-3"} {
		if c := parse[ChainID](t)(ParseChainID(s)); c.String() != s {
			t.Errorf("%s is written %s", s, c)
		}
	}
	for _, s := range []string{"", "eip155", "eip155:", "ei:1", "EIP155:1", "eip155:1:2", "eip155:" +
		strings.Repeat("1", 33), "eip155:1\n"} {
		if c, err := ParseChainID(s); err == nil {
			t.Errorf("ParseChainID(%q) = %v", s, c)
		}
	}
	for s, want := range map[string]uint64{"eip155:8453": 8453, "eip155:08453": 0, "eip155:0": 0, "solana:8453": 0,
		"eip155:x": 0, "eip155:18446744073709551616": 0} {
		if n, err := parse[ChainID](t)(ParseChainID(s)).EVM(); n != want || (err == nil) != (want > 0) {
			t.Errorf("EVM chain of %s = %d, %v", s, n, err)
		}
	}
}

func FuzzRecover(f *testing.F) {
	k, _ := ParseKey("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
	digest := Keccak256([]byte("x"))
	f.Add(digest[:], k.Sign(digest))
	f.Fuzz(func(t *testing.T, d, signature []byte) {
		if len(d) != 32 {
			return
		}
		by, err := Recover([32]byte(d), signature)
		if err != nil {
			return
		}
		theirs := bytes.Clone(signature)
		theirs[64] -= 27
		pub, err := crypto.SigToPub(d, theirs)
		if err != nil || crypto.PubkeyToAddress(*pub) != common.Address(by) {
			t.Errorf("we recover %s, go-ethereum %v", by, err)
		}
	})
}

// An account is read in the spellings that its namespace has, and written in one.
func TestAccounts(t *testing.T) {
	const evm = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	const sol = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	const cluster = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	for in, want := range map[string]string{
		"eip155:8453:" + evm:                  "eip155:8453:" + evm,
		"eip155:8453:" + strings.ToLower(evm): "eip155:8453:" + evm,
		cluster + ":" + sol:                   cluster + ":" + sol,
		cluster + ":" + strings.ToLower(sol):  "", // of other bytes, or none
		cluster + ":1" + sol:                  "",
		cluster + ":" + sol[:20]:              "",
		cluster + ":" + evm:                   "",
		cluster + ":0" + sol[:20]:             "",
		"eip155:8453:" + sol:                  "",
		"eip155:8453:" + evm + " ":            "",
		evm:                                   "",
		":" + evm:                             "",
		"cosmos:hub:" + sol:                   "",
		"solana:" + sol:                       "",
		cluster + ":":                         "",
		"SOLANA" + cluster[len("solana"):] + ":" + sol: "",
	} {
		got, err := parseAccount(in)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

// parseAccount reads the CAIP-10 form.
func parseAccount(s string) (Account, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Account{}, fmt.Errorf("reading an account: %.80q is not CAIP-10", s)
	}
	chain, err := ParseChainID(s[:i])
	if err != nil {
		return Account{}, err
	}
	return NewAccount(chain, s[i+1:])
}
