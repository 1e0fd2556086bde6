package street

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

//go:embed rows.txt
var rowsText string

// writing is a row while it is read.
type writing struct {
	Door
	changes []func(*terms)
}

// words are what lines of rows.txt begin with: each gives the row what the rest of the line says.
var words = map[string]func(w *writing, rest string){
	"ready": func(w *writing, rest string) {
		level, advisories, _ := strings.Cut(rest, ": ")
		w.Want = ready(level, list(advisories)...)
	},
	"fails": func(w *writing, rest string) {
		checks, advisories, _ := strings.Cut(rest, ": ")
		w.Want = fails(list(checks)[0], list(checks)[1:], list(advisories)...)
	},
	"unasked": func(w *writing, rest string) {
		fault, advisories, _ := strings.Cut(rest, ": ")
		failed := []string{"status-402"}
		w.Want = Want{V1: probe.NotReady, V2: probe.NotReady, FailedV1: failed, FailedV2: failed, Level: "L1",
			Fault: probe.Fault(fault), Advisories: list(advisories)}
	},
	"unreachable": func(w *writing, rest string) {
		stage, fault, _ := strings.Cut(rest, " ")
		failed := []string{"reachable"}
		w.Want = Want{V1: probe.Unreachable, V2: probe.Unreachable, FailedV1: failed, FailedV2: failed, Level: "L0",
			Fault: probe.Fault(fault), Stage: stage}
	},
	"unresolved": func(w *writing, _ string) {
		w.Want = Want{V1: probe.MethodUnresolved, V2: probe.MethodUnresolved, Level: "L1",
			Fault: probe.FaultInstrument}
	},
	"refused": func(w *writing, _ string) { w.Want = Want{Refused: fetch.CodeTarget} },

	"v1": func(w *writing, rest string) {
		verdict, failed, _ := strings.Cut(rest, " ")
		w.Want.V1, w.Want.FailedV1 = probe.Verdict(verdict), list(failed)
	},
	"v2": func(w *writing, rest string) {
		verdict, failed, _ := strings.Cut(rest, " ")
		w.Want.V2, w.Want.FailedV2 = probe.Verdict(verdict), list(failed)
	},
	"level":     func(w *writing, rest string) { w.Want.Level = rest },
	"fault":     func(w *writing, rest string) { w.Want.Fault = probe.Fault(rest) },
	"stage":     func(w *writing, rest string) { w.Want.Stage = rest },
	"protocols": func(w *writing, rest string) { w.Want.Protocols = list(rest) },

	"host":     func(w *writing, rest string) { w.Host = rest },
	"spelled":  func(w *writing, rest string) { w.Spelled = rest },
	"declares": func(w *writing, rest string) { w.Declares = rest },
	"slow":     func(w *writing, _ string) { w.Slow = true },
	"plain":    func(w *writing, _ string) { w.Plain = true },

	"set": func(w *writing, rest string) {
		path, value, _ := strings.Cut(rest, " ")
		w.changes = append(w.changes, func(t *terms) { put(t.at(path), path, parsed(value)) })
	},
	"token": func(w *writing, rest string) {
		w.changes = append(w.changes, func(t *terms) { t.accepts = []any{entry(usdc(rest), "10000")} })
	},
	"behind": func(w *writing, rest string) {
		w.changes = append(w.changes, func(t *terms) { t.accepts = append(t.accepts, another(rest)) })
	},
	"before": func(w *writing, rest string) {
		w.changes = append(w.changes, func(t *terms) { t.accepts = append([]any{another(rest)}, t.accepts...) })
	},
	"offer": func(w *writing, rest string) {
		w.changes = append(w.changes, func(t *terms) {
			t.offers = func(offers []any) any {
				maps.Copy(offers[0].(object), parsed(rest).(object))
				return offers
			}
		})
	},
	"unsigned": func(w *writing, _ string) {
		w.changes = append(w.changes, func(t *terms) { t.unsigned = true })
	},
	"header": func(w *writing, rest string) {
		name, value, _ := strings.Cut(rest, ": ")
		w.changes = append(w.changes, func(t *terms) { t.header.Set(name, value) })
	},

	"text": func(w *writing, rest string) {
		if w.serve = text(); rest != "" {
			w.serve = text(parsed(rest).(string))
		}
	},
	"encoded": func(w *writing, rest string) { w.serve = text(base64.StdEncoding.EncodeToString([]byte(rest))) },
	"answer":  func(w *writing, rest string) { w.serve = status(rest) },
	"posts": func(w *writing, rest string) {
		refuse := status(rest)
		w.serve = func(v *visit) {
			if v.Method != http.MethodPost {
				refuse(v)
				return
			}
			sells(w.changes...)(v)
		}
	},
	"lacks": func(w *writing, rest string) {
		other, lacking := status("405 Allow: POST"), status(rest)
		w.serve = func(v *visit) {
			if v.Method == http.MethodPost {
				lacking(v)
			} else {
				other(v)
			}
		}
	},
	"file": func(w *writing, rest string) {
		at, content, _ := strings.Cut(rest, " ")
		w.beside = beside(at, func(v *visit) { v.json(http.StatusOK, parsed(content)) })
	},
	"slash": func(w *writing, _ string) { w.beside = beside("/"+path+"/", sells()) },
	"asks": func(w *writing, rest string) {
		w.serve = func(v *visit) {
			v.ResponseWriter.Header().Set("Www-Authenticate", rest)
			v.json(http.StatusPaymentRequired, object{"error": "Payment required"})
		}
	},
	"mpp": func(w *writing, rest string) {
		name, value, changed := strings.Cut(rest, " ")
		w.serve = mpp(func(p *mppParams) {
			if changed {
				put(p.request, name, parsed(value))
			}
		})
	},
	"say":         func(w *writing, rest string) { w.conn = say(parsed(rest).(string)) },
	"certificate": func(w *writing, rest string) { w.cert = certFault(slices.Index(certFaults, rest)) },
	"resolves": func(w *writing, rest string) {
		w.lookup = func(context.Context) (out []netip.Addr, _ error) {
			for _, a := range list(rest) {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
	},
}

// list are words with a space between them.
func list(words string) []string {
	if words == "" {
		return nil
	}
	return strings.Fields(words)
}

// parsed is a value of JSON.
func parsed(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err) // the rows' own literals
	}
	return v
}

