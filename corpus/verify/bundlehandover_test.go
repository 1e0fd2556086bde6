package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// resigned is a checkpoint of another root, or of its own, signed by another key.
func resigned(t testing.TB, size int64, root attest.Digest, k *attest.Key) string {
	t.Helper()
	const origin = "store.example/corpus"
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
	id, err := hex.DecodeString(strings.Split(tlog.VerifierKey(origin, k.Public()), "+")[1])
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n— %s %s\n", text, origin,
		base64.StdEncoding.EncodeToString(append(id, k.Sign([]byte(text))...)))
}

// bundleHandedOver is a record of three rounds whose log changed hands behind the first, with an
// observation before and after.
func bundleHandedOver(t testing.TB) (former, w *seal.Writer) {
	t.Helper()
	former = &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenFormerLogKey(), Ring: attest.SpecimenRingBefore()}
	sealed(t, former, 1, "a.example", "door.example")
	observe(t, former, "before")
	log := attest.SpecimenKeyFor(attest.PurposeLog)
	ring, err := former.HandOver(t.Context(), log.Public(), "2026-09-14", "yearly")
	if err != nil {
		t.Fatal(err)
	}
	return former, &seal.Writer{Dir: former.Dir, Origin: former.Origin, Identity: former.Identity, LogKey: log,
		Ring: ring}
}

// TestLogKeysOfABundle re-signs every checkpoint of a bundle with the key that was given up and
// with the one in force: its head, and those under which rows, rounds, indexes and observations are
// proved.
func TestLogKeysOfABundle(t *testing.T) {
	former, w := bundleHandedOver(t)
	sealed(t, w, 2, "a.example", "door.example")
	sealed(t, w, 3, "a.example")
	observe(t, w, "after")
	r, keys := open(t, w)
	at := r.Ring().LogHandovers()[0]
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := VerifyBundle(encoded(t, b),
		BundleOptions{Judge: rejudge.Batteries{}, Ring: keys}); err != nil || !report.Sound() ||
		len(b.Handovers) != 1 || b.Handovers[0].Size != 5 || at.Size != 5 {
		t.Fatalf("unspoilt: %v %v %v, handed over at %d", report.Problems, report.Unproven, err, at.Size)
	}
	raw := string(encoded(t, b))
	inText := func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }
	sizes := []int64{r.Log.Head().Size}
	for _, round := range r.Rounds() {
		sizes = append(sizes, round.LeavesEnd())
	}
	for _, size := range sizes {
		held, err := r.Log.Checkpoint(size, r.Ring())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(raw, inText(string(held.Raw))) {
			t.Fatalf("no checkpoint of %d leaves in the bundle", size)
		}
		for who, key := range map[string]*attest.Key{"the former key": former.LogKey, "the key in force": w.LogKey} {
			ok := key == former.LogKey && size <= at.Size || key == w.LogKey && size >= at.Size
			var spoilt Bundle
			line := strings.ReplaceAll(raw, inText(string(held.Raw)), inText(resigned(t, size, held.Root, key)))
			if err := attest.ParseCanonical([]byte(strings.TrimSuffix(line, "\n")), &spoilt); err != nil {
				t.Fatal(err)
			}
			report, err := VerifyBundle(encoded(t, spoilt), bundleJudging)
			if err != nil || report.Sound() != ok || report.Refused() == ok {
				t.Errorf("%s at %d leaves of %d, handed over at %d: %v %v", who, size, sizes[0], at.Size,
					report.Problems, err)
			}
		}
	}
	for name, change := range map[string]func(*Bundle){
		"nothing leads from the handover to the head": func(b *Bundle) { b.Handovers = []BundleHandover{} },
		"hashes of another": func(b *Bundle) {
			b.Handovers = []BundleHandover{{Size: 5,
				Consistency: b.Rounds[0].Consistency}}
		},
		"another size": func(b *Bundle) {
			b.Handovers = []BundleHandover{{Size: 4,
				Consistency: b.Rounds[0].Consistency}}
		},
		"one handover too many": func(b *Bundle) {
			b.Handovers = append(slices.Clone(b.Handovers),
				b.Handovers[0])
		},
	} {
		spoilt := b
		change(&spoilt)
		if report, err := VerifyBundle(encoded(t, spoilt), bundleJudging); err != nil ||
			!slices.ContainsFunc(report.Problems,
				func(p Problem) bool { return strings.HasPrefix(p.Path, "handovers[") }) {
			t.Errorf("%s: %v %v", name, report.Problems, err)
		}
	}
	// The former key signs its own last word again, with a head as its last that is not; whoever
	// has the ring refuses it.
	again, err := former.Ring.Handover(attest.Change{Purpose: attest.PurposeLog, Effective: "2026-09-14",
		Reason:   "yearly",
		LastHead: &attest.LogHead{Size: r.Log.Head().Size, Root: r.Log.Head().Root}}, former.LogKey, w.LogKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	encodedRing, err := again.Encode()
	if err != nil {
		t.Fatal(err)
	}
	spoilt := b
	spoilt.Keys, spoilt.Handovers = string(encodedRing), []BundleHandover{}
	spoilt.Checkpoint = resigned(t, r.Log.Head().Size, r.Log.Head().Root, former.LogKey)
	if report, err := VerifyBundle(encoded(t, spoilt),
		BundleOptions{Judge: rejudge.Batteries{}, Ring: keys}); err != nil || len(report.Problems) != 1 ||
		report.Problems[0].Path != "keys" {
		t.Errorf("a handover written again: %v %v", report.Problems, err)
	}
}

