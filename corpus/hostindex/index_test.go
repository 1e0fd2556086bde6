package hostindex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// tiny makes many transactions and runs of few rows.
const tiny = 2 << 10

// sharedRecord has rounds of random hosts, of which many take money at the same few addresses.
func sharedRecord(t testing.TB, rounds, hosts int) *seal.Writer {
	t.Helper()
	w := recordtest.Writer(t)
	random := rand.New(rand.NewPCG(4, uint64(hosts)))
	for sequence := range int64(rounds) {
		var rows []record.Row
		for i := range hosts {
			if random.IntN(4) == 0 {
				continue
			}
			verdict := []string{record.VerdictReady, record.VerdictNotReady, record.VerdictUnreachable,
				record.VerdictNotProbed}[random.IntN(4)]
			row := recordtest.Walked(fmt.Sprintf("h%03d.example", i), verdict)
			if row.Offer != nil {
				row.Offer = &record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"},
					PayTo: []record.PayTo{}}
				for range random.IntN(4) {
					n := []string{"eip155:8453", "eip155:1"}[random.IntN(2)]
					address := fmt.Sprintf("0x%040x", 1+random.IntN(6))
					row.Offer.PayTo = append(row.Offer.PayTo,
						record.PayTo{Network: n, Digest: exchange.PayToDigest(n, address)})
				}
			}
			rows = append(rows, row)
		}
		for _, odd := range []string{"h-" + strings.Repeat("0", 64), strings.Repeat("long.", 45) + "example",
			"~odd(.example"} {
			rows = append(rows, recordtest.Walked(odd, record.VerdictReady))
		}
		slices.SortFunc(rows, func(a, b record.Row) int { return strings.Compare(a.Host, b.Host) })
		recordtest.Seal(t, w, recordtest.Draft(sequence+1, rows...))
	}
	return w
}

