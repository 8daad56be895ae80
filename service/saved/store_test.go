package saved

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

func full() model.FetchRequest {
	return model.FetchRequest{
		Zone: model.Zone{Name: "unlocker_demo"}, URL: "http://lab.test/shop?v=2", Via: model.ViaNative,
		Format: model.FormatJSON, Method: "POST", Header: http.Header{"X-Trace": {"a", "b"}},
		Body: "line one\nline \"two\"\n", Country: "de", Session: "a1", Key: "batch-user",
		Timeout: 45 * time.Second, Retries: 0, Required: []string{".price, .cost", "items.0.name"},
		Tool: "search_engine", Args: `{"query":"a\nb"}`,
		Options: model.Options{Query: "red shoes", Engine: "bing", Page: "2", Parsed: "true", Render: "true", WaitFor: "text:In stock"},
	}
}

func TestASavedRequestIsReadBackUnchanged(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "requests"))
	want := full()
	noerr.Must(t, noerr.From(s.Save(t.Context(), "shop v2", want, false)))
	got, err := s.Load(t.Context(), "shop v2")
	noerr.Must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", got, want)
	}
}

func TestAMinimalRequestTakesTheDefaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "least.toml", "zone = \"z\"\nurl = \"http://lab.test/\"\n")
	got, err := New(dir).Load(t.Context(), "least")
	noerr.Must(t, err)
	want := model.FetchRequest{Zone: model.Zone{Name: "z"}, URL: "http://lab.test/", Via: model.ViaAPI, Format: model.FormatRaw, Retries: -1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSecretsStayOutOfTheFile(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	r := full()
	r.Header = http.Header{"Authorization": {"Bearer hunter2"}, "Cookie": {"sid=hunter2"}, "X-Api-Key": {"hunter2"}, "Accept": {"*/*"}}
	omitted, err := s.Save(t.Context(), "x", r, false)
	noerr.Must(t, err)
	if want := []string{"Authorization", "Cookie", "X-Api-Key"}; !reflect.DeepEqual(omitted, want) {
		t.Errorf("omitted %v, want %v", omitted, want)
	}
	b, err := os.ReadFile(filepath.Join(dir, "x.toml"))
	noerr.Must(t, err)
	if strings.Contains(string(b), "hunter2") || !strings.Contains(string(b), "Accept") {
		t.Errorf("the file is\n%s", b)
	}
	for _, address := range []string{
		"http://me:hunter2@lab.test/", "//me:hunter2@lab.test/", "me:hunter2@lab.test", "me:hunter2@lab.test/page",
		" http://me:hunter2@lab.test/", "http://me:hunter2%@lab.test/",
	} {
		r.URL = address
		if _, err := s.Save(t.Context(), "y", r, false); !errors.Is(err, errSecretInURL) {
			t.Errorf("%q gives %v, want ErrSecretInURL", address, err)
		}
	}
	r.URL = "http://lab.test/@me?to=a@b"
	if _, err := s.Save(t.Context(), "z", r, false); err != nil {
		t.Errorf("an address without a login: %v", err)
	}
}

func TestAnExistingNameIsReplacedOnlyWhenAsked(t *testing.T) {
	s := New(t.TempDir())
	noerr.Must(t, noerr.From(s.Save(t.Context(), "a", full(), false)))
	other := full()
	other.URL = "http://lab.test/ok"
	if _, err := s.Save(t.Context(), "a", other, false); !errors.Is(err, ErrExists) {
		t.Fatalf("second save gives %v, want ErrExists", err)
	}
	noerr.Must(t, noerr.From(s.Save(t.Context(), "a", other, true)))
	got, err := s.Load(t.Context(), "a")
	if err != nil || got.URL != other.URL {
		t.Errorf("after replacing: %q, %v", got.URL, err)
	}
}

func TestSavingLeavesOnlyTheFileBehindAndKeepsItPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "requests")
	noerr.Must(t, noerr.From(New(dir).Save(t.Context(), "a", full(), false)))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "a.toml" {
		t.Fatalf("the folder holds %v, %v", files, err)
	}
	if runtime.GOOS == "windows" {
		return // permissions are not bits there
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "a.toml"): 0o600} {
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, st.Mode().Perm(), err, want)
		}
	}
}

