package main

import (
	"go/scanner"
	"go/token"
	"strconv"
	"strings"
)

// number puts a mutant's number where %d stands.
func number(s string, n int) string { return strings.ReplaceAll(s, "%d", strconv.Itoa(n)) }

// plain is code on one line, the same however it is laid out and commented.
func plain(src []byte) string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	var b strings.Builder
	tight, comma := true, false // nothing stands between the last token and the next; a comma waits
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		closes := tok == token.RPAREN || tok == token.RBRACK || tok == token.RBRACE
		if comma && !closes {
			b.WriteString(", ")
			tight = true
		}
		if comma = tok == token.COMMA; comma {
			continue
		}
		if !tight && !closes && tok != token.LPAREN && tok != token.LBRACK && tok != token.PERIOD &&
			tok != token.SEMICOLON {
			b.WriteByte(' ')
		}
		if lit == "" {
			lit = tok.String()
		}
		b.WriteString(lit)
		tight = tok == token.LPAREN || tok == token.LBRACK || tok == token.PERIOD || tok == token.NOT
	}
}

// short is a piece of code of bounded length.
func short(s string) string {
	if r := []rune(s); len(r) > 90 {
		return string(r[:87]) + "..."
	}
	return s
}