// TestABundleOfBeforeAHandover is good by the keys of its time. By those of now it cannot show that
// its log is the one that was handed over: the former key may have been stolen, and a log of the
// thief's own made up to there.
func TestABundleOfBeforeAHandover(t *testing.T) {
	former, w := bundleHandedOver(t)
	old, oldKeys := func() (Bundle, []byte) {
		other := &seal.Writer{Dir: t.TempDir(), Origin: former.Origin, Identity: former.Identity,
			LogKey: former.LogKey, Ring: former.Ring}
		// and no observation behind it, so that it ends before the handover
		sealed(t, other, 1, "a.example", "door.example")
		r, keys := open(t, other)
		b, err := Export(r, keys, []Want{{Host: "door.example"}})
		if err != nil {
			t.Fatal(err)
		}
		return b, keys
	}()
	raw := encoded(t, old)
	if report, err := VerifyBundle(raw, BundleOptions{Judge: rejudge.Batteries{}, Ring: oldKeys}); err != nil ||
		!report.Sound() {
		t.Errorf("by the keys of its time: %v %v %v", report.Problems, report.Unproven, err)
	}
	now, err := w.Ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	report, err := VerifyBundle(raw, BundleOptions{Judge: rejudge.Batteries{}, Ring: now})
	if err != nil || report.Sound() || report.Refused() || len(report.Unproven) != 1 ||
		!strings.Contains(report.Unproven[0].Detail, "handed over at 5 leaves") {
		t.Errorf("by the keys of now: %v %v %v", report.Problems, report.Unproven, err)
	}
	var said bytes.Buffer
	if report.Print(&said, "b.json"); !strings.Contains(said.String(),
		"get a newer one, or check it with the keys of its time") {
		t.Errorf("it says %s", said.String())
	}
	// One that was made at the handover itself ends where the ring says.
	r, keys := open(t, former)
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := VerifyBundle(encoded(t, b),
		BundleOptions{Judge: rejudge.Batteries{}, Ring: now}); err != nil || !report.Sound() ||
		len(b.Handovers) != 0 {
		t.Errorf("at the handover: %v %v %v", report.Problems, report.Unproven, err)
	}
}
