package cmd

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	commentColumns   = 100
	statementColumns = 120
	tabColumns       = 4
	longWord         = 60 // such as a key or a token of a test
)

// TestStyleColumns holds the house style: comments wrap at 100 columns, statements end before 120.
// What a raw string, a preformatted comment or a word without a break shows is as long as it is.
func TestStyleColumns(t *testing.T) {
	c := exec.Command("git", "ls-files", "-z", "*.go")
	c.Dir, c.Stderr = "..", os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		src, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		free := shown(src)
		for i, line := range strings.Split(string(src), "\n") {
			most := statementColumns
			if text := strings.TrimLeft(line, "\t"); strings.HasPrefix(text, "//") {
				most = commentColumns
				if strings.HasPrefix(text, "//\t") || strings.HasPrefix(text, "//go:") ||
					!strings.Contains(text[2:], " ") {
					continue
				}
			}
			if n := columns(line); n > most && !free[i+1] {
				t.Errorf("%s:%d: %d columns, want at most %d", file, i+1, n, most)
			}
		}
	}
}

// shown are the lines of a file that hold what cannot be wrapped.
func shown(src []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && (text[0] == '`' || len(text) > longWord && !strings.Contains(text, " ")) {
			first := file.Line(pos)
			for n := range strings.Count(text, "\n") + 1 {
				lines[first+n] = true
			}
		}
	}
}

// columns is the width of a line, a tab being four columns.
func columns(line string) int {
	n := 0
	for _, r := range line {
		if n++; r == '\t' {
			n += (tabColumns - n%tabColumns) % tabColumns
		}
	}
	return n
}
