package generator

func depsConfig(s *source, _ int, d *digester) { d.config(s.Site.Config) }

func depsCatalogue(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	d.digest(s.catalogue)
	s.retired(d)
}

func depsRing(s *source, _ int, d *digester) {
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

func depsAPI(s *source, _ int, d *digester) {
	s.page(d, "llms")
	depsCatalogue(s, 0, d)
	d.digest(s.api)
	d.text(s.networks()...)
}

func (s *source) page(d *digester, name string) {
	if p, ok := s.Site.Page(name); ok {
		d.page(&p)
	}
}

func (s *source) retired(d *digester) {
	for _, r := range s.Site.Retired {
		d.text(r.ID, r.FoldedInto, r.Reason)
	}
}

// ofRecord is what every view of the whole record depends on.
func (s *source) ofRecord(d *digester) {
	d.text(s.base, s.Site.Config.Title)
	d.digest(s.state)
}

func depsViews(s *source, _ int, d *digester) { s.ofRecord(d) }

// verifying are the pages that name commands, where these work here: page where there is a
// repository to clone.
func (s *source) verifying(page string) []string {
	var out []string
	switch {
	case s.cloned():
		out = append(out, page)
	case len(s.rounds) == 0:
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
func (s *source) depsVerifying(d *digester, page string) {
	for _, name := range s.verifying(page) {
		s.page(d, name)
	}
	d.text(s.firstHost)
}

func ownKeys(s *source) []string { return s.names }

// networks are those on which payments are taken; a site that does not say takes them on Base.
func (s *source) networks() []string {
	if len(s.Networks) == 0 {
		return []string{"eip155:8453"}
	}
	return s.Networks
}
