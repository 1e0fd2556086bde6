package pages

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// Digester gathers values, each with its length so that no two lists of them
// look alike, and gives their SHA-256. It may be used again after sum.
type Digester struct {
	buf  []byte
	long hash.Hash // of what was gathered before buf, nil for nothing
}

func NewDigester() *Digester { return &Digester{buf: make([]byte, 0, 4<<10)} }

// gathered is how many bytes are gathered at most before they are hashed: what a list of all pages
// depends on would take megabytes.
const gathered = 64 << 10

func (d *Digester) text(values ...string) {
	for _, v := range values {
		d.buf = binary.AppendUvarint(d.buf, uint64(len(v)))
		d.buf = append(d.buf, v...)
		if len(d.buf) > gathered {
			if d.long == nil {
				d.long = sha256.New()
			}
			d.long.Write(d.buf)
			d.buf = d.buf[:0]
		}
	}
}

func (d *Digester) number(values ...int64) {
	for _, v := range values {
		d.buf = binary.AppendVarint(d.buf, v)
	}
}

func (d *Digester) flag(v bool) {
	if v {
		d.number(1)
		return
	}
	d.number(0)
}

func (d *Digester) digest(values ...attest.Digest) {
	for _, v := range values {
		d.buf = append(d.buf, v[:]...)
	}
}

func (d *Digester) sum() attest.Digest {
	defer func() { d.buf, d.long = d.buf[:0], nil }()
	if d.long == nil {
		return sha256.Sum256(d.buf)
	}
	d.long.Write(d.buf)
	return attest.Digest(d.long.Sum(nil))
}

// good adds everything about a good but its prose and its terms.
func (d *Digester) good(g *content.Good) {
	d.text(g.ID, g.Name, g.Subtitle, g.Kind, g.Pool, g.Description)
	d.number(int64(g.Order), g.Price)
}

// terms adds what a good is sold on.
func (d *Digester) terms(g *content.Good) {
	d.text(string(g.Fulfilment), g.Cadence, g.Artifact, g.WhatItReads, g.Signs, g.DoesNotProve,
		g.Certificate.Note, g.Certificate.Attests, g.Certificate.Purpose)
	d.number(int64(g.WindowHours), int64(g.WeeklyInventory), int64(len(g.Constraints)))
	d.flag(g.PayWhatItDeserves)
	d.flag(g.Stock)
	d.text(g.Constraints...)
	d.text(g.Text)
	d.flag(g.Stored != nil)
	if f := g.Stored; f != nil {
		d.text(f.Path, f.Name, f.MediaType, f.SHA256)
		d.number(f.Size)
	}
	d.flag(g.Upstream != nil)
	if u := g.Upstream; u != nil {
		d.text(u.URL, u.Method, u.MediaType)
		d.flag(u.Repeatable)
		d.flag(u.File)
		d.number(int64(u.Seconds), int64(u.Unpaid))
	}
	for i := range g.Inputs {
		in := &g.Inputs[i]
		d.text(in.Name, in.Help, in.Pattern, in.Type, in.Format, in.Example)
		d.number(int64(in.Max))
		d.flag(in.Required)
		d.flag(in.Multiline)
	}
}

func (d *Digester) page(p *content.Page) {
	d.text(p.Name, p.Title, p.Summary, p.Body)
	d.number(int64(p.Status))
}

func (d *Digester) config(c content.Config) {
	d.text(c.Title, c.Tagline, c.BaseURL, c.Keeper, c.Contact,
		c.Date.Format(time.DateOnly), c.SecurityExpires.Format(time.RFC3339))
}
