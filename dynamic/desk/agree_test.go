package desk_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/exchange"

	"golang.org/x/sync/errgroup"
)

// mutated serves the mutant whose number stands in the host's name.
func mutated(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(r.Host, ".")
	i, _ := strconv.ParseUint(strings.TrimPrefix(first, "m"), 10, 64)
	m := corpustest.NewMutant(i)
	var x exchange.Response
	switch {
	case r.URL.Path != "/weather":
		x = m.Files
	case r.Method == http.MethodPost:
		x = m.POST
	default:
		x = m.GET
	}
	maps.Copy(w.Header(), x.Header)
	w.WriteHeader(x.Status)
	w.Write(x.Body)
}

// TestInstrumentsNeverContradict asks preflight, look and before-you-pay about spoilt doors: one
// verdict, the same failed checks, the same client doing the same, and no word of any of them
// against another's.
func TestInstrumentsNeverContradict(t *testing.T) { instrumentsAgree(t, 500) }

// STORE_SOAK=1 asks about 50,000.
func TestSoakInstrumentsNeverContradict(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	instrumentsAgree(t, 50_000)
}

func instrumentsAgree(t *testing.T, doors int) {
	o := street(t, http.HandlerFunc(mutated))
	o.Limits = map[string][2]int{"preflight": {1 << 20, 1 << 20}}
	o.Walks = 16
	h := openTest(t, o)
	var g errgroup.Group
	g.SetLimit(8)
	var ready, refused, signs atomic.Int64
	for i := range doors {
		g.Go(func() error {
			url := fmt.Sprintf("https://m%d.example.com/weather", i)
			_, _, door := post(t, h, "/api/preflight/v2", asked{url})
			_, _, seen := post(t, h, "/api/look/v1", asked{url})
			_, _, buyer := post(t, h, "/api/before-you-pay/v1", asked{url})
			_, _, free := post(t, h, "/api/before-you-pay/v1", map[string]any{"url": url,
				"client_profile": map[string]any{"spend_controls_disabled": true}})
			now := seen["now"].(map[string]any)
			for _, other := range []map[string]any{now["the_door"].(map[string]any),
				buyer["the_door"].(map[string]any), free["the_door"].(map[string]any)} {
				for _, name := range []string{"verdict", "reason", "fault", "checks_vector", "clients", "protocols",
					"reached_level"} {
					if fmt.Sprint(door[name]) != fmt.Sprint(other[name]) {
						t.Errorf("door %d: %s is %v and %v", i, name, door[name], other[name])
					}
				}
			}
			if now["verdict"] != door["verdict"] || !strings.Contains(seen["headline"].(string),
				door["verdict"].(string)) {
				t.Errorf("door %d: look says %v, preflight %v", i, seen["headline"], door["verdict"])
			}
			for configured, answer := range map[string]map[string]any{
				"default":   buyer["your_client"].(map[string]any),
				"unlimited": free["your_client"].(map[string]any),
			} {
				if problem := contradiction(door, answer, configured); problem != "" {
					t.Errorf("door %d, %s: %s", i, configured, problem)
				}
				if answer["outcome"] == "would_sign" {
					signs.Add(1)
				}
			}
			if door["verdict"] == "ready" {
				ready.Add(1)
			} else {
				refused.Add(1)
			}
			return nil
		})
	}
	g.Wait() // its functions report through t
	t.Logf("%d ready, %d not, %d answers that sign", ready.Load(), refused.Load(), signs.Load())
	if min(ready.Load(), refused.Load(), signs.Load()) < int64(doors)/10 {
		t.Error("the doors are too much alike to show anything")
	}
}

// contradiction sets what a client does beside the reading of the door.
func contradiction(door, answer map[string]any, configured string) string {
	verdict, outcome := door["verdict"], answer["outcome"]
	warned := slices.ContainsFunc(answer["hazards"].([]any),
		func(h any) bool { return h.(map[string]any)["name"] == "door-not-ready" })
	switch {
	case configured == "unlimited" && verdict == "ready" && outcome != "would_sign":
		return fmt.Sprintf("ready, and the client says %v: %v", outcome, answer["throws_with"])
	case verdict == "ready" && warned:
		return "ready, and the client is warned"
	case verdict == "not_ready" && outcome == "would_sign" && !warned:
		return "not ready, and the client signs without a warning"
	case verdict == "unreachable" && outcome != "cannot_simulate", verdict == "not_probed" && door["reason"] == nil:
		return fmt.Sprintf("%v, and the client says %v", verdict, outcome)
	}
	for _, row := range door["clients"].([]any) {
		row := row.(map[string]any)
		if row["client"] != "x402-fetch/2.27.0" || row["configured"] != configured ||
			row["outcome"] == "cannot_simulate" {
			continue
		}
		index := any(nil)
		if chosen, ok := answer["chosen"].(map[string]any); ok {
			index = chosen["index"]
		}
		if row["outcome"] != outcome || row["index"] != index ||
			fmt.Sprint(row["stage"]) != fmt.Sprint(answer["stage"]) {
			return fmt.Sprintf("the reading says %v of the client, and the client %v, %v, %v", row, outcome, index,
				answer["stage"])
		}
	}
	if steps := fmt.Sprint(door["next_steps"]); strings.Contains(steps, "do not pay") && verdict != "not_ready" {
		return "it is said not to pay at a door that is " + fmt.Sprint(verdict)
	}
	return ""
}
