package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"zonedeck/internal/noerr"
)

// Whatever stands in a dead worker's files: what is taken for whole can be read, line by line and body by body.
func FuzzResults(f *testing.F) {
	dir := f.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(f)
	for n, body := range []string{"hello", "", "hello", "other"} {
		noerr.Must(f, l.Append(&Line{N: int64(n), Missing: []string{"price"}}, []byte(body)))
	}
	noerr.Must(f, l.Close())
	lines := noerr.Try(os.ReadFile(filepath.Join(dir, resultsName("w1")))).Must(f)
	segment := noerr.Try(os.ReadFile(filepath.Join(dir, segmentName("w1", 1)))).Must(f)
	f.Add(lines, segment)
	f.Add(lines[:len(lines)-1], segment)
	f.Add(lines, segment[:len(segment)-1])
	f.Add([]byte(`{"n":1,"body_at":{"worker":"w1","segment":1,"offset":9223372036854775807,"length":1}}`+"\n"), segment)
	f.Add([]byte(`{"n":1,"body_at":{"worker":"w1","segment":9223372036854775807,"offset":0,"length":5}}`+"\n"), segment)
	f.Add([]byte("{\"n\":1,\"n\":2}\n\n\x00"), []byte(magic))
	f.Fuzz(func(t *testing.T, lines, segment []byte) {
		dir := t.TempDir()
		noerr.Must(t, os.Mkdir(filepath.Join(dir, bodiesFolder), 0o700))
		noerr.Must(t, os.WriteFile(filepath.Join(dir, resultsName("w1")), lines, 0o600))
		noerr.Must(t, os.WriteFile(filepath.Join(dir, segmentName("w1", 1)), segment, 0o600))
		file := noerr.Try(os.Open(filepath.Join(dir, resultsName("w1")))).Must(t)
		defer file.Close()
		found, at, err := results{"w1", file}.whole(dir, Length{})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if at.Lines > int64(len(lines)) || at.Segment > 1 || at.Bytes > int64(len(segment)) {
			t.Errorf("%+v", at)
		}
		if got := collect(t, dir, map[string]Length{"w1": at}, false); !reflect.DeepEqual(got, found) {
			t.Errorf("%+v, want %+v", got, found)
		}
		if got := collect(t, dir, map[string]Length{"w1": at}, true); len(got) != len(found) {
			t.Errorf("%+v, want %+v", got, found)
		}
		noerr.Must(t, noerr.From(Unpack(t.Context(), dir, Results(dir, map[string]Length{"w1": at}, false), filepath.Join(dir, "out"), nil)))
	})
}

func FuzzBody(f *testing.F) {
	f.Add(appendRecord(nil, 1, [32]byte{}, []byte("hello")), int64(0), int64(5))
	f.Add([]byte(magic), int64(-1), int64(1<<62))
	f.Fuzz(func(t *testing.T, segment []byte, offset, length int64) {
		dir := t.TempDir()
		noerr.Must(t, os.Mkdir(filepath.Join(dir, bodiesFolder), 0o700))
		noerr.Must(t, os.WriteFile(filepath.Join(dir, segmentName("w1", 1)), segment, 0o600))
		body, err := OpenBody(dir, BodyAt{"w1", 1, offset, length})
		if err == nil {
			defer body.Close()
			var n int64
			if n, err = io.Copy(io.Discard, body); err == nil && n != length {
				t.Errorf("%d bytes, want %d", n, length)
			}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}
