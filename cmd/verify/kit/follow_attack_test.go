package kit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/verify"
)

// onDoor are the flags of who follows the host of watched.
var onDoor = []string{"-host", "door.example"}

// TestFollowTellsAFork shows a monitor other histories of the log that it follows, signed by the
// log's own key.
func TestFollowTellsAFork(t *testing.T) {
	w := watched(t)
	other := recordtest.Writer(t)
	recordtest.Seal(t, other, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("door.example", record.VerdictNotReady),
		recordtest.Walked("z.example", record.VerdictNotReady)))
	sizes := []int64{5, 11, 12}
	for i, size := range sizes {
		for recordtest.Open(t, other).Log.Head().Size < size {
			recordtest.Observe(t, other, "synergy")
		}
		s := serve(t, w)
		s.want("before", 0, nil, onDoor...)
		forked := recordtest.MapFS(t, other.Dir)
		if i == 0 {
			// It keeps the tiles of what it showed before, as it has to: otherwise the two cannot
			// be compared, and that is all that is told.
			s.show(forked)
			s.want("a smaller one alone", 1, []string{"could not be compared"}, onDoor...)
			for file, body := range recordtest.MapFS(t, w.Dir) {
				if strings.HasPrefix(file, "log/tile/") {
					forked[file] = body
				}
			}
		}
		s.show(forked)
		out := filepath.Join(t.TempDir(), "called")
		program := filepath.Join(t.TempDir(), "call")
		script := "#!/bin/sh\necho \"$STORE_EVENT $#\" > " + out + "\ncat >> " + out + "\n"
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		s.want(fmt.Sprintf("a fork of %d leaves", size), 5, []string{"FORKED: the log of store.example/corpus " +
			"signed two histories: at ", "kept "}, append(onDoor, "-exec", program)...)
		s.evidence(t, size)
		called, err := os.ReadFile(out)
		event, body, _ := strings.Cut(string(called), "\n")
		var told verify.FollowReport
		if err := json.Unmarshal([]byte(body), &told); err != nil || told.Fork == nil || event != "fork 0" {
			t.Errorf("the program was told %q, %v", called, err)
		}
		s.want("a fork whose program fails", 5, []string{"running /nowhere"}, append(onDoor, "-exec", "/nowhere")...)
		if err != nil {
			t.Error(err)
		}
		s.show(recordtest.MapFS(t, w.Dir))
		s.want("the true log again", 0, []string{"as before"}, onDoor...)
	}
}

// evidence demands that what was kept of a fork shows it to whoever has the keys, without the log.
func (s *site) evidence(t *testing.T, size int64) {
	t.Helper()
	kept, err := filepath.Glob(s.state + ".fork-*")
	if err != nil || len(kept) != 3 {
		t.Fatalf("kept are %v, %v", kept, err)
	}
	var heads []tlog.Checkpoint
	var report verify.FollowReport
	for _, file := range kept {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") {
			if err := json.Unmarshal(raw, &report); err != nil {
				t.Fatal(err)
			}
			continue
		}
		head, _, err := tlog.OpenCheckpoint(raw, attest.SpecimenRing())
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, head)
	}
	slices.SortFunc(heads, func(a, b tlog.Checkpoint) int { return int(a.Size - b.Size) })
	small, large := heads[0], heads[1]
	if small.Size != min(size, 11) || large.Size != max(size, 11) {
		t.Errorf("kept are heads of %d and %d leaves", small.Size, large.Size)
	}
	if small.Size == large.Size {
		if small.Root == large.Root {
			t.Error("both heads are one")
		}
		return
	}
	// The larger head is of a log with another root at the size of the smaller.
	for _, root := range report.Fork.Roots {
		at := small
		if err := at.Root.UnmarshalText([]byte(root)); err != nil {
			t.Fatal(err)
		}
		err := tlog.CheckConsistency(report.Fork.Consistency, at, large)
		if (err == nil) == (at.Root == small.Root) {
			t.Errorf("root %s at %d leaves of the larger log: %v", root, small.Size, err)
		}
	}
}

