package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// storeOf is a store with the specimen's keys and an empty record.
func storeOf(t testing.TB) *seal.Writer {
	t.Helper()
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: ringOfWalkers(t)}
}

// lived is a record of four rounds over some twenty hosts, each row judged and its walk kept, with
// observations between the rounds, two proofs of time and a cosignature, covered by its manifest.
// With another salt other things were seen.
func lived(t testing.TB, salt int) *seal.Writer {
	t.Helper()
	w := storeOf(t)
	for n := range int64(4) {
		walkAll(t, w, n+1, 18+int(n), salt)
		at := time.Date(2026, 9, 13, 12, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(n)).Format(time.RFC3339)
		if _, err := w.Observe(t.Context(), record.Observation{At: at,
			Kind: record.ObservationRetiredWord, Word: &record.Said{Text: fmt.Sprintf("word%d", n)}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range r.Rounds()[:2] {
		pending := slices.Concat([]byte{0xf0, 1, 'x', 0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, 17, 16},
			[]byte("http://c.example"))
		p, err := ots.FromAnswer(round.Digest, pending)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddProof(t.Context(), round.Sequence, "c.example", p, nil); err != nil {
			t.Fatal(err)
		}
	}
	coverAll(t, w)
	return w
}

// observed is a record of nothing but observations, so many that the log has a full tile: the
// shortest that there is.
func observed(t testing.TB) *seal.Writer {
	t.Helper()
	w := storeOf(t)
	var words []record.Observation
	for n := range 260 {
		words = append(words, record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord,
			Word: &record.Said{Text: fmt.Sprintf("word%d", n)}})
	}
	if _, err := w.Observe(t.Context(), words...); err != nil {
		t.Fatal(err)
	}
	coverAll(t, w)
	return w
}

func coverAll(t testing.TB, w *seal.Writer) {
	t.Helper()
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
}

// walkAll seals a round in which every host answers as a practice door does.
func walkAll(t testing.TB, w *seal.Writer, sequence int64, hosts, salt int) {
	t.Helper()
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	kept := make(map[string][]byte)
	var rows iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
		for i := range hosts {
			host := fmt.Sprintf("door%03d.example", i)
			all := practice.All()
			report, j := walkOne(t, "https://"+host+"/", all[(i*7+int(sequence)+salt)%len(all)], at.Add(-time.Hour), 1)
			row := rejudge.RowFrom(report, j)
			row.Host, row.Listed, row.Source = host, true, record.SourceDiscovery
			raw, err := j.Encode()
			kept[row.EvidenceDigest] = raw
			if i%3 == 0 {
				seenFrom(t, &row, kept, all[(i*7+int(sequence)+salt+1+i%2)%len(all)], at.Add(-time.Hour))
			}
			if !yield(row, err) {
				return
			}
		}
	}
	d := seal.Draft{Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2",
		Rows:     rows,
		Evidence: func(_, digest string) ([]byte, error) { return kept[digest], nil }}
	if _, err := w.Seal(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// walkersElsewhere are the keys of two walkers, sorted by their ids.
func walkersElsewhere(t testing.TB) (keys []*attest.Key) {
	t.Helper()
	for _, seed := range []byte{2, 3} {
		k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b *attest.Key) int { return strings.Compare(a.KID(), b.KID()) })
	return keys
}

// ringOfWalkers is the specimen's ring with two walkers in it.
func ringOfWalkers(t testing.TB) attest.Ring {
	t.Helper()
	ring := attest.SpecimenRing()
	for _, k := range walkersElsewhere(t) {
		ring.Walkers = append(ring.Walkers, attest.Walker{Public: attest.Hex(k.Public()), KID: k.KID(),
			Since: "2026-08-17"})
	}
	return ring
}

// seenFrom lets two walkers at other places see other answers of a door that was walked.
func seenFrom(t testing.TB, row *record.Row, kept map[string][]byte, door practice.Door, at time.Time) {
	t.Helper()
	if row.Verdict == record.VerdictNotProbed {
		return
	}
	for i, walker := range walkersElsewhere(t) {
		report, j := walkOne(t, row.URL, door, at, byte(2+i))
		there := rejudge.RowFrom(report, j)
		if there.Verdict == record.VerdictNotProbed {
			continue
		}
		raw, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		kept[there.EvidenceDigest] = raw
		row.Vantages = append(row.Vantages, record.Vantage{ID: walker.KID(), Verdict: there.Verdict,
			EvidenceDigest: there.EvidenceDigest})
	}
	if slices.ContainsFunc(row.Vantages, func(v record.Vantage) bool { return v.Verdict != row.Verdict }) {
		row.Verdict, row.Fault = record.VerdictNotReady, record.FaultPath
	}
}

func walkOne(t testing.TB, url string, door practice.Door, at time.Time, salt byte) (probe.Report, probe.Judgement) {
	t.Helper()
	report, j := recordtest.Look(t, url, door.Answer(url), exchange.Error{}, at)
	j.Salt = probe.Salt{salt}
	return report, j
}

// attacked checks a spoilt tree and demands that it is refused and that the files are named.
func attacked(t testing.TB, tree fstest.MapFS, what string, names ...string) {
	t.Helper()
	if err := refused(t.Context(), tree, names...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// refused is nil if a tree is refused and the files are named.
func refused(ctx context.Context, tree fstest.MapFS, names ...string) error {
	r, err := verify.Clone(ctx, tree, verify.CloneOptions{Judge: rejudge.Batteries{}})
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(r.Problems, func(p verify.Problem) bool { return p.Path == name }) {
			return fmt.Errorf("the problems are %v, want %s", r.Problems, name)
		}
	}
	return nil
}

// records are the records that attacks are tried on: two made here and, where it is, the committed
// specimen's.
func records(t testing.TB) map[string]fstest.MapFS {
	t.Helper()
	out := map[string]fstest.MapFS{"lived": recordtest.MapFS(t, lived(t, 0).Dir),
		"observed": recordtest.MapFS(t, observed(t).Dir)}
	specimen := filepath.Join("..", "..", "corpus")
	if _, err := os.Stat(filepath.Join(specimen, "manifest.json")); err == nil {
		tree := make(fstest.MapFS)
		for name, f := range recordtest.MapFS(t, specimen) {
			if top, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"rounds", "observations", "proofs", "log",
				"keys", "evidence", "words", "manifest", "manifest.json"}, top) {
				tree[name] = f
			}
		}
		out["specimen"] = tree
	}
	for name, tree := range out {
		r, err := verify.Clone(t.Context(), tree,
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil || !r.Sound() {
			t.Fatalf("%s, unspoilt: %v %v", name, r.Problems, err)
		}
	}
	return out
}

// TestBytesOfAFileOfEachKindOfARecord changes two bytes of one file of each kind, one at a time:
// every one is refused alone. Of each kind it takes the smallest file of any record.
func TestBytesOfAFileOfEachKindOfARecord(t *testing.T) { changeBytes(t, 2) }

// TestSoakAttackedRecord changes every byte of a file of each kind, and 20,000 random bytes.
func TestSoakAttackedRecord(t *testing.T) {
	soak(t)
	changeRandomly(t, 20_000)
	changeBytes(t, 1<<30)
}

func changeBytes(t *testing.T, most int) {
	type file struct{ which, name string }
	smallest := make(map[string]file)
	trees := records(t)
	size := func(f file) int { return len(trees[f.which][f.name].Data) }
	for _, which := range slices.Sorted(maps.Keys(trees)) {
		for _, name := range slices.Sorted(maps.Keys(trees[which])) {
			f := file{which, name}
			if held, ok := smallest[recordtest.Kind(name)]; !ok || size(f) < size(held) {
				smallest[recordtest.Kind(name)] = f
			}
		}
	}
	// Each of the workers has a tree of its own for each piece of a file.
	const piece = 4096
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	changes := 0
	for _, kind := range slices.Sorted(maps.Keys(smallest)) {
		f := smallest[kind]
		rng := rand.New(rand.NewPCG(2, 7))
		step := max(1, size(f)/most)
		var places []int
		for at := rng.IntN(step); at < size(f); at += step {
			places = append(places, at)
		}
		changes += len(places)
		t.Logf("%s, %s: %d of %d bytes", f.which, f.name, len(places), size(f))
		for some := range slices.Chunk(places, piece) {
			flips := make([]byte, len(some))
			for i := range flips {
				flips[i] = byte(1 + rng.IntN(255))
			}
			workers.Go(func() error {
				tree := maps.Clone(trees[f.which])
				data := slices.Clone(tree[f.name].Data)
				tree[f.name] = &fstest.MapFile{Data: data, Mode: tree[f.name].Mode}
				for i, at := range some {
					data[at] ^= flips[i]
					if err := refused(t.Context(), tree, f.name); err != nil {
						return fmt.Errorf("%s: %s, byte %d: %w", f.which, f.name, at, err)
					}
					data[at] ^= flips[i]
				}
				return nil
			})
		}
	}
	if err := workers.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of %d kinds of files", changes, len(smallest))
}

// changeRandomly changes random bytes anywhere, many files at once and one byte each; the answer
// must name every one.
func changeRandomly(t *testing.T, changes int) {
	for which, tree := range records(t) {
		var names []string
		for name := range tree {
			// While the head, a part or the keys are spoilt, the files under them are not judged:
			// those are changed alone, byte by byte, in the test above.
			if !strings.HasPrefix(name, "manifest") && name != record.RingFile && len(tree[name].Data) > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		rng := rand.New(rand.NewPCG(20, 26))
		for left := changes; left > 0; {
			rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			some := names[:min(len(names), left)]
			left -= len(some)
			undo := make(map[string][]byte)
			for _, n := range some {
				undo[n] = tree[n].Data
				tree[n].Data = slices.Clone(tree[n].Data)
				tree[n].Data[rng.IntN(len(tree[n].Data))] ^= byte(1 + rng.IntN(255))
			}
			attacked(t, tree, which, some...)
			for n, b := range undo {
				tree[n].Data = b
			}
		}
		t.Logf("%s: %d bytes in %d files", which, changes, len(names))
	}
}

func TestFilesOfARecordDeletedAddedAndSwapped(t *testing.T) {
	for which, tree := range records(t) {
		byForm := make(map[string][]string)
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			byForm[recordtest.Kind(name)] = append(byForm[recordtest.Kind(name)], name)
		}
		for kind, names := range byForm {
			name := names[len(names)/2]
			held := tree[name]
			delete(tree, name)
			// A record without any of its signs is none, so the head's absence shows as its own.
			attacked(t, tree, fmt.Sprintf("%s: %s deleted", which, name), name)
			tree[name] = held
			added := path.Join(path.Dir(name), "0"+path.Base(name))
			if strings.Contains(added, "/") { // beside a record other files may stand
				tree[added] = held
				attacked(t, tree, fmt.Sprintf("%s: %s added", which, added), added)
				delete(tree, added)
			}
			// Two files of a kind change places.
			for i, other := range names[1:] {
				before := names[i]
				if string(tree[before].Data) == string(tree[other].Data) {
					continue
				}
				tree[before], tree[other] = tree[other], tree[before]
				attacked(t, tree, fmt.Sprintf("%s: %s and %s swapped (%s)", which, before, other, kind), before, other)
				tree[before], tree[other] = tree[other], tree[before]
				break
			}
		}
	}
}

// TestRowsMovedBetweenRounds has somebody with all keys but the identity's put a row where it does
// not belong and put right everything that is not signed by it: parts, tiles, evidence. The header
// still commits to the part.
func TestRowsMovedBetweenRounds(t *testing.T) {
	w := lived(t, 0)
	const from, to = "rounds/2/part-0001.jsonl", "rounds/3/part-0001.jsonl"
	for what, change := range map[string]func(a, b []string) []string{
		"in place of its own": func(a, b []string) []string { b[3] = a[3]; return b },
		"beside its own":      func(a, b []string) []string { return slices.Insert(b, 3, a[3]) },
		"a row less":          func(_, b []string) []string { return slices.Delete(b, 3, 4) },
		"two in other order":  func(_, b []string) []string { b[3], b[4] = b[4], b[3]; return b },
	} {
		tree := recordtest.MapFS(t, w.Dir)
		// Nothing but the record itself, so that the manifest is no help.
		for name := range tree {
			if strings.HasPrefix(name, "manifest") {
				delete(tree, name)
			}
		}
		tree[".git/HEAD"] = &fstest.MapFile{Data: []byte("ref: refs/heads/main\n")}
		lines := func(name string) []string {
			return strings.SplitAfter(strings.TrimSuffix(string(tree[name].Data), "\n"), "\n")
		}
		a, b := lines(from), lines(to)
		a[len(a)-1] += "\n"
		b[len(b)-1] += "\n"
		tree[to] = &fstest.MapFile{Data: []byte(strings.Join(change(a, b), ""))}
		attacked(t, tree, what, to)
	}
	// The whole round in the place of another.
	tree := recordtest.MapFS(t, w.Dir)
	for name, f := range recordtest.MapFS(t, w.Dir) {
		if rest, ok := strings.CutPrefix(name, "rounds/2/"); ok {
			tree["rounds/3/"+rest] = f
		}
		if strings.HasPrefix(name, "manifest") {
			delete(tree, name)
		}
	}
	tree[".git/HEAD"] = &fstest.MapFile{Data: []byte("ref: refs/heads/main\n")}
	attacked(t, tree, "a round twice", "rounds/3/header.json")
}

// TestRewrittenHistory has the store itself, with all keys, seal other rounds: whoever saw the old
// checkpoint does not take it, at whatever size, and a stranger cannot tell.
func TestRewrittenHistory(t *testing.T) {
	seen := lived(t, 0)
	file := filepath.Join(t.TempDir(), "remembered")
	if code, out := checkWith(seen.Dir, "-remember", file); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	for rounds := range int64(6) {
		w := storeOf(t)
		for n := range rounds + 1 {
			walkAll(t, w, n+1, 18+int(n), 1)
		}
		coverAll(t, w)
		if code, out := checkWith(w.Dir); code != 0 {
			t.Fatalf("a stranger: exit %d: %s", code, out)
		}
		want, says := 5, "log/checkpoint: rewritten"
		if rounds < 4 { // shorter than the one that was seen
			want, says = 4, "UNPROVEN: that its log is the beginning of the one that was seen"
		}
		if code, out := checkWith(w.Dir, "-remember", file); code != want || !strings.Contains(out, says) {
			t.Errorf("%d rounds rewritten: exit %d: %s", rounds+1, code, out)
		}
	}
	// It goes on as it was.
	walkAll(t, seen, 5, 25, 0)
	coverAll(t, seen)
	if code, out := checkWith(seen.Dir, "-remember", file); code != 0 ||
		!strings.Contains(out, "goes on from the checkpoint of size") {
		t.Errorf("gone on: exit %d: %s", code, out)
	}
}

// TestCloneByGit checks what git brings, and what an archive of it unpacks to: the record without a
// manifest. Everything that is signed is still checked, and what is not is said.
func TestCloneByGit(t *testing.T) {
	w := lived(t, 0)
	if err := os.Remove(filepath.Join(w.Dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	if code, out := checkWith(w.Dir); code != 3 || !strings.Contains(out, "manifest.json: missing") {
		t.Errorf("half a manifest: exit %d: %s", code, out)
	}
	if err := os.RemoveAll(filepath.Join(w.Dir, "manifest")); err != nil {
		t.Fatal(err)
	}
	if code, out := checkWith(w.Dir); code != 0 ||
		!strings.Contains(out, "not checked: the signatures of commits, because there is no .git here") {
		t.Errorf("an unpacked archive: exit %d: %s", code, out)
	}
	if err := os.Mkdir(filepath.Join(w.Dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, out := checkWith(w.Dir)
	if code != 0 || !strings.Contains(out, "without a manifest") ||
		!regexp.MustCompile(`Verdicts: [1-9][0-9]+ judged again`).MatchString(out) {
		t.Errorf("by git: exit %d: %s", code, out)
	}
	part := filepath.Join(w.Dir, "rounds/2/part-0001.jsonl")
	if err := os.Truncate(part, 100); err != nil {
		if err = os.Remove(part); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := checkWith(w.Dir); code != 3 || !strings.Contains(out, "rounds/2/part-0001.jsonl") {
		t.Errorf("a part cut off: exit %d: %s", code, out)
	}
}

func checkWith(dir string, flags ...string) (int, string) {
	var out, errs strings.Builder
	code := judging(append(flags, dir), &out, &errs)
	return code, out.String() + errs.String()
}

// TestBundleByCommand exports a host, a row and a certificate, and checks the file in every form of
// the command.
func TestBundleByCommand(t *testing.T) {
	w := lived(t, 0)
	dir := t.TempDir()
	cert, err := attest.Certificate{CertID: "cert_abcdefghijklmnopqrst", Item: "hello", PatronNumber: 1,
		Date: "2026-11-01T00:00:00Z"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := attest.Canonical(cert)
	if err != nil {
		t.Fatal(err)
	}
	certificate, file := filepath.Join(dir, "certificate.json"), filepath.Join(dir, "bundle.json")
	if err := os.WriteFile(certificate, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := checkWith(w.Dir, "-export", "door003.example", "-export", certificate, "-o", file)
	if code != 0 || out != "" {
		t.Fatalf("exporting: exit %d: %s", code, out)
	}
	code, out = checkWith(file)
	for _, want := range []string{"verified: 4 rounds, 4 rows and 1 artifacts", "complete to round 4 (2026-W40)",
		"door003.example: all its rows to round 4, which are 4, the first in round 1.", "cert_abcdefghijklmnopqrst"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and it does not say %q: %s", code, want, out)
		}
	}
	if code, out = checkWith(file, "-json"); code != 0 || !strings.Contains(out, `"judged_again":4`) ||
		!strings.Contains(out, `"unproven":[]`) {
		t.Errorf("as JSON: exit %d: %s", code, out)
	}
	for week, want := range map[string]int{"2026-W40": 0, "2026-W41": 4, "2026-40": 2} {
		if code, out := checkWith(file, "-as-of", week); code != want || !strings.Contains(out, week) && code != 0 {
			t.Errorf("as of %s: exit %d, want %d: %s", week, code, want, out)
		}
		if code, out := checkWith(w.Dir, "-as-of", week); code != want || !strings.Contains(out, week) && code != 0 {
			t.Errorf("the record as of %s: exit %d, want %d: %s", week, code, want, out)
		}
	}
	some := filepath.Join(dir, "some.json")
	code, out = checkWith(w.Dir, "-export", "door020.example@2", "-export", "door005.example@2026-W39", "-o", some)
	if code != 0 || !strings.Contains(out, "is told that it does not prove door005.example: its history: 2 of its 3 "+
		"rows not here, of rounds 1 to 2") {
		t.Fatalf("exporting some: exit %d: %s", code, out)
	}
	code, out = checkWith(some)
	for _, want := range []string{"UNPROVEN: door005.example: its history: 2 of its 3 rows not here, of rounds 1 to 2",
		"UNPROVEN: that round 3 is the newest",
		"UNPROVEN, while what is here is as it was signed: 2 rounds, 1 rows",
		"door020.example: no row in any round from 1 to 3."} {
		if code != 4 || !strings.Contains(out, want) {
			t.Errorf("some: exit %d, and it does not say %q: %s", code, want, out)
		}
	}
	if code, out = checkWith(some, "-json"); code != 4 ||
		!strings.Contains(out, `"unproven":[{"host":"door005.example","rounds":[{"from":1,"to":2}]`) {
		t.Errorf("some as JSON: exit %d: %s", code, out)
	}
	// A head that was seen tells that a bundle is old.
	seen := filepath.Join(dir, "seen")
	if code, out := checkWith(w.Dir, "-remember", seen); code != 0 {
		t.Fatal(out)
	}
	if code, out := checkWith(file, "-remember", seen); code != 0 ||
		!strings.Contains(out, "the log is the one that was seen before") {
		t.Errorf("with the head that was seen: exit %d: %s", code, out)
	}
	walkAll(t, w, 5, 25, 0)
	coverAll(t, w)
	if code, out := checkWith(w.Dir, "-remember", seen); code != 0 {
		t.Fatal(out)
	}
	if code, out := checkWith(file, "-remember", seen); code != 4 ||
		!strings.Contains(out, "UNPROVEN: anything behind round 4") {
		t.Errorf("with a newer head that was seen: exit %d: %s", code, out)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 100, len(good) / 2, len(good) - 2} {
		spoilt := slices.Clone(good)
		spoilt[at] ^= 1
		if err := os.WriteFile(file, spoilt, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out := checkWith(file); code != 3 || !strings.Contains(out, "NOT verified") {
			t.Errorf("byte %d changed: exit %d: %s", at, code, out)
		}
	}
	for _, what := range []string{"nobody.example", "door003.example@9", "door003.example@2031-W01",
		filepath.Join(dir, "nothing.json")} {
		if code, out := checkWith(w.Dir, "-export", what); code != 1 ||
			!strings.Contains(out, strconv.Quote(what)[1:5]) && !strings.Contains(out, "export") {
			t.Errorf("%s is exported: exit %d: %s", what, code, out)
		}
	}
}
