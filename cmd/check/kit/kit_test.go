package kit_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
)

// doors serves every practice door by its id, and returns flags with which they can be read.
func doors(t *testing.T) (base string, flags []string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range practice.All() {
			if "/"+p.ID == r.URL.Path {
				a := p.Answer("https://" + r.Host + r.URL.Path)
				maps.Copy(w.Header(), a.Header)
				w.WriteHeader(a.Status)
				w.Write(a.Body)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, []string{"-ca", ca, "-allow-network", "127.0.0.0/8", "-allow-port", port}
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = kit.Run(t.Context(), "check", args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	base, flags := doors(t)
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"ready", []string{base + "/dust-correct"}, kit.ExitFine},
		{"not ready", []string{base + "/empty-accepts"}, kit.ExitFound},
		{"one of two", []string{base + "/dust-correct", base + "/empty-accepts"}, kit.ExitFound},
		{"never", []string{"-fail-on", "never", base + "/empty-accepts"}, kit.ExitFine},
		{"another check", []string{"-fail-on", "payto-payable", base + "/testnet-network"}, kit.ExitFine},
		{"this check", []string{"-fail-on", "network-mainnet", base + "/testnet-network"}, kit.ExitFound},
		{"v1 does not ask", []string{"-battery", "v1", base + "/testnet-network"}, kit.ExitFine},
		{"any advisory", []string{"-fail-on", "advisory", base + "/dust-correct"}, kit.ExitFound},
		{"this advisory", []string{"-fail-on", "no-signed-offers", base + "/dust-correct"}, kit.ExitFound},
		{"no such name", []string{"-fail-on", "colour", base + "/dust-correct"}, kit.ExitUsage},
		{"no such battery", []string{"-battery", "v3", base + "/dust-correct"}, kit.ExitUsage},
		{"nothing to read", nil, kit.ExitUsage},
		{"both", []string{"-exchange", "x", base}, kit.ExitUsage},
		{"save of two", []string{"-save", "x", base, base}, kit.ExitUsage},
		{"refused", []string{"https://10.0.0.1/"}, kit.ExitTrouble},
		{"no file", []string{"-exchange", filepath.Join(t.TempDir(), "none")}, kit.ExitTrouble},
		{"help", []string{"-h"}, kit.ExitFine},
	} {
		if code, out, errs := run(t, append(append([]string{}, flags...), c.args...)...); code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.want, out, errs)
		}
	}
	if code, _, errs := run(t, base+"/dust-correct"); code != kit.ExitTrouble ||
		!strings.Contains(errs, "target_refused") {
		t.Errorf("a loopback door without allowance: %d %s", code, errs)
	}
}

// TestWhatCouldBeReadIsTold: one URL that is refused hides no report of the others, and the exit
// code still says so.
func TestWhatCouldBeReadIsTold(t *testing.T) {
	base, flags := doors(t)
	file := filepath.Join(t.TempDir(), "log.sarif")
	code, out, errs := run(t, append(flags, "-json", "-sarif", file, "nonsense", base+"/empty-accepts",
		"https://10.0.0.1/")...)
	var reports []probe.Report
	if err := json.Unmarshal([]byte(out), &reports); err != nil || len(reports) != 1 ||
		reports[0].Verdict != probe.NotReady {
		t.Errorf("reports %v %s", err, out)
	}
	if code != kit.ExitBoth || strings.Count(errs, "check: reading ") != 2 ||
		!strings.Contains(errs, "nonsense: url_unparseable") || !strings.Contains(errs, "10.0.0.1/: target_refused") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if log, err := os.ReadFile(file); err != nil || !strings.Contains(string(log), "/empty-accepts") {
		t.Errorf("SARIF: %v %s", err, log)
	}
}

func TestARecordingIsJudgedAgainToTheByte(t *testing.T) {
	base, flags := doors(t)
	for _, id := range []string{"dust-correct", "wrong-rail-payto", "malformed-header"} {
		file := filepath.Join(t.TempDir(), "door.recording")
		_, live, _ := run(t, append(flags, "-json", "-save", file, base+"/"+id)...)
		_, again, errs := run(t, "-json", "-exchange", file)
		if live == "" || live != again || errs != "" {
			t.Errorf("%s: live and judged again differ (%s)\n%s\n%s", id, errs, live, again)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", id, info.Mode(), err)
		}
		// The older battery reads the newer one's recording, and says that it is another
		// instrument.
		if _, old, errs := run(t, "-json", "-battery", "v1", "-exchange", file); !strings.Contains(old,
			`"version": "v1"`) || !strings.Contains(errs, "the instrument moved") {
			t.Errorf("%s under v1: %s %s", id, errs, old)
		}
	}
}

func TestTextSaysWhatToChange(t *testing.T) {
	base, flags := doors(t)
	_, out, _ := run(t, append(flags, base+"/testnet-network")...)
	for _, want := range []string{"NOT_READY under battery v2", "FAIL  network-mainnet", "        fix: ",
		"ready under v1", "private: read with allowances", "evidence "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestSARIF(t *testing.T) {
	base, flags := doors(t)
	file := filepath.Join(t.TempDir(), "doors.sarif")
	if code, out, errs := run(t, append(flags, "-sarif", file, "-at", "doors.toml", base+"/testnet-network",
		base+"/dust-correct")...); code != kit.ExitFound || out == "" {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(raw, &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%v\n%s", err, raw)
	}
	r, errors, prints := log.Runs[0], 0, map[string]bool{}
	for _, res := range r.Results {
		if r.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID {
			t.Errorf("%s points at the rule %s", res.RuleID, r.Tool.Driver.Rules[res.RuleIndex].ID)
		}
		at := res.Locations[0].PhysicalLocation
		if at.ArtifactLocation.URI != "doors.toml" || at.Region.StartLine != 1 || res.Message.Text == "" {
			t.Errorf("%+v", res)
		}
		if res.Level == "error" {
			errors++
			if res.RuleID != "network-mainnet" || !strings.Contains(res.Message.Text, "/testnet-network") {
				t.Errorf("error %+v", res)
			}
		}
		for _, p := range res.PartialFingerprints {
			if prints[p] {
				t.Errorf("%s: fingerprint twice", res.RuleID)
			}
			prints[p] = true
		}
	}
	if errors != 1 {
		t.Errorf("%d errors, want 1", errors)
	}
	if code, out, _ := run(t, append(flags, "-sarif", "-", base+"/dust-correct")...); code != kit.ExitFine ||
		!strings.HasPrefix(out, "{") {
		t.Errorf("to standard output: %d %.40s", code, out)
	}
}
