package radius_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/radius"
	"zonedeck/service/saved"
)

const (
	oldValue   = "brd-key-4f8a2c7e91d04b6c8e35f2a1"
	otherValue = "brd-key-0c1d2e3f4a5b6c7d8e9fa0b1"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func etl() model.Key {
	s := keystore.NewSecret(oldValue)
	return model.Key{Name: "etl", Secret: "env:ETL_KEY", Fingerprint: s.Fingerprint(), Last4: s.Last4(), UsedBy: []string{"nightly", "file:etl-spare"}}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	noerr.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	return path
}

func loaded(t *testing.T, text string) config.File {
	t.Helper()
	f := noerr.Try(config.Load(write(t, t.TempDir(), "config.toml", text))).Must(t)
	return f
}

// found are the uses of the only subject, as lines.
func found(t *testing.T, s radius.Sources, subject radius.Subject) (lines, problems []string) {
	t.Helper()
	s.Now = func() time.Time { return now }
	r := noerr.Try(radius.Find(t.Context(), s, []radius.Subject{subject})).Must(t)
	for _, u := range r.Uses[0] {
		line := string(u.Kind) + ": " + u.String()
		if u.Ref != "" {
			line += " by " + u.Ref
		}
		if u.Last4 != "" {
			line += " …" + u.Last4
		}
		if !u.Measurable() {
			line += " (" + u.Unmeasured + ")"
		}
		lines = append(lines, line)
		if text := fmt.Sprintf("%+v", u); strings.Contains(text, oldValue) || strings.Contains(text, otherValue) {
			t.Errorf("a value stands in %s", text)
		}
	}
	return lines, r.Problems
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestEveryProfileRequestAndJobThatUsesAKeyIsFound(t *testing.T) {
	file := loaded(t, `
[profiles.prod]
base_url = "https://api.example.com"
key = "etl"
[profiles.alias]
base_url = "https://api.example.com"
key = "etl-alias"
[profiles.variable]
base_url = "https://api.example.com"
key = "other"
variables = { token = "env:ETL_KEY" }
[profiles.proxy]
proxy_host = "proxy.example.com"
account = "hl_1"
username_prefix = "brd"
key = "etl"
[profiles.apart]
base_url = "https://api.example.com"
key = "other"
`)
	current := noerr.Try(file.Profile("apart")).Must(t)
	requests := saved.New(t.TempDir())
	for name, r := range map[string]model.FetchRequest{
		"daily":  {Zone: model.Zone{Name: "z"}, URL: "http://lab.test/", Via: model.ViaAPI, Key: "etl"},
		"other":  {Zone: model.Zone{Name: "z"}, URL: "http://lab.test/", Via: model.ViaAPI, Key: "other"},
		"native": {Zone: model.Zone{Name: "z"}, URL: "http://lab.test/", Via: model.ViaNative, Key: "etl"},
	} {
		noerr.Must(t, noerr.From(requests.Save(t.Context(), name, r, false)))
	}
	lines, problems := found(t, radius.Sources{
		Current: current, Config: file, Requests: requests,
		Inventory: []model.Key{
			etl(),
			{Name: "etl-alias", Secret: "env:ETL_KEY"},
			{Name: "other"},
			{Name: "etl-copy", Secret: "file:copy", Fingerprint: etl().Fingerprint, Last4: etl().Last4, UsedBy: []string{"ci runner", "file:copy"}},
			{Name: "etl-lost", Fingerprint: etl().Fingerprint, Last4: etl().Last4},
		},
		Jobs: jobs{
			{ID: "job-3", State: model.JobRunning, KeyName: "etl", Profile: "prod", Updated: now},
			{ID: "job-2", State: model.JobRunning, KeyName: "other", Profile: "prod"},
		},
	}, radius.KeySubject(etl(), ""))
	same(t, "uses", lines, []string{
		"profile: profile alias by env:ETL_KEY",
		"profile: profile prod by env:ETL_KEY …f2a1",
		"profile: profile proxy by env:ETL_KEY …f2a1 (the profile has no base_url to make a call to)",
		"profile: profile variable by env:ETL_KEY (a variable of the profile stands for it: only the requests with that variable use it)",
		"saved request: saved request daily by env:ETL_KEY …f2a1",
		"running job: job-3 (running) by env:ETL_KEY …f2a1 (it runs with the value that it was begun with: wait for its end)",
		"recorded: nightly (the inventory has only its name: whoever runs it has to check a call)",
		"recorded: file:etl-spare by file:etl-spare",
		"recorded: key etl-alias by env:ETL_KEY",
		"recorded: key etl-copy by file:copy …f2a1",
		"recorded: ci runner (key etl-copy) (the inventory has only its name: whoever runs it has to check a call)",
		"recorded: key etl-lost …f2a1 (the console has no reference to the value)",
	})
	same(t, "problems", problems, []string{"one row could not be read"})
}

func TestAKeyOfTheProfileIsAnotherThanTheInventorysOfItsName(t *testing.T) {
	file := loaded(t, "[profiles.prod]\nbase_url = \"https://api.example.com\"\nkey = \"etl\"\n")
	s := radius.Sources{
		Current: model.Profile{Name: "local", Local: true, Key: "etl"}, Config: file,
		ProfileKeys: []model.Key{{Name: "etl", Secret: "demo:key/etl"}}, Inventory: []model.Key{{Name: "etl", Secret: "env:ETL_KEY"}},
	}
	given, _ := found(t, s, radius.KeySubject(s.ProfileKeys[0], "local"))
	same(t, "given", given, []string{"profile: profile local by demo:key/etl"})
	recorded, _ := found(t, s, radius.KeySubject(s.Inventory[0], ""))
	same(t, "recorded", recorded, []string{"profile: profile prod by env:ETL_KEY"})
}

func TestAZonesPasswordIsUsedByItsAccountsProfilesAndRequests(t *testing.T) {
	const account = "proxy_host = \"proxy.example.com\"\nusername_prefix = \"brd\"\n"
	zone := func(name string) string {
		return "[[profiles." + name + ".zones]]\nname = \"res1\"\npassword = \"env:RES1\"\n"
	}
	file := loaded(t, "[profiles.a]\n"+account+"account = \"hl_1\"\n"+zone("a")+
		"[profiles.b]\n"+account+"account = \"hl_1\"\n[[profiles.b.zones]]\nname = \"res1\"\n"+ // it has no login
		"[profiles.d]\n"+account+"account = \"hl_1\"\n[[profiles.d.zones]]\nname = \"res1\"\npassword = \"env:RES1_OF_D\"\n"+
		"[profiles.c]\n"+account+"account = \"hl_2\"\n[[profiles.c.zones]]\nname = \"res1\"\npassword = \"env:OTHER\"\n")
	current := noerr.Try(file.Profile("a")).Must(t)
	requests := saved.New(t.TempDir())
	noerr.Must(t, noerr.From(requests.Save(t.Context(), "shop", model.FetchRequest{Zone: model.Zone{Name: "res1"}, URL: "http://lab.test/", Via: model.ViaNative}, false)))
	z, _ := current.Zone("res1")
	uses := func(in string, want ...string) {
		t.Helper()
		used := noerr.Try(file.Profile(in)).Must(t)
		lines, _ := found(t, radius.Sources{Current: used, Config: file, Requests: requests}, radius.ZoneSubject(current, z))
		slices.Sort(lines)
		same(t, "uses, with profile "+in, lines, want)
	}
	const a, d = "profile: profile a by env:RES1", "profile: profile d by env:RES1_OF_D"
	uses("a", a, d, "saved request: saved request shop by env:RES1")
	uses("b", a, d, "saved request: saved request shop by env:RES1") // no login: the request is sent with a as well
	uses("c", a, d, "saved request: saved request shop by env:RES1") // another account: the same
}

// utf16Of is a text in UTF-16, with its mark.
func utf16Of(text string, order binary.AppendByteOrder) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestWhatAScanLeavesOutIsTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "large.py", strings.Repeat("x", 4000))
	write(t, dir, "picture.png", "\x89PNG\x00"+strings.Repeat("x", 4000))
	write(t, dir, "le.ps1", utf16Of("$key = '"+oldValue+"'\r\n", binary.LittleEndian))
	write(t, dir, "be.ps1", utf16Of("é\n$key = '"+oldValue+"'\r\n", binary.BigEndian))
	shared := write(t, t.TempDir(), "shared.env", oldValue)
	for name, target := range map[string]string{".env": shared, "near.env": filepath.Join(dir, "le.ps1"), "gone.env": filepath.Join(dir, "nowhere"), "notes": shared} {
		noerr.Must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	limits := radius.DefaultLimits()
	limits.FileSize = 1000
	lines, problems := found(t, radius.Sources{Folders: []string{dir}, Limits: limits}, radius.Subject{Key: "etl", Fingerprint: etl().Fingerprint})
	same(t, "uses", lines, []string{"git-tracked file: " + filepath.Join(dir, "be.ps1:2"), "git-tracked file: " + filepath.Join(dir, "le.ps1:1")})
	same(t, "problems", problems, []string{
		filepath.Join(dir, "large.py") + " was not read: it is larger than 1000 bytes",
		filepath.Join(dir, ".env") + " was not read: it is a symbolic link to a file that was not looked at",
	})
}

func TestFilesAreSearchedByFingerprintAndByName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".env", "A=1\nexport ETL_KEY=\""+oldValue+"\"\n")
	write(t, dir, "ci/deploy.yaml", "env:\n  ETL_KEY: "+otherValue+"\n  X: ${ETL_KEY}\n")
	write(t, dir, "conf/a.toml", "url = \"https://user:"+oldValue+"@proxy.example.com\"\n")
	write(t, dir, "conf/b.json", `{"auth":"Bearer `+oldValue+`","MY_ETL_KEY_2":"`+otherValue+`"}`)
	write(t, dir, "notes.txt", oldValue)                  // no file of settings, and not in git
	write(t, dir, "node_modules/x/.env", oldValue)        // other people's files
	write(t, dir, "bin.env", "\x00\x01ETL_KEY="+oldValue) // no text
	outside := write(t, t.TempDir(), "outside.env", oldValue)
	noerr.Must(t, os.Symlink(outside, filepath.Join(dir, "link.env")))
	lines, problems := found(t, radius.Sources{Folders: []string{dir, dir, filepath.Join(dir, "nowhere")}}, radius.Subject{Key: "etl", Ref: "env:ETL_KEY", Fingerprint: etl().Fingerprint, Last4: "f2a1"})
	at := func(name string) string { return "env file: " + filepath.Join(dir, filepath.FromSlash(name)) }
	same(t, "uses", lines, []string{
		at(".env:2") + " by env:ETL_KEY …f2a1",
		at("ci/deploy.yaml:2") + " by env:ETL_KEY …a0b1",
		at("ci/deploy.yaml:3") + " by env:ETL_KEY (it names the variable ETL_KEY, whose value comes from elsewhere)",
		at("conf/a.toml:1") + " …f2a1",
		at("conf/b.json:1") + " …f2a1",
	})
	same(t, "problems", problems, []string{
		filepath.Join(dir, "nowhere") + " was not scanned: no such file or directory",
		filepath.Join(dir, "link.env") + " was not read: it is a symbolic link to a file that was not looked at",
	})
}

