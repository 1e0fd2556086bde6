// Package botauth judges what a bot publishes about itself for Web Bot Auth: the directory of its
// signing keys with the directory's own signature (draft-meunier-webbotauth-httpsig-protocol-02
// over RFC 9421), and its card (draft-meunier-webbotauth-registry-03). It also makes the directory
// that a site of ours serves.
//
// The document is told by its members: keys is a directory, client_id or web_bot_auth a card. Each
// check has a state; what could not be fetched or is signed with an unknown algorithm is
// unreachable or unverifiable and never a failure.
package botauth
