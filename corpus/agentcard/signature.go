package agentcard

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/did"
	"store.example/agentstore/corpus/exchange"
)

// signature is one entry of signatures, taken apart.
type signature struct {
	protected     string
	alg, kid, jku string
	bytes         []byte
	err           error  // why it is no acceptable JWS
	kind, lies    string // the request for its key: "did" or "key" and the URL; "" when the kid carries it
	foreign       bool   // the key lies on another host than the card
}

// readSignatures takes the entries apart and judges their form.
func (j *judge) readSignatures() {
	all := list(j.card["signatures"])
	if len(all) == 0 {
		j.set(15, NotChecked, "UNSIGNED", "the card is not signed, which 0.3.0 allows")
		for n := 16; n <= 18; n++ {
			j.set(n, NotChecked, "", "there is no signature")
		}
		return
	}
	j.set(15, Pass, "", "%d signatures", len(all))
	var wrong []string
	for i, v := range all[:min(len(all), maxSignatures)] {
		s := j.takeApart(object(v))
		if s.err != nil {
			wrong = append(wrong, fmt.Sprintf("/signatures/%d: %v", i, s.err))
		}
		j.entries = append(j.entries, s)
	}
	if wrong != nil {
		j.set(16, Fail, "BAD_JWS", "%d of the signatures cannot be read", len(wrong))
		j.where(16, wrong)
		return
	}
	j.set(16, Pass, "", "each is a JWS with a kid and an algorithm that can be verified by others")
}

func (j *judge) takeApart(o map[string]node) (s signature) {
	s.protected = text(o["protected"])
	raw, err := attest.DecodeBase64URL(s.protected)
	if err != nil || len(s.protected) > 4096 {
		s.err = fmt.Errorf("protected: not base64url of reasonable length")
		return s
	}
	if s.bytes, err = attest.DecodeBase64URL(text(o["signature"])); err != nil {
		s.err = fmt.Errorf("signature: %w", err)
		return s
	}
	var header struct {
		Alg  string `json:"alg"`
		KID  string `json:"kid"`
		JKU  string `json:"jku"`
		Crit any    `json:"crit"`
		B64  any    `json:"b64"`
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		s.err = fmt.Errorf("protected: %w", err)
		return s
	}
	s.alg, s.kid, s.jku = header.Alg, header.KID, header.JKU
	switch {
	case s.alg == "" || strings.EqualFold(s.alg, "none") || strings.HasPrefix(s.alg, "HS"):
		s.err = fmt.Errorf("protected: algorithm %.40q", s.alg)
	case s.kid == "":
		s.err = fmt.Errorf("protected: there is no kid")
	case header.Crit != nil || header.B64 != nil:
		s.err = fmt.Errorf("protected: it asks for an extension that is not known")
	}
	if s.err == nil {
		s.kind, s.lies, s.foreign = j.keySource(s)
	}
	return s
}

// keySource says what must be fetched for the key of s.
func (j *judge) keySource(s signature) (kind, at string, foreign bool) {
	host := ""
	if u, err := url.Parse(j.asked.URL); err == nil {
		host = u.Hostname()
	}
	if s.jku != "" {
		u, err := url.Parse(s.jku)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || len(s.jku) > 2048 {
			return "", "", false
		}
		h := u.Hostname()
		return "key", u.String(), h != host && !strings.HasSuffix(h, "."+host) && !strings.HasSuffix(host, "."+h)
	}
	if _, _, embedded, _ := did.Embedded(s.kid); embedded {
		return "", "", false
	}
	if strings.HasPrefix(s.kid, "did:") {
		at, err := did.WebURL(s.kid)
		if err != nil {
			return "", "", false
		}
		u, err := url.Parse(at)
		return "did", at, err == nil && u.Hostname() != host
	}
	return "key", "https://" + host + "/.well-known/jwks.json", false
}

