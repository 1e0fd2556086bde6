package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"store.example/agentstore/cmd/devnet/practice"
	"store.example/agentstore/cmd/devnet/street"
)

// listing is how the list of the street names a door.
type listing struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Doc    string `json:"doc"`
	Listen string `json:"listen,omitempty"` // loopback address behind it
	V1     string `json:"verdict_v1,omitempty"`
	V2     string `json:"verdict_v2,omitempty"`
	// Verdict is that of the instrument which the first word of Name names, for what is no door.
	Verdict string `json:"verdict,omitempty"`
	Refuse  string `json:"refused,omitempty"` // the code with which our own client refuses to go there
}

// openStreet opens the test doors, writes their list and their authority's certificate into the
// state folder, and says how to knock.
func openStreet(state string, stdout io.Writer) (_ *street.Street, err error) {
	s, err := street.Open()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close() // the first error says more
		}
	}()
	dir := filepath.Join(state, "street")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	var list []listing
	for _, d := range s.Doors() {
		url := d.URL()
		if d.Spelled != "" {
			url = d.Spelled
		}
		list = append(list, listing{Name: d.Name, URL: url, Doc: d.Doc, Listen: s.Listen(d), V1: string(d.Want.V1),
			V2: string(d.Want.V2), Refuse: d.Want.Refused})
	}
	for _, sight := range s.Sights() {
		list = append(list, listing{Name: sight.Kind + " " + sight.Name, URL: sight.URL(), Doc: sight.Doc,
			Listen: s.Listen(street.Door{}), Verdict: sight.Verdict})
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "doors.json"), append(b, '\n'), 0o600); err != nil {
		return nil, err
	}
	authority := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authority, s.PEM(), 0o600); err != nil {
		return nil, err
	}
	door := list[0]
	fmt.Fprintf(stdout, "street open: %d doors and %d other sights, listed in %s\n", len(s.Doors()), len(s.Sights()),
		filepath.Join(dir, "doors.json"))
	fmt.Fprintf(stdout, "  curl --cacert %s --connect-to ::%s %s\n", authority, door.Listen, door.URL)
	return s, nil
}

// openPractice serves the practice doors and their scoreboard at base until it is stopped.
func openPractice(address string, stdout io.Writer) (base string, stop func() error, err error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("opening the practice doors: %w; name another address with -practice, which store "+
			"practice calls -doors", err)
	}
	base = "http://" + ln.Addr().String()
	s := &http.Server{Handler: practice.New(base), ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(ln) // until Close
	fmt.Fprintf(stdout, "practice doors open, none of which is to be paid: scoreboard at %s/ and %[1]s/scores.json\n",
		base)
	return base, s.Close, nil
}
