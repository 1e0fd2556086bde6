package fetch

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/exchange"
)

// RecordingFormat names the file form of a Recording.
const RecordingFormat = "store-recording/v1"

// MaxRecording bounds the file form.
const MaxRecording = 16 << 20

// A Recording is the exchanges of one walk, in their order, with the name of the checker that asked
// for them.
type Recording struct {
	Checker   string // the checker's Name
	Start     string // URL of the door
	Private   bool   // made inside a private corpus: never to be published
	Exchanges []exchange.Exchange
}

type head struct {
	Format    string `json:"format"`
	Checker   string `json:"checker"`
	Start     string `json:"start"`
	Private   bool   `json:"private"`
	Exchanges int    `json:"exchanges"`
}

// Encode returns the file form: a line of JSON that says what follows, then each exchange in its
// own file form, a line each. The same recording always gives the same bytes.
func (r Recording) Encode() ([]byte, error) {
	b, err := json.Marshal(head{RecordingFormat, r.Checker, r.Start, r.Private, len(r.Exchanges)})
	if err != nil {
		return nil, fmt.Errorf("encoding recording: %w", err)
	}
	b = append(b, '\n')
	for i, x := range r.Exchanges {
		line, err := x.Encode()
		if err != nil {
			return nil, fmt.Errorf("encoding recording: exchange %d: %w", i, err)
		}
		b = append(b, line...)
	}
	if len(b) > MaxRecording {
		return nil, fmt.Errorf("encoding recording: %w", exchange.ErrTooLarge)
	}
	return b, nil
}

// DecodeRecording reads what Encode wrote and refuses every other spelling.
func DecodeRecording(raw []byte) (Recording, error) {
	if len(raw) > MaxRecording {
		return Recording{}, fmt.Errorf("decoding recording: %w", exchange.ErrTooLarge)
	}
	first, rest, _ := bytes.Cut(raw, []byte("\n"))
	var h head
	if err := json.Unmarshal(first, &h, json.RejectUnknownMembers(true)); err != nil {
		return Recording{}, fmt.Errorf("decoding recording: %w", err)
	}
	if h.Format != RecordingFormat {
		return Recording{}, fmt.Errorf("decoding recording: format is %q, want %q", h.Format, RecordingFormat)
	}
	r := Recording{Checker: h.Checker, Start: h.Start, Private: h.Private}
	for line := range bytes.Lines(rest) {
		x, err := exchange.Decode(line)
		if err != nil {
			return Recording{}, fmt.Errorf("decoding recording: exchange %d: %w", len(r.Exchanges), err)
		}
		r.Exchanges = append(r.Exchanges, x)
	}
	if again, err := r.Encode(); err != nil || !bytes.Equal(again, raw) {
		return Recording{}, errors.New("decoding recording: not in the form in which it is written")
	}
	return r, nil
}
