// Package durable writes files whole or not at all, so that they outlive a crash, into a folder
// that one process at a time writes to. It knows nothing of what stands in them.
//
// Lock and TryLock take the operating system's lock of an open file, which ends with the file or
// with its process, however that dies. Programs that ask for the lock are kept apart by it; others
// may
// read and write the file as they like.
package durable
