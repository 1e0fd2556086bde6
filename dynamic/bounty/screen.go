package bounty

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Screen holds the addresses that nothing is paid to: the lists that the keeper names, one address
// a line, read anew every ScreenEvery. It fails closed: while one of the lists cannot be read, is
// empty, or holds a line that is no address, nothing is known of any address.
type Screen struct {
	// Sources are the names of the lists, files or URLs, for people.
	Sources []string
	// Load reads one.
	Load func(ctx context.Context, source string) ([]byte, error)
	Log  *slog.Logger

	mu        sync.Mutex
	addresses map[string]bool
	loaded    time.Time
	bytes     int
	err       error
}

// ScreenEvery is how often the lists are read. One that was not read for three times as long is not
// believed any more.
const ScreenEvery = 10 * time.Minute

// MaxScreen bounds one list, in bytes.
const MaxScreen = 8 << 20

var errUnread = errors.New("the lists were not read yet")

// addressForm is a line of a list: an address of any network.
var addressForm = regexp.MustCompile(`^[0-9A-Za-z:._-]{20,128}$`)

// spelled is an address as it is compared: hexadecimal ones by their bytes.
func spelled(address string) string {
	if rest, ok := strings.CutPrefix(strings.ToLower(address), "0x"); ok {
		return "0x" + rest
	}
	return address
}

// Reload reads every list. Until it succeeded, and from the first failure on, the screen is closed.
func (s *Screen) Reload(ctx context.Context) error {
	all, size := map[string]bool{}, 0
	err := func() error {
		if len(s.Sources) == 0 {
			return errors.New("no list of addresses is configured")
		}
		for _, source := range s.Sources {
			raw, err := s.Load(ctx, source)
			if err == nil {
				err = addTo(all, raw)
			}
			if err != nil {
				return fmt.Errorf("reading %s: %w", source, err)
			}
			size += len(raw)
		}
		return nil
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err == nil {
		s.addresses, s.bytes, s.loaded = all, size, time.Now()
	}
	return err
}

// addTo adds the addresses of a list. Empty lines, and those that begin with #, are none.
func addTo(all map[string]bool, raw []byte) error {
	if len(raw) > MaxScreen {
		return fmt.Errorf("it is larger than %d bytes", MaxScreen)
	}
	n := 0
	for i, line := range bytes.Split(raw, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		if !addressForm.MatchString(text) {
			return fmt.Errorf("line %d is no address", i+1)
		}
		all[spelled(text)] = true
		n++
	}
	if n == 0 {
		return errors.New("it is empty, which no list is that works")
	}
	return nil
}

// Listed reports whether nothing may be paid to one of some addresses. An error says that it is not
// known.
func (s *Screen) Listed(addresses ...string) (bool, error) {
	if s == nil {
		return false, errUnread
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.closed(); err != nil {
		return false, err
	}
	for _, a := range addresses {
		if s.addresses[spelled(a)] {
			return true, nil
		}
	}
	return false, nil
}

// closed says why the screen is closed; mu is held.
func (s *Screen) closed() error {
	switch {
	case s.err != nil:
		return s.err
	case s.loaded.IsZero():
		return errUnread
	case time.Since(s.loaded) > 3*ScreenEvery:
		return fmt.Errorf("the lists were read last at %s", s.loaded.UTC().Format(time.RFC3339))
	}
	return nil
}

// ScreenState is how the screen stands, for everybody.
type ScreenState struct {
	Readable   bool   `json:"readable"`
	Addresses  int    `json:"addresses"`
	Bytes      int    `json:"bytes"`
	LoadedAt   string `json:"loaded_at,omitzero"`
	AgeSeconds int64  `json:"age_seconds"` // since it was read whole
}

// State tells how the screen stands, and why it is closed where it is.
func (s *Screen) State() (ScreenState, error) {
	if s == nil {
		return ScreenState{}, errors.New("no list of addresses is configured")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := ScreenState{Addresses: len(s.addresses), Bytes: s.bytes}, s.closed()
	st.Readable = err == nil
	if !s.loaded.IsZero() {
		st.LoadedAt, st.AgeSeconds = s.loaded.UTC().Format(time.RFC3339), int64(time.Since(s.loaded)/time.Second)
	}
	return st, err
}

// Run reads the lists until ctx ends, after a failure every minute.
func (s *Screen) Run(ctx context.Context) error {
	for {
		next := ScreenEvery
		if err := s.Reload(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("rewards are not paid: a list of addresses that nothing is paid to cannot be read", "err", err)
			next = time.Minute
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}
