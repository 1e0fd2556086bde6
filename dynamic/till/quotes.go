package till

// Quotes are all offers that somebody takes a payment for at present, with the least inputs: goods
// in shelf order, then pages, the newest first. They say nothing of stock, and reserve nothing.
func (t *Till) Quotes() []*Quote {
	site := t.cfg.Site.Now()
	var all []*Quote
	add := func(id string) {
		o := t.offer(site, id)
		if o == nil {
			return
		}
		if q, err := t.quote(asked{site: site, offer: o}); err == nil {
			all = append(all, q)
		}
	}
	for i := range site.Goods {
		add(site.Goods[i].ID)
	}
	for i := range site.Issues {
		add(site.Issues[i].ID)
	}
	return all
}
