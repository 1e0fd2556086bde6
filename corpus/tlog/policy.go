package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/rule"
)

// The limits of a policy. The specification asks for 32 of each at least.
const (
	maxPolicy      = 256 << 10 // bytes
	maxPolicyParts = 64        // logs, and as many witnesses and groups
)

// quorumNone is the name of a quorum that demands no witness.
const quorumNone = "none"

// Policy says which checkpoints somebody takes for good: those signed by one of the logs, and
// cosigned by witnesses as the quorum demands (c2sp.org/tlog-policy). Without logs the key of the
// log is known from elsewhere.
type Policy struct {
	Logs      []PolicyLog
	Witnesses []PolicyWitness
	Groups    []PolicyGroup
	Quorum    string // a witness, a group, or none
}

// PolicyLog is a log whose checkpoints are taken.
type PolicyLog struct {
	Origin string
	Public []byte // of Ed25519, or of ML-DSA-44
	URL    string // "" for none
}

func (l PolicyLog) key() noteKey { return keyOf(l.Origin, algEd25519, l.Public) }

// PolicyWitness is a witness, under the name that the policy gives to it.
type PolicyWitness struct {
	As string
	Witness
	URL string // "" for none
}

// PolicyGroup has witnessed a checkpoint when that many of its members have: witnesses, or other
// groups.
type PolicyGroup struct {
	Name    string
	Least   int
	Members []string
}

// ParsePolicy reads a policy file. The error names the line that is malformed.
func ParsePolicy(raw []byte) (Policy, error) {
	if len(raw) > maxPolicy {
		return Policy{}, fmt.Errorf("reading policy: %d bytes, and a policy has at most %d", len(raw), maxPolicy)
	}
	r := policyReader{defined: map[string]bool{}, member: map[string]bool{}}
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		if err := r.line(string(line)); err != nil {
			return Policy{}, fmt.Errorf("reading policy: line %d: %w", n, err)
		}
	}
	if r.p.Quorum == "" {
		return Policy{}, errors.New(`reading policy: it has no quorum line; "quorum none" demands no witness`)
	}
	return r.p, nil
}

// policyReader reads lines of a policy.
type policyReader struct {
	p       Policy
	defined map[string]bool // names of witnesses and groups
	member  map[string]bool // names that stand in a group
}

func (r *policyReader) line(line string) error {
	line, ended := strings.CutSuffix(line, "\n")
	if !ended {
		return errors.New("it does not end in a newline")
	}
	for i := range len(line) {
		if line[i] < ' ' && line[i] != '\t' || line[i] == 0x7f {
			return fmt.Errorf("control character %q", line[i])
		}
	}
	words := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' })
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	kinds := map[string]struct {
		least, most int // words behind the first
		read        func([]string) error
	}{
		"log":     {1, 2, r.log},
		"witness": {2, 3, r.witness},
		"group":   {3, 2 + 2*maxPolicyParts, r.group},
		"quorum":  {1, 1, r.quorum},
	}
	kind, ok := kinds[words[0]]
	if !ok {
		return fmt.Errorf("%q is none of log, witness, group and quorum", words[0])
	}
	if n := len(words) - 1; n < kind.least || n > kind.most {
		return fmt.Errorf("%d words behind %q, which takes %d to %d", n, words[0], kind.least, kind.most)
	}
	return kind.read(words[1:])
}

func (r *policyReader) log(words []string) error {
	k, err := parseKey(words[0])
	if err == nil && k.algorithm == algCosigned {
		err = errors.New("a key for cosignatures of a witness")
	}
	if err != nil {
		return fmt.Errorf("the key of the log: %w", err)
	}
	l := PolicyLog{Origin: k.name, Public: k.public, URL: strings.Join(words[1:], "")}
	if slices.ContainsFunc(r.p.Logs, func(o PolicyLog) bool { return bytes.Equal(o.Public, l.Public) }) {
		return errors.New("a log with this key stands there before")
	}
	r.p.Logs = append(r.p.Logs, l)
	return few("logs", len(r.p.Logs))
}

func (r *policyReader) witness(words []string) error {
	w, err := ParseWitness(words[1])
	if err != nil {
		return err
	}
	same := func(o PolicyWitness) bool { return bytes.Equal(o.Public, w.Public) }
	if i := slices.IndexFunc(r.p.Witnesses, same); i >= 0 {
		return fmt.Errorf("witness %q has the key of witness %q", words[0], r.p.Witnesses[i].As)
	}
	r.p.Witnesses = append(r.p.Witnesses, PolicyWitness{As: words[0], Witness: w, URL: strings.Join(words[2:], "")})
	return errors.Join(r.define(words[0]), few("witnesses", len(r.p.Witnesses)))
}

