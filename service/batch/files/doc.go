// Package files keeps a batch's input and results in a folder: the items, the marks of what was sent, and for each
// worker a log of results with segments of bodies.
//
//	items.ndjson               the items as they were added, a line each
//	slices                     of each slice, where it ends in items.ndjson and the CRC-32C of its lines
//	firsts                     of each item, the number of the first of its kind plus one, or 0 if it is the first
//	marks                      of each item, how many times it was marked as sent, in one byte
//	results-WORKER.ndjson      a line for each answer
//	bodies/WORKER-NNN.seg      the bodies of these
//
// The folder appears when its planning has finished. Until then it has another name and a sign of life, and Sweep
// removes what a killed planner left. Files have mode 0600, folders 0700.
//
// service/batch calls it. A Spool serves one goroutine; Items and a Log may be used concurrently. Several processes may
// have the Items of a batch open, but a worker's log has one writer, who locks it.
package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// MaxLine limits an item and a line of results, in bytes with the line break.
const MaxLine = 1 << 20

// ErrDamaged is wrapped where a file is not as zonedeck wrote it.
var ErrDamaged = errors.New("damaged")

var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

func checkWorker(name string) error {
	if !workerName.MatchString(name) {
		return fmt.Errorf("%q cannot name a worker: it has letters, digits, - and _, at most 100", name)
	}
	return nil
}

// The folder of segments, and the names below a batch's folder, as errors say them.
const bodiesFolder = "bodies"

func resultsName(worker string) string { return "results-" + worker + ".ndjson" }

func segmentName(worker string, number int64) string {
	return filepath.Join(bodiesFolder, fmt.Sprintf("%s-%03d.seg", worker, number))
}