// signatures finds each key and tries every form.
func (j *judge) signatures() {
	if len(j.entries) == 0 {
		return
	}
	tried := forms(j.card)
	valid, invalid, lost, foreign, found := map[string]bool{}, 0, 0, 0, 0
	for i, s := range j.entries {
		r := Signature{Index: i, Algorithm: exchange.Bounded(s.alg, 40), KID: exchange.Bounded(s.kid, 300),
			State: Unverifiable}
		k, from, err := j.findKey(s)
		switch {
		case s.err != nil:
			r.State, r.Detail = Fail, exchange.Bounded(s.err.Error(), 300)
		case err != nil:
			lost++
			r.Detail = exchange.Bounded(err.Error(), 300)
		default:
			found++
			r.KeyFrom = exchange.Bounded(from, 300)
			if s.foreign {
				foreign++
			}
			form, err := verifies(tried, k, s.alg, s.protected, s.bytes)
			if errors.Is(err, did.ErrUnsupported) {
				lost++
				r.Detail = err.Error()
			} else if err != nil {
				invalid++
				r.State, r.Detail = Fail, err.Error()+" under any of the forms F1, F2 and F3"
			} else {
				valid[form] = true
				r.State, r.Form, r.Detail = Pass, form, formDetail[form]
			}
		}
		j.Signatures = append(j.Signatures, r)
	}
	switch {
	case found == 0 && lost > 0:
		j.set(17, Unverifiable, "KEY_NOT_FOUND", "no key of a signature was found")
	case lost > 0:
		j.set(17, Warn, "KEY_NOT_FOUND", "%d of the keys were not found", lost)
	case foreign > 0:
		j.set(17, Warn, "FOREIGN_KEY", "a key lies on another host than the card")
	case found > 0:
		j.set(17, Pass, "", "every key was found")
	}
	switch {
	case len(valid) > 0:
		j.validForms(valid, invalid)
	case invalid > 0:
		j.set(18, Fail, "INVALID", "no signature verifies under any form")
	case lost > 0:
		j.set(18, Unverifiable, "", "there was no key to try")
	}
}

var formDetail = map[string]string{
	FormWhole:  "verifies over the whole card by RFC 8785",
	FormPython: "verifies over the form of the Python SDK 0.3",
	FormOne:    "verifies over the form of A2A 1.0, which covers the members of 1.0 alone",
}

// validForms says who can and who cannot verify the card.
func (j *judge) validForms(valid map[string]bool, invalid int) {
	if invalid > 0 {
		j.set(18, Warn, "SOME_INVALID", "one signature is valid, and %d are not", invalid)
		return
	}
	if !valid[FormWhole] {
		j.set(18, Warn, "ONE_FORM", "no signature covers the whole card: plain RFC 8785 readers will refuse it")
	} else {
		j.set(18, Pass, "", "a signature verifies over the whole card")
	}
	same := map[string]bool{}
	for _, f := range forms(j.card) {
		same[string(f.bytes)] = same[string(f.bytes)] || valid[f.name]
	}
	for _, f := range forms(j.card) {
		if !same[string(f.bytes)] {
			j.Gaps = append(j.Gaps, "no signature for readers of form "+f.name+": "+readers[f.name])
			same[string(f.bytes)] = true
		}
	}
}

var readers = map[string]string{
	FormWhole:  "those who take the card as it is",
	FormPython: "the Python SDK 0.3",
	FormOne:    "the SDKs of A2A 1.0",
}

// findKey returns the key of s and where it was found.
func (j *judge) findKey(s signature) (did.Key, string, error) {
	if s.err != nil {
		return did.Key{}, "", s.err
	}
	if s.lies == "" {
		k, method, embedded, err := did.Embedded(s.kid)
		if !embedded {
			return did.Key{}, "", fmt.Errorf("neither jku nor kid says where the key lies")
		}
		return k, method, err
	}
	x, asked := j.answer[s.kind+" "+s.lies]
	switch {
	case !asked:
		return did.Key{}, "", fmt.Errorf("%s was not read: %d documents are, for one card", s.lies, maxKeys)
	case x.Response.Status != http.StatusOK || x.Error.Stage != "" || x.Response.Truncated:
		return did.Key{}, "", fmt.Errorf("%s: status %d %s", s.lies, x.Response.Status, x.Error.Text)
	}
	if s.kind == "did" {
		id, _, _ := strings.Cut(s.kid, "#")
		doc, err := did.ParseDocument(x.Response.Body, id)
		if err != nil {
			return did.Key{}, "", err
		}
		m, err := doc.Method(s.kid)
		if err != nil {
			return did.Key{}, "", err
		}
		return m.Key, s.lies, m.Err
	}
	keys, err := did.ParseJWKS(x.Response.Body)
	if err != nil {
		return did.Key{}, "", err
	}
	for _, k := range keys {
		if k.KID == s.kid {
			return k.Key, s.lies, k.Err
		}
	}
	return did.Key{}, "", fmt.Errorf("%s holds no key %s", s.lies, s.kid)
}
