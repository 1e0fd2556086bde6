package offerreceipt

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
)

// fields are a payload's members: texts and whole numbers. What an artifact does not say is "" or
// 0.
type fields struct {
	texts   map[string]string
	numbers map[string]int64
}

// The members of the two payloads. The last member of each list is optional.
var (
	offerFields   = []string{"version", "resourceUrl", "scheme", "network", "asset", "payTo", "amount", "validUntil"}
	receiptFields = []string{"version", "network", "resourceUrl", "payer", "issuedAt", "transaction"}
	numberFields  = []string{"version", "validUntil", "issuedAt"}
)

func (j *judge) readPayload() fields {
	f := fields{map[string]string{}, map[string]int64{}}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(j.body, &members); err != nil || members == nil {
		j.set("payload-json", Fail, "not one JSON object with each name once: %v", err)
		return f
	}
	if err := json.Unmarshal(j.body, &j.Payload); err != nil {
		j.set("payload-json", Fail, "%v", err)
		return f
	}
	j.set("payload-json", Pass, "%d bytes of JSON", len(j.body))
	if !j.detect(members) {
		return f
	}
	want := offerFields
	if j.Kind == KindReceipt {
		want = receiptFields
	}
	wrong := j.readMembers(f, want, members)
	var unknown []string
	for name := range members {
		if !slices.Contains(want, name) {
			unknown = append(unknown, fmt.Sprintf("%.40q", name))
		}
	}
	slices.Sort(unknown)
	switch {
	case len(wrong) > 0:
		j.set("payload-fields", Fail, "%s", strings.Join(wrong, "; "))
		return f
	case len(unknown) > 0 && j.Format == FormEIP712:
		j.set("payload-fields", Fail, "the signature cannot cover %s", strings.Join(unknown, ", "))
	case len(unknown) > 0:
		j.set("payload-fields", Warn, "the extension does not know %s", strings.Join(unknown, ", "))
	default:
		j.set("payload-fields", Pass, "every member of the %s, of the right type", j.Kind)
	}
	j.values(f)
	j.canonical()
	return f
}

// readMembers reads the members that are wanted and returns what is wrong with them.
func (j *judge) readMembers(f fields, want []string, members map[string]jsontext.Value) (wrong []string) {
	for i, name := range want {
		v, ok := members[name]
		switch {
		case !ok && i == len(want)-1 && j.Format == FormJWS:
		case !ok:
			wrong = append(wrong, "there is no "+name)
		case slices.Contains(numberFields, name):
			var n int64
			if err := json.Unmarshal(v, &n); err != nil || n < 0 || n > attest.MaxInteger {
				wrong = append(wrong, name+" is not a whole number")
			}
			f.numbers[name] = n
		default:
			var s string
			if err := json.Unmarshal(v, &s); err != nil || v.Kind() != '"' {
				wrong = append(wrong, name+" is not a text")
			} else if s == "" && name != "transaction" {
				wrong = append(wrong, name+" is empty")
			}
			f.texts[name] = s
		}
	}
	return wrong
}

// detect tells an offer from a receipt.
func (j *judge) detect(members map[string]jsontext.Value) bool {
	_, amount := members["amount"]
	_, payTo := members["payTo"]
	_, payer := members["payer"]
	_, issued := members["issuedAt"]
	seen := ""
	switch {
	case (amount || payTo) && !payer && !issued:
		seen = KindOffer
	case (payer || issued) && !amount && !payTo:
		seen = KindReceipt
	}
	j.Kind = seen
	switch {
	case seen == "":
		j.set("kind", Fail, "neither an offer (amount, payTo) nor a receipt (payer, issuedAt)")
	case j.req.Kind != "" && j.req.Kind != seen:
		j.set("kind", Fail, "an %s was announced, this is %s", j.req.Kind, seen)
	default:
		j.set("kind", Pass, "%s", seen)
		return true
	}
	return false
}

var (
	digits  = regexp.MustCompile(`^[0-9]{1,78}$`)
	evmHash = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
)

