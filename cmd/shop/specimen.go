package shop

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator"
)

// errSpecimen refuses to sell what is public.
var errSpecimen = errors.New("this would sell with the specimen's keys, texts or name to strangers")

// Local reports whether a configuration is for this machine alone.
func Local(c *Config) (bool, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return false, err
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if c.Listen != "" && err != nil {
		return false, fmt.Errorf("listen = %q: %w; want an address and a port, such as 127.0.0.1:4020", c.Listen, err)
	}
	return Loopback(u.Hostname()) && (c.Listen == "" || Loopback(host)), nil
}

// MayServe refuses the specimen's keys, and the example's address to be paid at, on anything but a
// loopback address. A specimen key is known
// by itself, under whatever name of a file it came.
func (s *Shop) MayServe() error {
	if here, err := Local(&s.Config); err != nil || here {
		return err
	}
	if s.Config.Keys.Log == Specimen {
		return fmt.Errorf("%w: keys.log is the specimen key, whose private half is public; make your own with store "+
			"key init", errSpecimen)
	}
	if s.Config.Keys.Webhook == Specimen {
		return fmt.Errorf("%w: keys.webhook is the specimen key, whose private half is public; make your own with "+
			"store key init", errSpecimen)
	}
	for _, k := range s.Ring.Current {
		if attest.IsSpecimen(ed25519.PublicKey(k.Public)) {
			return fmt.Errorf("%w: keys.%s is the specimen key, whose private half is public; make your own with "+
				"store key init", errSpecimen, k.Purpose)
		}
	}
	return s.paysSomebody()
}

// MaySell refuses the specimen's texts, and its keeper and address, on anything but a loopback
// address.
func (s *Shop) MaySell(site *content.Site) error {
	if here, err := Local(&s.Config); err != nil || here {
		return err
	}
	specimen, err := LoadSpecimen()
	if err != nil {
		return err
	}
	empty, err := generator.LoadEmpty()
	if err != nil {
		return err
	}
	if err := ownName(site, specimen, empty); err != nil {
		return err
	}
	if borrowed := site.Borrowed(specimen, empty); len(borrowed) > 0 {
		return fmt.Errorf("%w: these files still hold texts that came with the program: %s; write your own there, or "+
			"delete them, then run store build", errSpecimen, strings.Join(borrowed, ", "))
	}
	return nil
}

// ownName refuses a site that still has the keeper or the address of one that came with the
// program: whoever has a question or found a hole would write to nobody.
func ownName(site *content.Site, from ...*content.Site) error {
	var left []string
	for _, other := range from {
		if site.Config.Keeper == other.Config.Keeper {
			left = append(left, fmt.Sprintf("keeper = %q", site.Config.Keeper))
		}
		if site.Config.Contact == other.Config.Contact {
			left = append(left, fmt.Sprintf("contact = %q", site.Config.Contact))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: site.toml still has the program's own %s; write your own there, then run store build",
			errSpecimen, strings.Join(left, " and "))
	}
	return nil
}
