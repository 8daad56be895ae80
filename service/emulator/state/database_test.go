package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

const settings = Table[string]("settings")

func TestAFolderOfAnEarlierBuildIsRefusedAndStaysAsItIs(t *testing.T) {
	for _, name := range []string{"account.json", "ca.key", "ca.pem"} {
		dir := t.TempDir()
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("earlier"), 0o600))
		if _, err := Open(dir, time.Now); !errors.Is(err, errEarlier) || !strings.Contains(err.Error(), dir+" has "+name+" and no state.db") {
			t.Errorf("%s: %v", name, err)
		}
		if err := Refused(dir); !errors.Is(err, errEarlier) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, databaseName)); err == nil {
			t.Errorf("%s: a database was begun beside it", name)
		}
		noerr.Must(t, Clear(dir))
		noerr.Must(t, noerr.Try(Open(dir, time.Now)).Must(t).Close())
	}
}

func open(t testing.TB, dir string) *Dir {
	t.Helper()
	d, err := Open(dir, time.Now)
	noerr.Must(t, err)
	t.Cleanup(func() { _ = d.Close() }) // closed twice where a test closes it first
	return d
}

func put(t testing.TB, d *Dir, id, v string) {
	t.Helper()
	noerr.Must(t, d.Update(func(tx *Tx) error { return settings.Put(tx, id, v) }))
}

// all are the settings as "id=value", in their order.
func all(t testing.TB, d *Dir) (out []string) {
	t.Helper()
	err := settings.Each(d, func(id, v string) error {
		out = append(out, id+"="+v)
		return nil
	})
	noerr.Must(t, err)
	return out
}

func TestValuesKeepTheirOrderOverChangesAndRestarts(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for _, id := range []string{"z", "a", "m"} {
		put(t, d, id, "1")
	}
	put(t, d, "z", "2")
	noerr.Must(t, d.Update(func(tx *Tx) error { return settings.Delete(tx, "a") }))
	noerr.Must(t, d.Close())
	d = open(t, dir)
	if got := all(t, d); !slices.Equal(got, []string{"z=2", "m=1"}) {
		t.Errorf("%q", got)
	}
	if v, ok, err := settings.Get(d, "z"); v != "2" || !ok || err != nil {
		t.Errorf("%q, %v, %v", v, ok, err)
	}
	if v, ok, err := settings.Get(d, "a"); v != "" || ok || err != nil {
		t.Errorf("what was deleted: %q, %v, %v", v, ok, err)
	}
}

func TestAChangeThatIsRefusedChangesNothing(t *testing.T) {
	d := open(t, t.TempDir())
	put(t, d, "a", "1")
	refused := errors.New("refused")
	err := d.Update(func(tx *Tx) error {
		return errors.Join(settings.Put(tx, "a", "2"), settings.Put(tx, "b", "2"), refused)
	})
	if !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = d.Update(func(tx *Tx) error {
			_ = settings.Put(tx, "a", "3") // never kept
			panic("in the middle")
		})
	}()
	if got := all(t, d); !slices.Equal(got, []string{"a=1"}) {
		t.Errorf("%q", got)
	}
	put(t, d, "c", "1") // and the next one passes
}

func TestReadersDoNotWaitForAChange(t *testing.T) {
	d := open(t, t.TempDir())
	put(t, d, "a", "1")
	err := d.Update(func(tx *Tx) error {
		if err := settings.Put(tx, "a", "2"); err != nil {
			return err
		}
		if got := all(t, d); !slices.Equal(got, []string{"a=1"}) {
			t.Errorf("%q", got)
		}
		return nil
	})
	noerr.Must(t, err)
}

