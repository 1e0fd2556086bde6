package census

// company is the hosts that share walks to the control door: one when they begin, and one more when
// they are through if any of them did not answer, so that what broke on our side in between is
// seen.
type company struct {
	size, under int           // hosts in it, and those that are not through
	full        bool          // no more join
	begun       bool          // the first control walk
	known       bool          // it came back
	failed      bool          // a control walk failed
	checking    bool          // the second control walk is under way
	checked     bool          // it came back
	waiting     []event       // walks whose row depends on the control
	tally       []ControlWalk // not yet written
	number      int           // in the order in which companies form
}

// join returns the company of the next host.
func (p *pump) join() *company {
	if p.batch == nil {
		p.batch = &company{number: p.formed}
		p.formed++
	}
	c := p.batch
	c.under++
	if c.size++; c.size == p.Batch {
		c.full, p.batch = true, nil
	}
	return c
}

// close lets no more hosts join the company that is forming.
func (p *pump) close() {
	if c := p.batch; c != nil {
		c.full, p.batch = true, nil
		p.settle(c)
	}
}

// beginControl walks the control door for a company. Where there is none, nothing speaks against
// the others.
func (p *pump) beginControl(c *company) {
	if p.Control.URL == "" {
		c.known, c.checked = true, true
		return
	}
	p.under++
	n := 2 * c.number
	if c.checking {
		n++
	}
	go func() { p.events <- event{control: c, came: p.walkControl(p.walking, n)} }()
}

// controlled takes what a control walk came to.
func (p *pump) controlled(c *company, came ControlWalk) {
	c.tally = append(c.tally, came)
	if came.Failed {
		p.Log.Warn("the control door failed: nothing is called unreachable", "week", p.Week)
	}
	c.failed = c.failed || came.Failed
	c.checked = c.checked || c.checking
	c.known, c.checking = true, false
	p.settle(c)
}

// settle decides what can be decided of a company's walks.
func (p *pump) settle(c *company) {
	if !c.known {
		return
	}
	through := c.full && c.under == 0
	silent := c.waiting[:0]
	for _, e := range c.waiting {
		switch {
		case e.sheltered == nil:
			p.keep(c, e, e.result)
		case c.failed:
			p.keep(c, e, Result{Row: *e.sheltered})
		case through && c.checked:
			p.keep(c, e, e.result)
		default:
			silent = append(silent, e)
		}
	}
	c.waiting = silent
	if through && len(silent) > 0 && !c.checking {
		c.checking = true
		p.beginControl(c)
	}
}

// keep puts a finished host among what is to be written, and with the first of a company its
// control walks.
func (p *pump) keep(c *company, e event, r Result) {
	h := e.shard
	if h.lost {
		return
	}
	h.results = append(h.results, r)
	h.control = append(h.control, c.tally...)
	c.tally = nil
	p.report.Walked++
}
