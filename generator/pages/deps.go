package pages

func depsConfig(s *Source, _ int, d *Digester) { d.config(s.Site.Config) }

func depsCatalogue(s *Source, _ int, d *Digester) {
	depsConfig(s, 0, d)
	d.digest(s.catalogue)
	s.retired(d)
}

func depsRing(s *Source, _ int, d *Digester) {
	for _, k := range s.Ring.Current {
		d.text(string(k.Purpose), k.KID, k.Since)
	}
	for _, k := range s.Ring.Retired {
		d.text(string(k.Purpose), k.KID, k.Since, k.RetiredOn)
	}
	for _, h := range s.Ring.Handovers {
		d.text(h.FromKID, h.ToKID, h.Effective, h.Reason, h.Signature.String())
	}
}

func depsAPI(s *Source, _ int, d *Digester) {
	s.page(d, "llms")
	depsCatalogue(s, 0, d)
	d.digest(s.api)
	d.text(s.networks()...)
}

func (s *Source) page(d *Digester, name string) {
	if p, ok := s.Site.Page(name); ok {
		d.page(&p)
	}
}

func (s *Source) retired(d *Digester) {
	for _, r := range s.Site.Retired {
		d.text(r.ID, r.FoldedInto, r.Reason)
	}
}

// ofRecord is what every view of the whole record depends on.
func (s *Source) ofRecord(d *Digester) {
	d.text(s.Base, s.Site.Config.Title)
	d.digest(s.state)
}

func depsViews(s *Source, _ int, d *Digester) { s.ofRecord(d) }

// verifying are the pages that name commands, where these work here: page where there is a
// repository to clone.
func (s *Source) verifying(page string) []string {
	var out []string
	switch {
	case s.cloned():
		out = append(out, page)
	case len(s.Rounds) == 0:
		out = append(out, "record/no-rounds")
	default:
		out = append(out, "record/no-clone")
	}
	if s.inBulk() && page == "record/clone" {
		out = append(out, "record/bulk")
	}
	return out
}

// depsVerifying are what verifying and its pages follow from.
func (s *Source) depsVerifying(d *Digester, page string) {
	for _, name := range s.verifying(page) {
		s.page(d, name)
	}
	d.text(s.firstHost)
}

func ownKeys(s *Source) []string { return s.names }

// networks are those on which payments are taken; a site that does not say takes them on Base.
func (s *Source) networks() []string {
	if len(s.Networks) == 0 {
		return []string{"eip155:8453"}
	}
	return s.Networks
}
