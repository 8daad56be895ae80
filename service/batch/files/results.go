package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
)

// errStop ends a walk through lines before their end.
var errStop = errors.New("stop")

// results are the results of a worker.
type results struct {
	worker string
	file   *os.File
}

// each visits the whole lines between two offsets, and says where the last of them ends. It stops at a byte of zero, which
// stands where a power cut kept a block from being written. An error says in which line it is, and wraps ErrDamaged if
// that is not as it was written.
func (r results) each(begin, end int64, visit func(line Line, begin, end int64) error) (int64, error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(r.file, begin, end-begin), MaxLine)
	for {
		raw, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF), bytes.IndexByte(raw, 0) >= 0:
			return begin, nil
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, MaxLine)
		case err == nil:
			var line Line
			if line, err = r.parse(raw); err == nil {
				err = visit(line, begin, begin+int64(len(raw)))
			}
		}
		if err != nil {
			return begin, r.fault(begin, err)
		}
		begin += int64(len(raw))
	}
}

func (r results) parse(raw []byte) (line Line, err error) {
	if err := json.Unmarshal(raw, &line); err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	at := line.BodyAt
	if !bytes.HasPrefix(raw, []byte(`{"n":`)) || line.N < 0 || at != nil && (at.Worker != r.worker || !at.possible()) {
		return Line{}, fmt.Errorf("%w: this is no result of worker %s", ErrDamaged, r.worker)
	}
	if end := len(raw) - crcLength; end < 0 || !bytes.Equal(raw, withCRC(slices.Clone(raw[:end]), 0)) {
		return Line{}, fmt.Errorf("%w: it is not as it was written", ErrDamaged)
	}
	return line, nil
}

const crcLength = len(`,"crc":"00000000"}` + "\n")

// withCRC ends a line, all but its last brace, that begins at a place of text. Its CRC-32C is that of all before it.
func withCRC(text []byte, begin int) []byte {
	return fmt.Appendf(text, `,"crc":"%08x"}`+"\n", castagnoli(text[begin:]))
}

// fault says in which line an error is, by the offset at which that line begins.
func (r results) fault(offset int64, err error) error {
	number := 1
	before := bufio.NewScanner(io.NewSectionReader(r.file, 0, offset))
	before.Buffer(nil, MaxLine)
	for before.Scan() {
		number++
	}
	return fmt.Errorf("%s, line %d: %w", resultsName(r.worker), number, err)
}

// notShorter refuses a file that lacks something of its committed length.
func notShorter(f *os.File, name string, committed int64) error {
	size, err := sizeOf(f)
	if err == nil && size < committed {
		err = fmt.Errorf("%s is %w: it has %d bytes, and %d were committed", name, ErrDamaged, size, committed)
	}
	return err
}

// Tail recovers what a dead worker wrote after from, the lengths that were committed last. take gets the lines up to the
// first that is not whole, or whose body is not: a kill cuts the last one at most, a power cut any that were not synced.
// The files are cut to what it gets, and synced. A line that somebody changed is an error that wraps ErrDamaged, and
// then the files stay as they are. While the worker has its log open, or another Tail runs, the error wraps
// textfile.ErrLocked: from is asked, and take commits, while nobody else can.
func Tail(dir, worker string, from func() (Length, error), take func(lines []Line, at Length) error) (err error) {
	if err := checkWorker(worker); err != nil {
		return err
	}
	name := resultsName(worker)
	f, err := textfile.OpenPartial(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Leave()) }()
	begin, err := from()
	if err == nil {
		err = notShorter(f.File, name, begin.Lines)
	}
	var lines []Line
	var at Length
	if err == nil {
		lines, at, err = results{worker, f.File}.whole(dir, begin)
	}
	if err == nil {
		err = cutSegments(dir, worker, begin, at)
	}
	if err == nil {
		err = errors.Join(f.Truncate(at.Lines), f.Sync())
	}
	if err == nil {
		err = take(lines, at)
	}
	if err != nil {
		return fmt.Errorf("recovering what worker %s wrote: %w", worker, err)
	}
	return nil
}

