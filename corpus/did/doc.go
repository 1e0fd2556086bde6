// Package did finds the public keys that others name in their signatures and checks signatures with
// them: did:key and did:jwk, which carry their key, the documents of did:web, JSON Web Keys and
// their sets, Multikeys. It verifies ed25519 (EdDSA, Ed25519), P-256 (ES256) and secp256k1
// (ES256K).
//
// It fetches nothing: WebURL says where a document lies, ParseDocument judges what came from there.
// All parsers are bounded and strict: duplicate names, bad UTF-8, second spellings of base64url,
// private or symmetric keys are refused.
//
//	url, err := did.WebURL("did:web:store.example#k1") // https://store.example/.well-known/did.json
//	doc, err := did.ParseDocument(body, "did:web:store.example")
//	m, err := doc.Method("did:web:store.example#k1")
//	err = m.Key.Verify("EdDSA", signingInput, signature)
package did
