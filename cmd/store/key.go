package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
)

// runKey makes, lists and hands over keys. Private halves are files of mode 0600 in one folder; the
// ring beside them is their published half.
func runKey(ctx context.Context, c *call) error {
	what := c.subverb("init", "list", "handover", "tls", "walker")
	dir := c.flags.String("dir", "var/keys", "folder of the keys")
	asJSON := c.flags.Bool("json", false, "list: print JSON")
	purpose := c.flags.String("purpose", string(attest.PurposeIdentity), "handover: which key, identity or log")
	reason := c.flags.String("reason", "", "handover: why, for the public record")
	on := c.flags.String("on", time.Now().UTC().Format(time.DateOnly), "date on which the key begins to be used, UTC")
	config := c.flags.String("config", "store.toml",
		"handover of the log: configuration file, which names the record whose last head the outgoing key signs")
	host := c.flags.String("host", "", "tls: the host of base_url, such as 127.0.0.1")
	admit := c.flags.String("admit", "", "walker: public key of a walker at another place, which the ring names from "+
		"then on; nothing is made")
	retire := c.flags.String("retire", "", "walker: key id of a walker whose key the ring ends; nothing is made")
	dry := c.flags.Bool("dry-run", false, "say what would be done and do nothing")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *on); err != nil {
		return because(errUsage, "-on %q is not a date such as 2026-11-20", *on)
	}
	switch what {
	case "init":
		return keyInit(c, *dir, *on, *dry)
	case "list":
		return keyList(c, *dir, *asJSON)
	case "tls":
		return keyTLS(c, *dir, *host)
	case "walker":
		if *admit != "" || *retire != "" {
			return keyWalkers(c, *dir, walkerChange{*admit, *retire, *on}, *dry)
		}
		return keyWalker(c, *dir)
	case "handover":
		return keyHandover(ctx, c, handover{config: *config, dir: *dir, change: attest.Change{
			Purpose: attest.Purpose(*purpose), Effective: *on, Reason: *reason}}, *dry)
	}
	c.flags.Usage()
	return errUsage
}

// keyInit makes one key for each purpose, the ring and the till's secret.
func keyInit(c *call, dir, on string, dry bool) error {
	if dry {
		if err := shop.NoKeys(dir); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "would make in %s: one key each for %v, ring.json and till.secret\n", dir,
			attest.Purposes())
		return nil
	}
	ring, err := shop.MakeKeys(dir, on)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "keys made in %s; identity %s\nBack this folder up where the ledger's backup is not. "+
		"Nothing in it belongs into git.\n", dir, ring.Identity().KID)
	return nil
}

// keyWalker makes the key of a walker at another place, if it has none, and prints its public half.
func keyWalker(c *call, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, shop.WalkerKeyFile)
	key, err := keyAt(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%x\n%s is the key of a walker at another place, %s: name it here as census.key. The line "+
		"above is its public half, which the store admits by store key walker -admit and lists under "+
		"census.walkers.\n", []byte(key.Public()), file,
		key.KID())
	return nil
}

// walkerChange is a walker that is admitted or retired, by its public key or its id, from a day on.
type walkerChange struct {
	admit  string
	retire string
	on     string
}

// keyWalkers changes which walkers at other places the ring names. What was sealed stays checkable:
// no date lies in the past.
func keyWalkers(c *call, dir string, w walkerChange, dry bool) error {
	if w.admit != "" && w.retire != "" {
		return because(errUsage, "-admit and -retire are two calls")
	}
	if w.on < time.Now().UTC().Format(time.DateOnly) {
		return because(errUsage, "-on %s is past: rounds that are sealed would be judged by it", w.on)
	}
	ring, err := readRing(dir)
	if err != nil {
		return err
	}
	kid := w.retire
	if w.admit != "" {
		kid, err = shop.AdmitWalker(&ring, w.admit, w.on)
	} else {
		err = shop.RetireWalker(&ring, w.retire, w.on)
	}
	if err != nil {
		return because(errUsage, "%w", err)
	}
	if dry {
		fmt.Fprintf(c.stdout, "would write %s: %d walkers; nothing was changed\n", shop.RingFile(dir),
			len(ring.Walkers))
		return nil
	}
	if err := shop.WriteRing(dir, ring); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s names %s. The next round publishes it; restart what runs with the ring of before.\n",
		shop.RingFile(dir), kid)
	return nil
}

// keyTLS makes a certificate that vouches for itself.
func keyTLS(c *call, dir, host string) error {
	if host == "" {
		return because(errUsage, "say with -host for which host it is: the one of base_url, such as 127.0.0.1")
	}
	file, err := shop.MakeCertificate(dir, host)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s is a certificate for %s that vouches for itself, with its key beside it: for trying, "+
		"since strangers trust those of a CA. Name both in [tls], as certificate and key.\nstore buy trusts it by -ca "+
		"%s, curl by --cacert.\n", file, host, file)
	return nil
}

// keyList prints the ring.
func keyList(c *call, dir string, asJSON bool) error {
	ring, err := readRing(dir)
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(ring)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "PURPOSE\tSTATUS\tSINCE\tKEY ID\tPUBLIC KEY")
	for _, k := range ring.Current {
		fmt.Fprintf(w, "%s\tcurrent\t%s\t%s\t%s\n", k.Purpose, k.Since, k.KID, k.Public)
	}
	for _, k := range ring.Walkers {
		status := "current"
		if k.RetiredOn != "" {
			status = "until " + k.RetiredOn
		}
		fmt.Fprintf(w, "walker\t%s\t%s\t%s\t%s\n", status, k.Since, k.KID, k.Public)
	}
	for _, k := range ring.Retired {
		fmt.Fprintf(w, "%s\tretired %s\t%s\t%s\t%s\n", k.Purpose, k.RetiredOn, k.Since, k.KID, k.Public)
	}
	return w.Flush()
}

