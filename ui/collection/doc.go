// Package collection is the overlay of the saved requests: a tree of folders, filtered by
// typing, with rename, remove and undo.
//
// It opens nothing by itself: what is picked goes to the one who opened it. The store is
// called in commands.
package collection
