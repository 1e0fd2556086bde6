package roster_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
)

// elsewhere is a week that was walked here and is not sealed, and a walker at another place.
type elsewhere struct {
	*world
	cfg    census.Config
	walker *attest.Key
	doors  []string // of hosts, sorted
}

// newElsewhere begins a week with two doors that are ready and one that is not.
func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	w := newWorld(t)
	key, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w.writer.Ring.Walkers = []attest.Walker{{Public: attest.Hex(key.Public()), KID: key.KID(), Since: "2026-11-01"}}
	e := &elsewhere{world: w, walker: key, doors: []string{"accepts-empty", "ready-bare", "ready-dual"}}
	e.cfg = w.config(lists(urls(e.doors...)...)...)
	e.cfg.Vantages = &census.Vantages{Dir: t.TempDir(), Walkers: []ed25519.PublicKey{key.Public()},
		Origin: w.writer.Origin, Ring: w.writer.Ring, Identity: w.writer.Identity}
	begin := e.cfg
	begin.Writer = nil
	if report := w.run(begin); report.Outcome != census.OutcomeWalked {
		t.Fatalf("%+v", report)
	}
	return e
}

// file is where the walker's files lie.
func (e *elsewhere) file(suffix string) string {
	return filepath.Join(e.cfg.Vantages.Dir, record.ISOWeek(e.now)+"-"+e.walker.KID()+suffix)
}

func (e *elsewhere) roster() *census.VantageRoster {
	e.t.Helper()
	raw, err := os.ReadFile(e.file(".roster"))
	if err != nil {
		e.t.Fatal(err)
	}
	roster, err := census.ReadVantageRoster(bytes.NewReader(raw), e.writer.Ring)
	if err != nil {
		e.t.Fatal(err)
	}
	return roster
}

// walk is what the walker hands over, if it reaches doors by a client and its control door by
// another.
func (e *elsewhere) walk(client, control fetch.Asker) []byte {
	e.t.Helper()
	cfg := e.config()
	cfg.Client, cfg.Control.Client, cfg.Sources = client, control, nil
	var out bytes.Buffer
	if _, err := census.WalkElsewhere(e.t.Context(), cfg, e.roster(), e.walker, &out); err != nil {
		e.t.Fatal(err)
	}
	return out.Bytes()
}

