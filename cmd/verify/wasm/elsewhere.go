//go:build !js

package main

import (
	"fmt"
	"os"
)

// main says where this program runs.
func main() {
	fmt.Fprintln(os.Stderr, "wasm: this is the verifier for browsers, made with GOOS=js GOARCH=wasm; the one for a "+
		"command line is cmd/verify")
	os.Exit(2)
}
