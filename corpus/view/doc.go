// Package view answers what a record holds about one host or one address from a file of bbolt
// (store-view/v5). A view is made from a record, signed by nobody and never published: it can be
// removed and built anew.
package view
