package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// record is one line of the log: a job about to be sent, or the identifier that
// the service gave it.
type record struct {
	At       time.Time `json:"at"`
	Job      int64     `json:"job"`
	Event    string    `json:"event"` // begun or accepted
	Profile  string    `json:"profile,omitempty"`
	Dataset  string    `json:"dataset,omitempty"`
	Key      string    `json:"key,omitempty"`
	Inputs   int       `json:"inputs,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Snapshot string    `json:"snapshot,omitempty"`
	// Asked is there for a job with a name, which is in it: a name must outlive the ledger.
	Asked *model.JobAsked `json:"asked,omitempty"`
}

const (
	begun    = "begun"
	accepted = "accepted"
)

// maxRecord bounds a line of the log.
const maxRecord = 64 << 10

// logPath is the log of the ledger at path.
func logPath(path string) string { return path + ".log" }

// appendLog adds records to the log and returns the log's size. When it returns,
// they are on disk.
func appendLog(path string, records ...record) (size int64, err error) {
	var lines []byte
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return textfile.Append(path, lines)
}

// logged is what the log says about one job.
type logged struct {
	begun    record // with Job 0 if the line is missing
	snapshot string
	at       time.Time // of the acceptance
}

// readLog reads the log, and returns its size. A missing log is empty. Damaged
// lines are counted and skipped.
func readLog(path string) (jobs map[int64]logged, size int64, damaged int, err error) {
	f, err := textfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, nil
	}
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	if jobs, damaged, err = parseLog(f); err != nil {
		return nil, 0, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	size, err = f.Seek(0, io.SeekCurrent)
	return jobs, size, damaged, err
}

func parseLog(r io.Reader) (jobs map[int64]logged, damaged int, err error) {
	jobs = map[int64]logged{}
	in := bufio.NewReaderSize(r, maxRecord)
	for {
		line, tooLong, err := in.ReadLine()
		if errors.Is(err, io.EOF) {
			return jobs, damaged, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if tooLong {
			damaged++
			for tooLong {
				_, tooLong, _ = in.ReadLine() // the next read returns the error again
			}
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && !applyLine(jobs, line) {
			damaged++
		}
	}
}

// applyLine adds one line to what is known about its job.
func applyLine(jobs map[int64]logged, line []byte) bool {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Job <= 0 || r.Job > maxNumber {
		return false
	}
	entry := jobs[r.Job]
	switch {
	case r.Event == begun:
		entry.begun = r
	case r.Event == accepted && r.Snapshot != "":
		entry.snapshot, entry.at = r.Snapshot, r.At
	default:
		return false
	}
	jobs[r.Job] = entry
	return true
}
