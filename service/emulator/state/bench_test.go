package state

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkOpen is from no folder to a database that can be written.
func BenchmarkOpen(b *testing.B) {
	for name, dir := range map[string]func() string{"temporary": func() string { return "" }, "given": b.TempDir} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				path := dir()
				b.StartTimer()
				d, err := Open(path, time.Now)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkWrite is one change of one value.
func BenchmarkWrite(b *testing.B) {
	for name, write := range map[string]func(*Dir, func(*Tx) error) error{"update": (*Dir).Update, "erase": (*Dir).Erase, "soon": (*Dir).Soon} {
		b.Run(name, func(b *testing.B) {
			d := open(b, b.TempDir())
			n := 0
			for b.Loop() {
				n++
				if err := write(d, func(tx *Tx) error { return settings.Put(tx, "n", strconv.Itoa(n)) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
