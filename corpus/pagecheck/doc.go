// Package pagecheck judges one page's HTML as it was served: twelve checks that a search engine's
// or an agent's reader cares for. No script runs, no style is loaded, nothing else is fetched; what
// a
// page becomes in a browser is not seen.
//
// Reading is bounded (MaxTokens), lenient as HTML is, and a pure function of the recorded exchange.
//
//	report := Judge(x)
package pagecheck