// handover is the succession of a key: the file of the configuration, the folder of keys with its
// ring and the outgoing key, and what changes.
type handover struct {
	config, dir string
	ring        attest.Ring
	old         *attest.Key
	change      attest.Change
}

// keyHandover makes a new identity or log key and has the outgoing one sign that it follows. The
// outgoing private half stays beside it, named by its key id; that of an identity is needed for
// purchases that it still has to sign. What was cut off is finished by the same call.
func keyHandover(ctx context.Context, c *call, h handover, dry bool) error {
	p := h.change.Purpose
	if h.change.Reason == "" {
		return because(errUsage, "say why with -reason: the record is public and for ever")
	}
	if p != attest.PurposeIdentity && p != attest.PurposeLog {
		return because(errUsage, "-purpose %q is neither identity nor log; a key for another purpose is replaced by "+
			"its file", p)
	}
	var err error
	if h.ring, err = readRing(h.dir); err != nil {
		return err
	}
	if h.old, err = attest.LoadKey(shop.KeyFile(h.dir, p)); err != nil {
		return err
	}
	if dry {
		return handoverDrill(c, h)
	}
	// The new key is on disk before anything names it; for the log, the record knows of the
	// handover before the folder of keys does, so that nothing that runs signs with the outgoing
	// key behind it. Whatever a crash leaves, no private half is lost, and the rings say which one
	// is in force.
	pending := shop.KeyFile(h.dir, p) + ".next"
	fresh, err := keyAt(pending)
	if err != nil {
		return fmt.Errorf("storing the new key: %w", err)
	}
	if inForce, _ := h.ring.For(p); inForce.KID != fresh.KID() {
		var next attest.Ring
		if p == attest.PurposeLog {
			next, err = shop.HandOverLog(ctx, h.config, shop.LogHandover{Ring: h.ring, Outgoing: h.old,
				Incoming: fresh.Public(),
				Change:   h.change})
		} else {
			next, err = h.ring.Handover(h.change, h.old, fresh.Public())
		}
		if err != nil {
			return err
		}
		if err := shop.WriteRing(h.dir, next); err != nil {
			return err
		}
	}
	retired := retiredFile(h.dir, p, h.old)
	if err := os.Link(shop.KeyFile(h.dir, p), retired); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(pending, shop.KeyFile(h.dir, p)); err != nil {
		return err
	}
	if p == attest.PurposeLog {
		if err := shop.CoverHandover(ctx, h.config); err != nil {
			return fmt.Errorf("the log was handed over, and the record's manifest does not know it yet: %w\nhint: "+
				"store build makes it anew", err)
		}
		fmt.Fprintf(c.stdout, "log handed over to %s\nThe next checkpoint is signed by it. What runs with the ring "+
			"of before writes nothing more: restart it.\n", fresh.KID())
		return nil
	}
	fmt.Fprintf(c.stdout, "identity handed over to %s\nAdd %q to keys.older until every purchase signed before is "+
		"delivered, then build, publish and restart.\n", fresh.KID(), retired)
	return nil
}

// handoverDrill says what a handover would change. That of an identity is tried, to a key that is
// thrown away; that of the log is signed with the head that the record has then.
func handoverDrill(c *call, h handover) error {
	p := h.change.Purpose
	pending := shop.KeyFile(h.dir, p) + ".next"
	fresh, err := attest.LoadKey(pending)
	switch {
	case err == nil:
		fmt.Fprintf(c.stdout, "would go on with a handover that was cut off, to %s, which is in %s\n", fresh.KID(),
			pending)
	case errors.Is(err, fs.ErrNotExist):
		if fresh, err = attest.Generate(rand.Reader); err != nil {
			return err
		}
	default:
		return err
	}
	more := 1
	switch inForce, _ := h.ring.For(p); {
	case inForce.KID == fresh.KID():
		more = 0 // it was cut off behind the ring
	case p == attest.PurposeLog:
		if _, err := shop.Load(h.config); err != nil {
			return fmt.Errorf("the record whose last head is signed is not known: %w\nhint: name the configuration "+
				"file with -config", err)
		}
	default:
		if _, err := h.ring.Handover(h.change, h.old, fresh.Public()); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.stdout, "would hand the %s over from %s to a new key on %s: %s\n", p, h.old.KID(),
		h.change.Effective, h.change.Reason)
	fmt.Fprintf(c.stdout, "would write %s: %d handovers, %d retired keys\n", shop.RingFile(h.dir),
		len(h.ring.Handovers)+more, len(h.ring.Retired)+more)
	fmt.Fprintf(c.stdout, "would write %s: the new key\n", shop.KeyFile(h.dir, p))
	fmt.Fprintf(c.stdout, "would write %s: the outgoing key\n", retiredFile(h.dir, p, h.old))
	if p == attest.PurposeLog {
		fmt.Fprintln(c.stdout, "would sign the record's last head by the outgoing key, and make its manifest anew")
	}
	fmt.Fprintln(c.stdout, "nothing was changed")
	return nil
}

// retiredFile is where the private half of an outgoing key is kept.
func retiredFile(dir string, p attest.Purpose, old *attest.Key) string {
	return filepath.Join(dir, string(p)+"-"+old.KID()+".pem")
}

// keyAt is the key in a file, which is made where there is none.
func keyAt(file string) (*attest.Key, error) {
	k, err := attest.LoadKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		if k, err = attest.Generate(rand.Reader); err == nil {
			err = k.Store(file)
		}
	}
	return k, err
}

func readRing(dir string) (attest.Ring, error) {
	b, err := os.ReadFile(shop.RingFile(dir))
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the key ring: %w", err)
	}
	return attest.ParseRing(b)
}
