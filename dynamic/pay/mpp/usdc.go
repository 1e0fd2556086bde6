package mpp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// Method usdc is Circle's (draft-usdc-charge-00): native USDC, bound to its challenge with method,
// intent and request.

// native reports terms in Circle's own USDC of a network, by a transfer method of the token.
func native(a rail.Requirement, method string) bool {
	t, ok := networks.USDC(a.Network)
	return ok && t.Method == method && a.Scheme == "exact" && networks.SameAddress(a.Network, t.Address, a.Asset)
}

func asksUSDC(a rail.Requirement, order string) (charge, bool) {
	id, ok := authorizes(a)
	t, _ := networks.USDC(a.Network)
	return charge{Amount: a.Amount, Currency: a.Asset, ExternalID: order, Recipient: a.PayTo,
			MethodDetails: details{Type: "evm", EVM: &chainDetails{ChainID: id, CredentialTypes: []string{credType},
				Decimals: decimals}}},
		ok && native(a, networks.EIP3009) && a.Extra["name"] == t.Name && a.Extra["version"] == t.Version
}

func networkUSDC(d details) string { return chainName(d.EVM.ChainID) }

// paysUSDC is paysEVM with the nonce of this method, which has one spelling.
func paysUSDC(c *credential, want *rail.Requirement, _ time.Time) error {
	nonce, err := c.usdcNonce()
	if err != nil {
		return err
	}
	if c.authorization.Nonce != nonce {
		return refuse(verificationFailed, "the authorization's nonce is not that of method usdc for the challenge")
	}
	return c.authorizes(*want, source(want.Network), want.Network+":")
}

// usdcNonce is the nonce of an authorization for the challenge, as 0x and lower-case hex:
// Keccak-256 of what it answers. The hash of the request is written in the same way, which the
// draft leaves open.
func (c *challenge) usdcNonce() (string, error) {
	request, err := decode(c.Request)
	if err != nil {
		return "", err
	}
	answers, err := jsonx.Marshal(struct {
		ID          string `json:"id"`
		Intent      string `json:"intent"`
		Method      string `json:"method"`
		Realm       string `json:"realm"`
		RequestHash string `json:"requestHash"`
	}{c.ID, c.Intent, c.Method, c.Realm, keccak(request)})
	return keccak(answers), err
}

func keccak(b ...[]byte) string {
	sum := wallet.Keccak256(b...)
	return "0x" + hex.EncodeToString(sum[:])
}

// clusters are what the draft calls the clusters of Solana.
var clusters = []struct{ name, network string }{
	{"mainnet", networks.Solana},
	{"devnet", networks.SolanaDevnet},
}

// tokenProgram is the program that Circle's mints are of.
const tokenProgram = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"

func asksSolana(a rail.Requirement, order string) (charge, bool) {
	i := slices.IndexFunc(clusters, func(c struct{ name, network string }) bool { return c.network == a.Network })
	feePayer, ok := a.Extra["feePayer"].(string)
	if i < 0 || !ok || !native(a, networks.Transfer) {
		return charge{}, false
	}
	return charge{Amount: a.Amount, Currency: a.Asset, ExternalID: order, Recipient: a.PayTo,
		MethodDetails: details{Type: "solana", Solana: &solanaDetails{Decimals: decimals, FeePayer: true,
			FeePayerKey: feePayer, Network: clusters[i].name, TokenProgram: tokenProgram}}}, true
}

func networkSolana(d details) string {
	for _, c := range clusters {
		if c.name == d.Solana.Network {
			return c.network
		}
	}
	return ""
}

const (
	credTransaction = "transaction"
	bindingType     = "challenge-binding-v00"
	bindingDomain   = "CIRCLE::USDC::ChallengeBindingV00"
)

// transaction is the payload of credential type transaction.
type transaction struct {
	Type             string `json:"type"`
	Transaction      string `json:"transaction"` // base64
	ChallengeBinding struct {
		Type      string `json:"type"`
		Signature string `json:"signature"` // base64
	} `json:"challengeBinding"`
}

// readTransaction reads one, and makes the payload of scheme exact of it.
func readTransaction(c *credential, payload jsontext.Value) error {
	t := &c.transaction
	if jsonx.Unmarshal(payload, t, jsonx.RejectUnknownMembers(true)) != nil || t.Type != credTransaction ||
		t.ChallengeBinding.Type != bindingType {
		return refuse(invalidPayload, "the payload is not a %s with a %s", credTransaction, bindingType)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(t.Transaction)
	signature, bad := base64.StdEncoding.Strict().DecodeString(t.ChallengeBinding.Signature)
	if err != nil || bad != nil || len(signature) != 64 {
		return refuse(invalidPayload, "transaction or signature is not base64")
	}
	c.bytes, c.binding = sha256.Sum256(b), signature
	c.payer = c.source[strings.LastIndexByte(c.source, ':')+1:]
	c.wire, err = json.Marshal(map[string]string{"transaction": t.Transaction})
	return err
}

// paysSolana demands of the source that it signed the challenge together with the transaction. That
// it is who pays is for the store to see, which knows the payer of the transaction. Nothing that a
// wallet adds is taken.
func paysSolana(c *credential, want *rail.Requirement, now time.Time) error {
	expires, err := c.expires()
	if err != nil {
		return err
	}
	if !now.Before(expires) {
		return refuse(paymentExpired, "the challenge has ended")
	}
	key, err := networks.ParseSolanaAccount(c.payer)
	if err != nil || c.source != want.Network+":"+networks.EncodeBase58(key[:]) {
		return refuse(verificationFailed, "the source is no account of %s", want.Network)
	}
	text, err := c.bindingText()
	if err != nil || !wallet.VerifySolana(key, text, c.binding) {
		return refuse(verificationFailed, "the source did not sign the challenge together with this transaction")
	}
	want.Bare = true
	return nil
}

// bindingText is what the binding is a signature of.
func (c *credential) bindingText() (string, error) {
	echo := slices.Clone(c.echo)
	if err := echo.Canonicalize(); err != nil {
		return "", err
	}
	domain := sha256.Sum256([]byte(bindingDomain))
	b, err := jsonx.Marshal(struct {
		Challenge jsontext.Value `json:"challenge"`
		Method    string         `json:"method"`
		Source    string         `json:"source"`
		Digest    string         `json:"transactionBytesDigest"`
		Type      string         `json:"type"`
	}{echo, c.Method, c.source, hex.EncodeToString(c.bytes[:]), bindingType})
	return string(domain[:]) + string(b), err
}