// TestFollowTellsALogKeyOutOfItsTime has the thief of a key that was handed over go on with the
// log.
func TestFollowTellsALogKeyOutOfItsTime(t *testing.T) {
	w := watched(t)
	former := *w
	former.Dir = t.TempDir()
	if err := os.CopyFS(former.Dir, os.DirFS(w.Dir)); err != nil {
		t.Fatal(err)
	}
	s := serve(t, w)
	s.want("before", 0, nil, onDoor...)
	head := recordtest.Open(t, w).Log.Head()
	next := recordtest.Key(t, 9)
	ring, err := w.Ring.Handover(attest.Change{Purpose: attest.PurposeLog, Effective: "2026-09-14", Reason: "yearly",
		LastHead: &attest.LogHead{Size: head.Size, Root: head.Root}}, w.LogKey, next.Public())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.Ring, w.LogKey = ring, next
	recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "first")))
	tree := recordtest.MapFS(t, w.Dir)
	tree[record.RingFile] = &fstest.MapFile{Data: raw, Mode: 0o444}
	s.show(tree)
	s.want("the new key", 0, []string{"round 3"}, onDoor...)
	recordtest.Seal(t, &former, recordtest.Draft(3, offering("door.example", "thief")))
	recordtest.Seal(t, &former, recordtest.Draft(4, offering("door.example", "thief")))
	s.show(recordtest.MapFS(t, former.Dir))
	s.want("the former key and its ring", 3, []string{"log/checkpoint: ", "handed over at 11 leaves",
		"(rule checkpoint.key)"}, onDoor...)
	// Another ring altogether, under which everything is signed rightly.
	stranger := recordtest.Writer(t)
	stranger.Identity = recordtest.Key(t, 1)
	stranger.Ring, err = attest.NewRing("2026-08-10", map[attest.Purpose]ed25519.PublicKey{
		attest.PurposeIdentity: stranger.Identity.Public(), attest.PurposeLog: stranger.LogKey.Public()})
	if err != nil {
		t.Fatal(err)
	}
	recordtest.Seal(t, stranger, recordtest.Draft(1, offering("door.example", "thief")))
	s.show(recordtest.MapFS(t, stranger.Dir))
	s.want("another ring", 3, []string{"rule ring.known"}, onDoor...)
}

// TestFollowTellsAnOlderHead: a cache holds the head of yesterday, which is no fork.
func TestFollowTellsAnOlderHead(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	before := recordtest.MapFS(t, w.Dir)
	recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "first")))
	now := recordtest.MapFS(t, w.Dir)
	s.show(now)
	s.want("the first time", 0, nil, onDoor...)
	stale := maps.Clone(now)
	stale["log/checkpoint"] = before["log/checkpoint"]
	s.show(stale)
	s.want("yesterday's head", 4, []string{"the head that is shown has 11 leaves, and is the beginning of the one of " +
		"14"}, onDoor...)
	s.show(before)
	s.want("yesterday's tree", 1, []string{"could not be compared"}, onDoor...)
	s.show(now)
	s.want("today's again", 0, []string{"as before"}, onDoor...)
}

// TestFollowTellsFilesThatAreNotTheLogs spoils what is fetched of a new round, file by file.
func TestFollowTellsFilesThatAreNotTheLogs(t *testing.T) {
	w := watched(t)
	before := recordtest.MapFS(t, w.Dir)
	recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "second")))
	recordtest.Observe(t, w, "seamless")
	now := recordtest.MapFS(t, w.Dir)
	change := func(b []byte) []byte {
		out := slices.Clone(b)
		out[len(out)/2] ^= 1
		return out
	}
	replaced := func(b []byte) []byte { // in the row that is new
		return bytes.Replace(b, []byte(recordtest.Digest("second")), []byte(recordtest.Digest("third")), 1)
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	gone := func([]byte) []byte { return nil }
	for _, c := range []struct {
		file  string
		spoil func([]byte) []byte
		code  int
		says  string
	}{
		{"log/checkpoint", change, 3, "log/checkpoint"},
		{"log/checkpoint", gone, 1, "log/checkpoint"},
		{record.RingFile, change, 3, "rule ring."},
		{record.RingFile, gone, 1, "ring.json"},
		{"log/tile/0/000.p/15", change, 3, "rule log.tile"},
		{"log/tile/0/000.p/15", cut, 3, "rule log.tile"},
		{"log/tile/0/000.p/15", gone, 1, "log/tile/0/000.p/15"},
		{"log/tile/entries/000.p/15", replaced, 3, "leaf 11: tile/entries/000.p/15 is not what was logged"},
		{"log/tile/entries/000.p/15", cut, 3, "rule log.tile"},
		{"log/tile/entries/000.p/15", gone, 1, "entries/000.p/15"},
		{"rounds/3/header.json", change, 3, "rounds/3/header.json"},
		{"rounds/3/header.json", gone, 1, "leaf 11 of the log is a row of a round whose header is not there"},
		{"rounds/3/hosts/first.txt", gone, 1, "first.txt"},
		{"rounds/3/hosts/first.txt", func([]byte) []byte { return []byte("a.example\nb.example\n") }, 3,
			"rule index.fold"},
		{"rounds/3/hosts/tile/entries/000.p/3", change, 3, "rule index.fold"},
		{"rounds/3/hosts/tile/entries/000.p/3", gone, 1, "entries/000.p/3"},
		{"rounds/3/hosts/tile/0/000.p/3", change, 3, "rule index.fold"},
		{"rounds/3/hosts/tile/0/000.p/3", cut, 3, "rule index.fold"},
	} {
		s := serve(t, w)
		s.show(before)
		s.want("before", 0, nil, onDoor...)
		tree := maps.Clone(now)
		if tree[c.file] == nil {
			t.Fatalf("%s is no file of the record", c.file)
		}
		spoilt := c.spoil(tree[c.file].Data)
		tree[c.file] = &fstest.MapFile{Data: spoilt, Mode: 0o444}
		if spoilt == nil {
			delete(tree, c.file)
		}
		s.show(tree)
		s.want(c.file, c.code, []string{c.says}, onDoor...)
		s.show(now)
		s.want("as it is", 0, []string{"round 3 (2026-W39)"}, onDoor...)
	}
}