func TestPasswordsOfZonesAndWholeLoginsAreFound(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, "fetch.py", "PROXY = 'http://brd-customer-hl_1234abcd-zone-isp-country-de:"+otherValue+"@proxy.example.com:33335'\n")
	write(t, repo, ".env", "# the zone\nISP="+oldValue+"\nA=http://brd-customer-hl_1234abcd-zone-isp:$ISP@proxy:33335\n")
	write(t, repo, "run.sh", "curl -x proxy:33335 -U 'brd-customer-hl_1-zone-other_one:"+oldValue+"' https://example.com\n"+
		"curl -U \"brd-customer-hl_1-zone-isp:${PASSWORD}\" https://example.com; curl -U brd-customer-hl_1-zone-isp:<password> https://example.com; curl -U brd-customer-hl_1-zone-isp:•••••••• https://example.com\n"+
		"# a username alone: brd-customer-hl_1-zone-isp, and one of no zone: brd-customer-hl_1-zone-:"+oldValue+"\n")
	git(t, repo, "init", "-q")
	git(t, repo, "add", "fetch.py")
	value := keystore.NewSecret(oldValue)
	subject := radius.ZoneSubject(model.Profile{Account: "hl_1234abcd"}, model.Zone{Name: "isp", Password: "file:isp"})
	subject.Fingerprint, subject.Last4 = value.Fingerprint(), value.Last4()
	r := noerr.Try(radius.Find(t.Context(), radius.Sources{Folders: []string{repo}, Now: func() time.Time { return now }}, []radius.Subject{subject})).Must(t)
	var got []string
	for _, p := range r.Passwords {
		got = append(got, fmt.Sprint(p, p.Tracked))
		if strings.Contains(fmt.Sprintf("%+v", p), oldValue) || strings.Contains(fmt.Sprintf("%+v", p), otherValue) {
			t.Errorf("a value stands in %+v", p)
		}
	}
	same(t, "passwords", got, []string{
		filepath.Join(repo, ".env:2") + " holds the password of zone isp false",
		filepath.Join(repo, "fetch.py:1") + " holds a whole login of zone isp true",
		filepath.Join(repo, "run.sh:1") + " holds a whole login of zone other_one false",
		filepath.Join(repo, "run.sh:1") + " holds the password of zone isp false",
		filepath.Join(repo, "run.sh:3") + " holds the password of zone isp false",
	})
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
}

