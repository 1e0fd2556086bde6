// This file signs git commits and tags as OpenSSH does, and checks them.

package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// SSHSigner signs git commits and tags with an ed25519 key in the SSHSIG
// format of OpenSSH (PROTOCOL.sshsig), namespace git. It has the one method
// that go-git's Signer asks for. The same bytes always give the same signature.
type SSHSigner struct{ key *Key }

// NewSSHSigner returns a signer of commits.
func NewSSHSigner(k *Key) SSHSigner { return SSHSigner{key: k} }

const (
	sshMagic     = "SSHSIG"
	sshNamespace = "git"
	sshHash      = "sha512"
	sshKeyType   = "ssh-ed25519"
)

// Sign reads the encoded commit or tag and returns the armoured signature.
func (g SSHSigner) Sign(message io.Reader) ([]byte, error) {
	toSign, err := sshMessage(message)
	if err != nil {
		return nil, fmt.Errorf("signing commit: %w", err)
	}
	return sshArmour(g.key.Public(), g.key.Sign(toSign)), nil
}

// VerifySSH checks that a git key of the ring, current or retired, made the
// armoured signature of an encoded commit or tag, in the one spelling that Sign
// gives it.
func VerifySSH(message io.Reader, armoured []byte, ring Ring) error {
	_, err := signer(message, armoured, ring)
	return err
}

// signer is the key of the ring that made a signature.
func signer(message io.Reader, armoured []byte, ring Ring) (by Signer, err error) {
	signed, err := sshMessage(message)
	if err != nil {
		return by, fmt.Errorf("verifying commit: %w", err)
	}
	text, _ := strings.CutPrefix(string(armoured), sshBegin)
	text, _ = strings.CutSuffix(text, sshEnd)
	blob, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
	if err != nil || len(blob) < ed25519.SignatureSize {
		return by, errors.New("verifying commit: it has no signature that can be read")
	}
	signature := blob[len(blob)-ed25519.SignatureSize:]
	keys := slices.Clone(ring.Current)
	for _, k := range ring.Retired {
		keys = append(keys, k.PublicKey)
	}
	for _, k := range keys {
		pub := ed25519.PublicKey(k.Public)
		if k.Purpose == PurposeGit && bytes.Equal(sshArmour(pub, signature), armoured) &&
			Verify(pub, signed, signature) {
			by, _ = ring.ByPublic(pub)
			return by, nil
		}
	}
	return by, fmt.Errorf("verifying commit: %w, or the signature does not fit", ErrUnknownKey)
}

// sshMessage is what is signed of a message.
func sshMessage(message io.Reader) ([]byte, error) {
	h := sha512.New()
	if _, err := io.Copy(h, message); err != nil {
		return nil, err
	}
	toSign := []byte(sshMagic)
	for _, s := range []string{sshNamespace, "", sshHash, string(h.Sum(nil))} {
		toSign = sshString(toSign, s)
	}
	return toSign, nil
}

const (
	sshBegin = "-----BEGIN SSH SIGNATURE-----\n"
	sshEnd   = "-----END SSH SIGNATURE-----\n"
)

// sshArmour is the text form of a signature.
func sshArmour(pub ed25519.PublicKey, raw []byte) []byte {
	signature := sshString(sshString(nil, sshKeyType), string(raw))
	blob := binary.BigEndian.AppendUint32([]byte(sshMagic), 1)
	for _, s := range []string{string(sshPublic(pub)), sshNamespace, "", sshHash, string(signature)} {
		blob = sshString(blob, s)
	}
	var out strings.Builder
	out.WriteString(sshBegin)
	for text := base64.StdEncoding.EncodeToString(blob); text != ""; {
		n := min(70, len(text))
		out.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	out.WriteString(sshEnd)
	return []byte(out.String())
}

func sshString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func sshPublic(pub ed25519.PublicKey) []byte {
	return sshString(sshString(nil, sshKeyType), string(pub))
}

// AllowedSigner returns one line of an allowed signers file (ssh-keygen(1)) for
// git's gpg.ssh.allowedSignersFile, with its newline: email may sign commits
// with pub from validAfter until validBefore. A zero time leaves that side
// open; OpenSSH before 9.1 cannot read the UTC times of the others.
func AllowedSigner(email string, pub ed25519.PublicKey, validAfter, validBefore time.Time) (string, error) {
	if email == "" || strings.ContainsAny(email, " \t\r\n\",*?!#") {
		return "", fmt.Errorf("writing allowed signer: %q is not a plain e-mail address", email)
	}
	if len(pub) != ed25519.PublicKeySize {
		return "", errors.New("writing allowed signer: not an ed25519 public key")
	}
	options := `namespaces="` + sshNamespace + `"`
	const layout = "20060102150405Z"
	if !validAfter.IsZero() {
		options += `,valid-after="` + validAfter.UTC().Format(layout) + `"`
	}
	if !validBefore.IsZero() {
		options += `,valid-before="` + validBefore.UTC().Format(layout) + `"`
	}
	return fmt.Sprintf("%s %s %s %s\n", email, options, sshKeyType, base64.StdEncoding.EncodeToString(sshPublic(pub))),
		nil
}

// AllowedSigners returns the whole allowed signers file of a ring: the git key
// in force and the retired ones, each bounded by its dates.
func AllowedSigners(email string, ring Ring) (string, error) {
	var out strings.Builder
	day := func(s string) time.Time {
		t, _ := time.Parse(time.DateOnly, s) // checked with the ring
		return t
	}
	if err := ring.Check(); err != nil {
		return "", err
	}
	for _, k := range ring.Retired {
		if k.Purpose != PurposeGit {
			continue
		}
		// The day of the handover belongs to both keys.
		line, err := AllowedSigner(email, ed25519.PublicKey(k.Public), day(k.Since), day(k.RetiredOn).AddDate(0, 0, 1))
		if err != nil {
			return "", err
		}
		out.WriteString(line)
	}
	if k, ok := ring.For(PurposeGit); ok {
		line, err := AllowedSigner(email, ed25519.PublicKey(k.Public), time.Time{}, time.Time{})
		if err != nil {
			return "", err
		}
		out.WriteString(line)
	}
	return out.String(), nil
}
