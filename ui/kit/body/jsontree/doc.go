// Package jsontree shows JSON of any size as a tree that folds. An index of where each
// value is (not of the values) is built in a command; only the rows near the screen are
// read. Several values in a row (NDJSON) are several trees.
package jsontree
