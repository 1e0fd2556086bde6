// Package onchaintest has the tests of what is sold and paid out that need the node of a chain:
// package till's against the networks, in processes that are killed, and with stock clients. They
// share one test binary, since each that links such a node takes long to link. What shows the same
// of a till without a node, on a chain of its tests' own, stands beside the till.
package onchaintest
