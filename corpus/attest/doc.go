// Package attest makes and checks everything the store signs.
//
// It owns the two canonical forms of JSON (declared field order and RFC 8785),
// the ed25519 keys and their ring with retirement and handover, the signed
// certificate, the did:web document and the manifest that covers a tree of
// files; filetree makes that manifest, jws holds the compact JWS of offers and
// receipts, sshsig the SSH signatures of git commits. It knows no network, no
// clock and no storage beyond the files it is handed.
//
// One rule runs through it: a signed thing is verified from the exact bytes
// that were signed, and each signed thing has exactly one spelling. Whatever
// is read back must encode again to the bytes it was read from, so that no
// byte of an artifact can change without the check failing.
//
//	key, err := attest.Generate(rand.Reader)
//	signed, err := attest.Certificate{CertID: "cert_…", Item: "hello", Date: "2026-11-20"}.Sign(key)
//	err = signed.Verify(key.Public())
package attest
