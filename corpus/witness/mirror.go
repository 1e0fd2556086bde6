package witness

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
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

// The bounds of what one request gives a mirror: 32 packages, as c2sp.org/tlog-mirror advises, and
// no further one behind so many bytes of entries.
const (
	maxPackages    = 32
	maxUploadBytes = 8 << 20
)

// maxStalls is how many answers in a row may bring an upload no further: to no package that the
// mirror did not say before that it has. So one that forgets, or takes leaf by leaf, is given a log
// no more often than it has packages.
const maxStalls = 3

// held is what a mirror says that it has: how far the head is that it takes entries for, the first
// leaf that it lacks, and a ticket that it wants to see again.
type held struct {
	size, next int64
	ticket     []byte
}

// Upload gives a mirror (c2sp.org/tlog-mirror) the head of a log and the leaves that it lacks, and
// returns the signature lines with which it says that it holds all of them. It may be ended and
// called again at any time: what a mirror took it keeps.
func (r *Remote) Upload(ctx context.Context, l *tlog.Log) ([]byte, error) {
	if _, err := r.Ask(ctx, l, 0); err != nil { // what it signs here, if anything, it signs as a witness
		return nil, err
	}
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("giving mirror %s the log: %w", r.Name, err)
	}
	size := l.Head().Size
	// With nothing to give, it signs if it lacks nothing, and otherwise says what it lacks.
	at, most := held{size: size, next: size}, int64(0)
	for stalls := 0; stalls < maxStalls; {
		body, err := upload(l, at)
		if err != nil {
			return fail(err)
		}
		x, err := r.client.Do(ctx, exchange.Request{Method: http.MethodPost, URL: r.base + "/add-entries", Body: body,
			Header: http.Header{"Content-Type": {"application/octet-stream"}, "Content-Encoding": {"gzip"}}},
			fetch.Rule{Headers: []string{"Content-Encoding"}})
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
		case http.StatusAccepted, http.StatusConflict:
			now, err := parseHeld(answer)
			if err != nil {
				return fail(err)
			}
			if now.size > size {
				return fail(fmt.Errorf("%w: it takes entries for size %d and this log has %d", ErrSplit, now.size,
					size))
			}
			if now.next > size {
				return fail(fmt.Errorf("%w: it holds %d leaves and this log has %d", ErrSplit, now.next, size))
			}
			if stalls++; answer.Status == http.StatusAccepted &&
				(now.next/tlog.TileWidth > most/tlog.TileWidth || now.next == size && most < size) {
				stalls, most = 0, now.next
			}
			if now.size < size { // it has forgotten the head that it was shown
				if _, err := r.Ask(ctx, l, 0); err != nil {
					return nil, err
				}
			}
			at.next, at.ticket = now.next, now.ticket
		case http.StatusUnprocessableEntity:
			return fail(fmt.Errorf("%w: it refuses the leaves from %d on as none of the head that it was shown",
				ErrSplit, at.next))
		case http.StatusNotFound:
			return fail(errors.New("it does not mirror this log: send its operator the entry at /corpus/log-list"))
		default:
			return fail(fmt.Errorf("it answers with status %d", answer.Status))
		}
	}
	return fail(fmt.Errorf("it lacks leaf %d each time that it is given", at.next))
}

// upload is the body of add-entries: gzip of what a mirror is told of, and of the packages of
// leaves that it lacks, each with the proof that they stand in the log.
func upload(l *tlog.Log, at held) ([]byte, error) {
	size, origin := l.Head().Size, l.Head().Origin
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	b := binary.BigEndian.AppendUint16(nil, uint16(len(origin)))
	b = append(b, origin...)
	b = binary.BigEndian.AppendUint64(b, uint64(at.next))
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	b = binary.BigEndian.AppendUint16(b, uint16(len(at.ticket)))
	b = append(b, at.ticket...)
	given := 0
	for first, n := at.next, 0; first < size && n < maxPackages && given < maxUploadBytes; n++ {
		start := first - first%tlog.TileWidth
		behind := min(size, start+tlog.TileWidth)
		entries, err := l.Bundle(first, behind)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			b = binary.BigEndian.AppendUint16(b, uint16(len(entry)))
			b = append(b, entry...)
			given += len(entry)
		}
		proof, err := l.Subtree(start, behind, size)
		if err != nil {
			return nil, err
		}
		b = append(b, byte(len(proof)))
		for _, h := range proof {
			b = append(b, h[:]...)
		}
		if _, err := zip.Write(b); err != nil {
			return nil, err
		}
		b, first = b[:0], behind
	}
	_, err := zip.Write(b)
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// parseHeld reads what a mirror says that it has: three lines.
func parseHeld(x exchange.Response) (held, error) {
	t, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	if err != nil || t != "text/x.tlog.mirror-info" || x.Truncated {
		return held{}, fmt.Errorf("it answers with status %d and not with what it holds", x.Status)
	}
	lines := strings.Split(string(x.Body), "\n")
	if len(lines) != 4 || lines[3] != "" {
		return held{}, errors.New("what it says that it holds is not three lines")
	}
	var h held
	if h.size, err = decimal(lines[0]); err == nil {
		h.next, err = decimal(lines[1])
	}
	if err == nil {
		h.ticket, err = base64.StdEncoding.Strict().DecodeString(lines[2])
	}
	if err == nil && len(h.ticket) > 1<<16-1 {
		err = errors.New("its ticket is too large")
	}
	if err != nil {
		return held{}, fmt.Errorf("reading what it holds: %w", err)
	}
	return h, nil
}

func decimal(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || strconv.FormatInt(n, 10) != text) {
		err = fmt.Errorf("%q is no number of leaves", text)
	}
	return n, err
}
