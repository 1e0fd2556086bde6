package census

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// A walker at another place walks the same closed roster in the same week, so that a fault of the
// path to a door is told from one of the door. Two files go between the two places, whichever way
// they are carried:
//
//	<week>-<kid>.roster   the store's commission for one walker's key, and the doors of the roster
//	<week>-<kid>.seen     that commission, the walker's statement, and all that it judged by
//
// Both are lines of canonical JSON. The commission is signed by the store's identity for one key,
// one week and one roster, so a key that nobody commissioned says nothing, and a file of last week
// is of last week. The statement is signed by the walker. Nothing in the second file is believed:
// each verdict is reached again from what it was judged by.

const (
	// VantageRosterFormat names the format of a Commission, VantageFormat that of a statement.
	VantageRosterFormat = "store-vantage-roster/v1"
	VantageFormat       = "store-vantage/v1"

	// MaxVantages is how many walkers at other places a row has room for.
	MaxVantages = 4

	// maxHandedHead bounds a line that is signed, and maxHandedDoor one of a door.
	maxHandedHead = 16 << 10
	maxHandedDoor = 8 << 10
	// maxSeen bounds what a walk elsewhere was judged by: a longer one is not handed over, so that
	// no walker can make a week's packs too large for what others were judged by.
	maxSeen = 16 << 10
	// maxSeenLine is a line with so much in base64.
	maxSeenLine = maxSeen*4/3 + 1<<10
)

// Vantages say who walks from other places, and where what they are handed and hand over lies.
type Vantages struct {
	Dir      string              // a private folder
	Walkers  []ed25519.PublicKey // at most MaxVantages
	Origin   string              // of the record
	Ring     attest.Ring         // holds the key that commissioned
	Identity *attest.Key         // signs commissions; nil on a machine that hands out none
}

// Commission is the store's order to one walker: which roster to walk, with which battery, and
// which door shows that the walker's own path is whole.
type Commission struct {
	Format       string        `json:"format"` // VantageRosterFormat
	Origin       string        `json:"origin"`
	Week         string        `json:"week"`
	RosterDigest attest.Digest `json:"roster_digest"`
	Hosts        int64         `json:"hosts"`
	Doors        attest.Digest `json:"doors"` // SHA-256 over the lines of the doors
	Battery      string        `json:"battery"`
	Control      string        `json:"control"` // URL of the control door
	Walker       attest.Hex    `json:"walker"`  // public key
	KID          string        `json:"kid"`     // of the identity
	Signature    attest.Hex    `json:"signature,omitzero"`
}

// handedDoor is a line of a roster that is handed out.
type handedDoor struct {
	Host   string `json:"host"`
	URL    string `json:"url"`
	Method string `json:"method,omitzero"`
	By     string `json:"by,omitzero"`
}

// statement is what a walker says of all that it saw.
type statement struct {
	Format     string        `json:"format"`     // VantageFormat
	Commission attest.Digest `json:"commission"` // SHA-256 of the commission's line
	Controls   int64         `json:"controls"`
	Walks      int64         `json:"walks"`
	Seen       attest.Digest `json:"seen"` // see seenHash
	KID        string        `json:"kid"`  // of the walker
	Signature  attest.Hex    `json:"signature,omitzero"`
}

// seenLine is one walk: of the control door where it has no host.
type seenLine struct {
	Host      string `json:"host,omitzero"`
	Verdict   string `json:"verdict,omitzero"`
	Judgement []byte `json:"judgement"`
}

// payload is what is signed of a commission.
func (c Commission) payload() ([]byte, error) {
	c.Signature = nil
	return attest.Canonical(c)
}

func (s statement) payload() ([]byte, error) {
	s.Signature = nil
	return attest.Canonical(s)
}

// seenHash takes the digest of what was seen: of each line the host, the verdict and the digest of
// what it was judged by, so that it commits to all of the file.
type seenHash struct{ hash.Hash }

func (h seenHash) add(l seenLine) {
	fmt.Fprintf(h, "%s %s %s\n", l.Host, l.Verdict, digestOf(l.Judgement))
}

func (h seenHash) sum() attest.Digest { return attest.Digest(h.Sum(nil)) }

func digestOf(raw []byte) string { return attest.Digest(sha256.Sum256(raw)).String() }

// file names what goes to or comes from a walker.
func (v *Vantages) file(week string, walker ed25519.PublicKey, suffix string) string {
	return week + "-" + attest.KID(walker) + suffix
}

func (v *Vantages) check() error {
	if len(v.Walkers) > MaxVantages {
		return fmt.Errorf("%d walkers at other places, where a row has room for %d", len(v.Walkers), MaxVantages)
	}
	known := map[string]bool{}
	for _, k := range v.Walkers {
		if len(k) != ed25519.PublicKeySize || known[string(k)] {
			return fmt.Errorf("walker %x is named twice, or is no public key of 32 bytes", k)
		}
		known[string(k)] = true
		if signer, ours := v.Ring.ByPublic(k); ours {
			return fmt.Errorf("walker %x is the store's own %s key: a walker at another place has one of its own", k,
				signer.Purpose)
		}
	}
	return nil
}

