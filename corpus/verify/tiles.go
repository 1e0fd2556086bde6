package verify

import (
	"bytes"
	"crypto/sha256"
	"path"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// grower rebuilds the log from its leaves and compares it with its files.
type grower struct {
	t     tlog.Tower
	roots map[int64]attest.Digest // at the sizes asked for
}

func (c *checker) grow() *grower {
	g := &grower{roots: make(map[int64]attest.Digest)}
	g.t = tlog.Tower{Bundles: true, Write: func(name string, data []byte) error {
		c.same(rule.LogTile, tlog.Path(name), data)
		c.beginnings(tlog.Path(name), data)
		return nil
	}}
	return g
}

// same demands that a file holds data.
func (c *checker) same(broken rule.Rule, name string, data []byte) {
	if held, ok := c.read(name); ok && !bytes.Equal(held, data) {
		c.problem(broken, name, attest.ProblemChanged, "not what the signed record gives")
	}
}

// beginnings demands that every file of a part of a file holds the beginning of data: a log has
// those of before.
func (c *checker) beginnings(full string, data []byte) {
	whole := strings.TrimSuffix(path.Dir(full), ".p")
	if whole == path.Dir(full) {
		whole = full
	}
	for _, part := range c.partial[whole] {
		if part == full {
			continue
		}
		held, ok := c.read(part)
		want := -1
		if width, err := strconv.Atoi(path.Base(part)); err == nil && strconv.Itoa(width) == path.Base(part) &&
			width > 0 {
			want = width * sha256.Size
			if strings.Contains(part, "/entries/") {
				want = tlog.BundleLength(data, width)
			}
		}
		if ok && (want < 0 || want > len(data) || !bytes.Equal(held, data[:want])) {
			c.problem(rule.LogTile, part, attest.ProblemChanged, "not the beginning of "+full)
		}
	}
}

func (g *grower) add(entry []byte, leaf attest.Digest) error {
	if err := g.t.Add(entry, leaf); err != nil {
		return err
	}
	if _, asked := g.roots[g.t.Size]; asked {
		root, err := g.t.Root()
		g.roots[g.t.Size] = root
		return err
	}
	return nil
}

// finish compares what is not full and returns the root.
func (g *grower) finish() (attest.Digest, error) {
	if err := g.t.Flush(); err != nil {
		return attest.Digest{}, err
	}
	return g.t.Root()
}
