package pages

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/criteria"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// The bundle follows the Open Knowledge Format, version 0.2: every file but index.md and log.md has
// front matter with a type, and only the index at the root says which version it is. Links are
// relative to the file that has them, so that they lead on both in a bundle that was copied and on
// the site, where its root is /okf.

// concept is one file of the bundle.
type concept struct {
	key, kind, title, says string
	resource               string // address of what it is about
	at                     string // when it was made, RFC 3339
	sources                []string
	body                   string
}

// okfUnits streams the concepts of the bundle with its log and the indexes of its folders.
func okfUnits(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		b, err := s.book()
		if err != nil {
			yield(Unit{}, err)
			return
		}
		var keys []string
		keys = append(keys, "log", "rounds/index", "tiers/index", "defects/index", "hosts/index")
		for _, r := range s.Rounds {
			keys = append(keys, fmt.Sprintf("rounds/%d", r.Sequence))
		}
		for _, t := range tier.TierNames() {
			keys = append(keys, "tiers/"+t)
		}
		for _, d := range criteria.Defects() {
			keys = append(keys, "defects/"+d.ID)
		}
		for i := range b.TiersPages() {
			keys = append(keys, fmt.Sprintf("hosts/%d", i+1))
		}
		slices.Sort(keys)
		for _, key := range keys {
			if !yield(Unit{Key: key, Made: func(d *Digester) { s.ofRecord(d) }}, nil) {
				return
			}
		}
	}
}

func renderOKF(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	if u.Key == "log" {
		return okfLog(s.Rounds), nil
	}
	folder, name, _ := strings.Cut(u.Key, "/")
	if name == "index" {
		return okfFolder(b, folder), nil
	}
	if page, err := strconv.Atoi(name); err == nil && folder == "hosts" {
		return okfHosts(b, page, newestRound(b)).render(), nil
	}
	for c := range concepts(b, folder) {
		if c.key == u.Key {
			return c.render(), nil
		}
	}
	return nil, fmt.Errorf("the bundle has no concept %s", u.Key)
}

// concepts yields those of a folder, in the order of its index.
func concepts(b *derive.Book, folder string) iter.Seq[concept] {
	base, newest := b.BaseURL, newestRound(b)
	return func(yield func(concept) bool) {
		switch folder {
		case "rounds":
			for i, r := range slices.Backward(b.Rounds) {
				if !yield(okfRound(base, r, b.Figures[i].Week)) {
					return
				}
			}
		case "tiers":
			for _, t := range tier.TierNames() {
				c := concept{key: "tiers/" + t, kind: "Tier", title: t, says: tier.TierRule(t), resource: base +
					"/corpus/tiers.json", at: newest, sources: []string{base + "/corpus.json"}}
				c.body = fmt.Sprintf("%s\n\n%d of %d hosts have it as of the newest round. A tier says what the "+
					"rounds saw of a door and nothing about whoever keeps it.\n", c.says, b.Tiers(0).ByTier[t],
					b.Tiers(0).TotalHosts)
				if !yield(c) {
					return
				}
			}
		case "defects":
			for _, d := range criteria.Defects() {
				c := concept{key: "defects/" + d.ID, kind: "Defect", title: d.Title, says: d.Asserts, resource: base +
					"/defects/" + d.ID, at: newest, sources: []string{base + "/defects.json"},
					body: fmt.Sprintf("%s\n\n- Costs: %s\n- Seen by: %s\n- Refuted by: %s\n- For the seller: %s\n- "+
						"For the buyer: %s\n", d.Asserts, d.Costs, d.OurSignal, d.FalsifiedBy, d.RepairHint,
						d.BuyerHint)}
				if !yield(c) {
					return
				}
			}
		case "hosts":
			for i := range b.TiersPages() {
				if !yield(okfHosts(b, i+1, newest)) {
					return
				}
			}
		}
	}
}

// newestRound is when the newest round was taken, "" for none.
func newestRound(b *derive.Book) string {
	if n := len(b.Rounds); n > 0 {
		return b.Rounds[n-1].TakenAt
	}
	return ""
}

func okfRound(base string, r record.Round, w derive.Week) concept {
	c := concept{key: fmt.Sprintf("rounds/%d", r.Sequence), kind: "Census Round", title: "Round " +
		fmt.Sprint(r.Sequence) + ", " + r.Week, resource: base + derive.RoundPath(r.Sequence), at: r.TakenAt,
		sources: []string{base + derive.RoundPath(r.Sequence)},
		says:    fmt.Sprintf("%d of %d hosts due were probed; %d were ready.", w.HostsProbed, w.HostsDue, w.Ready)}
	c.body = fmt.Sprintf("%s\n\n- Digest: `%s`\n- Ready: %d of %d probed\n- Not ready: %d of %d probed\n- "+
		"Unreachable: %d of %d probed\n- Missed by the store: %d of %d due\n- Coverage suspect: %v\n",
		c.says, r.Digest, w.Ready, w.HostsProbed, w.NotReady, w.HostsProbed, w.Unreachable, w.HostsProbed, w.NotProbed,
		w.HostsDue, w.CoverageSuspect)
	if len(w.FailureClasses) > 0 {
		c.body += "\nFailed checks:\n\n"
		for _, f := range w.FailureClasses {
			c.body += fmt.Sprintf("- `%s`: %d\n", f.Name, f.Count)
		}
	}
	return c
}

