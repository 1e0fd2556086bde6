package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/v2"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// The formats of what rows, refreshes and errata are judged by.
const (
	judgementFormat = "store-judgement/v1"
	optOutFormat    = "store-opt-out/v1"
	optOutFile      = "/.well-known/x402"
)

// Look is what a judgement, or an opt-out, says of itself: what of it can be held to a record by
// who has no battery.
type Look struct {
	URL     string   // of the door, or of the host's own file
	Battery string   // "" of an opt-out
	OptOut  bool     // it is a host's wish not to be walked
	Started []string // when each of its exchanges began
}

type judgementHead struct {
	Format   string `json:"format"` // judgementFormat
	Battery  string `json:"battery"`
	URL      string `json:"url"`
	Declared struct {
		Method string `json:"method"`
		By     string `json:"by"`
	} `json:"declared"`
	Exchanges int64      `json:"exchanges"`
	Salt      attest.Hex `json:"salt"`
}

type optOutHead struct {
	Format string     `json:"format"` // optOutFormat
	URL    string     `json:"url"`
	Census string     `json:"census"` // no
	Salt   attest.Hex `json:"salt"`
}

// ReadLook reads the head of a judgement or an opt-out, and when its exchanges began.
func ReadLook(raw []byte) (Look, error) {
	first, rest, _ := bytes.Cut(raw, []byte{'\n'})
	fail := func(err error) (Look, error) {
		return Look{}, rule.JudgementForm.Errorf("reading a judgement: %w", err)
	}
	l, h, exchanges := Look{OptOut: bytes.HasPrefix(first, []byte(`{"format":"`+optOutFormat+`"`))}, judgementHead{}, int64(1)
	salt := attest.Hex(nil)
	if l.OptOut {
		var o optOutHead
		if err := attest.ParseCanonical(first, &o); err != nil {
			return fail(err)
		}
		l.URL, salt = o.URL, o.Salt
		if o.Census != "no" {
			return Look{}, rule.JudgementForm.Errorf("reading an opt-out: census is %.40q", o.Census)
		}
	} else {
		if err := attest.ParseCanonical(first, &h); err != nil {
			return fail(err)
		}
		l.URL, l.Battery, exchanges, salt = h.URL, h.Battery, h.Exchanges, h.Salt
		if h.Format != judgementFormat {
			return Look{}, rule.JudgementForm.Errorf("reading a judgement: format is %.80q, not %q", h.Format,
				judgementFormat)
		}
	}
	for line := range bytes.Lines(rest) {
		var x struct {
			Started string `json:"started_at"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			return fail(err)
		}
		l.Started = append(l.Started, x.Started)
	}
	if int64(len(l.Started)) != exchanges || exchanges < 1 || !bytes.HasSuffix(raw, []byte{'\n'}) {
		return Look{}, rule.JudgementForm.Errorf("reading a judgement: it has %d exchanges, and says %d",
			len(l.Started), exchanges)
	}
	if len(salt) != sha256.Size || bytes.Equal(salt, make([]byte, sha256.Size)) {
		return Look{}, rule.JudgementForm.Errorf("reading a judgement: no salt")
	}
	return l, nil
}

// Of demands that it is a look at the door of a row, by its battery, at the time that the row or,
// where it is one from elsewhere, another clock says.
func (l Look) Of(row Row, elsewhere bool) error {
	switch {
	case l.OptOut != (row.Reason == ReasonOptedOut):
		return rule.JudgementForm.Errorf("%s is %q for %.40q, and what is kept an opt-out: %v", row.Host, row.Verdict,
			row.Reason, l.OptOut)
	case l.OptOut && l.URL != "https://"+row.Host+optOutFile:
		return rule.JudgementDoor.Errorf("of %s it is the word of another host: %.200q", row.Host, l.URL)
	case l.OptOut:
		return nil
	case l.URL != row.URL || l.Battery != row.Battery:
		return rule.JudgementDoor.Errorf("of %s it is of the url %.200q by battery %s", row.Host, l.URL, l.Battery)
	case !elsewhere && !slices.Contains(l.Started, row.ObservedAt):
		return rule.JudgementDoor.Errorf("of %s observed_at is %s, and the look began at %.200s", row.Host,
			row.ObservedAt, strings.Join(l.Started, ", "))
	}
	return nil
}

// OfRefresh demands that it is a look at the door of a refresh, by its battery, that began no later
// than the refresh is dated.
func (l Look) OfRefresh(r Refresh, at string) error {
	if l.OptOut || l.URL != r.URL || l.Battery != r.Battery {
		return rule.JudgementDoor.Errorf("it is of %.200q by battery %s", l.URL, l.Battery)
	}
	if first := slices.Min(l.Started); first > at {
		return rule.JudgementDoor.Errorf("it was judged at %s, after it is dated", first)
	}
	return nil
}

// Corrects demands that it is a look at the door of a row, in the row's own week, which an erratum
// that is dated so may rest on: what a door did later excuses nothing, and neither does an older
// battery, which asks for less.
func (l Look) Corrects(row Row, at string) error {
	if l.OptOut || l.URL != row.URL {
		return rule.JudgementDoor.Errorf("the row is of %.200q, and what the erratum rests on of %.200q", row.URL,
			l.URL)
	}
	if older(l.Battery, row.Battery) {
		return rule.ErratumBasis.Errorf("the row is by battery %s, and what the erratum rests on by the older %s",
			row.Battery, l.Battery)
	}
	for _, began := range l.Started {
		if began > at || !IsSecond(began) || !inWeek(began, row.Week) {
			return rule.ErratumBasis.Errorf("the row is of %s, and what the erratum of %s rests on began at %.40s",
				row.Week, at, began)
		}
	}
	return nil
}

// older reports whether a battery, such as v2, was there before another, such as v10.
func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
