package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// ownerFile is where whoever runs a host shows that he does.
const ownerFile = "/.well-known/store-owner.txt"

// The bounds of an answer with recordings.
const (
	maxRecordings     = 10
	maxRecordingBytes = 4 << 20 // before base64
)

// A ticket is a secret of 128 bits or more that its owner made or was given. Its digest is what he
// publishes, so whoever reads the file learns nothing that opens anything.
const (
	minTicket = 26
	maxTicket = 128
)

// Ticket says how the raw recordings of one's own door are asked for, with a ticket that nobody
// else was given.
type Ticket struct {
	Ticket   string `json:"ticket"`
	File     string `json:"file"`  // path at the door's host
	Holds    string `json:"holds"` // the line that the file must hold: the ticket's SHA-256
	How      string `json:"how"`
	WhatIsIt string `json:"what_is_shown"`
	NextStep string `json:"next_step"`
}

// RecordingsRequest names a door and proves it.
type RecordingsRequest struct {
	URL    string `json:"url" jsonschema:"https URL of the door, as it was probed; at most 2048 characters"`
	Ticket string `json:"ticket" jsonschema:"the secret whose SHA-256, in hex, stands as a line of /.well-known/store-owner.txt at the door's host; 26 to 128 characters"`
}

// Recordings are the raw recordings that are kept of a door.
type Recordings struct {
	URL        string       `json:"url"`
	Recordings []RawReading `json:"recordings"` // newest first
	More       bool         `json:"more"`       // older ones are kept and not shown
	Note       string       `json:"note"`
	RateLimit  *RateLimit   `json:"rate_limit,omitzero"`
	NextSteps  []string     `json:"next_steps"`
}

// RawReading is one walk as it was recorded.
type RawReading struct {
	LastReading
	SHA256    string `json:"sha256"`    // of the file
	Recording string `json:"recording"` // base64 of the file, in the form of store check --save
}

func (d *Desk) recordingsTicket(w http.ResponseWriter, _ *http.Request) error {
	ticket := strings.ToLower(rand.Text())
	return route.JSON(w, Ticket{Ticket: ticket, File: ownerFile, Holds: ticketDigest(ticket),
		How: "Put the line holds into file at the door's host, served over https as text. Keep ticket to " +
			"yourself: it opens the recordings as long as its line stands there.",
		WhatIsIt: "Every header and byte that your own door answered to probes of this store, as far as they are " +
			"still kept. Nobody else is shown them.",
		NextStep: "POST {url, ticket} to " + d.cfg.BaseURL + "/api/recordings."})
}

func ticketDigest(ticket string) string {
	return attest.Digest(sha256.Sum256([]byte(ticket))).String()
}

// recordings shows the owner of a door what it answered. The proof is the digest of his ticket at
// the door's own host: reading that file gives nobody the ticket.
func (d *Desk) recordings(w http.ResponseWriter, r *http.Request) error {
	in, err := readBody[RecordingsRequest](r)
	if err != nil {
		return err
	}
	if len(in.Ticket) < minTicket || len(in.Ticket) > maxTicket {
		return route.Invalid(problem.Field{Field: "ticket", Problem: fmt.Sprintf("has %d characters, not %d to %d",
			len(in.Ticket), minTicket, maxTicket)})
	}
	door, rl, err := d.admit(w, r, in.URL, BudgetReadings)
	if err != nil {
		return err
	}
	if err := d.owns(r.Context(), door, in.Ticket); err != nil {
		return err
	}
	list, more, err := d.cfg.Keep.raw(door)
	if err != nil {
		return err
	}
	return route.JSON(w, Recordings{URL: door, Recordings: list, More: more, RateLimit: rl,
		Note: "Kept in a bounded folder, the oldest going first; a door that was not probed lately may have none.",
		NextSteps: []string{"Decode recording to a file and run: check --exchange FILE, to have the same bytes " +
			"judged again.",
			"Take the line out of " + ownerFile + " when you are done."}})
}

// owns demands that the door's host shows the digest of the ticket.
func (d *Desk) owns(ctx context.Context, door, ticket string) error {
	u, err := url.Parse(door)
	if err != nil {
		return err
	}
	file := "https://" + u.Host + ownerFile
	x, err := d.cfg.Client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: file,
		Header: http.Header{"Accept": {"text/plain"}}}, fetch.Rule{})
	if err != nil {
		return refused(err)
	}
	no := func(why string) error {
		return &problem.Error{Code: "unauthorized", Detail: "Nothing is shown: " + file + " " + why + ".",
			Next: "GET " + d.cfg.BaseURL + "/api/recordings gives a ticket and the line that the file must hold."}
	}
	switch {
	case x.Response.Status == 0:
		return no("could not be read (" + x.Error.Stage + ")")
	case x.Response.Status != http.StatusOK:
		return no(fmt.Sprintf("answered %d", x.Response.Status))
	}
	want := ticketDigest(ticket)
	for line := range strings.Lines(string(x.Response.Body)) {
		if strings.TrimSpace(line) == want {
			return nil
		}
	}
	return no("does not hold the SHA-256 of this ticket")
}

// raw reads the newest recordings of a URL that may be shown; none without a drawer.
func (d *Drawer) raw(url string) (list []RawReading, more bool, err error) {
	list = []RawReading{}
	if d == nil {
		return list, false, nil
	}
	d.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(d.kept),
		func(f keptFile) bool { return f.private || f.hash != urlHash(url) })
	d.mu.Unlock()
	slices.Reverse(kept)
	total := 0
	for _, f := range kept {
		if len(list) == maxRecordings {
			return list, true, nil
		}
		b, err := d.dir.ReadFile(f.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went to make room
		}
		if err != nil {
			return nil, false, fmt.Errorf("reading a recording: %w", err)
		}
		if total += len(b); total > maxRecordingBytes && len(list) > 0 {
			return list, true, nil
		}
		list = append(list, RawReading{LastReading: f.LastReading, SHA256: attest.Digest(sha256.Sum256(b)).String(),
			Recording: base64.StdEncoding.EncodeToString(b)})
	}
	return list, false, nil
}

func (d *Desk) recordingRows() []route.Row {
	return []route.Row{
		instrument(api.Route{
			Name: "recordings_ticket", Method: http.MethodGet, Pattern: "/api/recordings", Serve: api.Private,
			Summary: "How to read the raw recordings of your own door",
			Description: "Gives a fresh ticket. Its SHA-256, served at /.well-known/store-owner.txt on the door's " +
				"host, proves that the door is yours.",
			Responses: route.OK[Ticket]("A ticket and what to do with it"),
		}, d.recordingsTicket),
		instrument(api.Route{
			Name: "recordings", Method: http.MethodPost, Pattern: "/api/recordings", Serve: api.Private,
			Budget: BudgetReadings, Summary: "Read the raw recordings of your own door",
			Description: "What was published of a probe hides addresses and most headers. Whoever proves control of " +
				"the host is shown the bytes as they were recorded, as far as they are kept.",
			Body:      urlBody[RecordingsRequest]("url and ticket"),
			Responses: route.OK[Recordings]("The recordings, newest first", 400, 401, 413, 415, 429, 503),
		}, d.recordings),
	}
}