func TestAListNamesBrokenFilesAndSkipsForeignOnes(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	for _, name := range []string{"b", "A"} {
		noerr.Must(t, noerr.From(s.Save(t.Context(), name, full(), false)))
	}
	write(t, dir, "broken.toml", "zone = \n")
	write(t, dir, "notes.txt", "hello")
	write(t, dir, ".hidden.toml", "zone = \"z\"\n")
	list, err := s.List(t.Context())
	noerr.Must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	if want := []string{"A", "b", "broken"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("names %v, want %v", names, want)
	}
	if !strings.Contains(list[2].Problem, "broken.toml:1:") || list[0].Problem != "" {
		t.Errorf("problems: %q and %q", list[0].Problem, list[2].Problem)
	}
	if list[0].Request.URL != full().URL {
		t.Errorf("the listed request is %+v", list[0].Request)
	}
}

func TestAMissingFolderIsAnEmptyList(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "none"))
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("list %v, %v", list, err)
	}
	if _, err := s.Load(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("load gives %v, want ErrNotFound", err)
	}
	for did, err := range map[string]error{
		"delete": s.Delete(t.Context(), "a"), "restore": s.Restore(t.Context(), "a"), "rename": s.Rename(t.Context(), "a", "b"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s gives %v, want ErrNotFound", did, err)
		}
	}
}

func TestFaultsInAFileAreReported(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown field": {"zone = \"z\"\nulr = \"x\"\n", `x.toml:2:1: unknown field "ulr"; expected one of args, body,`},
		"wrong type":    {"zone = 3\n", `x.toml:1:8: "zone" is an integer; expected text in quotes`},
		"wrong via":     {"via = \"carrier pigeon\"\n", `x.toml:1:1: via is "carrier pigeon"; expected "api", "native", "agent" or "browser"`},
		"wrong option":  {"zone = \"z\"\n[options]\nquerry = \"a\"\n", `x.toml:3:1: unknown option "querry"; expected one of query, engine, page, parsed, render, wait_for`},
		"wrong timeout": {"\ntimeout = \"soon\"\n", `x.toml:2:1: timeout is "soon"; expected a time like 30s or 2m`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "x.toml", c.file)
			_, err := New(dir).Load(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestInvalidFileNamesAreRefused(t *testing.T) {
	s := New(t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/../b", `a\b`, ".hidden", "end.", "end ", "con", "NUL.x", "com1", "a\x00", "ü", strings.Repeat("a", 65)} {
		if _, err := s.Save(t.Context(), name, full(), true); !errors.Is(err, ErrName) {
			t.Errorf("saving %q gives %v, want ErrName", name, err)
		}
		if _, err := s.Load(t.Context(), name); !errors.Is(err, ErrName) {
			t.Errorf("loading %q gives %v, want ErrName", name, err)
		}
		if err := s.Delete(t.Context(), name); !errors.Is(err, ErrName) {
			t.Errorf("removing %q gives %v, want ErrName", name, err)
		}
	}
}

func TestALinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	noerr.Must(t, os.WriteFile(secret, []byte("zone = \"stolen\"\nurl = \"http://x/\"\n"), 0o600))
	if err := os.Symlink(secret, filepath.Join(dir, "link.toml")); err != nil {
		t.Fatalf("making a link: %v", err)
	}
	if r, err := New(dir).Load(t.Context(), "link"); err == nil {
		t.Errorf("a link out of the folder was read: %+v", r)
	}
}

