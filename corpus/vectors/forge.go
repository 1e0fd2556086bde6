package vectors

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// origin is the name of the log of every vector.
const origin = "vectors.store.example/corpus"

// An edit changes one thing that the forge makes, before anything is made of it.
type edit struct {
	at string // what is changed, such as "row 2 b.example"
	do func([]byte) ([]byte, error)
}

// forge writes a record with all keys at hand. Whatever it makes can be changed on the way, and
// what follows is made of what was changed: so one rule is broken, and no other. It names what it
// makes: "row 2 HOST", "header 2", "observation 2" and "checkpoint 20" before they are signed, the
// same with "-signed" after the word; "part 2", "entry 2 HOST" of a host index, "leaf 7", "ring",
// and "file PATH".
type forge struct {
	made             *made
	identity, logKey *attest.Key
	ring             attest.Ring
	edits            []edit
	met              map[int]bool // edits that found what they are for
	err              error        // the first

	files    map[string][]byte
	log      tlog.Tower
	heads    map[int64]*attest.Key // sizes that a checkpoint is signed of
	roots    map[int64]attest.Digest
	observed int64
	feed     []record.Observation
	before   *record.Round
	digests  map[int64]attest.Digest // of rounds
	last     map[string]int64        // the newest row of a host
	entries  map[string]record.HostEntry

	seen bool // a walker at another place saw the host that is ready, in the second round
	look byte // which look at a door is judged

	// as is what is done otherwise, and no edit does, each with its value or "yes":
	//
	//	withdrawn-kept   a judgement that is withdrawn later is kept
	//	unkept           the host of which no judgement is kept
	//	no-work          the block does not meet the difficulty that it states
	//	block-at         when the block of the second round's lot is dated
	//	identity-stays   the identity signs on that was handed over
	//	own-basis        an erratum rests on what the row itself does
	//	error-look       one is an instrument_error on another look than the row's own
	//	old-basis        and one on a look by a battery before its row's
	//	forked           the log is handed over at another root
	as map[string]string
}

// made is what was made of the same before. Records that differ in one thing have the rest in
// common, and what takes time in it: signatures, walks that are judged, what is compressed.
type made struct{ signatures, walks, zips sync.Map }

// once returns what was made of a key before, or makes it. Nobody may change it.
func once[K comparable, V any](all *sync.Map, of K, make func() V) V {
	if v, known := all.Load(of); known {
		return v.(V)
	}
	v := make()
	all.Store(of, v)
	return v
}

// newForge begins a record.
func newForge(m *made, edits []edit, as map[string]string) *forge {
	f := &forge{made: m, edits: edits, as: as, met: make(map[int]bool), files: make(map[string][]byte),
		heads: make(map[int64]*attest.Key), roots: make(map[int64]attest.Digest), last: make(map[string]int64),
		digests: make(map[int64]attest.Digest),
		entries: make(map[string]record.HostEntry), logKey: attest.SpecimenKeyFor(attest.PurposeLog),
		identity: attest.SpecimenKey()}
	f.log = tlog.Tower{Bundles: true, Write: func(name string, data []byte) error {
		f.put("log/"+name, bytes.Clone(data))
		return nil
	}}
	return f
}

func (f *forge) check(err error) {
	if f.err == nil {
		f.err = err
	}
}

// edit passes something on as the edits make it.
func (f *forge) edit(at string, raw []byte) []byte {
	for i, e := range f.edits {
		if e.at != at || f.err != nil {
			continue
		}
		out, err := e.do(bytes.Clone(raw))
		if err != nil {
			f.check(fmt.Errorf("changing %s: %w", at, err))
			return raw
		}
		f.met[i], raw = true, out
	}
	return raw
}

func (f *forge) put(name string, data []byte) { f.files[name] = f.edit("file "+name, data) }

func (f *forge) canonical(v any) []byte {
	raw, err := attest.Canonical(v)
	f.check(err)
	return raw
}

// add appends a leaf to the log.
func (f *forge) add(raw []byte) {
	raw = f.edit(fmt.Sprintf("leaf %d", f.log.Size), raw)
	f.check(f.log.Add(raw, attest.LeafHash(raw)))
}

// signature is that of a key, which is the same for the same bytes (RFC 8032).
func (f *forge) signature(k *attest.Key, of []byte) []byte {
	type signed struct{ kid, text string }
	return once(&f.made.signatures, signed{k.KID(), string(of)}, func() []byte { return k.Sign(of) })
}

// sign closes the canonical bytes of an object with its signature.
func (f *forge) sign(body []byte, k *attest.Key) []byte { return closed(body, f.signature(k, body)) }

func closed(body, signature []byte) []byte {
	return fmt.Appendf(body[:len(body)-1:len(body)-1], `,"signature":"%x"}`, signature)
}

