package files

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// Line is a line of results.
type Line struct {
	N          int64    `json:"n"`               // number of the item
	Round      int      `json:"round,omitempty"` // how often items of some classes were sent again before: of an item's lines that of the last round holds
	URL        string   `json:"url"`
	Class      string   `json:"class"`
	Cause      string   `json:"cause"`
	Status     int      `json:"status"`
	MS         int64    `json:"ms"`
	Bytes      int64    `json:"bytes"`
	Cost       *float64 `json:"cost,omitempty"` // dollars; nil without a rate
	Attempts   int      `json:"attempts"`
	FirstClass string   `json:"first_class,omitempty"` // of the first try, if it is another
	SHA256     string   `json:"sha256,omitempty"`      // of the body, in hex; empty without one
	BodyAt     *BodyAt  `json:"body_at,omitempty"`
	Missing    []string `json:"missing,omitempty"` // required fields that were not there
	Rule       string   `json:"rule"`
	Zone       string   `json:"zone"`              // that answered
	ByRule     int      `json:"by_rule,omitempty"` // the rule that led to this zone, from 1
	Summary    string   `json:"summary"`
	Error      string   `json:"error,omitempty"`
}

// BodyAt says where a body is stored: at which byte of which segment its record begins, and the length of the body.
type BodyAt struct {
	Worker  string `json:"worker"`
	Segment int64  `json:"segment"`
	Offset  int64  `json:"offset"`
	Length  int64  `json:"length"`
}

func (at BodyAt) end() int64 { return at.Offset + recordHead + at.Length }

// possible reports whether a record can be there.
func (at BodyAt) possible() bool {
	return at.Segment > 0 && at.Offset >= 0 && at.Offset <= maxSegment && at.Length > 0 && at.Length <= maxSegment
}

const (
	maxSegment   = 256 << 20 // a body with its record must fit into one
	magic        = "zdb1"
	recordCRC    = len(magic) + sha256.Size + 8 // where the CRC-32C of a record stands
	recordHead   = int64(recordCRC + 4 + 8)
	bodiesFolder = "bodies"
)

