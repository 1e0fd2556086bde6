package calendar

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
)

// Headers tells of Bitcoin's blocks: the file that an own node writes, and explorers for what it
// does not have. It implements census.Headers.
type Headers struct {
	File      string   // a height and 160 hexadecimal digits a line; "" for none
	Explorers []string // addresses of Esplora APIs
	Client    *fetch.Client
}

// Any reports whether there is anybody to ask.
func (b Headers) Any() bool { return b.File != "" || len(b.Explorers) > 0 }

const (
	// tipsApart is how far the newest heights may lie apart that explorers tell, since a block
	// takes its time to all.
	tipsApart = 2
	// tipFresh is how old the newest block of the file may be for the file to say what the newest
	// is.
	tipFresh = 3 * time.Hour
)

// Tip implements census.Headers: the newest height of the file, unless its node stands still; else
// the highest that the explorers tell, of whom two must answer and none may be far from the others.
// A height that is too low would let a block decide that is known already; one that is too high is
// waited for in vain.
func (b Headers) Tip(ctx context.Context) (int64, error) {
	var problems []error
	if b.File != "" {
		headers, err := ReadHeaders(b.File)
		var tip int64
		for height := range headers {
			tip = max(tip, height)
		}
		switch {
		case err != nil:
			problems = append(problems, err)
		case len(headers) == 0 || time.Since(headers[tip].Time()) > tipFresh:
			problems = append(problems, fmt.Errorf("timestamps.headers: its newest block, %d, is older than %s", tip,
				tipFresh))
		default:
			return tip, nil
		}
	}
	low, high, answers := int64(0), int64(0), 0
	for _, base := range b.Explorers {
		text, err := b.ask(ctx, base+"/blocks/tip/height")
		var tip int64
		if err == nil {
			tip, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", base, err))
			continue
		}
		if answers++; answers == 1 {
			low, high = tip, tip
		}
		low, high = min(low, tip), max(high, tip)
	}
	switch {
	case answers < 2:
		return 0, errors.Join(append(problems, fmt.Errorf("%d of %d explorers told the newest height, and two must",
			answers, len(b.Explorers)))...)
	case high-low > tipsApart:
		return 0, fmt.Errorf("explorers tell newest heights from %d to %d", low, high)
	}
	return high, nil
}

// Header implements census.Headers.
func (b Headers) Header(ctx context.Context, height int64) (ots.Header, error) {
	var problem error
	if b.File != "" {
		headers, err := ReadHeaders(b.File)
		if h, ok := headers[height]; ok && err == nil {
			return h, nil
		}
		problem = err
	}
	h, ok, err := b.Explore(ctx, height)
	if err == nil && !ok {
		err = fmt.Errorf("block %d is not at hand", height)
	}
	return h, errors.Join(problem, err)
}

// Explore asks the explorers for the header of a block; ok is false where there are none to ask.
// Two must agree and none may say otherwise.
func (b Headers) Explore(ctx context.Context, height int64) (h ots.Header, ok bool, err error) {
	if len(b.Explorers) == 0 {
		return h, false, nil
	}
	agree := 0
	var problems []error
	for _, base := range b.Explorers {
		hash, err := b.ask(ctx, base+"/block-height/"+strconv.FormatInt(height, 10))
		var raw string
		if err == nil {
			raw, err = b.ask(ctx, base+"/block/"+hash+"/header")
		}
		var got ots.Header
		if err == nil {
			got, err = ots.ParseHeader([]byte(raw + "\n"))
		}
		if err == nil && got.Hash() != hash {
			err = errors.New("its header is not of the block that it names")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", base, err))
			continue
		}
		if agree > 0 && got != h {
			return h, false, errors.New("the explorers name different blocks")
		}
		h = got
		agree++
	}
	if agree < 2 {
		return h, false, errors.Join(append(problems, fmt.Errorf("%d of %d explorers answered, and two must", agree,
			len(b.Explorers)))...)
	}
	return h, true, nil
}

// ask reads one short text of an explorer.
func (b Headers) ask(ctx context.Context, at string) (string, error) {
	x, err := b.Client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at,
		Header: http.Header{"Accept": {"text/plain"}}}, fetch.Rule{})
	switch {
	case err != nil:
		return "", err
	case x.Error.Stage != "":
		return "", fmt.Errorf("%s: %s", x.Error.Stage, x.Error.Text)
	case x.Response.Status != http.StatusOK:
		return "", fmt.Errorf("it answers with status %d", x.Response.Status)
	case len(x.Response.Body) > 4<<10:
		return "", errors.New("its answer is too long")
	}
	text := strings.ToLower(strings.TrimSpace(string(x.Response.Body)))
	if text == "" || strings.Trim(text, "0123456789abcdef") != "" {
		return "", errors.New("its answer is not hexadecimal")
	}
	return text, nil
}

// ReadHeaders reads a file of headers: a height and 160 hexadecimal digits a line.
func ReadHeaders(file string) (map[int64]ots.Header, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading timestamps.headers: %w", err)
	}
	defer f.Close()
	out := map[int64]ots.Header{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		height, header, _ := strings.Cut(text, " ")
		at, err := strconv.ParseInt(height, 10, 64)
		if err != nil || at < 0 {
			return nil, fmt.Errorf("timestamps.headers, line %d: %q is no height", n, height)
		}
		if out[at], err = ots.ParseHeader([]byte(strings.ToLower(strings.TrimSpace(header)) + "\n")); err != nil {
			return nil, fmt.Errorf("timestamps.headers, line %d: %w", n, err)
		}
	}
	return out, lines.Err()
}
