package derive

import "store.example/agentstore/corpus/record"

// PrivateLicense stands where License does in whatever is derived from private rounds.
const PrivateLicense = "none: private, not for publication"

// LicenseOf is that of what is derived from rounds, which are private all or none.
func LicenseOf(rounds []record.Round) string {
	if len(rounds) > 0 && rounds[0].Private {
		return PrivateLicense
	}
	return License
}