func buildTiny(t testing.TB, w *seal.Writer, dir string) *Index {
	t.Helper()
	if err := build(t.Context(), recordtest.Open(t, w), dir, tiny); err != nil {
		t.Fatal(err)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// bruteDoors works out slowly what the index says of addresses.
func bruteDoors(t testing.TB, r *record.Record) (map[record.PayTo][]AddressDoor, map[record.PayTo]AddressSum) {
	t.Helper()
	doors, sums := map[record.PayTo][]AddressDoor{}, map[record.PayTo]AddressSum{}
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		of := map[record.PayTo]*AddressDoor{}
		for _, row := range h.Rows {
			if row.Offer == nil {
				continue
			}
			for _, p := range row.Offer.PayTo {
				if of[p] == nil {
					of[p] = &AddressDoor{Host: h.Host, FirstWeek: row.Week}
				}
				if !slices.Contains(of[p].Sequences, row.Sequence) {
					of[p].Sequences, of[p].LastWeek = append(of[p].Sequences, row.Sequence), row.Week
				}
			}
		}
		for p, d := range of {
			doors[p] = append(doors[p], *d)
			s, ok := sums[p]
			if !ok {
				s.In = map[int64]int64{}
			}
			s.Hosts++
			for _, sequence := range d.Sequences {
				s.In[sequence]++
			}
			sums[p] = s
		}
	}
	return doors, sums
}

func collect[T any](t testing.TB, seq func(func(T, error) bool)) (out []T) {
	t.Helper()
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func TestIndexHoldsWhatTheRecordHolds(t *testing.T) {
	for name, w := range map[string]*seal.Writer{"small": recordtest.Small(t), "shared": sharedRecord(t, 5, 120),
		"empty": recordtest.Writer(t)} {
		r := recordtest.Open(t, w)
		x := buildTiny(t, w, t.TempDir())
		if stale, err := x.Check(r); stale || err != nil {
			t.Errorf("%s: stale %v, %v", name, stale, err)
		}
		var hosts []string
		var rows int64
		for want, err := range r.Histories() {
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, want.Host)
			rows += int64(len(want.Rows))
			got, ok, err := x.Host(want.Host)
			if !ok || err != nil {
				t.Fatalf("%s: %s: %v, %v", name, want.Host, ok, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s (-want +got):\n%s", name, want.Host, diff)
			}
			for _, absent := range []string{want.Host + "x", want.Host[:len(want.Host)-1], "0" + want.Host,
				strings.ToUpper(want.Host)} {
				if h, ok, err := x.Host(absent); ok || err != nil || len(h.Rows) > 0 {
					t.Errorf("%s: %s is there: %v %v", name, absent, h, err)
				}
			}
		}
		for _, host := range hosts {
			got, ok, err := x.Hashed(fmt.Sprintf("%x", sha256.Sum256([]byte(host))))
			if ok && got != host || !ok && !isPlain(host) || err != nil {
				t.Errorf("%s: the digest of %s is that of %q: %v, %v", name, host, got, ok, err)
			}
		}
		for _, absent := range []string{"", " ", "~", "zz.example"} {
			if _, ok, err := x.Host(absent); ok || err != nil {
				t.Errorf("%s: %q is there: %v", name, absent, err)
			}
		}
		if diff := cmp.Diff(hosts, collect(t, x.Hosts(""))); diff != "" {
			t.Errorf("%s: hosts (-want +got):\n%s", name, diff)
		}
		doors, sums := bruteDoors(t, r)
		for p, want := range doors {
			if diff := cmp.Diff(want, collect(t, x.Doors(p))); diff != "" {
				t.Errorf("%s: doors of %v (-want +got):\n%s", name, p, diff)
			}
			got, err := x.Address(p)
			if diff := cmp.Diff(sums[p], got); diff != "" || err != nil {
				t.Errorf("%s: sum of %v: %v (-want +got):\n%s", name, p, err, diff)
			}
		}
		for _, p := range []record.PayTo{{}, {Network: "eip155:8453"},
			{Network: "eip155:99", Digest: exchange.PayToDigest("eip155:99", "0x")}} {
			if got, err := x.Address(p); err != nil || got.Hosts != 0 || len(collect(t, x.Doors(p))) != 0 {
				t.Errorf("%s: an address that was never seen: %v, %v", name, got, err)
			}
		}
		want := Head{Format: Format, Rows: rows, Hosts: int64(len(hosts)), Addresses: int64(len(sums)),
			Weeks: []string{}, Networks: []string{}}
		named := map[string]map[string]bool{} // hosts by network
		for p, at := range doors {
			if named[p.Network] == nil {
				named[p.Network] = map[string]bool{}
			}
			for _, d := range at {
				named[p.Network][d.Host] = true
			}
		}
		want.Networks = slices.SortedFunc(maps.Keys(named), func(a, b string) int {
			if n := len(named[b]) - len(named[a]); n != 0 {
				return n
			}
			return strings.Compare(a, b)
		})
		if want.NetworksAll = int64(len(named)); len(named) == 0 {
			want.Networks = []string{}
		}
		for _, round := range r.Rounds() {
			want.Origin, want.Size = round.Origin, round.LeavesEnd()
			want.Weeks = append(want.Weeks, round.Week)
		}
		want.Root, _ = r.Log.Root(want.Size)
		if diff := cmp.Diff(want, x.Head()); diff != "" {
			t.Errorf("%s: head (-want +got):\n%s", name, diff)
		}
	}
}

func TestIndexFollowsTheRecord(t *testing.T) {
	w, dir := recordtest.Small(t), t.TempDir()
	first := buildTiny(t, w, dir)
	before := recordtest.ReadAll(t, dir)
	// Observations make the log grow, and change nothing of an index.
	recordtest.Observe(t, w, "third")
	buildTiny(t, w, dir)
	if diff := cmp.Diff(before, recordtest.ReadAll(t, dir)); diff != "" {
		t.Errorf("an index was built again:\n%s", diff)
	}
	recordtest.Seal(t, w, recordtest.Draft(4, recordtest.Walked("a.example", record.VerdictReady)))
	if stale, err := first.Check(recordtest.Open(t, w)); !stale || err != nil {
		t.Errorf("a round more: stale %v, %v", stale, err)
	}
	// What a crash or an older release left does not matter.
	for _, left := range []string{".new", "7-0123456789abcdef"} {
		if err := os.MkdirAll(filepath.Join(dir, left, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	second := buildTiny(t, w, dir)
	if stale, err := second.Check(recordtest.Open(t, w)); stale || err != nil {
		t.Errorf("built anew: stale %v, %v", stale, err)
	}
	// Whoever still reads the one before is not cut off.
	if h, ok, err := first.Host("b.example"); !ok || err != nil || len(h.Rows) != 2 {
		t.Errorf("the index before: %v, %v, %v", h, ok, err)
	}
	if h, _, err := second.Host("a.example"); err != nil || len(h.Rows) != 3 {
		t.Errorf("the new index: %v, %v", h, err)
	}
	recordtest.Seal(t, w, recordtest.Draft(5, recordtest.Walked("a.example", record.VerdictReady)))
	third := buildTiny(t, w, dir)
	if _, err := os.Stat(filepath.Join(dir, first.head.name())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first index still stands: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // two indexes, the pointer, the lock
		t.Errorf("%v, %v", entries, err)
	}
	// An index of another record, and of a longer one, are refused.
	if _, err := third.Check(recordtest.Open(t, sharedRecord(t, 6, 3))); err == nil {
		t.Error("an index of another record passed")
	}
	if _, err := third.Check(recordtest.Open(t, recordtest.Small(t))); err == nil {
		t.Error("an index of a longer record passed")
	}
}

func TestIndexIsBuiltOnce(t *testing.T) {
	w, dir := sharedRecord(t, 2, 40), t.TempDir()
	r := recordtest.Open(t, w)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := build(t.Context(), r, dir, tiny); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	other := t.TempDir()
	if err := build(stopped, r, other, tiny); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := Open(other); !errors.Is(err, ErrNone) {
		t.Errorf("half an index: %v", err)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) != 1 { // the lock
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// answers is all that an index says, or the error it said it with.
func answers(dir string, hosts []string, addresses []record.PayTo) ([]string, error) {
	x, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer x.db.Close()
	var all []string
	for _, host := range hosts {
		h, ok, err := x.Host(host)
		if err != nil {
			return nil, err
		}
		name, known, err := x.Hashed(fmt.Sprintf("%x", sha256.Sum256([]byte(host))))
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprint(host, ok, name, known))
		for _, row := range h.Rows {
			all = append(all, fmt.Sprint(row.Leaf, string(row.Raw), row.Host))
		}
	}
	for _, p := range addresses {
		s, err := x.Address(p)
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprint(p, s))
		for d, err := range x.Doors(p) {
			if err != nil {
				return nil, err
			}
			all = append(all, fmt.Sprint(d))
		}
	}
	return all, nil
}

// lessened is the file of an index from which a host is gone.
func lessened(t *testing.T, whole []byte) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "index")
	err := os.WriteFile(file, whole, 0o644)
	var db *bbolt.DB
	if err == nil {
		db, err = bbolt.Open(file, 0, nil)
	}
	if err == nil {
		err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(tableHosts)).Delete([]byte("h007.example"))
		}), db.Close())
	}
	b, read := os.ReadFile(file)
	if err := errors.Join(err, read); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamagedIndexIsAnError changes, cuts and turns round the file of an index: nothing it says
