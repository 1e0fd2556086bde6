// Package hostindex answers what a record holds about one host or one address from a file of bbolt
// (store-hostindex/v1). It is made from a record, signed by nobody and never published: it can be
// removed and built anew. The signed list of a round's hosts is another one, see record.HostEntry.
package hostindex