func okfHosts(b *derive.Book, page int, at string) concept {
	t := b.Tiers(page)
	first, last := t.Hosts[0].Host, t.Hosts[len(t.Hosts)-1].Host
	c := concept{key: fmt.Sprintf("hosts/%d", page), kind: "Host List", title: "Hosts from " + first + " to " + last,
		resource: fmt.Sprintf("%s/corpus/tiers/%d.json", b.BaseURL, page), at: at,
		sources: []string{fmt.Sprintf("%s/corpus/tiers/%d.json", b.BaseURL, page)},
		says:    fmt.Sprintf("%d hosts by name with their tiers, page %d of %d.", len(t.Hosts), page, t.Pages)}
	var body strings.Builder
	for _, h := range t.Hosts {
		fmt.Fprintf(&body, "- [%s](%s/index.md): %s\n", h.Host, h.PageURL, h.Label)
	}
	c.body = body.String()
	return c
}

// render writes front matter and body. Values are quoted as JSON strings, which YAML reads alike.
func (c concept) render() []byte {
	var b strings.Builder
	b.WriteString("---\n")
	fmt.Fprintf(&b, "type: %s\ntitle: %s\ndescription: %s\nresource: %s\n", quote(c.kind), quote(c.title),
		quote(c.says), quote(c.resource))
	b.WriteString("sources:\n")
	for _, r := range c.sources {
		fmt.Fprintf(&b, "  - resource: %s\n", quote(r))
	}
	b.WriteString("generated:\n  by: \"process:observatory\"\n")
	if c.at != "" {
		fmt.Fprintf(&b, "  at: %s\n", quote(c.at))
	}
	fmt.Fprintf(&b, "---\n\n# %s\n\n%s", c.title, c.body)
	return []byte(b.String())
}

// quote writes a string in double quotes, in the escapes that JSON and YAML share.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// okfFolders are the folders of the bundle with what is in them.
var okfFolders = []struct{ name, title, says string }{
	{"rounds", "Rounds", "one signed census a week, newest first"},
	{"hosts", "Hosts", "every host by name with its tier"},
	{"tiers", "Tiers", "the rules, in the order in which they are tested"},
	{"defects", "Defects", "a stable name for each way in which a door is broken"},
}

func renderOKFIndex(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	var b strings.Builder
	b.WriteString("---\nokf_version: \"0.2\"\n---\n\n# " + s.Site.Config.Title + ": the record\n\n")
	b.WriteString("## Folders\n\n")
	for _, f := range okfFolders {
		fmt.Fprintf(&b, "* [%s](%s/index.md) - %s\n", f.title, f.name, f.says)
	}
	b.WriteString("\n## Log\n\n* [Log](log.md) - when each round was taken\n")
	return []byte(b.String()), nil
}

// okfFolder is the index of one folder.
func okfFolder(b *derive.Book, folder string) []byte {
	i := slices.IndexFunc(okfFolders, func(f struct{ name, title, says string }) bool { return f.name == folder })
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", okfFolders[i].title)
	for c := range concepts(b, folder) {
		fmt.Fprintf(&out, "* [%s](%s.md) - %s\n", c.title, strings.TrimPrefix(c.key, folder+"/"),
			strings.TrimSuffix(c.says, "."))
	}
	return []byte(out.String())
}

// okfLog names the rounds by their days, newest first.
func okfLog(rounds []record.Round) []byte {
	var b strings.Builder
	b.WriteString("# Log\n")
	sorted := slices.SortedFunc(slices.Values(rounds),
		func(a, b record.Round) int { return cmp.Compare(b.TakenAt, a.TakenAt) })
	day := ""
	for _, r := range sorted {
		if d := r.TakenAt[:len("2026-01-02")]; d != day {
			day = d
			fmt.Fprintf(&b, "\n## %s\n\n", day)
		}
		fmt.Fprintf(&b, "* [Round %d](rounds/%[1]d.md) was sealed: %[2]d of %[3]d hosts probed\n", r.Sequence,
			r.Coverage.Probed, r.Coverage.Due)
	}
	return []byte(b.String())
}
