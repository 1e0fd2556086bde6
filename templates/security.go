package templates

// A HeaderField is a header field with its one value.
type HeaderField struct{ Name, Value string }

// A Worker is a script that runs beside a page, and has a policy of its own.
type Worker struct{ Path, Policy string }

// Workers are the answers with a policy of their own: these alone may compile WebAssembly, and each
// does nothing else but to read files of this site.
var Workers = []Worker{
	// it also loads the script that starts Go's programs
	{"/verify/worker.js", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"},
	{"/corpus/query/worker.js", "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'"},
}

// PolicyAt is the policy of what stands at a path.
func PolicyAt(path string) string {
	for _, w := range Workers {
		if w.Path == path {
			return w.Policy
		}
	}
	return ContentSecurityPolicy()
}

// SecurityFields are the header fields that every answer at a path carries, whoever sends it: the
// server, or a content network by the rules that are published for it.
func SecurityFields(path string) []HeaderField {
	return []HeaderField{
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Content-Security-Policy", PolicyAt(path)},
	}
}
