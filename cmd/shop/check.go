package shop

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"store.example/agentstore/dynamic/rail/evm"
)

// What is wrong with a configuration is said with the key, what it may be, and what to do.

// checkNetworks looks for networks that stand twice and for money that would go where nobody gets
// it back.
func (c *Config) checkNetworks() error {
	var errs []error
	seen := make(map[string]bool)
	for _, n := range c.Networks {
		if n.ID != "" && seen[n.ID] {
			errs = append(errs, fmt.Errorf("network %s stands twice: put all its rpc addresses into one [[network]] "+
				"table of that id", n.ID))
		}
		seen[n.ID] = true
		for _, known := range evm.Known {
			if strings.EqualFold(n.PayTo, known.Asset) {
				errs = append(errs, fmt.Errorf("network %s: pay_to %s is the contract of USDC on %s, where payments "+
					"would be lost: name a wallet of yours", n.ID, n.PayTo, known.Name))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// checkServer says what is wrong with the limits of the server.
func (c *Config) checkServer() error {
	var errs []error
	if level := c.Server.LogLevel; level != "" && new(slog.Level).UnmarshalText([]byte(level)) != nil {
		errs = append(errs, fmt.Errorf("server.log_level %q is none of: debug, info, warn, error", level))
	}
	if c.Server.MaxInFlight < 0 {
		errs = append(errs, errors.New("server.max_in_flight is negative: 0 takes the usual"))
	}
	if _, err := prefixes(c.Server.TrustedProxies); err != nil {
		errs = append(errs, fmt.Errorf("server.trusted_proxies: %w: name ranges such as 10.0.0.0/8", err))
	}
	return errors.Join(errs...)
}

// checkListen refuses what is no address to serve on. Empty is left to whoever serves.
func checkListen(address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is no address with a port, such as 127.0.0.1:4020", address)
	}
	return nil
}

// maxDepth is above what any network needs, and far below what a negative number reads as.
const maxDepth = 1 << 20

// checkKind says what is wrong with the keys of a network that depend on its family.
func (n NetworkConfig) checkKind() error {
	var errs []error
	if n.Depth > maxDepth || n.Finality > maxDepth {
		errs = append(errs, fmt.Errorf("network %s: depth and finality are between 0 and %d: 0 takes the known "+
			"network's", n.ID, maxDepth))
	}
	if k, err := n.kind(); err != nil {
		errs = append(errs, fmt.Errorf("network: id %q %w, such as eip155:8453 for Base", n.ID, err))
	} else {
		errs = append(errs, k.check(n))
	}
	return errors.Join(errs...)
}

var genesisForm = regexp.MustCompile(`^(any|0x[0-9a-fA-F]{64})?$`)

// checkEVM says what is wrong with keys of a network of the EVM.
func (n NetworkConfig) checkEVM() error {
	cfg, known := evm.Preset(n.ID)
	cfg.PayTo, cfg.Factories, cfg.Transfer = n.PayTo, n.Factories, n.Transfer
	faults := cfg.Faults()
	if !known {
		faults = append(faults, fmt.Errorf("the id %w, such as eip155:8453 for Base", errUnknownNetwork))
	}
	if !genesisForm.MatchString(n.GenesisHash) {
		faults = append(faults, errors.New("genesis_hash is 0x and 64 digits of hex, or any for a local chain"))
	}
	for i, err := range faults {
		faults[i] = fmt.Errorf("network %s: %w", n.ID, err)
	}
	return errors.Join(faults...)
}

// checkFolders demands that the folders that are read are there, and names the key and the path of
// one that is not.
func checkFolders(c *Config) error {
	for _, f := range []struct{ key, path string }{{"content", c.Content}, {"stock", c.Stock}} {
		if f.path == "" {
			continue
		}
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: there is no folder %s; hint: name yours in the configuration, or make a site with "+
				"store init", f.key, f.path)
		case err != nil:
			return fmt.Errorf("%s: %w", f.key, err)
		case !info.IsDir():
			return fmt.Errorf("%s: %s is no folder", f.key, f.path)
		}
	}
	return nil
}

// missingKey adds to the error of a key's file how one is made.
func missingKey(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w; hint: make keys with store key init, or name the folder where they are", key,
			err)
	}
	return fmt.Errorf("reading %s: %w; hint: store key init made the file, with mode 0600: restore it from a backup",
		key, err)
}

// unknownKeys says of each key that is not known on which line it stands, and which one may be
// meant.
func unknownKeys(file, text string, unknown []toml.Key) error {
	known := tablesOf(reflect.TypeFor[Config](), "", make(map[string][]string))
	var errs []error
	for _, key := range unknown {
		if len(key) > 1 && slices.ContainsFunc(unknown, func(k toml.Key) bool {
			return len(k) < len(key) &&
				slices.Equal(k, key[:len(k)])
		}) {
			continue // its table is not known, which is said
		}
		table, name := strings.Join(key[:len(key)-1], "."), key[len(key)-1]
		at := file
		if line := lineOfKey(text, table, name); line > 0 {
			at = fmt.Sprintf("%s:%d", file, line)
		}
		hint := "store config prints the known keys"
		if meant := Nearest(name, known[table]); meant != "" {
			hint = "do you mean " + meant + "?"
		} else {
			for _, other := range slices.Sorted(maps.Keys(known)) {
				if slices.Contains(known[other], name) {
					hint = "it belongs under [" + other + "]"
					if other == "" {
						hint = "it belongs above the first table"
					}
					break
				}
			}
		}
		errs = append(errs, fmt.Errorf("%s: unknown key %s: %s", at, key, hint))
	}
	return errors.Join(errs...)
}

// tablesOf lists the keys of each table of the configuration; that of the file itself is "".
func tablesOf(t reflect.Type, table string, into map[string][]string) map[string][]string {
	for _, f := range keysOf(t) {
		name, of := f.Tag.Get("toml"), f.Type
		into[table] = append(into[table], name)
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			tablesOf(of, name, into)
		}
	}
	return into
}

// lineOfKey finds the line on which a key of a table stands, 0 for none.
func lineOfKey(text, table, key string) int {
	now, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			now = strings.TrimSpace(strings.Trim(strings.SplitN(line, "#", 2)[0], "[] "))
			if table == "" && now == key {
				return n
			}
			continue
		}
		name, _, set := strings.Cut(line, "=")
		if set && now == table && strings.Trim(strings.TrimSpace(name), `"'`) == key {
			return n
		}
	}
	return 0
}

// Nearest is the word that a misspelt one may be, "" for none.
func Nearest(word string, words []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(word), w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or changed to get from one word to the
// other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// CheckOrigin refuses to go on with a record that was begun at another address: its origin is part
// of every leaf that was signed.
func CheckOrigin(c *Config) error {
	if c.Record == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(c.Record, "log", "checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	begun, _, _ := strings.Cut(string(b), "\n")
	now, err := RecordOrigin(c)
	if err != nil || begun == now {
		return err
	}
	return fmt.Errorf("the record in %s was begun as %q, and base_url makes it %q: the name is signed with "+
		"everything in it and cannot change. "+
		"hint: to begin a record at the new address, move the folder aside (mv %s %s.before) and run store build; "+
		"what the ledger holds is put on the new one. "+
		"If the ledger holds trials that the public record should not show, name a new ledger too. To go on with "+
		"this record, set base_url back",
		c.Record, begun, now, c.Record, c.Record)
}