// observe adds observations.
func (f *forge) observe(all ...record.Observation) {
	for _, o := range all {
		f.observed++
		o.Format, o.Number, o.KID = record.ObservationFormat, f.observed, f.identity.KID()
		for _, s := range o.Texts() {
			*s = f.said(s.Text)
		}
		f.feed = append(f.feed, o)
		raw := f.edit(fmt.Sprintf("observation %d", o.Number), f.canonical(o.Bare()))
		raw = f.edit(fmt.Sprintf("observation-signed %d", o.Number), f.sign(raw, f.identity))
		f.put("observations/"+o.File(), raw)
		f.add(raw)
	}
}

// withdraw takes what an observation was judged by out of the record.
func (f *forge) withdraw(at, digest string) {
	delete(f.files, record.ObservedEvidence(digest))
	f.observe(record.Observation{At: at, Kind: record.ObservationWithdrawn, Withdrawn: &record.Withdrawn{SHA256: digest,
		Reason: "It shows a name."}})
}

// said salts a text, which needs no escapes, and writes its file.
func (f *forge) said(text string) record.Said {
	salt := sha256.Sum256([]byte("salt of " + text))
	copy(salt[:], f.edit("salt "+text, salt[:]))
	digest := digestOf(append(salt[:], text...))
	f.put(record.WordsPath(digest), fmt.Appendf(nil,
		"{\"format\":\"store-words/v1\",\"salt\":\"%x\",\"text\":\"%s\"}\n",
		salt, text))
	return record.Said{SHA256: digest}
}

// round adds a round with its rows and its host index.
func (f *forge) round(r record.Round, rows []record.Row) {
	r.Format, r.Origin, r.KID = record.RoundFormat, origin, f.identity.KID()
	r.FirstLeaf, r.Rows = f.log.Size, int64(len(rows))
	var err error
	r.BatteryDigest, err = probe.DocumentDigest(r.Battery)
	f.check(err)
	if f.before != nil {
		r.PreviousDigest, r.Coverage.PreviousProbed = f.before.Digest, f.before.Coverage.Probed
	}
	var part []byte
	raws := make([][]byte, len(rows))
	for i, row := range rows {
		raws[i] = f.row(r, row)
		part = append(append(part, raws[i]...), '\n')
		if row.Verdict != record.VerdictNotProbed {
			r.Coverage.Probed++
		}
	}
	part = f.edit(fmt.Sprintf("part %d", r.Sequence), part)
	f.put(record.PartPath(r.Sequence, 0), part)
	r.Parts = []record.Part{{Rows: r.Rows, SHA256: sha256.Sum256(part)}}
	r.Count(f.before)
	body := f.edit(fmt.Sprintf("header %d", r.Sequence), f.canonical(r))
	r.Digest = sha256.Sum256(body)
	f.digests[r.Sequence] = r.Digest
	header := fmt.Appendf(body[:len(body)-1:len(body)-1], `,"digest":"%s","signature":"%x"}`, r.Digest,
		f.signature(f.identity, body))
	header = f.edit(fmt.Sprintf("header-signed %d", r.Sequence), header)
	f.put(record.HeaderPath(r.Sequence), header)
	for i, raw := range raws {
		e := f.entries[rows[i].Host]
		f.entries[rows[i].Host] = e.Next(rows[i].Host, r.Sequence, f.log.Size, sha256.Sum256(raw))
		f.last[rows[i].Host] = f.log.Size
		f.add(raw)
	}
	size, root := f.index(r.Sequence)
	first, err := record.EncodeRoundLeaf(r, header)
	f.check(err)
	second, err := record.EncodeHostsLeaf(r.Sequence, size, root)
	f.check(err)
	f.add(first)
	f.add(second)
	f.head()
	f.before = &r
}

// row signs a row, as it is given but for what follows from its place.
func (f *forge) row(r record.Round, row record.Row) []byte {
	row.Format, row.Origin, row.Sequence, row.Week, row.KID = record.RowFormat, origin, r.Sequence, r.Week, r.KID
	if leaf, seen := f.last[row.Host]; seen {
		row.PreviousLeaf = &leaf
	}
	name := fmt.Sprintf(" %d %s", r.Sequence, row.Host)
	return f.edit("row-signed"+name, f.sign(f.edit("row"+name, f.canonical(row)), f.identity))
}

// index writes the host index of a round.
func (f *forge) index(sequence int64) (int64, attest.Digest) {
	tree := tlog.Tower{Bundles: true, Write: func(name string, data []byte) error {
		f.put(record.HostsPath(sequence, name), bytes.Clone(data))
		return nil
	}}
	var first strings.Builder
	for i, host := range slices.Sorted(maps.Keys(f.entries)) {
		if i%tlog.TileWidth == 0 {
			first.WriteString(host + "\n")
		}
		raw, err := f.entries[host].Encode()
		f.check(err)
		raw = f.edit(fmt.Sprintf("entry %d %s", sequence, host), raw)
		f.check(tree.Add(raw, attest.LeafHash(raw)))
	}
	f.check(tree.Flush())
	f.put(record.HostsPath(sequence, "first.txt"), []byte(first.String()))
	root, err := tree.Root()
	f.check(err)
	return tree.Size, root
}

