package settle

import (
	"bytes"
	"fmt"
	"sync"

	"store.example/agentstore/dynamic/ledger"
)

// Read reads a settlement, or the one that its order was joined to.
func Read(tx ledger.Tx, id string) (*Settlement, error) {
	s, err := ledger.GetJSON[Settlement](tx, ledger.SettlementKey(id))
	if err == nil && s.In != "" {
		s, err = ledger.GetJSON[Settlement](tx, ledger.SettlementKey(s.In))
	}
	if err != nil {
		return nil, fmt.Errorf("settlement %s: %w", id, err)
	}
	return &s, nil
}

// Read is the function Read for who changes nothing in what it returns: a settlement of many
// members, which each of them reads several times, is parsed once.
func (d *Driver) Read(tx ledger.Tx, id string) (*Settlement, error) {
	raw, err := tx.Get(ledger.SettlementKey(id))
	if err != nil {
		return nil, fmt.Errorf("settlement %s: %w", id, err)
	}
	if s := d.parsed.get(id, raw); s != nil {
		return s, nil
	}
	s, err := ledger.DecodeJSON[Settlement](ledger.Entry{Key: ledger.SettlementKey(id), Value: raw})
	if err != nil {
		return nil, fmt.Errorf("settlement %s: %w", id, err)
	}
	if s.In != "" {
		return d.Read(tx, s.In)
	}
	if len(s.Members) > 1 {
		d.parsed.put(id, raw, &s)
	}
	return &s, nil
}

// maxParsed bounds the memory of what was parsed, of some 100 kB each.
const maxParsed = 256

// parsed is what records were when they were parsed, by id.
type parsed struct {
	mu  sync.Mutex
	all map[string]parse // guarded by mu
}

type parse struct {
	raw []byte
	s   *Settlement
}

func (p *parsed) get(id string, raw []byte) *Settlement {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x, ok := p.all[id]; ok && bytes.Equal(x.raw, raw) {
		return x.s
	}
	return nil
}

func (p *parsed) put(id string, raw []byte, s *Settlement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= maxParsed {
		p.all = make(map[string]parse)
	}
	p.all[id] = parse{bytes.Clone(raw), s}
}
