package bulk

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/embed"

	"store.example/agentstore/corpus/record"
)

// database writes the database of a year. The same rows give the same bytes with the same version
// of SQLite: there is one writer, one transaction, and the rows come in the order of their leaves.
type database struct {
	rec    *record.Record
	rounds []record.Round
	conn   *sqlite3.Conn
	insert *sqlite3.Stmt
}

// createDatabase makes the tables in a new file.
func createDatabase(w *writer, p *part) (rowWriter, error) {
	abs, err := filepath.Abs(filepath.Join(w.work, p.path))
	if err != nil {
		return nil, err
	}
	// Nobody reads the file before it is whole, so that it needs no journal of its own.
	conn, err := sqlite3.Open((&url.URL{Scheme: "file", Path: filepath.ToSlash(abs),
		RawQuery: "_pragma=page_size(4096)&_pragma=journal_mode(off)&_pragma=synchronous(off)&" +
			"_pragma=locking_mode(exclusive)&_pragma=cache_size(-16384)"}).String())
	if err != nil {
		return nil, fmt.Errorf("creating the database: %w", err)
	}
	d := &database{rec: w.rec, rounds: p.rounds, conn: conn}
	statements := []string{`BEGIN IMMEDIATE`, `CREATE TABLE rows (` + declarations() + `)`}
	for _, t := range tables {
		statements = append(statements, `CREATE TABLE `+t.name+` (`+t.columns+`)`)
	}
	for _, s := range statements {
		if err := conn.Exec(s); err != nil {
			return nil, errors.Join(fmt.Errorf("creating the database: %w", err), d.close())
		}
	}
	if d.insert, _, err = conn.Prepare(`INSERT INTO rows VALUES (?` + strings.Repeat(`,?`, len(columns)-1) +
		`)`); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the database: %w", err), d.close())
	}
	return d, nil
}

// declarations are the columns of the table rows.
func declarations() string {
	var out []string
	for _, c := range columns {
		kind := "TEXT"
		if c.kind == typeInteger || c.kind == typeFlag {
			kind = "INTEGER"
		}
		switch {
		case c.name == "leaf":
			kind += " PRIMARY KEY"
		case !c.absent:
			kind += " NOT NULL"
		}
		out = append(out, c.name+" "+kind)
	}
	return strings.Join(out, ", ")
}

// add inserts one row.
func (d *database) add(_ *record.StoredRow, values []any) error {
	if err := bind(d.insert, values); err != nil {
		return fmt.Errorf("writing a row into the database: %w", err)
	}
	return nil
}

// bind carries a statement out with values of the kinds of columns.
func bind(s *sqlite3.Stmt, values []any) error {
	for i, v := range values {
		var err error
		switch v := v.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindRawText(i+1, v)
		case int64:
			err = s.BindInt64(i+1, v)
		case bool:
			err = s.BindBool(i+1, v)
		default:
			err = fmt.Errorf("no column has a %T", v)
		}
		if err != nil {
			return err
		}
	}
	return s.Exec()
}

// finish writes the tables about the record and makes indexes and views.
func (d *database) finish() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("finishing the database: %w", err)
		}
	}()
	var rows int64
	for _, r := range d.rounds {
		rows += r.Rows
		header, err := d.rec.Header(r.Sequence)
		if err != nil {
			return err
		}
		err = d.do(`INSERT INTO rounds VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, r.Sequence, r.Week, r.TakenAt,
			r.Battery, r.FirstLeaf, r.Rows,
			r.Coverage.Due, r.Coverage.Probed, r.Coverage.NotProbed, r.Roster.Capped, r.Coverage.Suspect,
			r.Control.Walks, r.Control.Failed, r.Digest.String(), string(header))
		if err != nil {
			return err
		}
	}
	// The log as of the last round, so that observations do not change the file.
	last := d.rounds[len(d.rounds)-1]
	size := last.LeavesEnd()
	root, err := d.rec.Log.Root(size)
	if err != nil {
		return err
	}
	err = d.do(`INSERT INTO record VALUES (?,?,?,?,?)`, last.Origin, int64(len(d.rounds)), rows, size, root.String())
	if err != nil {
		return err
	}
	statements := append([]string{}, indexes...)
	for _, v := range views {
		statements = append(statements, `CREATE VIEW `+v.name+` AS `+oneLine(v.query))
	}
	for _, s := range append(statements, `COMMIT`) {
		if err := d.conn.Exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (d *database) do(query string, values ...any) (err error) {
	s, _, err := d.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return bind(s, values)
}

func (d *database) close() error {
	var err error
	if d.insert != nil {
		err = d.insert.Close()
	}
	return errors.Join(err, d.conn.Close())
}
