package dynamic

import "strings"

// lists name, for addresses below a folder, where everything in it is listed. The first that fits
// stands.
var lists = []struct{ below, next string }{
	{"/corpus/diff/", "GET {base}/corpus/index.json lists every round with its week."},
	{"/corpus/changes/", "GET {base}/corpus/index.json lists every round with its week; the first round changed " +
		"nothing."},
	{"/corpus/host/", "GET {base}/api/why/{host} says whether the host is on the roster; {base}/corpus/tiers.json " +
		"lists every host that has a page."},
	{"/corpus/tiers/", "GET {base}/corpus/tiers.json says how many pages there are."},
	{"/corpus/feed/", "GET {base}/corpus/feed.json is the head of the feed; follow its next."},
	{"/corpus/bulk/", "GET {base}/corpus/bulk/digests.json lists every bulk file."},
	{"/corpus/search/", "GET {base}/corpus/search.json lists the shards."},
	{"/corpus/", "GET {base}/corpus/index.json lists every round, {base}/corpus.json all that is published of them."},
	{"/okf/", "GET {base}/okf/index.md is the root of the bundle."},
	{"/menu/", "GET {base}/menu.json lists what is sold."},
	{"/defects/", "GET {base}/defects.json lists every defect."},
	{"/problems/", "GET {base}/problems lists every problem."},
	{"/api/why/", "Ask about the bare name of a host in ASCII, such as {base}/api/why/shop.example; a name in " +
		"another script stands there in its xn-- form."},
}

// nextOf says where to look for what is not at an address, "" if there is no better place than the
// general ones.
func (s *Server) nextOf(path string) string {
	for _, l := range lists {
		if strings.HasPrefix(path, l.below) {
			return strings.ReplaceAll(l.next, "{base}", s.baseURL)
		}
	}
	return ""
}
