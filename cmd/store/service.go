package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"store.example/agentstore/cmd/shop"
)

// units are the units of systemd, as they are on a machine with the store in /var/lib/store.
//
//go:embed deploy/*.service deploy/*.timer
var units embed.FS

// The places that the units name.
const (
	unitProgram = "/usr/local/bin/store"
	unitFolder  = "/var/lib/store"
	unitUser    = "store"
)

// plainPath is what stands in a unit as it is: systemd reads blanks, quotes, % and $ as its own.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/+@:-]+$`)

// unitName is the form of the name of a user.
var unitName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,30}$`)

// runInstallService writes the units for this program and this shop, and says how they are turned
// on: it starts nothing, since that takes the keeper's word.
func runInstallService(_ context.Context, c *call) error {
	config := c.flags.String("config", "store.toml", "configuration file of the shop")
	user := c.flags.String("user", unitUser, "user that the store runs as")
	into := c.flags.String("to", "/etc/systemd/system", "folder of the units")
	dry := c.flags.Bool("dry-run", false, "print the units and write nothing")
	force := c.flags.Bool("force", false, "replace units that differ")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := filepath.Abs(*config)
	if err != nil {
		return err
	}
	if _, err := shop.Load(file); err != nil {
		return fmt.Errorf("%w; hint: -config names the file, and store init DIR makes one", err)
	}
	switch {
	case !unitName.MatchString(*user):
		return because(errUsage, "-user: %q is no name of a user: lower-case letters, digits, - and _", *user)
	case !plainPath.MatchString(program), !plainPath.MatchString(file):
		return fmt.Errorf("a unit takes paths of letters, digits and ._/+@:- only: move %s or %s", program, file)
	}
	made, err := unitsFor(program, file, *user)
	if err != nil {
		return err
	}
	if *dry {
		for _, u := range made {
			fmt.Fprintf(c.stdout, "# %s\n%s\n", filepath.Join(*into, u.name), u.text)
		}
		return nil
	}
	if err := writeUnits(*into, made, *force); err != nil {
		return err
	}
	for _, u := range made {
		fmt.Fprintln(c.stdout, filepath.Join(*into, u.name))
	}
	folder := filepath.Dir(file)
	fmt.Fprintf(c.stdout, `
Nothing runs yet. As root:

  id %[1]s || useradd --system --home-dir %[2]s --shell /usr/sbin/nologin %[1]s
  chown -R %[1]s: %[2]s
  systemctl daemon-reload
  systemctl enable --now store.service store-backup.timer
  systemctl status store.service

A store that keeps a record enables store-census.timer and store-stamp.timer too. Backups are in
%[2]s/backups; those older than two weeks are removed after a new one is written and verified.
`, *user, folder)
	return nil
}

// unitFile is one unit.
type unitFile struct {
	name string
	text []byte
}

// unitsFor are the units for a program, a configuration file and a user, by name.
func unitsFor(program, config, user string) (made []unitFile, err error) {
	folder := filepath.Dir(config)
	words := []string{unitFolder + "/store.toml", config, unitFolder, folder, unitProgram, program,
		"User=" + unitUser + "\n", "User=" + user + "\n"}
	if folder != unitFolder {
		words = append(words, "StateDirectory=store\n", "ReadWritePaths="+folder+"\n", "ProtectHome=yes\n",
			"ProtectHome=read-only\n")
	}
	replace := strings.NewReplacer(words...)
	err = fs.WalkDir(units, "deploy", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := units.ReadFile(name)
		made = append(made, unitFile{filepath.Base(name), []byte(replace.Replace(string(text)))})
		return err
	})
	return made, err
}

// writeUnits writes all or nothing where one differs from what is there.
func writeUnits(folder string, made []unitFile, force bool) error {
	var differ []string
	for _, u := range made {
		there, err := os.ReadFile(filepath.Join(folder, u.name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !bytes.Equal(there, u.text):
			differ = append(differ, u.name)
		}
	}
	if len(differ) > 0 && !force {
		return fmt.Errorf("%s holds other units of these names: %s; hint: -dry-run prints those that would be "+
			"written, -force replaces them", folder, strings.Join(differ, ", "))
	}
	for _, u := range made {
		at := filepath.Join(folder, u.name)
		if err := os.WriteFile(at+".new", u.text, 0o644); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				err = fmt.Errorf("%w; hint: run it as root, or -to names another folder", err)
			}
			return err
		}
		if err := os.Rename(at+".new", at); err != nil {
			return err
		}
	}
	return nil
}
