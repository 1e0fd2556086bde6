package census

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// Folder keeps raw recordings in a private folder: in it a folder for each week, in that a file for
// each process that walked, <writer>.recordings. A file is a row of entries, each a line of JSON,
// {"host":…,"bytes":…}, and so many bytes in the form of fetch.Recording. It is only appended to;
// what a crash cut off at its end is no entry.
//
// One file for many recordings is what keeps a census fast: a file for each would cost more than
// the walk.
type Folder struct {
	root   *os.Root
	writer string

	mu   sync.Mutex // guards what follows
	week string
	file *os.File
}

// recordingsSuffix ends the names of files of recordings.
const recordingsSuffix = ".recordings"

// recordingHead is the line before a recording.
type recordingHead struct {
	Host  string `json:"host"`
	Bytes int    `json:"bytes"`
}

// OpenFolder opens a folder of recordings and makes it where there is none. writer is unique to the
// process.
func OpenFolder(dir, writer string) (*Folder, error) {
	if writer == "" || strings.ContainsAny(writer, `/\`) {
		return nil, fmt.Errorf("opening recordings: %q is no name of a writer", writer)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening recordings: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening recordings: %w", err)
	}
	return &Folder{root: root, writer: writer}, nil
}

// Close frees the folder.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.file != nil {
		err = f.file.Close()
		f.file = nil
	}
	return errors.Join(err, f.root.Close())
}

// Put implements Recordings.
func (f *Folder) Put(week string, entry Entry, _ probe.Report, recording fetch.Recording) error {
	raw, err := recording.Encode()
	if err != nil {
		return err
	}
	line, err := json.Marshal(recordingHead{entry.Host, len(raw)})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(week); err != nil {
		return err
	}
	_, err = f.file.Write(append(append(line, '\n'), raw...))
	return err
}

// open makes file the one of a week; mu is held.
func (f *Folder) open(week string) error {
	if f.file != nil && f.week == week {
		return nil
	}
	if _, err := Monday(week); err != nil {
		return err
	}
	if f.file != nil {
		if err := f.file.Close(); err != nil {
			return err
		}
		f.file = nil
	}
	if err := f.root.MkdirAll(week, 0o700); err != nil {
		return err
	}
	file, err := f.root.OpenFile(path.Join(week, f.writer+recordingsSuffix), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.week, f.file = week, file
	return nil
}

// Keep removes the recordings of all weeks but the last so many up to and with week.
func (f *Folder) Keep(weeks int, week string) error {
	monday, err := Monday(week)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for i := range weeks {
		kept[record.ISOWeek(monday.AddDate(0, 0, -7*i))] = true
	}
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return fmt.Errorf("listing recordings: %w", err)
	}
	for _, name := range names {
		if _, err := Monday(name); err != nil || kept[name] || name > week {
			continue
		}
		if err := f.root.RemoveAll(name); err != nil {
			return fmt.Errorf("removing the recordings of %s: %w", name, err)
		}
	}
	return nil
}
