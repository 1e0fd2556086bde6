//go:build js

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/verify"
)

// found is what a check found, as text.
type found struct {
	Sound    bool
	Unproven bool   // not sound, while nothing is wrong: it does not show all that it has to
	Text     string // for people
	Report   string // JSON
	Head     string // the verified checkpoint of a clone, "" for none
}

// answer checks files that are in memory: one without a folder in its name as kit.Check does, and
// others as a clone. What is not even a bundle is not sound; the error is for what could not be
// read.
func answer(ctx context.Context, files map[string][]byte, o verify.CloneOptions) (found, error) {
	var name string
	var raw []byte
	for name, raw = range files {
		break
	}
	if len(files) != 1 || strings.Contains(name, "/") {
		name = "the clone"
		var err error
		if raw, err = pack(files); err != nil {
			return found{}, err
		}
	}
	report, err := kit.Check(ctx, raw, o)
	if errors.Is(err, verify.ErrBundle) {
		return found{Text: fmt.Sprintf("%s: NOT verified: %v\n", name, err), Report: "null"}, nil
	}
	if err != nil {
		return found{}, err
	}
	var text strings.Builder
	report.Print(&text, name)
	encoded, err := json.MarshalIndent(report, "", "  ")
	out := found{Sound: report.Sound(), Unproven: !report.Sound() && !report.Refused(), Text: text.String(),
		Report: string(encoded)}
	if clone, ok := report.(verify.CloneReport); ok && out.Sound && clone.Record != nil {
		out.Head = string(clone.Record.Head())
	}
	return out, err
}

// pack puts files into a zip file, which is a file system.
func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("holding %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("holding files: %w", err)
	}
	return out.Bytes(), nil
}
