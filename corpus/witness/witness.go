// Package witness gets others' word about a record, over the guarded client: witnesses cosign the
// head of its log (c2sp.org/tlog-witness), and calendars prove when its rounds and anchors existed
// (corpus/ots). It stands apart from what checks records, which links no network code, and judges
// no answer: seal.Writer verifies what is kept.
//
//	r, err := witness.New(client, "https://witness.example/prefix", vkey)
//	got, err := witness.Cosign(ctx, writer, []*witness.Remote{r}, witness.Asking{Log: log})
//	done, err := witness.Stamp(ctx, witness.Stamping{Writer: writer, Calendars: calendars})
package witness

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/tlog"
)

// maxAnswer bounds the signature lines of an answer.
const maxAnswer = 64 << 10

// ErrSplit is returned when a witness has seen another log of ours: larger than the one that is
// shown to it, or with another root. Somebody must look at this: a log that forks is what witnesses
// are there to find.
var ErrSplit = errors.New("the witness has seen another history of this log")

// Remote is a witness at its submission prefix. It may be used by several goroutines at once.
type Remote struct {
	tlog.Witness
	// Mirror says that it takes the leaves of the log too, and signs what it holds
	// (c2sp.org/tlog-mirror).
	Mirror bool
	client *fetch.Client
	base   string
}

// New returns the witness with a key (tlog.ParseWitness) at a prefix without a final slash.
func New(client *fetch.Client, base, vkey string) (*Remote, error) {
	w, err := tlog.ParseWitness(vkey)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(base, "/") {
		return nil, fmt.Errorf("reading witness %q: it ends in a slash", base)
	}
	if _, err := client.Parse(base, fetch.Rule{}); err != nil {
		return nil, fmt.Errorf("reading witness %q: %w", base, err)
	}
	return &Remote{Witness: w, client: client, base: base}, nil
}

// Ask shows the head of a log to the witness and returns the signature lines that it answers with.
// old is the size at which the witness last saw the log, as far as that is known, 0 for never or
// unknown: the witness says if it is another.
func (r *Remote) Ask(ctx context.Context, l *tlog.Log, old int64) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("asking witness %s: %w", r.Name, err) }
	size := l.Head().Size
	if old < 0 || old > size {
		old = 0
	}
	// The size that it names is right unless another asks for the same log meanwhile.
	for range 3 {
		body, err := l.WitnessRequest(old)
		if err != nil {
			return fail(err)
		}
		x, err := r.client.Do(ctx, exchange.Request{Method: http.MethodPost, URL: r.base + "/add-checkpoint",
			Body:   body,
			Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}, fetch.Rule{})
		switch {
		case err != nil:
			return fail(err)
		case x.Error.Stage != "":
			return fail(fmt.Errorf("%s: %s", x.Error.Stage, x.Error.Text))
		}
		switch answer := x.Response; answer.Status {
		case http.StatusOK:
			if len(answer.Body) > maxAnswer || answer.Truncated {
				return fail(errors.New("its answer is too large"))
			}
			return answer.Body, nil
		case http.StatusConflict:
			t, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
			if err != nil || t != "text/x.tlog.size" {
				return fail(fmt.Errorf("%w: it refuses the root of size %d", ErrSplit, size))
			}
			seen, err := strconv.ParseInt(strings.TrimSuffix(string(answer.Body), "\n"), 10, 64)
			switch {
			case err != nil || seen < 0:
				return fail(errors.New("it names no size that it has seen"))
			case seen > size:
				return fail(fmt.Errorf("%w: it has size %d and this log %d", ErrSplit, seen, size))
			}
			old = seen
		case http.StatusUnprocessableEntity:
			return fail(fmt.Errorf("%w: it refuses the proof from size %d to %d", ErrSplit, old, size))
		case http.StatusNotFound:
			return fail(errors.New("it does not know this log"))
		case http.StatusForbidden:
			return fail(errors.New("it does not know the key of this log"))
		default:
			return fail(fmt.Errorf("it answers with status %d", answer.Status))
		}
	}
	return fail(errors.New("it names another size each time"))
}