// put hands a file over.
func (e *elsewhere) put(raw []byte) {
	e.t.Helper()
	if err := os.WriteFile(e.file(".seen"), raw, 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// seal seals the round, which strangers accept, and returns what came of the walker and the rows.
func (e *elsewhere) seal() (census.VantageReport, map[string]record.Row) {
	e.t.Helper()
	report := e.run(e.cfg)
	if report.Outcome != census.OutcomeSealed || len(report.Vantages) != 1 {
		e.t.Fatalf("%+v", report)
	}
	e.verify()
	return report.Vantages[0], e.rows(report.Sequence)
}

// shut is a client to which one host does not answer.
type shut struct {
	fetch.Asker
	host string
	now  func() time.Time
}

func (s shut) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	if strings.HasPrefix(req.URL, "https://"+s.host+"/") {
		return exchange.Exchange{Request: req, StartedAt: s.now(),
			Error: exchange.Error{Stage: exchange.StageConnect, Text: "connection refused"}}, nil
	}
	return s.Asker.Do(ctx, req, rule)
}

// A second place that sees the same stands beside each row; where it sees something else, the row
// says that the path is at fault. What it judged by is kept, and a stranger judges it again.
func TestASecondPlace(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	client := e.client()
	e.put(e.walk(shut{client, hostOf("ready-dual"), func() time.Time { return e.now }}, client))
	report, rows := e.seal()
	if report.Counted != 3 || report.Walks != 3 || report.Problem != "" || report.ID != e.walker.KID() {
		t.Fatalf("%+v", report)
	}
	for _, want := range []struct{ name, verdict, fault, elsewhere string }{
		{"accepts-empty", record.VerdictNotReady, record.FaultDoor, record.VerdictNotReady},
		{"ready-bare", record.VerdictReady, record.FaultNone, record.VerdictReady},
		{"ready-dual", record.VerdictNotReady, record.FaultPath, record.VerdictUnreachable},
	} {
		row := rows[hostOf(want.name)]
		if row.Verdict != want.verdict || row.Fault != want.fault || len(row.Vantages) != 1 ||
			row.Vantages[0].Verdict != want.elsewhere || row.Vantages[0].ID != e.walker.KID() {
			t.Errorf("%s: %s by fault of %s, elsewhere %+v", want.name, row.Verdict, row.Fault, row.Vantages)
		}
	}
	raw, err := os.ReadFile(filepath.Join(e.writer.Dir, record.EvidenceIndexPath(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	index, err := record.ParseEvidenceIndex(raw)
	if err != nil || len(index.Entries) != 6 {
		t.Errorf("%d judgements are kept of 3 hosts seen from 2 places: %v", len(index.Entries), err)
	}
	rec, err := e.record()
	if err != nil {
		t.Fatal(err)
	}
	for host, row := range rows {
		own, err := rec.RawEvidence(1, host)
		if sum := attest.Digest(sha256.Sum256(own)).String(); err != nil || sum != row.EvidenceDigest {
			t.Errorf("what %s was judged by is %s, and not %s: %v", host, sum, row.EvidenceDigest, err)
		}
	}
}

// While the walker's own control door fails, nothing that it saw counts, be it ready or not.
func TestASecondPlaceWithoutAPath(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	client := e.client()
	e.put(e.walk(client, shut{client, strings.Split(controlDoor, "/")[2], func() time.Time { return e.now }}))
	report, rows := e.seal()
	if report.Walks != 0 || report.Counted != 0 || !strings.Contains(report.Problem, "control door held") {
		t.Errorf("%+v", report)
	}
	if row := rows[hostOf("ready-bare")]; row.Verdict != record.VerdictReady || len(row.Vantages) > 0 {
		t.Errorf("%+v", row)
	}
}

// TestLiesFromElsewhere hands over what a walker may not say: nothing of it is counted, the reason
// is told, and the round is sealed as if nobody had walked elsewhere.
func TestLiesFromElsewhere(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	client := e.client()
	good := e.walk(client, client)
	stranger, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	early := e.client(func(c *fetch.Config) { c.Now = func() time.Time { return e.now.AddDate(0, 0, -7) } })
	down := shut{client, strings.Split(controlDoor, "/")[2], func() time.Time { return e.now }}
	for _, lie := range []struct {
		name, want string
		file       func() []byte
	}{
		{"a verdict that was not seen", "gives ready", func() []byte {
			return e.lie(good, func(f *handed) { f.line(hostOf("ready-bare"))["verdict"] = record.VerdictUnreachable })
		}},
		{"another roster", "not of this week's", func() []byte {
			return e.lie(good, func(f *handed) { f.commission["roster_digest"] = strings.Repeat("ab", 32) })
		}},
		{"last week's roster", "not of this week's", func() []byte {
			return e.lie(good, func(f *handed) { f.commission["week"] = record.ISOWeek(e.now.AddDate(0, 0, -7)) })
		}},
		{"what was seen last week", "the roster was closed at", func() []byte { return e.walk(early, early) }},
		{"a host twice", "a host stands once", func() []byte {
			return e.lie(good, func(f *handed) { f.lines[len(f.lines)-1] = f.lines[len(f.lines)-2] })
		}},
		{"a host out of its order", "a host stands once", func() []byte {
			return e.lie(good, func(f *handed) {
				n := len(f.lines)
				f.lines[n-1], f.lines[n-2] = f.lines[n-2], f.lines[n-1]
			})
		}},
		{"a control that it did not pass", "no walk to the control door held", func() []byte {
			// The walks of a good file, behind the control walks of one whose control door failed.
			bad := e.parse(e.walk(client, down))
			return e.lie(good, func(f *handed) { f.lines = append(bad.lines, f.lines[f.controls():]...) })
		}},
		{"a control of another door", "the control door is", func() []byte {
			return e.lie(good, func(f *handed) {
				f.lines[0] = map[string]any{"judgement": f.line(hostOf("ready-dual"))["judgement"]}
			})
		}},
		{"no control at all", "no walk to the control door held", func() []byte {
			return e.lie(good, func(f *handed) { f.lines = f.lines[f.controls():] })
		}},
		{"a commission that the store did not sign", "not signed by an identity", func() []byte {
			return e.signed(good, stranger, e.walker)
		}},
		{"a key that nobody commissioned", "not the walker's", func() []byte {
			return e.signed(good, e.writer.Identity, stranger)
		}},
		{"a signature of nobody", "not the walker's", func() []byte {
			f := e.parse(good)
			f.statement["signature"] = strings.Repeat("ab", 64)
			return f.encode(t)
		}},
		{"the store's name under a commission of one's own", "not signed by an identity", func() []byte {
			f := e.parse(good)
			f.commission["signature"] = strings.Repeat("ab", 64)
			return f.encode(t)
		}},
		{"what was changed behind the signature", "not what the walker signed", func() []byte {
			other := e.walk(client, client)
			f, g := e.parse(good), e.parse(other)
			f.lines = g.lines
			return f.encode(t)
		}},
		{"a word behind the end", "behind the last walk", func() []byte { return append(bytes.Clone(good), '\n') }},
		{"half a file", "EOF", func() []byte { return good[:bytes.LastIndexByte(good[:len(good)-1], '\n')+1] }},
		{"half a line", "cut off", func() []byte { return good[:len(good)-2] }},
		{"a judgement that takes others' room", "a judgement of more than", func() []byte {
			return e.lie(good, func(f *handed) {
				f.lines[len(f.lines)-1]["judgement"] = base64.StdEncoding.EncodeToString(make([]byte, 16<<10+1))
			})
		}},
		{"a line without an end", "a line of more than", func() []byte { return bytes.Repeat([]byte("x"), 4<<20) }},
	} {
		e.put(lie.file())
		e.refuses(lie.name, lie.want)
	}
	// A gigabyte is not read: it has no room on this disk either.
	e.put(nil)
	if err := os.Truncate(e.file(".seen"), 1<<30); err != nil {
		t.Fatal(err)
	}
	e.refuses("a gigabyte", "larger than")
	if err := os.Remove(e.file(".seen")); err != nil {
		t.Fatal(err)
	}
	e.refuses("nothing", "nothing was handed over")
	// And the good one is good, at last.
	e.put(good)
	if report, rows := e.seal(); report.Counted != 3 || len(rows[hostOf("ready-bare")].Vantages) != 1 {
		t.Errorf("%+v", report)
	}
}

// A walker that names itself twice, or by a key of the store's, is not configured.
func TestWalkersHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, keys := range map[string][]ed25519.PublicKey{
		"named twice":        {other.Public(), other.Public()},
		"the store's own":    {w.writer.Identity.Public()},
		"a row has room for": make([]ed25519.PublicKey, 5),
	} {
		cfg := w.quick()
		cfg.Vantages = &census.Vantages{Dir: t.TempDir(), Walkers: keys, Origin: w.writer.Origin, Ring: w.writer.Ring}
		if _, err := census.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", want, err)
		}
	}
}

// A walker walks nothing but what the store signed for its key.
func TestARosterIsTheStores(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	raw, err := os.ReadFile(e.file(".roster"))
	if err != nil {
		t.Fatal(err)
	}
	door := []byte("https://" + hostOf("ready-bare") + "/paid")
	other := e.parse(raw)
	other.commission["roster_digest"] = strings.Repeat("ab", 32)
	delete(other.commission, "signature")
	other.commission["signature"] = attest.Hex(e.writer.Identity.Sign(encoded(t, other.commission,
		commissionMembers))).String()
	for want, file := range map[string][]byte{
		"not those that the store signed": bytes.Replace(raw, door, append(door, '2'), 1),
		"behind its last door":            append(bytes.Clone(raw), '\n'),
		"EOF":                             raw[:bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1],
		"doors are not those": append(append(encoded(t, other.commission, commissionMembers), '\n'),
			raw[bytes.IndexByte(raw, '\n')+1:]...),
		"is not signed by an identity": bytes.Replace(raw, []byte(`"hosts":3`), []byte(`"hosts":2`), 1),
	} {
		if _, err := census.ReadVantageRoster(bytes.NewReader(file), e.writer.Ring); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	stranger, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, err = census.WalkElsewhere(t.Context(), e.config(), e.roster(), stranger, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "another walker's key") {
		t.Errorf("by another key: %v", err)
	}
}

// refuses demands that what was handed over is refused for a reason, without sealing anything.
func (e *elsewhere) refuses(name, want string) {
	e.t.Helper()
	report, err := census.TakeIn(e.t.Context(), e.cfg)
	if all := report.Vantages; err != nil || len(all) != 1 || all[0].Counted != 0 ||
		!strings.Contains(all[0].Problem, want) {
		e.t.Errorf("%s: %+v, %v: want %q", name, all, err, want)
	}
}

// handed is a file as a liar takes it apart.
type handed struct {
	commission, statement map[string]any
	lines                 []map[string]any
}

func (e *elsewhere) parse(raw []byte) *handed {
	e.t.Helper()
	f := &handed{}
	for i, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			e.t.Fatal(err)
		}
		switch i {
		case 0:
			f.commission = m
		case 1:
			f.statement = m
		default:
			f.lines = append(f.lines, m)
		}
	}
	return f
}

// controls is how many walks to the control door there are.
func (f *handed) controls() (n int) {
	for n < len(f.lines) && f.lines[n]["host"] == nil {
		n++
	}
	return n
}

func (f *handed) line(host string) map[string]any {
	for _, l := range f.lines {
		if l["host"] == host {
			return l
		}
	}
	return nil
}

// The members of each line in their order, as canonical JSON has them.
const (
	commissionMembers = "format origin week private roster_digest hosts doors battery control walker kid signature"
	statementMembers  = "format commission controls walks seen kid signature"
	lineMembers       = "host verdict judgement"
)

func encoded(t *testing.T, m map[string]any, members string) []byte {
	t.Helper()
	var parts []string
	for name := range strings.FieldsSeq(members) {
		if v, there := m[name]; there {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, `"`+name+`":`+string(b))
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func (f *handed) encode(t *testing.T) []byte {
	t.Helper()
	all := [][]byte{encoded(t, f.commission, commissionMembers), encoded(t, f.statement, statementMembers)}
	for _, l := range f.lines {
		all = append(all, encoded(t, l, lineMembers))
	}
	return append(bytes.Join(all, []byte("\n")), '\n')
}

// lie changes a file and has everything signed anew by those who may: what a walker, or a store
// that mistakes a file for another, could really hand over.
func (e *elsewhere) lie(raw []byte, change func(*handed)) []byte {
	e.t.Helper()
	f := e.parse(raw)
	change(f)
	return e.sign(f, e.writer.Identity, e.walker)
}

// signed is a file with the signatures of others.
func (e *elsewhere) signed(raw []byte, store, walker *attest.Key) []byte {
	e.t.Helper()
	return e.sign(e.parse(raw), store, walker)
}

func (e *elsewhere) sign(f *handed, store, walker *attest.Key) []byte {
	e.t.Helper()
	by := func(m map[string]any, members string, key *attest.Key) {
		m["kid"] = key.KID()
		delete(m, "signature")
		m["signature"] = attest.Hex(key.Sign(encoded(e.t, m, members))).String()
	}
	by(f.commission, commissionMembers, store)
	line := sha256.Sum256(encoded(e.t, f.commission, commissionMembers))
	sum := sha256.New()
	for _, l := range f.lines {
		judgement, err := base64.StdEncoding.DecodeString(l["judgement"].(string))
		if err != nil {
			e.t.Fatal(err)
		}
		host, _ := l["host"].(string)
		verdict, _ := l["verdict"].(string)
		fmt.Fprintf(sum, "%s %s %x\n", host, verdict, sha256.Sum256(judgement))
	}
	f.statement["commission"], f.statement["seen"] = hex.EncodeToString(line[:]), hex.EncodeToString(sum.Sum(nil))
	f.statement["controls"], f.statement["walks"] = f.controls(), len(f.lines)-f.controls()
	by(f.statement, statementMembers, walker)
	return f.encode(e.t)
}