func TestClosingWaitsForTheChangeThatIsBeingWritten(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	begun, release, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- d.Update(func(tx *Tx) error {
			close(begun)
			<-release
			return settings.Put(tx, "a", "1")
		})
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	select {
	case err := <-closed:
		t.Errorf("it did not wait: %v", err)
		closed <- err
	case <-time.After(50 * time.Millisecond): // what does not wait has returned by then
	}
	close(release)
	noerr.Must(t, errors.Join(<-written, <-closed))
	if err := d.Update(func(*Tx) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
	if got := all(t, open(t, dir)); !slices.Equal(got, []string{"a=1"}) {
		t.Errorf("%q", got)
	}
}

func TestWhatIsErasedIsInNoFile(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	holds := func(secret string) bool {
		entries, err := os.ReadDir(dir)
		noerr.Must(t, err)
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			noerr.Must(t, err)
			if bytes.Contains(b, []byte(secret)) {
				return true
			}
		}
		return false
	}
	put(t, d, "a", "hush-one"+strings.Repeat("x", 10_000))
	put(t, d, "b", "hush-two")
	if !holds("hush-one") || !holds("hush-two") {
		t.Fatal("nothing to erase")
	}
	err := d.Erase(func(tx *Tx) error { return errors.Join(settings.Put(tx, "a", "public"), settings.Delete(tx, "b")) })
	if err != nil || holds("hush-one") || holds("hush-two") {
		t.Errorf("%v, %v, %v", err, holds("hush-one"), holds("hush-two"))
	}
}

func TestADamagedDatabaseIsRenamedWithANote(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"not a database": func([]byte) []byte { return []byte("not a database, and long enough to be seen as none") },
		"a page of values": func(b []byte) []byte {
			at := bytes.Index(b, []byte("the value"))
			page := at / 4096 * 4096
			copy(b[page:page+4096], bytes.Repeat([]byte{0xff}, 4096))
			return b
		},
	} {
		dir := t.TempDir()
		d := open(t, dir)
		put(t, d, "a", "the value")
		noerr.Must(t, d.Close())
		path := filepath.Join(dir, databaseName)
		b, err := os.ReadFile(path)
		noerr.Must(t, err)
		noerr.Must(t, os.WriteFile(path, damage(b), 0o600))
		noerr.Want(t, Refused(dir))
		d = open(t, dir)
		if n := d.Notes(); len(n) != 1 || !strings.HasPrefix(n[0], "state.db could not be read (") {
			t.Errorf("%s: notes %q", name, n)
		}
		if kept, err := filepath.Glob(path + ".corrupt-*"); err != nil || len(kept) != 1 {
			t.Errorf("%s: kept as %q, %v", name, kept, err)
		}
		if got := all(t, d); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
		put(t, d, "a", "1")
	}
}

func TestADatabaseOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	noerr.Must(t, errors.Join(d.db.exec(fmt.Sprintf("PRAGMA user_version = %d", version+1)), d.Close()))
	if _, err := Open(dir, time.Now); !errors.Is(err, errNewer) || !errors.Is(Refused(dir), errNewer) {
		t.Errorf("%v, %v", err, Refused(dir))
	}
	if kept, err := filepath.Glob(filepath.Join(dir, databaseName) + "*"); err != nil || len(kept) != 1 {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestAnUnreadableRowIsLeftOutWithANote(t *testing.T) {
	d := open(t, t.TempDir())
	put(t, d, "a", "1")
	put(t, d, "b", "2")
	noerr.Must(t, d.db.exec(`UPDATE settings SET value = '{half' WHERE id = 'a'`))
	if got := all(t, d); !slices.Equal(got, []string{"b=2"}) {
		t.Errorf("%q", got)
	}
	if n := d.Notes(); len(n) != 1 || !strings.HasPrefix(n[0], `"a" of settings is left out: it cannot be read (`) {
		t.Errorf("%q", n)
	}
}

// A folder that cannot be written is tested for every user by what probe would give.
func TestAFolderThatCannotBeWrittenIsServed(t *testing.T) {
	why := errors.New("read-only file system")
	for name, killed := range map[string]bool{"closed": false, "killed": true} {
		dir := t.TempDir()
		d := open(t, dir)
		put(t, d, "a", "1")
		if killed { // the log and its index stay
			copied := t.TempDir()
			noerr.Must(t, os.CopyFS(copied, os.DirFS(dir)))
			dir = copied
		} else if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := openDatabase(filepath.Join(dir, databaseName), false, why)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d = &Dir{dir: dir, db: db}
		if got := all(t, d); !slices.Equal(got, []string{"a=1"}) {
			t.Errorf("%s: %q", name, got)
		}
		if err := d.Update(func(tx *Tx) error { return settings.Put(tx, "a", "2") }); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
		noerr.Want(t, db.close())
	}
}

func TestLinesComeByNumberHoweverManyAndLarge(t *testing.T) {
	const records = Lines("records")
	d := open(t, t.TempDir())
	large := bytes.Repeat([]byte("x"), bytesAtOnce)
	err := d.Soon(func(tx *Tx) error {
		for n := 3*linesAtOnce - 1; n >= 0; n-- {
			line := []byte(fmt.Sprint(n))
			if n%200 == 0 {
				line = large
			}
			if err := records.Put(tx, "a", n, line); err != nil {
				return err
			}
		}
		return records.Put(tx, "b", 7, []byte("other"))
	})
	noerr.Must(t, err)
	want := 0
	err = records.Each(d, "a", func(n int, line []byte) error {
		if n != want || n%200 == 0 != (len(line) == bytesAtOnce) {
			t.Errorf("line %d has %d bytes, want line %d", n, len(line), want)
		}
		want++
		return nil
	})
	if err != nil || want != 3*linesAtOnce {
		t.Errorf("%d lines, %v", want, err)
	}
	enough := errors.New("enough")
	if err := records.Each(d, "a", func(int, []byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	noerr.Must(t, d.Update(func(tx *Tx) error { return records.Delete(tx, "a") }))
	if err := records.Each(d, "a", func(int, []byte) error { return enough }); err != nil {
		t.Errorf("what was deleted: %v", err)
	}
	if err := d.Close(); err != nil { // the log goes into the file
		t.Fatal(err)
	}
	if info, err := os.Stat(d.Path(databaseName)); err != nil || info.Size() > bytesAtOnce {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// Before 3.51.3 a log could damage its database.
func TestTheLibraryKeepsItsLog(t *testing.T) {
	var major, minor, patch int
	var lib string
	d := open(t, "")
	noerr.Must(t, d.db.r.QueryRowContext(t.Context(), "SELECT sqlite_version()").Scan(&lib))
	if _, err := fmt.Sscanf(lib, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("version %s, %v", lib, err)
	}
}

func TestADatabaseOfAnOlderVersionGetsWhatItLacks(t *testing.T) {
	at := t.TempDir()
	noerr.Want(t, Refused(at))
	if files, err := os.ReadDir(at); err != nil || len(files) > 0 {
		t.Errorf("looking at a folder made %q, %v", files, err)
	}
	d := open(t, at)
	put(t, d, "a", "1")
	noerr.Must(t, errors.Join(d.db.exec("DROP TABLE tasks; PRAGMA user_version = 1"), d.Close()))
	noerr.Want(t, Refused(at))
	d = open(t, at)
	if got := all(t, d); len(got) != 1 || got[0] != "a=1" {
		t.Errorf("%q", got)
	}
	noerr.Want(t, Table[string]("tasks").Each(d, func(string, string) error { return nil }))
}

// BenchmarkOpen is from no folder to a database that can be written.
func BenchmarkOpen(b *testing.B) {
	for name, dir := range map[string]func() string{"temporary": func() string { return "" }, "given": b.TempDir} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				path := dir()
				b.StartTimer()
				d, err := Open(path, time.Now)
				noerr.Must(b, err)
				b.StopTimer()
				noerr.Must(b, d.Close())
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
				noerr.Must(b, write(d, func(tx *Tx) error { return settings.Put(tx, "n", strconv.Itoa(n)) }))
			}
		})
	}
}
