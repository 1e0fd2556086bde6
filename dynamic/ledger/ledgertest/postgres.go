package ledgertest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the connection string of a fresh, empty database on a real
// PostgreSQL, which is dropped when the test ends. The server is the one that
// $TEST_POSTGRES_DSN names, or else a throwaway one that is started once per
// test process, with initdb and postgres from PATH or
// /usr/lib/postgresql/*/bin, on a unix socket in a temporary directory; it ends
// with the process, however that ends. It is as durable as a real one, so a
// ledger opens on it without further options. The string is a URL,
// postgres://…, unless $TEST_POSTGRES_DSN is not.
//
// Without either the test is skipped, but where $CI is set it fails.
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv("TEST_POSTGRES_DSN")
	if server == "" {
		own, err := throwaway()
		switch {
		case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "":
			t.Skip(err)
		case err != nil:
			t.Fatal(err)
		}
		server = own.dsn
	}
	name := "ledger_" + strings.ToLower(rand.Text())
	onServer(t, server, "create database "+name)
	t.Cleanup(func() { onServer(t, server, "drop database "+name+" with (force)") })
	dsn, err := withDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func onServer(t testing.TB, dsn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("connecting to PostgreSQL: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// withDatabase puts another database into a connection string of either form.
func withDatabase(dsn, name string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("parsing a connection string: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// postgresBin returns the directory of the newest PostgreSQL programs.
func postgresBin() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if _, err := exec.LookPath("postgres"); err == nil {
			// Debian's names in PATH may be links into the real directory.
			if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
				return filepath.Dir(initdb), nil
			}
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no PostgreSQL: neither initdb nor $TEST_POSTGRES_DSN (%w)", exec.ErrNotFound)
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	return filepath.Dir(found[len(found)-1]), nil
}

// A postgresServer is a server of our own. It lives for as long as alive is open.
type postgresServer struct {
	dsn   string
	alive io.Closer
}

// throwaway starts the server of this test process, once.
var throwaway = sync.OnceValues(startPostgres)

// runPostgres starts a server, says so, waits until its standard input ends,
// which it does when the test process ends by whatever means, and then stops
// the server and removes its files.
const runPostgres = `trap '' INT HUP TERM
if "$1/pg_ctl" -D "$2/data" -l "$2/log" -w -t 300 -o "-k '$2' -h ''" start >/dev/null 2>&1
then echo ready; cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
else cat "$2/log"
fi
cd / && rm -rf "$2"`

// startPostgres makes a cluster in a temporary directory and starts a server on
// its socket there.
func startPostgres() (*postgresServer, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ledgertest-")
	if err != nil {
		return nil, err
	}
	as := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		// PostgreSQL refuses to run as root.
		const nobody = 65534
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	config, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = config.WriteString("max_connections = 200\n")
	if err := errors.Join(err, config.Close()); err != nil {
		return nil, err
	}
	shell := exec.Command("/bin/sh", "-c", runPostgres, "sh", bin, dir)
	shell.Dir, shell.SysProcAttr = dir, as
	alive, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if line != "ready\n" {
		rest, _ := io.ReadAll(said)
		return nil, fmt.Errorf("starting postgres: %v\n%s%s", err, line, rest)
	}
	return &postgresServer{dsn: "postgres://postgres@/postgres?host=" + url.QueryEscape(dir), alive: alive}, nil
}