// head notes that a checkpoint is signed of what is logged.
func (f *forge) head() {
	root, err := f.log.Root()
	f.check(err)
	f.heads[f.log.Size], f.roots[f.log.Size] = f.logKey, root
}

// handOver gives the identity or the log to another key, and tells of it.
func (f *forge) handOver(p attest.Purpose, date string, to *attest.Key) {
	c := attest.Change{Purpose: p, Effective: date, Reason: "A new key."}
	from := &f.identity
	if p == attest.PurposeLog {
		f.head()
		from, c.LastHead = &f.logKey, &attest.LogHead{Size: f.log.Size, Root: f.roots[f.log.Size]}
		if f.as["forked"] != "" {
			c.LastHead.Root[0] ^= 1
		}
	}
	ring, err := f.ring.Handover(c, *from, to.Public())
	f.check(err)
	if f.err != nil {
		return
	}
	if f.ring = ring; p == attest.PurposeLog || f.as["identity-stays"] == "" {
		*from = to
	}
	h := ring.Handovers[len(ring.Handovers)-1]
	f.observe(record.Observation{At: date + "T12:00:00Z", Kind: record.ObservationKeyEvent, Handover: &h})
}

// close writes what stands at the end: the tiles that are not full, the checkpoints, the ring.
func (f *forge) close(covered bool) (map[string][]byte, error) {
	f.check(f.log.Flush())
	f.head()
	for size, key := range f.heads {
		raw := f.checkpoint(size, key)
		f.put(fmt.Sprintf("log/checkpoints/%d", size), raw)
		if size == f.log.Size {
			f.put("log/checkpoint", raw)
		}
	}
	ring, err := f.ring.Encode()
	f.check(err)
	f.put(record.RingFile, f.edit("ring", ring))
	if covered {
		f.cover()
	}
	for i, e := range f.edits {
		if !f.met[i] {
			f.check(fmt.Errorf("nothing is made that is named %q", e.at))
		}
	}
	return f.files, f.err
}

func (f *forge) checkpoint(size int64, key *attest.Key) []byte {
	root := f.roots[size]
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
	return f.signHead(size, f.edit(fmt.Sprintf("checkpoint %d", size), []byte(text)), key)
}

func (f *forge) signHead(size int64, text []byte, key *attest.Key) []byte {
	return f.edit(fmt.Sprintf("checkpoint-signed %d", size), append(append(text, '\n'),
		noteLine(origin, 1, key.Public(), f.signature(key, text))...))
}

// noteLine is a signature line of a note.
func noteLine(name string, algorithm byte, public, signature []byte) string {
	id := sha256.Sum256(append([]byte(name+"\n"+string(rune(algorithm))), public...))
	return "— " + name + " " + base64.StdEncoding.EncodeToString(append(id[:4:4], signature...)) + "\n"
}

// The edits that vectors are made of.

// swap puts one text in the place of another, which stands there once, or the first of most.
func swap(at, old, new string, most int) edit {
	return edit{at, func(raw []byte) ([]byte, error) {
		if n := bytes.Count(raw, []byte(old)); n == 0 || n > most {
			return nil, fmt.Errorf("%q stands there %d times in %.300s", old, n, raw)
		}
		return bytes.Replace(raw, []byte(old), []byte(new), 1), nil
	}}
}

// member gives a member of an object another value, or takes it away for "".
func member(at, name, value string) edit {
	return edit{at, func(raw []byte) ([]byte, error) {
		_, rest, ok := strings.Cut(string(raw), `"`+name+`":`)
		if !ok {
			return nil, errors.New("there is no such member: " + name)
		}
		old := rest[:valueEnd(rest)]
		if value != "" {
			return bytes.Replace(raw, []byte(`"`+name+`":`+old), []byte(`"`+name+`":`+value), 1), nil
		}
		return bytes.Replace(raw, []byte(`,"`+name+`":`+old), nil, 1), nil
	}}
}

// valueEnd is where a JSON value ends that a text begins with. Its strings hold no quotes.
func valueEnd(s string) int {
	depth, quoted := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return i
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(s)
}

// flip changes a byte, counted from the end where it is less than zero.
func flip(at string, place int) edit {
	return edit{at, func(raw []byte) ([]byte, error) {
		raw[(place+len(raw))%len(raw)] ^= 1
		return raw, nil
	}}
}

// with makes something else of it altogether.
func with(at string, do func([]byte) []byte) edit {
	return edit{at, func(raw []byte) ([]byte, error) { return do(raw), nil }}
}
