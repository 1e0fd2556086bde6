package onchaintest_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/till"
)

// claimantKey is somebody's key, the same each time.
func claimantKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize))
}

func claimantOf(seed byte) string {
	return wallet.EncodeBase58(claimantKey(seed).Public().(ed25519.PublicKey))
}

// sellingOnSolana adds Solana's networks to a shop, with a node that answers nothing.
func sellingOnSolana(t *testing.T, ids ...string) func(*till.Config) {
	return func(c *till.Config) {
		for _, id := range ids {
			cfg, ok := solana.Preset(id)
			if !ok {
				t.Fatalf("no preset of %s", id)
			}
			cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{"http://127.0.0.1:1"}, claimantOf(200), claimantKey(201)
			r, err := solana.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			c.Rails = append(slices.Clone(c.Rails), r)
		}
	}
}

// claimWith sends a signature, as it is written, over what was asked.
func (s *shop) claimWith(address, signature, nonce string) tilltest.Reply {
	s.t.Helper()
	b, err := json.Marshal(map[string]string{"address": address, "signature": signature, "nonce": nonce})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("POST", "/api/claims", nil, string(b))
}

func signedText(key ed25519.PrivateKey, text string) []byte { return ed25519.Sign(key, []byte(text)) }

// A Solana wallet proves itself by Sign In With Solana and gets back what it bought, and nobody
// else does, whatever they bend.
func TestSolanaWalletClaims(t *testing.T) {
	t.Parallel()
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{}), at: time.Now().UTC().Truncate(time.Second)}
	s := newShop(t, shopOptions{db: db, config: func(c *till.Config) {
		c.Now = db.now
		sellingOnSolana(t, networks.Solana, networks.SolanaDevnet)(c)
	}})
	me := claimantOf(1)
	err := db.Update(t.Context(), func(tx ledger.Tx) error {
		p := till.Purchase{ID: "pur_solana0000000000000", State: till.FromChain, Created: tx.Now(), Updated: tx.Now(),
			Final: true, Version: 1,
			Payment: rail.Payment{Network: networks.Solana, Payer: me, Amount: big.NewInt(500_000)}}
		return errors.Join(ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p),
			tx.Set(ledger.PayerKey(me, tx.Now(), p.ID), nil))
	})
	if err != nil {
		t.Fatal(err)
	}

	c := s.asked(me, "")
	s.want("a challenge", c, 200, "")
	host, text, nonce := strings.TrimPrefix(s.url, "http://"), c.Str("challenge"), c.Str("nonce")
	reference := strings.TrimPrefix(networks.Solana, "solana:")
	for _, part := range []string{host + " wants you to sign in with your Solana account:\n" + me + "\n",
		"\nURI: " + s.url + "/api/claims\n", "\nVersion: 1\n", "\nChain ID: " + reference + "\n",
		"\nNonce: " + nonce + "\n", "\nExpiration Time: " + c.Str("expires_at")} {
		if !strings.Contains(text, part) {
			t.Errorf("the text to sign does not hold %q:\n%s", part, text)
		}
	}
	if m, err := wallet.VerifySolanaText(text, signedText(claimantKey(1), text)); err != nil || m.Address != me {
		t.Errorf("the text is not one of Sign In With Solana: %v", err)
	}
	if !strings.Contains(c.Str("sign_how"), "ed25519") {
		t.Errorf("sign_how = %s", c.Str("sign_how"))
	}

	good := signedText(claimantKey(1), text)
	signed := func(text string) string { return wallet.EncodeBase58(signedText(claimantKey(1), text)) }
	devnet := s.asked(me, networks.SolanaDevnet)
	s.want("a challenge of another cluster", devnet, 200, "")
	foreign := s.asked(claimantOf(2), "")
	for _, a := range []struct {
		name, address, signature, nonce string
		status                          int
		code                            string
	}{
		{"another's signature", me, wallet.EncodeBase58(signedText(claimantKey(2), text)), nonce, 403,
			"claim_signature_invalid"},
		{"the signature's other half of the order", me, wallet.EncodeBase58(addOrder(good)), nonce, 403,
			"claim_signature_invalid"},
		{"R of small order", me, wallet.EncodeBase58(slices.Concat([]byte{1}, make([]byte, 31), good[32:])),
			nonce, 403, "claim_signature_invalid"},
		{"a text of another domain", me, signed(strings.Replace(text, host, "shop.example", 1)), nonce, 403,
			"claim_signature_invalid"},
		{"a text of another cluster", me,
			signed(strings.Replace(text, reference, strings.TrimPrefix(networks.SolanaDevnet, "solana:"), 1)), nonce,
			403, "claim_signature_invalid"},
		{"one cluster's text with another's nonce", me, signed(text), devnet.Str("nonce"), 403,
			"claim_signature_invalid"},
		{"another wallet's challenge", me, signed(foreign.Str("challenge")), foreign.Str("nonce"), 400,
			"claim_challenge_invalid"},
		{"an address of small order", strings.Repeat("1", 32), wallet.EncodeBase58(append([]byte{1},
			make([]byte, 63)...)), nonce, 400, "claim_challenge_invalid"},
		{"the address in lower case", strings.ToLower(me), signed(text), nonce, 400, ""},
		{"the address with a zero before it", "1" + me, signed(text), nonce, 400, "invalid_input"},
		{"the address with a blank", me + " ", signed(text), nonce, 400, "invalid_input"},
		{"another chain's account", "eip155:8453:" + me, signed(text), nonce, 400, "invalid_input"},
		{"a signature in hex", me, hex.EncodeToString(good), nonce, 400, "invalid_input"},
		{"a signature with a zero before it", me, "1" + signed(text), nonce, 400, "invalid_input"},
		{"a long signature", me, strings.Repeat("z", 5000), nonce, 400, "invalid_input"},
		{"an Ethereum address", s.net.Buyers[0].Address.Hex(), "0x" + hex.EncodeToString(good), nonce, 400,
			"claim_challenge_invalid"},
	} {
		r := s.claimWith(a.address, a.signature, a.nonce)
		if r.Status != a.status || a.code != "" && !strings.Contains(string(r.Raw), a.code) {
			t.Errorf("%s: %d %s", a.name, r.Status, r.Raw)
		}
	}

	r := s.claimWith(networks.Solana+":"+me, signed(text), nonce)
	s.want("the owner's claim after all that", r, 200, "")
	if ids := bought(r); len(ids) != 1 || ids[0] != "pur_solana0000000000000" || r.Str("address") != me {
		t.Errorf("the claim gives %s", r.Raw)
	}
	s.want("the same challenge again", s.claimWith(me, signed(text), nonce), 400, "claim_challenge_invalid")
	r = s.claimWith(me, signed(devnet.Str("challenge")), devnet.Str("nonce"))
	s.want("a key is the same on every cluster", r, 200, "")
	if len(bought(r)) != 1 {
		t.Errorf("the claim by another cluster gives %s", r.Raw)
	}
	late := s.asked(me, "")
	db.put(5 * time.Minute)
	s.want("after five minutes", s.claimWith(me, signed(late.Str("challenge")), late.Str("nonce")), 400,
		"claim_challenge_invalid")
}