func (j *judge) values(f fields) {
	var wrong, odd []string
	if v := f.numbers["version"]; v != 1 {
		wrong = append(wrong, fmt.Sprintf("version %d is not 1", v))
	}
	u, err := url.Parse(f.texts["resourceUrl"])
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		wrong = append(wrong, "resourceUrl is not an absolute URL")
	case u.Scheme != "https":
		odd = append(odd, "resourceUrl is not https")
	}
	chain, err := wallet.ParseChainID(f.texts["network"])
	if err != nil {
		wrong = append(wrong, "network is not a CAIP-2 id")
	}
	account := func(name string) {
		s := f.texts[name]
		switch chain.Namespace {
		case wallet.NamespaceEVM:
			if _, err := wallet.ParseAddressAnyCase(s); err != nil {
				wrong = append(wrong, name+" is not an address of the network")
			} else if _, err := wallet.ParseAddress(s); err != nil {
				odd = append(odd, name+" is in a case that is not its checksum")
			}
		case wallet.NamespaceSolana:
			if _, err := wallet.ParseSolanaAddress(s); err != nil {
				wrong = append(wrong, name+" is not an address of the network")
			}
		}
	}
	if j.Kind == KindOffer {
		account("payTo")
		if f.texts["asset"] != "native" {
			account("asset")
		}
		if !digits.MatchString(f.texts["amount"]) {
			wrong = append(wrong, "amount is not a whole number of atomic units")
		}
	} else {
		account("payer")
		if f.numbers["issuedAt"] == 0 {
			wrong = append(wrong, "issuedAt is no time")
		}
		if tx := f.texts["transaction"]; tx != "" && chain.Namespace == wallet.NamespaceEVM &&
			!evmHash.MatchString(tx) {
			odd = append(odd, "transaction is not a transaction hash of the network")
		}
	}
	switch {
	case len(wrong) > 0:
		j.set("payload-values", Fail, "%s", strings.Join(wrong, "; "))
	case len(odd) > 0:
		j.set("payload-values", Warn, "%s", strings.Join(odd, "; "))
	default:
		j.set("payload-values", Pass, "addresses, network, amount and times are well formed")
	}
}

// canonical compares the signed bytes with RFC 8785. Verifiers use the bytes as they came, so this
// fails nobody.
func (j *judge) canonical() {
	if j.Format == FormEIP712 {
		return // the signature is over values, not over JSON
	}
	again, err := attest.JCSBytes(j.body)
	if err != nil || !bytes.Equal(again, j.body) {
		j.set("payload-canonical", Warn, "the signed bytes are not in the form of RFC 8785")
		return
	}
	j.set("payload-canonical", Pass, "the signed bytes are in the form of RFC 8785")
}

// time looks at what the payload says of times. It changes no verdict.
func (j *judge) time(f fields) {
	if j.failed("kind", "payload-json", "payload-fields") {
		return
	}
	now := j.JudgedAt.Unix()
	if j.Kind == KindReceipt {
		if at := f.numbers["issuedAt"]; at > now+300 {
			j.set("time", Warn, "issued %d seconds after it was judged", at-now)
			return
		}
		j.set("time", Pass, "a receipt has nothing to expire")
		return
	}
	until := cmp.Or(f.numbers["validUntil"], math.MaxInt64)
	live := now <= until
	j.Live = &live
	if live {
		j.set("time", Pass, "not expired at the time of judgement")
		return
	}
	j.set("time", Warn, "expired %d seconds before it was judged", now-until)
}

// recover finds the account that signed an EIP-712 artifact, and whether it may.
func (j *judge) recover(f fields) {
	if j.failed("payload-json", "kind", "payload-fields") {
		j.set("signature", NotChecked, "there is no payload that it could cover")
		return
	}
	j.Signer.Algorithm = FormEIP712
	raw, err := wallet.ParseSignature(j.raw.Signature, wallet.SignatureSize)
	if err != nil || len(raw) != wallet.SignatureSize {
		j.set("signature", Fail, "not 65 bytes in hexadecimal after 0x")
		return
	}
	var digest [32]byte
	if t := f.texts; j.Kind == KindOffer {
		digest = wallet.Offer{Version: uint64(f.numbers["version"]), ResourceURL: t["resourceUrl"], Scheme: t["scheme"],
			Network: t["network"],
			Asset:   t["asset"], PayTo: t["payTo"], Amount: t["amount"],
			ValidUntil: uint64(f.numbers["validUntil"])}.Digest()
	} else {
		digest = wallet.Receipt{Version: uint64(f.numbers["version"]), Network: t["network"],
			ResourceURL: t["resourceUrl"], Payer: t["payer"],
			IssuedAt: uint64(f.numbers["issuedAt"]), Transaction: t["transaction"]}.Digest()
	}
	signer, err := wallet.Recover(digest, wallet.NormalizeV(raw))
	if err != nil {
		j.set("signature", Fail, "%v", err)
		return
	}
	j.KeyResolution, j.Signer.Address = ResolvedRecovered, signer.String()
	j.set("signature", Pass, "recovers to %s", signer)
	expected, whose := j.req.SignerAddress, "the account of the request"
	if expected == "" && j.Kind == KindOffer {
		expected, whose = f.texts["payTo"], "payTo"
	}
	if expected == "" {
		j.set("signer", Unverifiable, "every signature recovers to some account, and a receipt does not name its "+
			"issuer's; give the account that is expected")
		return
	}
	if a, err := wallet.ParseAddressAnyCase(expected); err == nil && a == signer {
		j.set("signer", Pass, "%s signed", whose)
		return
	}
	if j.req.SignerAddress == "" {
		j.set("signer", Unverifiable, "another account than payTo signed; the artifact does not say whose it is. "+
			"Give the account that is expected")
		return
	}
	j.set("signer", Fail, "%s did not sign this", whose)
}
