package botauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/corpus/attest"
)

// Path is where a directory is served.
const Path = "/.well-known/http-message-signatures-directory"

type jwk struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	KID string `json:"kid"`
	X   string `json:"x"`
	Use string `json:"use"`
	NBF int64  `json:"nbf"`
	EXP int64  `json:"exp"`
}

// Directory makes the key directory of a site and its header, to be served as they are at Path. It
// is signed once by each key for the authority (the host, with its port unless that is 443), and
// valid from one time to the other; it has to be made again before it ends. The same arguments give
// the same bytes.
func Directory(authority string, from, until time.Time, keys ...*attest.Key) (body []byte, header http.Header,
	err error) {
	if len(keys) == 0 || authority == "" || !until.After(from) {
		return nil, nil, errors.New("making a key directory: it needs an authority, a key and a time in which it is " +
			"valid")
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	for _, k := range keys {
		set.Keys = append(set.Keys, jwk{KTY: "OKP", CRV: "Ed25519", KID: k.KID(),
			X: base64.RawURLEncoding.EncodeToString(k.Public()), Use: "sig",
			NBF: from.Unix(), EXP: until.Unix()})
	}
	if body, err = json.Marshal(set); err != nil {
		return nil, nil, fmt.Errorf("making a key directory: %w", err)
	}
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	header = http.Header{"Content-Type": {mediaType}, "Cache-Control": {"public, max-age=86400"},
		"Content-Digest": {digest}}
	inputs, signatures := "", ""
	for i, k := range keys {
		params := fmt.Sprintf(`("@authority";req "content-digest");created=%d;expires=%d;keyid=%q;tag=%q`, from.Unix(),
			until.Unix(), k.KID(), directoryTag)
		base := "\"@authority\";req: " + authority + "\n\"content-digest\": " + digest + "\n\"@signature-params\": " +
			params
		if i > 0 {
			inputs, signatures = inputs+", ", signatures+", "
		}
		inputs += fmt.Sprintf("binding%d=%s", i, params)
		signatures += fmt.Sprintf("binding%d=:%s:", i, base64.StdEncoding.EncodeToString(k.Sign([]byte(base))))
	}
	header.Set("Signature-Input", inputs)
	header.Set("Signature", signatures)
	return body, header, nil
}