// handOut writes the roster of a week for each walker at another place. It may be called again.
func (r *run) handOut(w Week, all []Known) error {
	v := r.Vantages
	switch {
	case v == nil || len(v.Walkers) == 0:
		return nil
	case r.Control.URL == "":
		r.Log.Error("no roster is handed to walkers elsewhere: without a control door nothing that they see counts; "+
			"name one of your own as census.control", "week", r.Week)
		return nil
	case v.Identity == nil:
		r.Log.Error("no roster is handed to walkers elsewhere: this process does not hold the identity that "+
			"commissions them; let the one that does begin the week", "week", r.Week)
		return nil
	}
	var doors bytes.Buffer
	for _, k := range all {
		line, err := attest.Canonical(handedDoor{Host: k.Host, URL: k.Entry.URL, Method: k.Entry.Declared.Method,
			By: k.Entry.Declared.By})
		if err != nil || len(line) > maxHandedDoor {
			return fmt.Errorf("handing out the roster of %s: the door of %.253q in %d bytes: %w", r.Week, k.Host,
				len(line), err)
		}
		doors.Write(append(line, '\n'))
	}
	c := Commission{Format: VantageRosterFormat, Origin: v.Origin, Week: r.Week,
		RosterDigest: w.Closed.Digest, Hosts: w.Closed.Hosts, Doors: sha256.Sum256(doors.Bytes()),
		Battery: probe.Current(), Control: r.Control.URL, KID: v.Identity.KID()}
	if err := os.MkdirAll(v.Dir, 0o700); err != nil {
		return fmt.Errorf("handing out the roster of %s: %w", r.Week, err)
	}
	root, err := os.OpenRoot(v.Dir)
	if err != nil {
		return fmt.Errorf("handing out the roster of %s: %w", r.Week, err)
	}
	for _, walker := range v.Walkers {
		c.Walker = attest.Hex(walker)
		line, fault := signed(&c, v.Identity)
		if fault == nil {
			fault = putWhole(root, v.file(r.Week, walker, ".roster"), line, doors.Bytes())
		}
		err = errors.Join(err, fault)
	}
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("handing out the roster of %s: %w", r.Week, err)
	}
	return nil
}

// signed signs a commission and returns its line.
func signed(c *Commission, key *attest.Key) ([]byte, error) {
	payload, err := c.payload()
	if err != nil {
		return nil, err
	}
	c.Signature = key.Sign(payload)
	line, err := attest.Canonical(*c)
	return append(line, '\n'), err
}

// putWhole writes a file that is there whole or not at all.
func putWhole(root *os.Root, name string, parts ...[]byte) error {
	if err := root.WriteFile(name+".new", bytes.Join(parts, nil), 0o600); err != nil {
		return err
	}
	return root.Rename(name+".new", name)
}

// readCommission reads the first line of either file and demands that the store signed it.
func readCommission(in *bufio.Reader, ring attest.Ring) (c Commission, digest attest.Digest, err error) {
	line, err := readLine(in, maxHandedHead)
	if err == nil {
		err = attest.ParseCanonical(line, &c)
	}
	if err == nil && c.Format != VantageRosterFormat {
		err = fmt.Errorf("its format is %.80q", c.Format)
	}
	if err != nil {
		return c, digest, fmt.Errorf("reading the commission: %w", err)
	}
	signer, known := ring.ByKID(c.KID)
	payload, err := c.payload()
	if err != nil || !known || signer.Purpose != attest.PurposeIdentity ||
		!attest.Verify(ed25519.PublicKey(signer.Public), payload, c.Signature) {
		return c, digest, errors.Join(errors.New("reading the commission: it is not signed by an identity of the "+
			"store's ring: take the file from the store anew, and its ring.json with it"), err)
	}
	return c, sha256.Sum256(line), nil
}

// readLine returns the next line without its newline. What is longer is not read to its end.
func readLine(in *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most+1 {
			return nil, fmt.Errorf("a line of more than %d bytes", most)
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, errors.New("it is cut off")
		case err != nil:
			return nil, err
		default:
			return line[:len(line)-1], nil
		}
	}
}

// VantageRoster is what a walker at another place was handed.
type VantageRoster struct {
	Commission
	line    attest.Digest // of the commission
	raw     []byte        // the commission's line
	entries []Entry
}

// ReadVantageRoster reads a roster that was handed out, and demands that it is whole, of the
// store's closed roster, and signed by the store.
func ReadVantageRoster(from io.Reader, ring attest.Ring) (*VantageRoster, error) {
	in := bufio.NewReader(from)
	c, digest, err := readCommission(in, ring)
	if err != nil {
		return nil, fmt.Errorf("reading a roster: %w", err)
	}
	v := &VantageRoster{Commission: c, line: digest}
	if v.raw, err = attest.Canonical(c); err != nil {
		return nil, err
	}
	hosts, doors := record.NewRosterHash(c.Week), sha256.New()
	for int64(len(v.entries)) < c.Hosts {
		line, err := readLine(in, maxHandedDoor)
		var d handedDoor
		if err == nil {
			err = attest.ParseCanonical(line, &d)
		}
		if err == nil {
			err = hosts.Add(d.Host)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a roster: door %d: %w", len(v.entries)+1, err)
		}
		doors.Write(append(line, '\n'))
		v.entries = append(v.entries, Entry{Host: d.Host, URL: d.URL, Source: record.SourceList,
			Declared: probe.Declaration{Method: d.Method, By: d.By}})
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading a roster: something stands behind its last door")
	}
	if _, sum := hosts.Sum(); sum != c.RosterDigest || attest.Digest(doors.Sum(nil)) != c.Doors {
		return nil, errors.New("reading a roster: its doors are not those that the store signed: take it from there " +
			"anew")
	}
	return v, nil
}