// whole gives the lines after from whose bodies are whole, up to the first that is not, and how long the files are with
// these alone.
func (r results) whole(dir string, from Length) (lines []Line, at Length, err error) {
	at = from
	_, err = r.each(from.Lines, 1<<62, func(line Line, _, end int64) error {
		if b := line.BodyAt; b != nil {
			_, digest, err := readBody(dir, *b)
			switch {
			case errors.Is(err, ErrDamaged), errors.Is(err, fs.ErrNotExist):
				return errStop
			case err != nil:
				return err
			case digest != line.SHA256:
				return fmt.Errorf("%w: its sha256 is not that of its body", ErrDamaged)
			case b.Segment > at.Segment || b.Segment == at.Segment && b.end() > at.Bytes:
				at.Segment, at.Bytes = b.Segment, b.end()
			}
		}
		lines, at.Lines = append(lines, line), end
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return lines, at, err
}

// cutSegments removes from a worker's segments what stands after at, and puts on disk what stands after from.
func cutSegments(dir, worker string, from, at Length) error {
	last, err := lastSegment(dir, worker)
	for n := max(1, from.Segment); err == nil && n <= at.Segment; n++ {
		err = cutSegment(dir, segmentName(worker, n), n == at.Segment, at.Bytes)
	}
	for ; err == nil && last > at.Segment; last-- { // the highest first: no gap must remain
		err = os.Remove(filepath.Join(dir, segmentName(worker, last)))
	}
	return err
}

func cutSegment(dir, name string, cut bool, size int64) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if cut {
		if err = notShorter(f, name, size); err == nil {
			err = f.Truncate(size)
		}
	}
	return errors.Join(err, f.Sync())
}

// OpenBody reads a stored body. The error wraps ErrDamaged if what stands there is not the whole record of a body of this
// length, with its CRC-32C and SHA-256: nothing of a damaged body is given away.
func OpenBody(dir string, at BodyAt) (io.ReadCloser, error) {
	body, _, err := readBody(dir, at)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

func readBody(dir string, at BodyAt) (body []byte, digest string, err error) {
	if err := checkWorker(at.Worker); err != nil {
		return nil, "", err
	}
	damaged := fmt.Errorf("%s is %w: no whole body stands at byte %d", segmentName(at.Worker, at.Segment), ErrDamaged, at.Offset)
	if !at.possible() {
		return nil, "", damaged
	}
	f, err := textfile.Open(filepath.Join(dir, segmentName(at.Worker, at.Segment)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", AbsentError{at.Worker: 1}
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if size, err := sizeOf(f); err != nil || size < at.end() {
		return nil, "", cmp.Or(err, damaged)
	}
	record := make([]byte, recordHead+at.Length)
	if _, err := f.ReadAt(record, at.Offset); err != nil {
		return nil, "", err
	}
	body = record[recordHead:]
	sum := sha256.Sum256(body)
	n := int64(binary.LittleEndian.Uint64(record[recordHead-8:]))
	if !bytes.Equal(record, appendRecord(nil, n, sum, body)) {
		return nil, "", damaged
	}
	return body, hex.EncodeToString(sum[:]), nil
}

// partItems is how many items one partition of places is about.
const partItems = 1 << 17

// place is where the line of an item stands: in which of the logs, and where it begins and ends.
type place struct{ N, Log, Begin, End int64 }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.N, q.N), cmp.Compare(p.Log, q.Log), cmp.Compare(p.Begin, q.Begin))
}

// Results gives the lines of all workers up to the committed lengths. As they came, it gives the lines of one worker
// after another's, by the workers' names. In order, it sorts them by the numbers of their items, and those of one item
// as they came; memory is bounded, because the places of the lines go to partitions, which are temporary files in dir,
// and are sorted one partition after another. An error is the last thing that it gives.
func Results(dir string, workers map[string]Length, inOrder bool) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := readAll(dir, workers, inOrder, func(line Line, _, _ int64) error {
			if !yield(line, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Line{}, fmt.Errorf("reading the results in %s: %w", dir, err))
		}
	}
}

func readAll(dir string, workers map[string]Length, inOrder bool, visit func(line Line, begin, end int64) error) error {
	var logs []results
	parts := map[int64]*partition{}
	defer func() {
		for _, l := range logs {
			_ = l.file.Close() // nothing was written
		}
		for _, p := range parts {
			p.close()
		}
	}()
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		length := workers[worker].Lines
		if length == 0 {
			continue
		}
		l, err := openResults(dir, worker, length)
		if err != nil {
			return err
		}
		logs = append(logs, l)
		each := visit
		if inOrder {
			each = func(line Line, begin, end int64) error {
				p := parts[line.N/partItems]
				if p == nil {
					p = &partition{dir: dir}
					parts[line.N/partItems] = p
				}
				record, err := binary.Append(nil, binary.LittleEndian, place{line.N, int64(len(logs) - 1), begin, end})
				return errors.Join(err, p.add(record))
			}
		}
		end, err := l.each(0, length, each)
		if err == nil && end != length {
			err = l.fault(end, fmt.Errorf("%w: it is cut short, or has bytes of zero", ErrDamaged))
		}
		if err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(parts)) {
		if err := inOrderOf(parts[number], logs, visit); err != nil {
			return err
		}
	}
	return nil
}