// addOrder is an ed25519 signature with the order of the group added to its scalar, which lax
// verifiers take for another good one (RFC 8032, 5.1.7).
func addOrder(signature []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(signature[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return append(slices.Clone(signature[:32]), sum...)
}

// Where nothing is sold on Solana its wallets have nothing to claim, and CAIP-10 accounts of the
// others are taken.
func TestClaimsByAccount(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	addr := s.net.Buyers[0].Address.Hex()
	s.want("a Solana wallet", s.asked(claimantOf(1), ""), 400, "invalid_input")
	s.want("a Solana account", s.asked(networks.Solana+":"+claimantOf(1), ""), 400, "invalid_input")
	s.want("another network than the account's", s.asked("eip155:137:"+addr, "eip155:8453"), 400, "invalid_input")
	s.want("an account without a chain", s.asked(":"+addr, ""), 400, "invalid_input")
	s.want("an account of a chain that is not sold on", s.asked("eip155:1:"+addr, ""), 400, "invalid_input")
	c := s.asked("eip155:137:"+strings.ToLower(addr), "")
	s.want("an account", c, 200, "")
	text := c.Str("challenge")
	if !strings.Contains(text, "\n"+addr+"\n") || !strings.Contains(text, "Chain ID: 137\n") {
		t.Errorf("the text is %s", text)
	}
	s.want("its claim", s.answered(s.net.Buyers[0], addr, text, c.Str("nonce")), 200, "")
}
