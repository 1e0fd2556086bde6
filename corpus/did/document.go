package did

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// Embedded returns the key that a did:key or did:jwk URL carries in itself, and the method's name.
// For every other DID ok is false. An error means that the DID is of these methods but holds no key
// that can be used.
func Embedded(didURL string) (k Key, method string, ok bool, err error) {
	id, _, _ := strings.Cut(didURL, "#")
	if body, found := strings.CutPrefix(id, "did:key:"); found {
		k, err = ParseMultikey(body)
		return k, "did:key", true, err
	}
	body, found := strings.CutPrefix(id, "did:jwk:")
	if !found {
		return Key{}, "", false, nil
	}
	raw, err := attest.DecodeBase64URL(body)
	if err != nil {
		return Key{}, "did:jwk", true, err
	}
	j, err := ParseJWK(raw)
	if err == nil {
		err = j.Err
	}
	return j.Key, "did:jwk", true, err
}

// WebURL returns where the document of a did:web lies: https://host/.well-known/did.json, or
// https://host/a/b/did.json for did:web:host:a:b. IP addresses, ports other than 443 and everything
// that is not a plain host are refused.
func WebURL(didURL string) (string, error) {
	id, _, _ := strings.Cut(didURL, "#")
	body, ok := strings.CutPrefix(id, "did:web:")
	if !ok {
		return "", fmt.Errorf("%.100q is not a did:web", didURL)
	}
	if strings.ContainsAny(body, "?/\\") {
		return "", fmt.Errorf("%.100q: not a did:web without path and query", didURL)
	}
	parts := strings.Split(body, ":")
	for i, p := range parts {
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == "" || strings.ContainsAny(decoded, "/\\?#@") || decoded == "." || decoded == ".." {
			return "", fmt.Errorf("%.100q: part %d is not plain", didURL, i+1)
		}
		parts[i] = decoded
	}
	host := strings.TrimSuffix(parts[0], ":443")
	if _, err := netip.ParseAddr(host); err == nil || strings.ContainsAny(host, ":[] ") ||
		!strings.Contains(host, ".") {
		return "", fmt.Errorf("%.100q: the host is not a public name on the default port", didURL)
	}
	u := url.URL{Scheme: "https", Host: strings.ToLower(host), Path: "/.well-known/did.json"}
	if len(parts) > 1 {
		u.Path = "/" + strings.Join(parts[1:], "/") + "/did.json"
	}
	if again, err := url.Parse(u.String()); err != nil || again.Host != u.Host {
		return "", fmt.Errorf("%.100q: the host is not a plain name", didURL)
	}
	return u.String(), nil
}

// Document is a DID document as far as keys go (DID 1.0).
type Document struct {
	ID      string
	Methods []Method
}

// Method is a verification method of a document.
type Method struct {
	ID         string
	Type       string
	Controller string
	Asserted   bool // assertionMethod names it: it may sign statements
	Key        Key
	Err        error // of Key
}

// MaxDocument bounds a DID document, in bytes.
const MaxDocument = 256 << 10

// ParseDocument reads a DID document, which must be that of the DID want.
func ParseDocument(raw []byte, want string) (Document, error) {
	if len(raw) > MaxDocument {
		return Document{}, fmt.Errorf("reading DID document: larger than %d bytes", MaxDocument)
	}
	var doc struct {
		ID                 string           `json:"id"`
		VerificationMethod []jsontext.Value `json:"verificationMethod"`
		AssertionMethod    []jsontext.Value `json:"assertionMethod"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return Document{}, fmt.Errorf("reading DID document: %w", err)
	}
	if doc.ID != want {
		return Document{}, fmt.Errorf("reading DID document: it is of %.100q, not of %s", doc.ID, want)
	}
	if len(doc.VerificationMethod)+len(doc.AssertionMethod) > 2*MaxKeys {
		return Document{}, errors.New("reading DID document: too many methods")
	}
	d := Document{ID: doc.ID}
	for i, v := range doc.VerificationMethod {
		m, err := parseMethod(v)
		if err != nil {
			return Document{}, fmt.Errorf("reading DID document: method %d: %w", i, err)
		}
		d.Methods = append(d.Methods, m)
	}
	for i, v := range doc.AssertionMethod {
		if v.Kind() == '{' { // a method of its own, not a reference
			m, err := parseMethod(v)
			if err != nil {
				return Document{}, fmt.Errorf("reading DID document: assertion method %d: %w", i, err)
			}
			m.Asserted = true
			d.Methods = append(d.Methods, m)
			continue
		}
		var ref string
		if err := json.Unmarshal(v, &ref); err != nil {
			return Document{}, fmt.Errorf("reading DID document: assertion method %d: %w", i, err)
		}
		for j := range d.Methods {
			if d.Methods[j].ID == ref {
				d.Methods[j].Asserted = true
			}
		}
	}
	return d, nil
}

func parseMethod(raw []byte) (Method, error) {
	var v struct {
		ID         string         `json:"id"`
		Type       string         `json:"type"`
		Controller string         `json:"controller"`
		JWK        jsontext.Value `json:"publicKeyJwk"`
		Multibase  string         `json:"publicKeyMultibase"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return Method{}, err
	}
	m := Method{ID: v.ID, Type: v.Type, Controller: v.Controller}
	switch {
	case len(v.JWK) > 0 && v.Multibase != "":
		m.Err = errors.New("it holds its key in two forms")
	case len(v.JWK) > 0:
		j, err := ParseJWK(v.JWK)
		if err == nil {
			err = j.Err
		}
		m.Key, m.Err = j.Key, err
	case v.Multibase != "":
		m.Key, m.Err = ParseMultikey(v.Multibase)
	default:
		m.Err = fmt.Errorf("%w: no publicKeyJwk or publicKeyMultibase", ErrUnsupported)
	}
	return m, nil
}

// Method finds the one method with the id didURL, an absolute DID URL with a fragment.
func (d Document) Method(didURL string) (Method, error) {
	var found []Method
	for _, m := range d.Methods {
		if m.ID == didURL {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return Method{}, fmt.Errorf("%d methods of the document are %.200s", len(found), didURL)
	}
	return found[0], nil
}
