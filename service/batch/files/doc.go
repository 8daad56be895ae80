// Package files keeps a batch's input and results in a folder: the items, the marks of what was sent, and for each
// worker a log of results with segments of bodies.
//
//	items.ndjson               the items as they were added, a line each
//	index                      24 bytes for each item: where its line ends, the number of the first of its kind plus one
//	                           (0 if it is that itself), CRC-32C of the line, how many times it was marked as sent
//	results-WORKER.ndjson      a line for each answer
//	bodies/WORKER-NNN.seg      the bodies of these, in records: "zdb1", SHA-256 and length of the body, CRC-32C of
//	                           everything else in the record, number of the item, body. Numbers are little-endian.
//
// The folder appears when its planning has finished. Until then it has another name and a sign of life, which its planner
// keeps until the batch is begun. Sweep removes what a killed planner left. Files have mode 0600, folders 0700.
//
// service/batch calls it. A Spool serves one goroutine; Items and a Log may be used concurrently. Several processes may
// have the Items of a batch open, but a worker's log has one writer, who locks it.
package files
