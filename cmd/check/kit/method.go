package kit

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// checkMethod judges -method and -data together and reads what -data names. A stranger's door is
// asked as its own files say and in no other way, because a POST may do something.
func (s *settings) checkMethod() (err error) {
	if s.method == "" && s.data == "" {
		return nil
	}
	if s.method == "" {
		s.method = http.MethodPost
	}
	s.method = strings.ToUpper(s.method)
	switch {
	case s.method != http.MethodGet && s.method != http.MethodPost:
		return fmt.Errorf("-method %.16q: a door is asked with GET or POST", s.method)
	case s.method == http.MethodGet && s.data != "":
		return errors.New("-data goes with -method POST")
	case s.discoverHost != "":
		return errors.New("-discover takes each door's method from the host's own files: leave out -method and -data")
	case !s.local && s.networks == "" && s.exchange == "":
		return errors.New("-method and -data are for your own doors: say where they are with -local or -allow-network")
	}
	if s.data == "" {
		return nil
	}
	if s.body, err = readData(s.data); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	return nil
}

// readData returns the JSON of -data, or of the file that it names.
func readData(data string) ([]byte, error) {
	raw := []byte(data)
	if file, ok := strings.CutPrefix(data, "@"); ok {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if raw, err = io.ReadAll(io.LimitReader(f, fetch.MaxRequestBody+1)); err != nil {
			return nil, err
		}
	}
	switch {
	case len(raw) > fetch.MaxRequestBody:
		return nil, fmt.Errorf("it is larger than %d bytes", fetch.MaxRequestBody)
	case !jsontext.Value(raw).IsValid():
		return nil, errors.New("it is not JSON: give a value, such as {\"city\":\"Lisbon\"}, or @FILE")
	}
	return raw, nil
}

// declared is what -method and -data say of each URL.
func (s *settings) declared() probe.Declaration {
	if s.method == "" {
		return probe.Declaration{}
	}
	return probe.Declaration{Method: s.method, By: probe.DeclaredByCaller}
}
