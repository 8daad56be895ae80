package files

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"zonedeck/keystore/textfile"
)

// MaxSegment limits a segment, in bytes. A body with its record must fit into one.
const MaxSegment = 256 << 20

// A record is magic, SHA-256 of the body, its length, CRC-32C of everything else in the record, number of the item, body.
const (
	magic      = "zdb1"
	lengthAt   = len(magic) + sha256.Size
	crcAt      = lengthAt + 8
	numberAt   = crcAt + 4
	recordHead = numberAt + 8
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// BodyAt says where a body is stored: at which byte of which segment its record begins, and the length of the body.
type BodyAt struct {
	Worker  string `json:"worker"`
	Segment int64  `json:"segment"`
	Offset  int64  `json:"offset"`
	Length  int64  `json:"length"`
}

// possible reports whether a record can be there.
func (at BodyAt) possible() bool {
	return at.Segment > 0 && at.Offset >= 0 && at.Offset <= MaxSegment && at.Length > 0 && at.Length <= MaxSegment && at.end() <= MaxSegment
}

func (at BodyAt) damage(text string) error {
	return fmt.Errorf("%s is %w at byte %d: %s", segmentName(at.Worker, at.Segment), ErrDamaged, at.Offset, text)
}

func (at BodyAt) end() int64 { return at.Offset + int64(recordHead) + at.Length }

// appendRecord appends the record of a body to b.
func appendRecord(b []byte, n int64, digest [sha256.Size]byte, body []byte) []byte {
	begin := len(b)
	b = append(append(b, magic...), digest[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = append(b, body...)
	binary.LittleEndian.PutUint32(b[begin+crcAt:], crc32.Checksum(b[begin:], castagnoli()))
	return b
}

// stored is a body that is being read from its record.
type stored struct {
	at     BodyAt
	file   *os.File
	body   io.Reader
	digest [sha256.Size]byte
	crc    uint32
	// what was read so far
	sum     hash.Hash
	sumCRC  uint32
	checked error // io.EOF once the body is known to be whole
}

// OpenBody opens a stored body. At its end, reading it gives an error that wraps ErrDamaged, in place of io.EOF, if the
// record's CRC-32C and SHA-256 do not agree with what was read.
func OpenBody(dir string, at BodyAt) (io.ReadCloser, error) { return openBody(dir, at) }

func openBody(dir string, at BodyAt) (*stored, error) {
	if err := checkWorker(at.Worker); err != nil {
		return nil, err
	}
	const nothing = "no body of this length begins here"
	if !at.possible() {
		return nil, at.damage(nothing)
	}
	f, err := textfile.Open(filepath.Join(dir, segmentName(at.Worker, at.Segment)))
	if err != nil {
		return nil, err
	}
	s := &stored{at: at, file: f, sum: sha256.New()}
	var head [recordHead]byte
	_, err = f.ReadAt(head[:], at.Offset)
	switch {
	case errors.Is(err, io.EOF), err == nil && (string(head[:len(magic)]) != magic || binary.LittleEndian.Uint64(head[lengthAt:]) != uint64(at.Length)):
		err = at.damage(nothing)
	case err == nil:
		s.body = io.NewSectionReader(f, at.Offset+int64(recordHead), at.Length)
		s.digest, s.crc = [sha256.Size]byte(head[len(magic):]), binary.LittleEndian.Uint32(head[crcAt:])
		clear(head[crcAt:numberAt])
		s.sumCRC = crc32.Checksum(head[:], castagnoli())
		return s, nil
	}
	_ = f.Close() // nothing was written
	return nil, err
}

func (s *stored) Read(p []byte) (int, error) {
	if s.checked != nil {
		return 0, s.checked
	}
	n, err := s.body.Read(p)
	_, _ = s.sum.Write(p[:n]) // never an error
	s.sumCRC = crc32.Update(s.sumCRC, castagnoli(), p[:n])
	if errors.Is(err, io.EOF) {
		if s.checked = io.EOF; s.sumCRC != s.crc || [sha256.Size]byte(s.sum.Sum(nil)) != s.digest {
			s.checked = s.at.damage("the body is not as it was written")
		}
		err = s.checked
	}
	return n, err
}

func (s *stored) Close() error { return s.file.Close() }

// sameContent reports whether what r has left to read has a digest.
func sameContent(r io.Reader, digest [sha256.Size]byte) (bool, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return [sha256.Size]byte(sum.Sum(nil)) == digest, err
}
