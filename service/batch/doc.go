// Package batch fetches one page for each row of an input: from one to a million, interrupted at will, never paid for
// twice without a word, within a cap.
//
// A batch is planned whole before anything is sent: its rows are checked, those that ask for the same are found, and all
// of it is on disk. Slices of 100 items are then work of a queue (service/work). Before an item is sent it is marked;
// what came of it is appended to the results of its worker at once, and committed several times a second. Whoever goes on
// after a kill finds results that were not committed, and the items that were sent and not answered: those are sent again
// if their method changes nothing, and said to be; the others wait for a decision.
//
// One process works on a batch at a time, and others watch it until it ends. A process may work on several beside other
// things: Begin, Watch and Stop. A Batches is safe for concurrent use.
package batch
