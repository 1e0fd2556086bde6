// Package durable writes files whole or not at all, so that they outlive a crash, into a folder
// that one process at a time writes to. It knows nothing of what stands in them.
package durable