// then is wrong, also of hosts that it does not hold, and what cannot be opened is built anew.
func TestDamagedIndexIsAnError(t *testing.T) {
	w, dir := sharedRecord(t, 3, 40), t.TempDir()
	x := buildTiny(t, w, dir)
	hosts := append(collect(t, x.Hosts("")), "absent.example", "h000", "zzz.example")
	doors, _ := bruteDoors(t, recordtest.Open(t, w))
	addresses := slices.Collect(maps.Keys(doors))
	want, err := answers(dir, hosts, addresses)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, x.head.name())
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) bool {
		if err := errors.Join(os.Remove(file), os.WriteFile(file, b, 0o644)); err != nil {
			t.Fatal(err)
		}
		got, err := answers(dir, hosts, addresses)
		if err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: another answer, and no error", what)
		}
		return err != nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	caught := 0
	for range 1000 {
		at, bit := random.IntN(len(whole)), byte(1)<<random.IntN(8)
		b := bytes.Clone(whole)
		b[at] ^= bit
		if check(fmt.Sprintf("bit %d of byte %d", bit, at), b) {
			caught++
		}
	}
	// Pages that nothing names any more are in the file as well.
	if caught < 400 {
		t.Errorf("%d of 1000 changed bits were noticed", caught)
	}
	for what, b := range map[string][]byte{"half": whole[:len(whole)/2], "empty": {}, "a host less": lessened(t, whole),
		"turned round": append(bytes.Clone(whole[100:]), whole[:100]...)} {
		if !check(what, b) {
			t.Errorf("%s is enough", what)
		}
		if what == "a host less" { // it is opened, and says so where it is asked
			continue
		}
		buildTiny(t, w, dir)
		if got, err := answers(dir, hosts, addresses); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is not built anew: %v", what, err)
		}
	}
}

// TestLongIndexMemoryDoesNotFollowRows builds indexes of one round of few and of many hosts.
func TestLongIndexMemoryDoesNotFollowRows(t *testing.T) {
	build := func(n int) uint64 {
		w := recordtest.Writer(t)
		d := recordtest.Draft(1)
		d.Rows = recordtest.ManyRows(n, d.TakenAt)
		recordtest.Seal(t, w, d)
		r := recordtest.Open(t, w)
		dir := t.TempDir()
		return recordtest.Peak(func() {
			if err := build(t.Context(), r, dir, 1<<20); err != nil {
				t.Error(err)
			}
		})
	}
	small, large := build(record.MaxPartRows+1), build(6*record.MaxPartRows)
	t.Logf("%d MiB and %d MiB", small>>20, large>>20)
	if large > small+small/2+(16<<20) {
		t.Errorf("memory follows the rows: %d MiB, then %d MiB", small>>20, large>>20)
	}
}
