package templates

// A HeaderField is a header field with its one value.
type HeaderField struct{ Name, Value string }

// WorkerPath is the address of the verifier's worker, the one answer with a policy of its own.
const WorkerPath = "/verify/worker.js"

// SecurityFields are the header fields that every answer at a path carries, whoever sends it: the
// server, or a content network by the rules that are published for it.
func SecurityFields(path string) []HeaderField {
	policy := ContentSecurityPolicy()
	if path == WorkerPath {
		policy = VerifierPolicy()
	}
	return []HeaderField{
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Content-Security-Policy", policy},
	}
}