// TestFollowIsBounded: what a server answers with neither fills the memory nor leads elsewhere.
func TestFollowIsBounded(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	s.want("before", 0, nil, onDoor...)
	for _, c := range []struct {
		what string
		code int
		says string
		do   func(w http.ResponseWriter, r *http.Request)
	}{
		{"a body without an end", 3, "rule file.size", func(w http.ResponseWriter, r *http.Request) {
			for line := strings.Repeat("x", 64<<10); ; {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}},
		{"a body that is cut off", 1, "unexpected EOF", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "store.example/corpus\n")
		}},
		{"a redirect", 1, "redirects to \"http://169.254.169.254/\"", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}},
		{"a failure", 1, "status 503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
		{"nothing", 3, "rule checkpoint.", func(http.ResponseWriter, *http.Request) {}},
	} {
		s.answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/log/checkpoint" {
				return false
			}
			c.do(w, r)
			return true
		})
		s.want(c.what, c.code, []string{c.says}, onDoor...)
	}
	s.answer(nil)
	s.want("as it is", 0, nil, onDoor...)
	s.Close()
	s.want("nobody there", 1, []string{"refused"}, onDoor...)
}

// TestWhatIsRememberedIsWhole changes each byte of the state, and makes others of it.
func TestWhatIsRememberedIsWhole(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	s.want("before", 0, nil, onDoor...)
	good := s.remembered()
	put := func(text string) {
		t.Helper()
		if err := os.Remove(s.state); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.state, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(good); i += 97 {
		spoilt := []byte(good)
		spoilt[i] ^= 1
		if _, err := verify.ParseFollowState(spoilt); err == nil {
			t.Fatalf("byte %d changed is taken", i)
		}
	}
	state, err := verify.ParseFollowState([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	state.Checkpoint = strings.Replace(state.Checkpoint, "\n11\n", "\n10\n", 1)
	forged, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"nothing": "", "half of it": good[:len(good)/2],
		"another byte": strings.Replace(good, "door.example", "door.exampel", 1), "another head": string(forged),
		"a checkpoint": string(recordtest.Open(t, w).Log.Head().Raw)} {
		put(text)
		s.want(what, 1, []string{"what was remembered is damaged: put back a good copy, or move it away"}, onDoor...)
	}
	put(good)
	s.want("as it was", 0, []string{"as before"}, onDoor...)
}

// TestTwoMonitorsOfOneState: the second does not wait and changes nothing.
func TestTwoMonitorsOfOneState(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	var code int
	var out string
	inside := false
	s.answer(func(http.ResponseWriter, *http.Request) bool {
		if !inside {
			inside = true
			code, out = s.follow(onDoor...)
		}
		return false
	})
	s.want("the first", 0, nil, onDoor...)
	if code != 1 || !strings.Contains(out, "another process is at work on it") {
		t.Errorf("the second: exit %d: %s", code, out)
	}
	s.answer(nil)
	s.want("when it is done", 0, []string{"as before"}, onDoor...)
}

// TestFollowIsCalledRightly: flags that say nothing together are refused.
func TestFollowIsCalledRightly(t *testing.T) {
	for _, args := range [][]string{{"-follow", "http://127.0.0.1:1"}, {"-host", "door.example", "."},
		{"-exec", "true", "."}, {"-follow", "http://127.0.0.1:1", "-remember", "x", "."},
		{"-follow", "http://127.0.0.1:1", "-remember", "x", "-no-judge"},
		{"-follow", "http://127.0.0.1:1", "-remember", "x", "-host", "two words"}} {
		if code := Run(t.Context(), Program{"verify", nil}, args, io.Discard, io.Discard); code != ExitUsage {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	for _, address := range []string{"store.example/corpus", "ftp://store.example", "http://a:b@store.example/",
		"http://store.example/?a", "/corpus"} {
		var errs strings.Builder
		args := []string{"-follow", address, "-remember", filepath.Join(t.TempDir(), "x")}
		if code := Run(t.Context(), Program{"verify", nil}, args, io.Discard, &errs); code != ExitTrouble ||
			!strings.Contains(errs.String(), "such as https://store.example/corpus") {
			t.Errorf("%s: exit %d: %s", address, code, errs.String())
		}
	}
	if _, err := os.Stat("x"); !os.IsNotExist(err) {
		t.Error(err, fs.ErrExist)
	}
}
