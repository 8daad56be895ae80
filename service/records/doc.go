// Package records looks at a result on this disk row by row, however large it is: an index of
// where rows are, kept beside the file, and on it columns, search, filters, sorting, export and
// the difference of two results.
//
// The records page of the Jobs tab and `zonedeck jobs rows` are its callers. Memory depends
// neither on the size of a file nor on what is found in it: an index has a bounded number of marks, and
// lists of rows and what is sorted are in temporary files. A File is safe for concurrent use; a
// RowList is written by one call and may be read meanwhile.
package records