// put gives an object the member that a path ends with, or takes it away for nil.
func put(in object, path string, value any) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if in[name] = value; value == nil {
		delete(in, name)
	}
}

// at is the object that has the member at a path: of the first way to pay below accept, of the
// extensions, or of what stands beside them.
func (t *terms) at(path string) object {
	names := strings.Split(path, ".")
	in := t.top
	switch names[0] {
	case "accept":
		in, names = t.first(), names[1:]
	case "extensions":
		in, names = t.ext, names[1:]
	}
	for ; len(names) > 1; names = names[1:] {
		in = in[names[0]].(object)
	}
	return in
}

// usdc is that of a network.
func usdc(network string) networks.Token {
	all := networks.Tokens()
	return all[slices.IndexFunc(all, func(a networks.Token) bool { return a.Network == network && a.Symbol == "USDC" })]
}

// another is a further way to pay, with some members of its own.
func another(text string) object {
	e := entry(networks.Tokens()[0], "10000")
	for name, value := range parsed(text).(object) {
		put(e, name, value)
	}
	return e
}

// beside serves one path beside a door.
func beside(at string, serve func(*visit)) func(*visit) bool {
	return func(v *visit) bool {
		if v.URL.Path != at {
			return false
		}
		serve(v)
		return true
	}
}

// status is a door that answers with another status, and header fields with bars between them.
func status(line string) func(*visit) {
	number, header, _ := strings.Cut(line, " ")
	code, err := strconv.Atoi(number)
	if err != nil {
		panic(err) // the rows' own literals
	}
	return func(v *visit) {
		for field := range strings.SplitSeq(header, " | ") {
			if name, value, set := strings.Cut(field, ": "); set {
				v.ResponseWriter.Header().Set(name, value)
			}
		}
		v.json(code, object{"status": code})
	}
}

// written are the rows of rows.txt, in its order.
func written() []Door {
	changed, served := changedRows(), servedRows()
	var all []writing
	for line := range strings.Lines(rowsText) {
		line = strings.TrimSuffix(line, "\n")
		what, below := strings.CutPrefix(line, "\t")
		if line == "" || line[0] == '#' {
			continue
		}
		if !below {
			name, doc, _ := strings.Cut(line, ": ")
			all = append(all, writing{Name: name, Doc: doc})
			continue
		}
		word, rest, _ := strings.Cut(what, " ")
		means := words[word]
		if means == nil {
			panic("no word of rows.txt: " + word)
		}
		means(&all[len(all)-1], rest)
	}
	var out []Door
	for _, w := range all {
		if change := changed[w.Name]; change != nil {
			w.changes = append(w.changes, change)
		}
		if serve := served[w.Name]; serve != nil {
			serve(&w.Door)
		}
		delete(changed, w.Name)
		delete(served, w.Name)
		if w.serve == nil && w.conn == nil && w.wire == nil && w.lookup == nil && w.dial == nil && w.cert == certGood {
			w.serve = sells(w.changes...)
		}
		out = append(out, w.Door)
	}
	if len(changed)+len(served) > 0 {
		panic(fmt.Sprint("rows.txt does not name all of ", slices.Collect(maps.Keys(changed)),
			slices.Collect(maps.Keys(served))))
	}
	return out
}