func TestARemovedRequestIsGone(t *testing.T) {
	s := New(t.TempDir())
	noerr.Must(t, noerr.From(s.Save(t.Context(), "a", full(), false)))
	noerr.Must(t, s.Delete(t.Context(), "a"))
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removing twice gives %v, want ErrNotFound", err)
	}
}

// FuzzDecode checks that any file gives a request or an error, and that a request
// that was read can be written and read again unchanged.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("zone = \"z\"\nurl = \"http://lab.test/\"\n"))
	f.Add([]byte("via = \"native\"\ntimeout = \"30s\"\nretries = 2\n[headers]\nAccept = [\"*/*\"]\n"))
	f.Add([]byte("zone = "))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode("x.toml", bytes.NewReader(b))
		if err != nil {
			return
		}
		again, omitted, err := encode(r)
		if err != nil || len(omitted) > 0 || r.Retries < -1 {
			return
		}
		back, err := Decode("x.toml", bytes.NewReader(again))
		if err != nil {
			t.Fatalf("%+v was written as\n%s\nwhich is not read: %v", r, again, err)
		}
		if back.URL != r.URL || back.Zone != r.Zone || back.Body != r.Body || back.Timeout != r.Timeout {
			t.Fatalf("%+v came back as %+v", r, back)
		}
	})
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

func TestTheEdgesOfAName(t *testing.T) {
	for name, fine := range map[string]bool{
		"a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "a b": true, "a-_.b": true, strings.Repeat("a", 64): true,
		"coma": true, "lptx.y": true, "com10": true, "xcom1": true, "conx": true,
		"com0": false, "com9": false, "LPT0": false, "lpt9.x": false, "con .x": false, "prn": false, "aux": false,
		"a`b": false, "a{b": false, "a@b": false, "a[b": false, "a/b": true, "a/": false, "a:b": false, "-a": false, "a-": false,
	} {
		if err := CheckName(name); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	dir := t.TempDir()
	head := "zone = \"z\"\nurl = \"http://x/\"\n"
	write(t, dir, "fits.toml", head+strings.Repeat("#", textfile.MaxSize-len(head)))
	write(t, dir, "beyond.toml", head+strings.Repeat("#", textfile.MaxSize-len(head)+1))
	noerr.Want(t, noerr.From(New(dir).Load(t.Context(), "fits")))
	if _, err := New(dir).Load(t.Context(), "beyond"); err == nil || !strings.HasPrefix(err.Error(), "beyond.toml: the file is larger than 2 MiB") {
		t.Errorf("error %v", err)
	}
}

func TestAListEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	noerr.Must(t, noerr.From(New(dir).Save(t.Context(), "a", full(), false)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := New(dir).List(ctx); list != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", list, err)
	}
}

func TestAStoreThatIsNotAFolderIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	s := New(file)
	_, saving := s.Save(t.Context(), "a", full(), false)
	_, listing := s.List(t.Context())
	_, loading := s.Load(t.Context(), "a")
	for what, err := range map[string]error{"save": saving, "list": listing, "load": loading, "remove": s.Delete(t.Context(), "a")} {
		if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "saved requests") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := New(filepath.Join(t.TempDir(), "none")).List(t.Context()); err != nil {
		t.Errorf("a folder that is yet to be made: %v", err)
	}
}

func TestWhatIsNotAPlainFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	noerr.Must(t, os.MkdirAll(filepath.Join(dir, "folder.toml", "in"), 0o700))
	s := New(dir)
	if r, err := s.Load(t.Context(), "folder"); err == nil || !strings.Contains(err.Error(), "it is a folder; expected a file") || r.URL != "" {
		t.Errorf("load: %+v, %v", r, err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if _, err := s.Save(t.Context(), "folder", full(), true); err == nil || !strings.Contains(err.Error(), "saving folder") {
		t.Errorf("save: %v", err)
	}
	if err := s.Delete(t.Context(), "folder"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("remove: %v", err)
	}
}

func TestARequestThatIsTooLargeToBeReadBackIsNotSaved(t *testing.T) {
	r := full()
	r.Body = strings.Repeat("x", textfile.MaxSize)
	dir := t.TempDir()
	if _, err := New(dir).Save(t.Context(), "a", r, false); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestALongListIsCut(t *testing.T) {
	dir := t.TempDir()
	for i := range maxList + 1 {
		write(t, dir, fmt.Sprintf("r%d.toml", i), "zone = \"z\"\n")
	}
	if list, err := New(dir).List(t.Context()); err != nil || len(list) != maxList {
		t.Errorf("%d listed, %v", len(list), err)
	}
}

func TestTheEdgesOfTimeoutAndRetries(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		retries int
	}{{0, -1}, {1, 0}, {time.Minute, 1}} {
		s := New(t.TempDir())
		r := full()
		r.Timeout, r.Retries = c.timeout, c.retries
		noerr.Must(t, noerr.From(s.Save(t.Context(), "a", r, false)))
		if got, err := s.Load(t.Context(), "a"); err != nil || got.Timeout != c.timeout || got.Retries != c.retries {
			t.Errorf("%+v: %v, %d, %v", c, got.Timeout, got.Retries, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "negative.toml", "timeout = \"-1ns\"\n")
	write(t, dir, "none.toml", "timeout = \"0s\"\n")
	if _, err := New(dir).Load(t.Context(), "negative"); err == nil {
		t.Error("a negative timeout is taken")
	}
	if r, err := New(dir).Load(t.Context(), "none"); err != nil || r.Timeout != 0 {
		t.Errorf("%v, %v", r.Timeout, err)
	}
}

func TestAListIsInTheOrderOfTheAlphabet(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "C", "A", "d"} {
		write(t, dir, name+".toml", "zone = \"z\"\n")
	}
	list, err := New(dir).List(t.Context())
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	if want := []string{"A", "b", "C", "d"}; err != nil || !reflect.DeepEqual(names, want) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestDeletedRequestsAreListedAndBroughtBackTheLastOneFirst(t *testing.T) {
	s := New(t.TempDir())
	if list, err := s.Deleted(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("without a folder: %v, %v", list, err)
	}
	if _, err := s.RestoreLast(t.Context()); !errors.Is(err, ErrNoneDeleted) {
		t.Errorf("without a folder: %v", err)
	}
	save := func(name, url string) {
		t.Helper()
		noerr.Must(t, noerr.From(s.Save(t.Context(), name, model.FetchRequest{Zone: model.Zone{Name: "z"}, URL: url, Via: model.ViaAPI}, false)))
	}
	remove := func(name string) {
		t.Helper()
		noerr.Must(t, s.Delete(t.Context(), name))
	}
	save("shop/a", "http://x/1")
	save("b", "http://x/2")
	remove("shop/a")
	remove("b")
	save("b", "http://x/3") // the name is taken now
	list, err := s.Deleted(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "b" || list[0].Request.URL != "http://x/2" || list[1].Name != "shop/a" || list[1].Changed.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	noerr.Must(t, os.WriteFile(filepath.Join(s.DeletedDir(), "1~shop~a.toml"), []byte("zone = 7"), 0o600))
	if list, err := s.Deleted(t.Context()); err != nil || len(list) != 2 || list[1].Problem == "" {
		t.Errorf("with a file that cannot be read: %+v, %v", list, err)
	}
	if name, err := s.RestoreLast(t.Context()); name != "shop/a" || err != nil {
		t.Errorf("%q is back, %v; want the last whose name is free", name, err)
	}
	if _, err := s.RestoreLast(t.Context()); !errors.Is(err, ErrNoneDeleted) {
		t.Errorf("the rest: %v", err)
	}
	noerr.Want(t, noerr.From(os.Stat(s.File("shop/a"))))
}
