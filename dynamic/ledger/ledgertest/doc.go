// Package ledgertest holds the conformance suite that every engine of package
// ledger must pass, and a real PostgreSQL for tests.
//
//	func TestConformance(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledger.DB { … })
//	}
//
// The suite is tested itself: for each rule of the contract there is a wrapper
// that breaks it, and the suite must notice.
package ledgertest
