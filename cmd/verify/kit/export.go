package kit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/verify"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
)

// export puts what was asked for into a bundle, checks it and writes it.
func (s *settings) export(dir string, stdout, stderr io.Writer) error {
	rec, keys, err := openSource(dir)
	if err != nil {
		return err
	}
	var wants []verify.Want
	var artifacts [][]byte
	for _, what := range s.exports {
		if raw, err := os.ReadFile(what); err == nil {
			artifacts = append(artifacts, raw)
			continue
		}
		if rec == nil {
			return fmt.Errorf("exporting %s: there is no such file, and no record in %s", what, dir)
		}
		w, err := want(rec, what)
		if err != nil {
			return err
		}
		wants = append(wants, w)
	}
	b, err := verify.Export(rec, keys, wants)
	if err != nil {
		return err
	}
	for _, raw := range artifacts {
		if err := b.AddArtifact(raw); err != nil {
			return err
		}
	}
	raw, err := b.Encode()
	if err != nil {
		return err
	}
	// What is handed on must hold.
	r, err := verify.VerifyBundle(raw, verify.BundleOptions{Judge: s.judge})
	if err != nil {
		return err
	}
	if r.Refused() {
		return fmt.Errorf("the record gives a bundle that does not hold: %s: %s", r.Problems[0].Path,
			r.Problems[0].Detail)
	}
	for _, u := range r.Unproven {
		fmt.Fprintf(stderr, "note: whoever checks it is told that it does not prove %s\n",
			screen.Text(strings.TrimPrefix(u.Host+": "+u.Detail, ": ")))
	}
	if s.out == "-" {
		_, err = stdout.Write(raw)
		return err
	}
	return os.WriteFile(s.out, raw, 0o644)
}

// openSource opens the record in a folder and reads its keys. A folder with keys alone has no
// record, which is nil then.
func openSource(dir string) (*record.Record, []byte, error) {
	tree := verify.Plain(os.DirFS(dir))
	found, ok := verify.FindRecord(tree)
	if !ok {
		keys, err := fs.ReadFile(tree, verify.SigningKeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("%s holds neither a record nor keys: %w", dir, err)
		}
		return nil, keys, nil
	}
	keys, err := fs.ReadFile(found, record.RingFile)
	if err != nil {
		return nil, nil, err
	}
	ring, err := verify.TrustedKeys(keys, nil)
	if err != nil {
		return nil, nil, err
	}
	rec, err := record.Open(found, ring)
	return rec, keys, err
}

// want reads host, host@SEQUENCE or host@WEEK.
func want(r *record.Record, what string) (verify.Want, error) {
	host, at, placed := strings.Cut(what, "@")
	w := verify.Want{Host: strings.ToLower(host)}
	if !placed {
		return w, known(r, w.Host)
	}
	if n, err := strconv.ParseInt(at, 10, 64); err == nil && n > 0 {
		w.Sequence = n
		return w, nil
	}
	for _, round := range r.Rounds() {
		if round.Week == at {
			w.Sequence = round.Sequence
			return w, nil
		}
	}
	return w, fmt.Errorf("exporting %s: %q is neither the number nor the week of a round", what, at)
}

// known demands a host that some round has: one that none has is more likely a file that is not
// there. Its absence can be exported with a round.
func known(r *record.Record, host string) error {
	if newest := int64(len(r.Rounds())); newest > 0 {
		p, err := r.ProveHost(newest, host)
		if _, seen := p.Entry(); err != nil || seen {
			return err
		}
	}
	return errors.New("exporting " + host + ": no round has a row of such a host, and there is no such file; " +
		"host@SEQUENCE exports its absence")
}
