//go:build !race

package till_test

// raced says that the race detector is on, which shuffles goroutines on purpose.
const raced = false
