package probe

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// OptOutFormat names the form of an encoded OptOut.
const OptOutFormat = "store-opt-out/v1"

// optOutPath is the host's own file that says it.
const optOutPath = "/.well-known/x402"

// OptOut is that a host's own file asked not to be walked, as the record keeps it in the place of a
// judgement: the answer in its published form, with the file's digest. The file itself may hold
// addresses, and is not published; whoever has it can compare.
type OptOut struct {
	Evidence exchange.Redacted // the GET of the host's file
	Salt     Salt
}

type optOutHead struct {
	Format string     `json:"format"` // OptOutFormat
	URL    string     `json:"url"`    // of the file
	Census string     `json:"census"` // no
	Salt   attest.Hex `json:"salt"`
}

// NewOptOut makes what is kept of an answer in which a host opted out.
func NewOptOut(x exchange.Exchange, salt Salt) (OptOut, error) {
	o := OptOut{Evidence: redact(x), Salt: salt}
	return o, o.check()
}

// Of reports whether it is the word of a host.
func (o OptOut) Of(host string) bool { return o.Evidence.URL == "https://"+host+optOutPath }

func (o OptOut) check() error {
	e := o.Evidence
	switch {
	case o.Salt == Salt{}:
		return errors.New("checking opt-out: no salt")
	case e.Format != exchange.RedactedFormat || e.Method != http.MethodGet || e.Status != http.StatusOK ||
		e.Body.Truncated || e.Error.Stage != "":
		return fmt.Errorf("checking opt-out: %.16q was answered with status %d, and not with a whole file", e.Method,
			e.Status)
	case !strings.HasPrefix(e.URL, "https://") || strings.Count(e.URL, "/") != 4 || !strings.HasSuffix(e.URL,
		optOutPath):
		return fmt.Errorf("checking opt-out: %.200q is no host's own file", e.URL)
	}
	return nil
}

// Encode returns its one spelling: a line of JSON, and a line with the answer in its published
// form.
func (o OptOut) Encode() ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(optOutHead{OptOutFormat, o.Evidence.URL, "no", o.Salt[:]})
	if err != nil {
		return nil, fmt.Errorf("encoding opt-out: %w", err)
	}
	line, err := o.Evidence.Encode()
	if err != nil {
		return nil, fmt.Errorf("encoding opt-out: %w", err)
	}
	return append(append(append(b, '\n'), line...), '\n'), nil
}

// DecodeOptOut reads what Encode wrote, and refuses every other spelling.
func DecodeOptOut(raw []byte) (OptOut, error) {
	fail := func(err error) (OptOut, error) { return OptOut{}, fmt.Errorf("decoding opt-out: %w", err) }
	if len(raw) > MaxJudgement {
		return fail(exchange.ErrTooLarge)
	}
	first, rest, _ := bytes.Cut(raw, []byte{'\n'})
	var h optOutHead
	if err := json.Unmarshal(first, &h, json.RejectUnknownMembers(true)); err != nil {
		return fail(err)
	}
	var o OptOut
	if h.Format != OptOutFormat || len(h.Salt) != len(o.Salt) {
		return fail(fmt.Errorf("format %.80q with a salt of %d bytes", h.Format, len(h.Salt)))
	}
	copy(o.Salt[:], h.Salt)
	var err error
	if o.Evidence, err = exchange.DecodeRedacted(bytes.TrimSuffix(rest, []byte{'\n'})); err != nil {
		return fail(err)
	}
	again, err := o.Encode()
	if err != nil {
		return fail(err)
	}
	if !bytes.Equal(again, raw) {
		return fail(errors.New("not in the form in which it is written"))
	}
	return o, nil
}