func openResults(dir, worker string, length int64) (results, error) {
	if err := checkWorker(worker); err != nil {
		return results{}, err
	}
	f, err := textfile.Open(filepath.Join(dir, resultsName(worker)))
	if err != nil {
		return results{}, err
	}
	if err := notShorter(f, resultsName(worker), length); err != nil {
		return results{}, errors.Join(err, f.Close())
	}
	return results{worker, f}, nil
}

// inOrderOf visits the lines of a partition by the numbers of their items.
func inOrderOf(p *partition, logs []results, visit func(line Line, begin, end int64) error) error {
	size := binary.Size(place{})
	places := make([]place, 0, p.size/int64(size))
	err := p.each(size, func(record []byte) error {
		var at place
		_, err := binary.Decode(record, binary.LittleEndian, &at)
		places = append(places, at)
		return err
	})
	slices.SortFunc(places, place.compare)
	for _, at := range places {
		raw := make([]byte, at.End-at.Begin)
		var line Line
		if err == nil {
			_, err = logs[at.Log].file.ReadAt(raw, at.Begin)
		}
		if err == nil {
			line, err = logs[at.Log].parse(raw)
		}
		if err == nil {
			err = visit(line, at.Begin, at.End)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// Unpack writes the bodies of the lines into the folder out, which it makes (0700) if necessary, each once, under its
// SHA-256 in hex. A file that has that content already stays; one that has another is replaced; a link or a folder of
// that name is an error. on, unless nil, hears how many lines are done. Unpack returns how many files it wrote. They
// are not synced: after a power cut run it again. If bodies are absent, it writes the others and ends with an AbsentError.
func Unpack(ctx context.Context, dir string, lines iter.Seq2[Line, error], out string, on func(done int64)) (written int64, err error) {
	if err := errors.Join(os.MkdirAll(out, 0o700), textfile.Sweep(out)); err != nil {
		return 0, err
	}
	done, absent := int64(0), AbsentError{}
	for line, err := range lines {
		if err = cmp.Or(err, ctx.Err()); err == nil && line.BodyAt != nil {
			err = unpack(dir, *line.BodyAt, out, &written)
		}
		if errors.As(err, new(AbsentError)) {
			absent[line.BodyAt.Worker]++
			err = nil
		}
		if err != nil {
			return written, err
		}
		if done++; on != nil {
			on(done)
		}
	}
	if len(absent) > 0 {
		return written, absent
	}
	return written, nil
}

// AbsentError says whose bodies are not in a folder, and how many: each worker's are on its machine.
type AbsentError map[string]int64

func (e AbsentError) Error() string {
	var whose []string
	for _, worker := range slices.Sorted(maps.Keys(e)) {
		whose = append(whose, fmt.Sprintf("%d of worker %s", e[worker], worker))
	}
	return "the batch's folder on this machine lacks bodies: " + strings.Join(whose, ", ") + ". Where a worker ran on another machine, 'zonedeck batch bodies' unpacks its bodies there"
}

// Is reports that they do not exist, as far as this machine knows.
func (e AbsentError) Is(target error) bool { return errors.Is(target, fs.ErrNotExist) }

// unpack writes one body, unless its file is there.
func unpack(dir string, at BodyAt, out string, written *int64) error {
	body, digest, err := readBody(dir, at)
	if err != nil {
		return err
	}
	path := filepath.Join(out, digest)
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there and is no file: move it away", path)
	}
	if err == nil && info.Size() == at.Length {
		if old, err := os.ReadFile(path); err != nil || bytes.Equal(old, body) {
			return err
		}
	}
	t, err := textfile.NewTemp(path)
	if err != nil {
		return err
	}
	if _, err = t.Write(body); err == nil {
		err = t.KeepUnsynced()
		*written++
	}
	return errors.Join(err, t.Discard())
}

// AppendLine appends a line of results as Log writes it.
func AppendLine(to []byte, line Line) []byte {
	text := bytes.NewBuffer(to)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		panic(err) // it is texts and numbers
	}
	return withCRC(bytes.TrimSuffix(text.Bytes(), []byte("}\n")), len(to))
}

// CreateLog begins a file of results that were a worker's elsewhere.
func CreateLog(dir, worker string) (*os.File, error) {
	if err := checkWorker(worker); err != nil {
		return nil, err
	}
	return create(ResultsPath(dir, worker))
}

// ResultsPath is the file of a worker's results in the folder of a batch.
func ResultsPath(dir, worker string) string { return filepath.Join(dir, resultsName(worker)) }
