package records

import (
	"crypto/sha256"
	"path/filepath"
	"runtime"
	"testing"

	"zonedeck/internal/noerr"
)

// live is what the heap holds once garbage is gone, in bytes.
func live() int64 {
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below
}

// What is held depends neither on the size of a file nor on what is found in it: not while a call works, and not
// afterwards, though all rows are found, sorted and different from an older result.
func TestMemoryStaysFlat(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // parts are worked on one after the other
	const few, many = 15_000, 45_000
	a, b := mostHeld(t, few), mostHeld(t, many)
	if b-a > 5<<19 {
		t.Errorf("%d rows hold %d KiB, %d rows %d KiB", few, a>>10, many, b>>10)
	}
}

// mostHeld is how much more than before is held at any of the points at which a call tells how far it is, and after each.
func mostHeld(t *testing.T, n int) (most int64) {
	t.Helper()
	dir := t.TempDir()
	path, old := filepath.Join(dir, "a.ndjson"), filepath.Join(dir, "old.ndjson")
	writeRows(t, path, n)
	writeRows(t, old, 1)
	before := live()
	look := func() { most = max(most, live()-before) }
	at := func(Progress) { look() }
	f, o := keeping(t, path), keeping(t, old)
	f.memory = 256 << 10 // a sort of either is larger
	noerr.Must(t, f.Index(t.Context(), at))
	noerr.Must(t, noerr.From(f.Profile(t.Context(), func(Profile) { look() })))
	found, err := f.Select(t.Context(), Query{Filter: mustFilter(t, "has:id")}, nil, at)
	noerr.Must(t, err)
	defer found.Rows.Close()
	sorted, err := f.Select(t.Context(), Query{Sort: "title", Down: true}, nil, at)
	noerr.Must(t, err)
	defer sorted.Rows.Close()
	differs, err := f.Compare(t.Context(), o, CompareOptions{Key: "id"}, at)
	noerr.Must(t, err)
	defer differs.Rows.Close()
	if a, b, c := found.Rows.Len(), sorted.Rows.Len(), differs.Added; a != int64(n) || b != a || c != a-1 {
		t.Fatalf("%d found, %d sorted, %d added of %d", a, b, c, n)
	}
	look()
	runtime.KeepAlive(f)
	runtime.KeepAlive(o)
	return most
}

func mustFilter(t *testing.T, text string) Filter {
	t.Helper()
	f, err := ParseFilter(text)
	noerr.Must(t, err)
	return f
}

func FuzzAnIndexFromDisk(f *testing.F) {
	whole := &File{layout: layout{format: Lines}, stamp: stamp{Size: 100, Digest: "x"}}
	whole.x = index{marks: []mark{{0, 0}, {3, 60}}, space: 50, rows: 5, done: true}
	b, err := whole.encode()
	noerr.Must(f, err)
	f.Add(b, uint32(0))
	f.Add(b[len(magic):len(b)-sha256.Size], uint32(9))
	f.Fuzz(func(t *testing.T, b []byte, at uint32) {
		seal := func(b []byte) []byte { return sealed(append([]byte(magic), b...)) }
		for _, b := range [][]byte{b, seal(b), seal(b[:min(int(at%1024), len(b))])} {
			x, _, ok, err := decode(b, whole.stamp, Lines)
			if !ok || err != nil {
				continue
			}
			for i, m := range x.marks {
				if m.Row < 0 || m.Row >= x.rows || m.At < 0 || m.At >= 100 || i == 0 && m.Row != 0 {
					t.Fatalf("mark %d of %d rows: %+v", i, x.rows, m)
				}
			}
		}
	})
}
