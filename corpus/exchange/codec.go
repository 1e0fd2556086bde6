package exchange

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxFile bounds the file form of an exchange.
const MaxFile = 8 << 20

// ErrTooLarge is returned for an exchange beyond the bounds of this package.
var ErrTooLarge = errors.New("exchange is too large")

type fileForm struct {
	Format     string       `json:"format"`
	Request    fileRequest  `json:"request"`
	Response   fileResponse `json:"response"`
	StartedAt  string       `json:"started_at"` // RFC 3339, UTC
	DurationNS int64        `json:"duration_ns"`
	RemoteAddr string       `json:"remote_addr"`
	Error      Error        `json:"error"`
}

// fileHeader is one name with its values. Header bytes above ASCII stand as the
// characters U+0080 to U+00FF, so that any bytes survive.
type fileHeader struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

type fileRequest struct {
	Method string       `json:"method"`
	URL    string       `json:"url"`
	Header []fileHeader `json:"header"`
	Body   []byte       `json:"body"` // standard base64
}

type fileResponse struct {
	Status    int          `json:"status"`
	Proto     string       `json:"proto"`
	Header    []fileHeader `json:"header"`
	Body      []byte       `json:"body"`
	Truncated bool         `json:"truncated"`
	HeadFault string       `json:"head_fault,omitzero"`
}

// Encode returns the file form: one line of JSON, headers sorted by name. The
// same exchange always gives the same bytes.
func (x Exchange) Encode() ([]byte, error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	f := fileForm{
		Format: Format,
		Request: fileRequest{Method: x.Request.Method, URL: x.Request.URL, Header: encodeHeader(x.Request.Header),
			Body: x.Request.Body},
		Response: fileResponse{Status: x.Response.Status, Proto: x.Response.Proto,
			Header: encodeHeader(x.Response.Header), Body: x.Response.Body, Truncated: x.Response.Truncated,
			HeadFault: x.Response.HeadFault},
		StartedAt: x.StartedAt.UTC().Format(time.RFC3339Nano), DurationNS: int64(x.Duration),
		RemoteAddr: x.RemoteAddr, Error: x.Error,
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encoding exchange: %w", err)
	}
	return append(b, '\n'), nil
}

// Decode reads what Encode wrote. Every other spelling, every unknown or
// duplicate name and everything beyond the bounds is refused.
func Decode(raw []byte) (Exchange, error) {
	if len(raw) > MaxFile {
		return Exchange{}, fmt.Errorf("decoding exchange: %w", ErrTooLarge)
	}
	var f fileForm
	if err := json.Unmarshal(raw, &f, json.RejectUnknownMembers(true)); err != nil {
		return Exchange{}, fmt.Errorf("decoding exchange: %w", err)
	}
	if f.Format != Format {
		return Exchange{}, fmt.Errorf("decoding exchange: format is %q, want %q", f.Format, Format)
	}
	x := Exchange{
		Request: Request{Method: f.Request.Method, URL: f.Request.URL, Body: orNil(f.Request.Body)},
		Response: Response{Status: f.Response.Status, Proto: f.Response.Proto, Body: orNil(f.Response.Body),
			Truncated: f.Response.Truncated, HeadFault: f.Response.HeadFault},
		Duration: time.Duration(f.DurationNS), RemoteAddr: f.RemoteAddr, Error: f.Error,
	}
	var err error
	if x.StartedAt, err = time.Parse(time.RFC3339Nano, f.StartedAt); err != nil {
		return Exchange{}, fmt.Errorf("decoding exchange: %w", err)
	}
	if x.Request.Header, err = decodeHeader(f.Request.Header); err != nil {
		return Exchange{}, err
	}
	if x.Response.Header, err = decodeHeader(f.Response.Header); err != nil {
		return Exchange{}, err
	}
	again, err := x.Encode()
	if err != nil {
		return Exchange{}, err
	}
	if !bytes.Equal(raw, again) {
		return Exchange{}, errors.New("decoding exchange: not in the form in which it is written")
	}
	return x, nil
}

func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func (x Exchange) check() error {
	if len(x.Request.Body) > MaxBody || len(x.Response.Body) > MaxBody || len(x.Request.URL) > MaxURL ||
		len(x.Error.Text) > MaxURL {
		return fmt.Errorf("encoding exchange: %w", ErrTooLarge)
	}
	for _, h := range []http.Header{x.Request.Header, x.Response.Header} {
		values, size := 0, 0
		for name, vs := range h {
			values, size = values+len(vs), size+len(name)
			for _, v := range vs {
				size += len(v)
			}
		}
		if values > MaxHeaders || size > MaxHeader {
			return fmt.Errorf("encoding exchange: header: %w", ErrTooLarge)
		}
	}
	switch {
	case x.Response.Status < 0 || x.Response.Status > 999:
		return fmt.Errorf("encoding exchange: status %d", x.Response.Status)
	case !slices.Contains(headFaults, x.Response.HeadFault):
		return fmt.Errorf("encoding exchange: head fault %q", x.Response.HeadFault)
	case x.Duration < 0 || int64(x.Duration) > 1<<53:
		return fmt.Errorf("encoding exchange: duration %s", x.Duration)
	case x.StartedAt.UTC().Year() < 0 || x.StartedAt.UTC().Year() > 9999:
		return fmt.Errorf("encoding exchange: started in the year %d", x.StartedAt.Year())
	}
	return nil
}

func encodeHeader(h http.Header) []fileHeader {
	out := []fileHeader{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(h[name]) == 0 {
			continue
		}
		f := fileHeader{Name: widen(name)}
		for _, v := range h[name] {
			f.Values = append(f.Values, widen(v))
		}
		out = append(out, f)
	}
	return out
}

func decodeHeader(lines []fileHeader) (http.Header, error) {
	h := http.Header{}
	for _, l := range lines {
		name, ok := narrow(l.Name)
		if _, twice := h[name]; !ok || twice || len(l.Values) == 0 {
			return nil, fmt.Errorf("decoding exchange: header %q", l.Name)
		}
		for _, v := range l.Values {
			value, ok := narrow(v)
			if !ok {
				return nil, fmt.Errorf("decoding exchange: header %q holds a character beyond U+00FF", l.Name)
			}
			h[name] = append(h[name], value)
		}
	}
	return h, nil
}

// widen turns bytes into the characters of the same numbers.
func widen(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// narrow is the reverse of widen.
func narrow(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return "", false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}
