package shop

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

func TestLogKeyMustBeInForce(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "keys")
	ring, err := MakeKeys(dir, "2026-11-20")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MakeKeys(other, "2026-11-20"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		ring       attest.Ring
		want       string // in the error, "" for none
	}{
		{"its own", KeyFile(dir, attest.PurposeLog), ring, ""},
		{"the specimen's", Specimen, attest.SpecimenRing(), ""},
		{"none", "", ring, "keys.log is needed"},
		{"another store's", KeyFile(other, attest.PurposeLog), ring, "not the log key in force"},
		{"the identity", KeyFile(dir, attest.PurposeIdentity), ring, "not the log key in force"},
		{"the specimen's in a store's ring", Specimen, ring, "not the log key in force"},
	} {
		k, err := LogKey(&Config{Keys: KeysConfig{Log: c.file}}, c.ring)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error = %v, want one with %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if want, _ := c.ring.For(attest.PurposeLog); k.KID() != want.KID {
			t.Errorf("%s: key %s, want %s", c.name, k.KID(), want.KID)
		}
	}
}

func TestSpecimenKeysStayOnLoopback(t *testing.T) {
	own, err := MakeKeys(filepath.Join(t.TempDir(), "keys"), "2026-11-20")
	if err != nil {
		t.Fatal(err)
	}
	mixed := attest.Ring{Current: []attest.PublicKey{own.Identity()}}
	public, _ := attest.SpecimenRing().For(attest.PurposeLog)
	mixed.Current = append(mixed.Current, public)
	for _, c := range []struct {
		name    string
		config  Config
		ring    attest.Ring
		refused string // the key that is named
	}{
		{"identity", Config{BaseURL: "https://store.example", Keys: KeysConfig{Identity: Specimen}},
			attest.SpecimenRing(), "keys.identity"},
		{"log", Config{BaseURL: "https://store.example", Keys: KeysConfig{Log: Specimen}}, own, "keys.log"},
		{"log in the ring", Config{BaseURL: "https://store.example"}, mixed, "keys.log"},
		{"listens to all", Config{BaseURL: "http://127.0.0.1:4020", Listen: "0.0.0.0:4020",
			Keys: KeysConfig{Log: Specimen}}, own, "keys.log"},
		{"loopback", Config{BaseURL: "http://127.0.0.1:4020", Listen: "127.0.0.1:4020",
			Keys: KeysConfig{Identity: Specimen, Log: Specimen}}, attest.SpecimenRing(), ""},
	} {
		err := (&Shop{Config: c.config, Ring: c.ring}).MayServe()
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, errSpecimen) || !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: error = %v, want %s refused", c.name, err, c.refused)
		}
	}
}

func TestIdentityMustBeInForce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if _, err := MakeKeys(dir, "2026-11-20"); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[attest.Purpose]string{attest.PurposeIdentity: "",
		attest.PurposeLog: "not the identity in force", attest.PurposeGit: "not the identity in force"} {
		c := Config{Keys: KeysConfig{Identity: KeyFile(dir, p), Ring: RingFile(dir)}}
		_, serve := (&Shop{Config: c}).Keys()
		_, build := BuildInput(&c)
		for what, err := range map[string]error{"serve": serve, "build": build} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s with the %s key as identity: %v, want %q", what, p, err, want)
			}
		}
	}
}

// A store that strangers reach is kept by somebody: it does not go by the specimen's name and
// address, nor sell its texts.
func TestSpecimenNameStaysOnLoopback(t *testing.T) {
	site, err := LoadSpecimen()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base, listen, keeper, contact string
		want                          string // in the refusal; "" for none
	}{
		{"http://127.0.0.1:4020", "127.0.0.1:4020", site.Config.Keeper, site.Config.Contact, ""},
		{"https://shop.example", "127.0.0.1:4020", site.Config.Keeper, "mailto:me@shop.example", "keeper = "},
		{"https://shop.example", "", "A. Keeper", site.Config.Contact, "contact = "},
		{"http://127.0.0.1:4020", "0.0.0.0:4020", site.Config.Keeper, site.Config.Contact, "keeper = "},
		{"https://shop.example", "127.0.0.1:4020", "A. Keeper", "mailto:me@shop.example", "files still hold texts"},
	} {
		mine := *site
		mine.Config.Keeper, mine.Config.Contact = c.keeper, c.contact
		s := &Shop{Config: Config{BaseURL: c.base, Listen: c.listen}}
		err := s.MaySell(&mine)
		if c.want == "" && err != nil || c.want != "" &&
			(!errors.Is(err, errSpecimen) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s on %s: %v, want %q", c.base, c.listen, err, c.want)
		}
	}
}
