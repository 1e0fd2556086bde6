package probe_test

import (
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// A checker judges what was recorded. It fetches nothing, so the same recording gives the same
// report for ever.
func Example() {
	const door = "https://door.example/paid"
	recording := []exchange.Exchange{{
		Request: exchange.Request{Method: http.MethodGet, URL: door, Header: http.Header{}},
		Response: exchange.Response{Status: http.StatusOK, Proto: "HTTP/2.0", Header: http.Header{},
			Body: []byte("come in")},
		StartedAt: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	}}
	checker, err := probe.NewPreflight(probe.V2, door, probe.Declaration{})
	if err != nil {
		panic(err)
	}
	report, err := probe.Replay(recording, checker)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Verdict, report.ReachedLevel)
	for _, c := range report.Checks {
		if !c.OK {
			fmt.Println(c.Name+":", c.Detail)
		}
	}
	// Output:
	// not_ready L1
	// status-402: 200: answers without asking for payment
}