// appendRecord appends the record of a body to b, which is empty.
func appendRecord(b []byte, n int64, digest [sha256.Size]byte, body []byte) []byte {
	b = append(append(b, magic...), digest[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	b = binary.LittleEndian.AppendUint64(append(b, 0, 0, 0, 0), uint64(n))
	b = append(b, body...)
	binary.LittleEndian.PutUint32(b[recordCRC:], castagnoli(b))
	return b
}

var workerName = model.Pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

func checkWorker(name string) error {
	if !workerName().MatchString(name) {
		return fmt.Errorf("%q cannot name a worker: it has letters, digits, - and _, at most 100", name)
	}
	return nil
}

func resultsName(worker string) string { return "results-" + worker + ".ndjson" }

func segmentName(worker string, number int64) string {
	return filepath.Join(bodiesFolder, fmt.Sprintf("%s-%03d.seg", worker, number))
}

// lastSegment is the number of a worker's last segment, 0 without one.
func lastSegment(dir, worker string) (last int64, err error) {
	for err == nil {
		last++
		_, err = os.Lstat(filepath.Join(dir, segmentName(worker, last)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return last - 1, err
}

// Length says how long a worker's files are.
type Length struct{ Lines, Segment, Bytes int64 } // bytes of results; number of the last segment, 0 without one; its bytes

// rememberedBodies is how many bodies of the present segment are found again if they come again.
const rememberedBodies = 1 << 14

// Log is what one worker appends to its results.
type Log struct {
	dir, worker  string
	syncing      sync.Mutex // held by Sync, which takes mu after it
	mu           sync.Mutex
	lines        *textfile.Partial
	segment      *os.File
	full         []*os.File // earlier segments that are not synced yet
	at           Length
	offsets      map[[sha256.Size]byte]int64 // of records in the present segment
	text         []byte
	record       []byte
	segmentLimit int64
	err          error // why nothing can be appended any more
}

// OpenLog opens the results of a worker, or begins them. They are locked as long as the log is open: if another process
// has them, the error wraps textfile.ErrLocked. The results of a worker that died need Tail first.
func OpenLog(dir, worker string) (*Log, error) {
	if err := checkWorker(worker); err != nil {
		return nil, err
	}
	l := &Log{dir: dir, worker: worker, offsets: map[[sha256.Size]byte]int64{}, segmentLimit: maxSegment}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("opening %s: %w", resultsName(worker), errors.Join(err, l.Close()))
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if err := os.MkdirAll(filepath.Join(l.dir, bodiesFolder), 0o700); err != nil {
		return err
	}
	if l.lines, err = textfile.OpenPartial(filepath.Join(l.dir, resultsName(l.worker))); err != nil {
		return err
	}
	if l.at.Lines, err = sizeOf(l.lines.File); err != nil {
		return err
	}
	last := []byte{'\n'}
	if _, err := l.lines.ReadAt(last, max(0, l.at.Lines-1)); l.at.Lines > 0 && (err != nil || last[0] != '\n') {
		return errors.Join(err, errors.New("its last line is cut short: recover what the worker left first"))
	}
	if l.at.Segment, err = lastSegment(l.dir, l.worker); err == nil && l.at.Segment > 0 {
		if l.segment, err = os.OpenFile(filepath.Join(l.dir, segmentName(l.worker, l.at.Segment)), os.O_RDWR, 0); err == nil {
			l.at.Bytes, err = sizeOf(l.segment)
		}
	}
	return errors.Join(err, l.checkRoom(), textfile.SyncFolder(l.dir))
}

// room is what must find a place before a log is open, in bytes: a full disk is not to show by answers that are paid for.
const room = 1 << 20

func (l *Log) checkRoom() error {
	path := filepath.Join(l.dir, bodiesFolder, l.worker+".room")
	return errors.Join(os.WriteFile(path, make([]byte, room), 0o600), os.Remove(path))
}

func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Append adds a result, and its body unless that is empty: the body first, then the line in one write. A body that is in
// the present segment already is not stored again. Append sets SHA256 and BodyAt of the line. After an error neither the
// line nor the body is there. Nothing is on disk before Sync.
func (l *Log) Append(line *Line, body []byte) error {
	line.SHA256, line.BodyAt = "", nil
	var digest [sha256.Size]byte
	if len(body) > 0 {
		digest = sha256.Sum256(body)
		line.SHA256 = hex.EncodeToString(digest[:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	if err == nil && len(body) > 0 {
		line.BodyAt, err = l.place(digest, int64(len(body)))
	}
	if err == nil {
		err = l.write(line, digest, body)
	}
	if err != nil {
		return fmt.Errorf("writing the result of item %d: %w", line.N+1, err)
	}
	if len(l.offsets) >= rememberedBodies {
		clear(l.offsets)
	}
	if line.BodyAt != nil {
		l.offsets[digest] = line.BodyAt.Offset
	}
	return nil
}

// place is where a body is stored, or will be. It begins a segment if there is none yet, or if the present one has no room.
func (l *Log) place(digest [sha256.Size]byte, length int64) (*BodyAt, error) {
	at := &BodyAt{l.worker, l.at.Segment, l.at.Bytes, length}
	if offset, there := l.offsets[digest]; there {
		at.Offset = offset
		return at, nil
	}
	if length > l.segmentLimit-recordHead {
		return nil, fmt.Errorf("its body has %d bytes: at most %d", length, l.segmentLimit-recordHead)
	}
	if l.segment != nil && at.end() <= l.segmentLimit {
		return at, nil
	}
	f, err := create(filepath.Join(l.dir, segmentName(l.worker, l.at.Segment+1)))
	if err != nil {
		return nil, err
	}
	if l.segment != nil {
		l.full = append(l.full, l.segment)
	}
	l.segment, l.at.Segment, l.at.Bytes = f, l.at.Segment+1, 0
	clear(l.offsets)
	return &BodyAt{l.worker, l.at.Segment, 0, length}, textfile.SyncFolder(filepath.Join(l.dir, bodiesFolder))
}

// write writes a body where it is not stored yet, and the line. If one of them fails it cuts both files back.
func (l *Log) write(line *Line, digest [sha256.Size]byte, body []byte) (err error) {
	l.text = AppendLine(l.text[:0], *line)
	if len(l.text) > MaxLine {
		return fmt.Errorf("its line has %d bytes: at most %d", len(l.text), MaxLine)
	}
	after := l.at
	after.Lines += int64(len(l.text))
	if line.BodyAt != nil && line.BodyAt.Offset == l.at.Bytes {
		after.Bytes = line.BodyAt.end()
		l.record = appendRecord(l.record[:0], line.N, digest, body)
		_, err = l.segment.WriteAt(l.record, l.at.Bytes)
		if cap(l.record) > 1<<20 {
			l.record = nil
		}
	}
	if err == nil {
		_, err = l.lines.WriteAt(l.text, l.at.Lines)
	}
	if err == nil {
		l.at = after
		return nil
	}
	cut := l.lines.Truncate(l.at.Lines)
	if l.segment != nil {
		cut = errors.Join(cut, l.segment.Truncate(l.at.Bytes))
	}
	if cut != nil {
		l.err = fmt.Errorf("cutting %s back to whole lines: %w", resultsName(l.worker), cut)
	}
	return errors.Join(err, l.err)
}

// Length is how much was appended.
func (l *Log) Length() Length {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// Sync puts on disk what was appended before the call, and says how long the files were then. After an error nothing can
// be appended any more, because it is not known what is on disk.
func (l *Log) Sync() (Length, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	at, segment, full, err := l.at, l.segment, l.full, l.err
	l.full = nil
	l.mu.Unlock()
	for _, f := range full {
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil && segment != nil {
		err = segment.Sync()
	}
	if err == nil {
		err = l.lines.Sync()
	}
	if err == nil {
		return at, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("putting %s on disk: %w", resultsName(l.worker), err)
	}
	return Length{}, l.err
}

// Close closes the files. It does not sync them.
func (l *Log) Close() (err error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range append(l.full, l.segment) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if l.lines != nil {
		err = errors.Join(err, l.lines.Leave())
	}
	l.full, l.segment, l.err = nil, nil, errors.New("the log is closed")
	return err
}