func (r *policyReader) group(words []string) error {
	g := PolicyGroup{Name: words[0], Members: words[2:]}
	switch least := words[1]; least {
	case "any":
		g.Least = 1
	case "all":
		g.Least = len(g.Members)
	default:
		n, err := strconv.Atoi(least)
		if err != nil || strconv.Itoa(n) != least || n < 1 || n > len(g.Members) {
			return fmt.Errorf("%q of %d members is neither any, all, nor from 1 to their number", least, len(g.Members))
		}
		g.Least = n
	}
	for _, m := range g.Members {
		if !r.defined[m] {
			return fmt.Errorf("member %q is no witness or group of a line before", m)
		}
		if r.member[m] {
			return fmt.Errorf("member %q is counted in a group before", m)
		}
		r.member[m] = true
	}
	r.p.Groups = append(r.p.Groups, g)
	return errors.Join(r.define(g.Name), few("groups", len(r.p.Groups)))
}

func (r *policyReader) quorum(words []string) error {
	if r.p.Quorum != "" {
		return errors.New("a second quorum")
	}
	if r.p.Quorum = words[0]; !r.defined[words[0]] && words[0] != quorumNone {
		return fmt.Errorf("quorum %q is no witness or group of a line before", words[0])
	}
	return nil
}

func (r *policyReader) define(name string) error {
	if r.defined[name] || name == quorumNone {
		return fmt.Errorf("the name %q is taken", name)
	}
	r.defined[name] = true
	return nil
}

func few(what string, n int) error {
	if n > maxPolicyParts {
		return fmt.Errorf("more than %d %s", maxPolicyParts, what)
	}
	return nil
}

// Text is the file form of the policy, without comments.
func (p Policy) Text() []byte {
	var b bytes.Buffer
	line := func(words ...string) { b.WriteString(strings.TrimRight(strings.Join(words, " "), " ") + "\n") }
	for _, l := range p.Logs {
		line("log", l.key().String(), l.URL)
	}
	for _, w := range p.Witnesses {
		line("witness", w.As, w.Key(), w.URL)
	}
	for _, g := range p.Groups {
		line(append([]string{"group", g.Name, strconv.Itoa(g.Least)}, g.Members...)...)
	}
	line("quorum", p.Quorum)
	return b.Bytes()
}

// OpenCheckpoint opens a checkpoint and demands that a log of the policy signed it under its own
// name. Raw of the result holds that signature; the lines of others, which were not looked at
// beyond their form, come beside.
func (p Policy) OpenCheckpoint(raw []byte) (c Checkpoint, others []byte, err error) {
	text, sigs, err := splitNote(raw)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	if c, err = parseCheckpoint(text); err != nil {
		return Checkpoint{}, nil, err
	}
	for _, s := range sigs {
		i := slices.IndexFunc(p.Logs, func(l PolicyLog) bool { return l.Origin == c.Origin && l.key().made(s) })
		if i < 0 {
			others = append(others, s.raw...)
			continue
		}
		if c.Raw != nil {
			return Checkpoint{}, nil, errors.New("opening checkpoint: more than one signature by the log")
		}
		if _, ok := p.Logs[i].key().verify(c, s.sig); !ok {
			return Checkpoint{}, nil, rule.CheckpointSignature.Errorf("opening checkpoint: the log's signature does " +
				"not fit")
		}
		c.Raw = []byte(text + "\n" + s.raw)
	}
	if c.Raw == nil {
		return Checkpoint{}, nil, rule.CheckpointKey.Errorf("opening checkpoint: of %s: not signed by a log that the "+
			"policy names", c.Origin)
	}
	return c, others, nil
}

// Met reports whether the quorum is met, and if it is not, by their names in the policy, the
// witnesses whose cosignatures it could still be made of. cosigned tells of a witness whether its
// cosignature was verified.
func (p Policy) Met(cosigned func(Witness) bool) (met bool, lacking []string) {
	if met, lacking = p.count(p.Quorum, cosigned); met {
		return true, nil
	}
	return false, lacking
}

func (p Policy) count(name string, cosigned func(Witness) bool) (met bool, lacking []string) {
	for _, w := range p.Witnesses {
		if w.As == name {
			if cosigned(w.Witness) {
				return true, nil
			}
			return false, []string{name}
		}
	}
	for _, g := range p.Groups {
		if g.Name != name {
			continue
		}
		n := 0
		for _, m := range g.Members {
			met, without := p.count(m, cosigned)
			if met {
				n++
			}
			lacking = append(lacking, without...)
		}
		return n >= g.Least, lacking
	}
	return name == quorumNone, nil
}