func TestAKeyInAFileThatGitTracksIsSaid(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "etl")
	write(t, repo, "src/fetch.py", "KEY = '"+oldValue+"'\n")
	write(t, repo, ".env", "ETL_KEY="+oldValue+"\n")
	write(t, repo, "node_modules/own/index.js", "key('"+oldValue+"')\n")
	git(t, repo, "init", "-q")
	git(t, repo, "add", "src", "node_modules")
	// A work tree must not make the scan run a program.
	ran := filepath.Join(dir, "ran")
	git(t, repo, "config", "core.fsmonitor", "touch "+ran)
	subject := radius.KeySubject(model.Key{Name: "etl", Fingerprint: etl().Fingerprint}, "")
	want := []string{
		"env file: " + filepath.Join(repo, ".env:1"),
		"git-tracked file: " + filepath.Join(repo, "node_modules/own/index.js:1"),
		"git-tracked file: " + filepath.Join(repo, "src/fetch.py:1"),
	}
	for what, folder := range map[string]string{"from above": dir, "the work tree": repo} {
		lines, problems := found(t, radius.Sources{Folders: []string{folder}}, subject)
		same(t, what, lines, want)
		same(t, what+", problems", problems, nil)
	}
	lines, _ := found(t, radius.Sources{Folders: []string{filepath.Join(repo, "src")}}, subject)
	same(t, "a folder in it", lines, want[2:])
	if _, err := os.Stat(ran); err == nil {
		t.Error("the scan ran a program that the work tree names")
	}
}

