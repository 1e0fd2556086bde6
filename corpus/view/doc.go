// Package view answers what a record holds about one host or one address from sorted files
// (store-view/v2), whatever their size. A view is made from a record, signed by nobody and never
// published: it can be removed and built anew.
package view