func TestAPlaceholderInAFileThatGitTracksIsNotTheValue(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, ".env.example", "ETL_KEY=replace-me-with-your-own-key\n")
	write(t, repo, "deploy.sh", "curl -H \"Authorization: Bearer $ETL_KEY\"\n")
	leak := write(t, repo, "leak.env", "ETL_KEY="+oldValue+"\n")
	git(t, repo, "init", "-q")
	git(t, repo, "add", ".")
	for what, c := range map[string]struct {
		fingerprint string
		want        []string
	}{"known": {etl().Fingerprint, []string{leak + ":1"}}, "a value that was never seen": {"", nil}} {
		k := model.Key{Name: "etl", Secret: "env:ETL_KEY", Fingerprint: c.fingerprint}
		s := radius.Sources{Folders: []string{repo}, Now: func() time.Time { return now }}
		r, err := radius.Find(t.Context(), s, []radius.Subject{radius.KeySubject(k, "")})
		if err != nil || len(r.Uses[0]) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		seen := radius.KeyUsage(k, r.Uses[0])
		same(t, what, seen.Tracked, c.want)
		if len(seen.Tracked)+len(seen.Automated) != 3 {
			t.Errorf("%s: %+v", what, seen)
		}
	}
}

func TestAScanIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		write(t, dir, fmt.Sprintf("%d.env", i), "K="+oldValue+"\n")
	}
	write(t, dir, "a/b/c/.env", oldValue)
	write(t, dir, "large.env", strings.Repeat("x", 4000))
	subject := radius.KeySubject(model.Key{Name: "etl", Fingerprint: etl().Fingerprint}, "")
	limits := radius.DefaultLimits()
	count := func(change func(*radius.Limits)) (int, []string) {
		l := limits
		change(&l)
		lines, problems := found(t, radius.Sources{Folders: []string{dir}, Limits: l}, subject)
		return len(lines), problems
	}
	for _, c := range []struct {
		what    string
		change  func(*radius.Limits)
		n       int
		problem string
	}{
		{"nothing", func(*radius.Limits) {}, 6, ""},
		{"files", func(l *radius.Limits) { l.Files = 2 }, 2, "the scan ended in " + dir + " after 2 files and 70 bytes, its limits: what comes after was not looked at"},
		{"bytes", func(l *radius.Limits) { l.Bytes = 120 }, 3, "the scan ended in " + dir + " after 3 files and 105 bytes, its limits: what comes after was not looked at"},
		{"the size of one", func(l *radius.Limits) { l.FileSize = 100 }, 6, filepath.Join(dir, "large.env") + " was not read: it is larger than 100 bytes"},
		{"depth", func(l *radius.Limits) { l.Depth = 2 }, 5, filepath.Join(dir, "a/b/c") + " was not scanned: it is more than 2 folders deep"},
	} {
		n, problems := count(c.change)
		var want []string
		if c.problem != "" {
			want = []string{c.problem}
		}
		if n != c.n {
			t.Errorf("%s: %d uses", c.what, n)
		}
		same(t, c.what, problems, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	r, err := radius.Find(ctx, radius.Sources{
		Folders: []string{dir}, Now: func() time.Time { return now },
		Progress: func(p radius.Progress) {
			if seen++; p.Files == 2 {
				cancel()
			}
		},
	}, []radius.Subject{subject})
	if !errors.Is(err, context.Canceled) || seen != 2 || r.Files != 2 || len(r.Problems) != 0 {
		t.Errorf("cancelled: %v after %d, %+v", err, seen, r)
	}
}

func TestAFileIsAskedForAValueAgain(t *testing.T) {
	file := write(t, t.TempDir(), "x.env", "ETL_KEY='"+otherValue+"'\n")
	for value, want := range map[string]bool{otherValue: true, oldValue: false} {
		if got, err := radius.Holds(file, keystore.NewSecret(value).Fingerprint()); err != nil || got != want {
			t.Errorf("…%s: %v, %v", value[len(value)-4:], got, err)
		}
	}
	if _, err := radius.Holds(filepath.Dir(file), "0123456789abcdef"); err == nil {
		t.Error("a folder was read as a file")
	}
}

func FuzzNoValueOfAFileComesOut(f *testing.F) {
	f.Add("export ETL_KEY=" + oldValue)
	f.Add("ETL_KEY: '" + otherValue + "' # " + oldValue)
	f.Add("{\"ETL_KEY\":\"" + otherValue)
	f.Fuzz(func(t *testing.T, line string) {
		dir := t.TempDir()
		noerr.Must(t, os.WriteFile(filepath.Join(dir, ".env"), []byte(line), 0o600))
		s := radius.Sources{Folders: []string{dir}, Now: func() time.Time { return now }}
		r := noerr.Try(radius.Find(t.Context(), s, []radius.Subject{radius.KeySubject(model.Key{Name: "etl", Secret: "env:ETL_KEY", Fingerprint: etl().Fingerprint}, "")})).Must(t)
		for _, u := range r.Uses[0] {
			for _, word := range strings.Fields(line) {
				if len(word) > 24 && strings.Contains(u.Place+u.Ref+u.Unmeasured+u.Fingerprint+u.Last4, word) {
					t.Errorf("%q of the file stands in %+v", word, u)
				}
			}
			if len(u.Last4) > 4*4 || u.Fingerprint != "" && len(u.Fingerprint) != 16 || u.Name != filepath.Join(dir, ".env") {
				t.Errorf("%+v", u)
			}
		}
	})
}

// Where a key's value is kept is no use of it: its own reference is what this console reads.
func TestAKeysOwnReferenceIsNotAUser(t *testing.T) {
	k := model.Key{Name: "etl", Secret: "env:ETL_KEY", UsedBy: []string{"nightly", "env:ETL_KEY", "file:etl"}}
	report := noerr.Try(radius.Find(t.Context(), radius.Sources{Now: time.Now}, []radius.Subject{radius.KeySubject(k, "")})).Must(t)
	want := []string{"nightly", keystore.ThisConsole, "file:etl"}
	if got := radius.Names(k, report.Uses[0]); !slices.Equal(got, want) {
		t.Errorf("used by %q, want %q", got, want)
	}
	if u := report.Uses[0][1]; u.Name != keystore.ThisConsole || u.Ref != "env:ETL_KEY" || !u.Measurable() {
		t.Errorf("%+v", u)
	}
}

// BenchmarkManyKeys reports how much longer ten times as many keys take: about 10 for what looks at
// each once, towards 100 for what holds each against the others.
func BenchmarkManyKeys(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.toml")
	noerr.Must(b, os.WriteFile(path, []byte("[profiles.a]\nbase_url = 'http://a.test'\nkey = 'key-99'\n[profiles.b]\nbase_url = 'http://b.test'\nkey = 'key-4999'\n"), 0o600))
	file, err := config.Load(path)
	noerr.Must(b, err)
	var took [2]time.Duration
	for b.Loop() {
		for i, n := range []int{5_000, 50_000} {
			s := radius.Sources{Config: file, Now: func() time.Time { return now }}
			subjects := make([]radius.Subject, n)
			for at := range subjects {
				s.Inventory = append(s.Inventory, model.Key{Name: fmt.Sprint("key-", at), Secret: fmt.Sprint("env:KEY_", at)})
				subjects[at] = radius.KeySubject(s.Inventory[at], "")
			}
			began := time.Now()
			r, err := radius.Find(b.Context(), s, subjects)
			took[i] += time.Since(began)
			if err != nil || len(r.Uses[99]) != 1 || len(r.Uses[4999]) != 1 || len(r.Uses[98]) != 0 {
				b.Fatal(r.Uses[99], r.Uses[4999], err)
			}
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "x-for-10x-keys")
}

// jobs are those in flight, of a ledger with a row that cannot be read.
type jobs []model.Job

func (j jobs) InFlight(context.Context) ([]model.Job, error) {
	return j, errors.New("one row could not be read")
}
