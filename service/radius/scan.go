package radius

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"zonedeck/keystore"
	"zonedeck/model"
)

// Limits bound a scan of folders.
type Limits struct {
	Files    int   // files that are read
	FileSize int64 // bytes of one; a larger file is left out
	Bytes    int64 // bytes of all
	Depth    int   // folders below a given one
}

// DefaultLimits are those of a scan for which nothing else was said.
func DefaultLimits() Limits {
	return Limits{Files: 20_000, FileSize: 1 << 20, Bytes: 128 << 20, Depth: 16}
}

// Progress is how far a scan is.
type Progress struct {
	Files int
	Bytes int64
	Path  string
}

// skipped are folders of other people's files, which are only read where git tracks them.
var skipped = []string{".git", "node_modules", ".venv", "venv", "__pycache__", ".terraform"}

var errLimit = errors.New("a limit was reached")

// scanner is the scan of all folders.
type scanner struct {
	*finder
	limits Limits
	// wanted are the subjects by the first 8 bytes of their value's SHA-256; variables those
	// whose value is in an environment variable, by its name.
	wanted       map[[8]byte][]int
	variables    map[string][]int
	names        map[string]*regexp.Regexp // those variables, as words
	git          worktrees
	announcement fs.FileInfo
	filesRead    map[string]bool // files that were read
	count        map[int]int     // places that were found, for each subject
	links        []string        // symbolic links with the name of a file of settings
}

func (f *finder) scan(ctx context.Context) {
	if len(f.Folders) == 0 {
		return
	}
	s := &scanner{finder: f, limits: f.Limits, wanted: map[[8]byte][]int{}, variables: map[string][]int{}, names: map[string]*regexp.Regexp{}, filesRead: map[string]bool{}, count: map[int]int{}}
	if s.limits == (Limits{}) {
		s.limits = DefaultLimits()
	}
	s.announcement, _ = os.Stat(f.Announcement) // nil equals no file
	for i, subject := range f.subjects {
		s.watch(subject.Fingerprint, i)
		for _, v := range subject.PreviousValues {
			if v.Fingerprint != subject.Fingerprint {
				s.watch(v.Fingerprint, i)
			}
		}
		if ref := keystore.Ref(subject.Ref); ref.Scheme() == keystore.SchemeEnv {
			s.variables[ref.Target()] = append(s.variables[ref.Target()], i)
			s.names[ref.Target()] = regexp.MustCompile(`\b` + regexp.QuoteMeta(ref.Target()) + `\b`)
		}
	}
	for _, folder := range f.Folders {
		err := s.folder(ctx, folder)
		if errors.Is(err, errLimit) {
			f.problem("the scan ended in %s after %d files and %d bytes, its limits: what comes after was not looked at", folder, f.report.Files, f.report.Bytes)
			return
		}
		if err != nil && ctx.Err() == nil {
			f.problem("%s was not scanned: %v", folder, cause(err))
		}
		if ctx.Err() != nil {
			return
		}
	}
	for _, link := range s.links { // a link to what was read anyway leaves nothing out
		target, err := filepath.EvalSymlinks(link)
		if info, gone := os.Stat(target); err == nil && gone == nil && info.Mode().IsRegular() && !s.filesRead[target] {
			s.problem("%s was not read: it is a symbolic link to a file that was not looked at", link)
		}
	}
}

// watch has a value of a subject looked for.
func (s *scanner) watch(fingerprint string, subject int) {
	if b, err := hex.DecodeString(fingerprint); err == nil && len(b) == 8 {
		s.wanted[[8]byte(b)] = append(s.wanted[[8]byte(b)], subject)
	}
}

// folder scans one folder. Symbolic links in it are not followed.
func (s *scanner) folder(ctx context.Context, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	if inWorktree(folder) {
		s.tracked(ctx, folder)
	}
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		full := filepath.Join(folder, filepath.FromSlash(name))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.problem("%s was not read: %v", full, cause(err))
			return nil
		case entry.IsDir():
			return s.enter(ctx, root, name, full)
		case entry.Type()&fs.ModeSymlink != 0 && holdsSettings(path.Base(name)):
			if !slices.Contains(s.links, full) {
				s.links = append(s.links, full)
			}
			return nil
		case !entry.Type().IsRegular() || s.filesRead[full]:
			return nil
		case !s.git.tracks(full) && !holdsSettings(path.Base(name)):
			return nil
		}
		s.filesRead[full] = true
		return s.file(root, name, full)
	})
}

// enter decides whether a folder is walked through.
func (s *scanner) enter(ctx context.Context, root *os.Root, name, full string) error {
	switch {
	case name == ".":
		return nil
	case path.Base(name) == ".git", slices.Contains(skipped, path.Base(name)) && !s.git.below(full):
		return fs.SkipDir
	case strings.Count(name, "/")+1 > s.limits.Depth:
		s.problem("%s was not scanned: it is more than %d folders deep", full, s.limits.Depth)
		return fs.SkipDir
	}
	if _, err := root.Lstat(path.Join(name, ".git")); err == nil {
		s.tracked(ctx, full)
	}
	return nil
}

func (s *scanner) tracked(ctx context.Context, folder string) {
	if err := s.git.add(ctx, folder); err != nil && ctx.Err() == nil {
		s.problem("it is not known which files git tracks in %s: %v", folder, err)
	}
}

// file reads one file.
func (s *scanner) file(root *os.Root, name, full string) error {
	if s.report.Files >= s.limits.Files {
		return errLimit
	}
	file, err := root.Open(name)
	if err != nil {
		s.problem("%s was not read: %v", full, cause(err))
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		s.problem("%s was not read: %v", full, cause(err))
		return nil
	case !info.Mode().IsRegular(), os.SameFile(info, s.announcement):
		return nil
	case info.Size() > s.limits.FileSize:
		head := make([]byte, 8000)
		if n, _ := io.ReadFull(file, head); holdsSettings(path.Base(name)) || isText(head[:n]) {
			s.problem("%s was not read: it is larger than %d bytes", full, s.limits.FileSize)
		}
		return nil
	case s.report.Bytes+info.Size() > s.limits.Bytes:
		return errLimit
	}
	text, err := io.ReadAll(io.LimitReader(file, s.limits.FileSize))
	if err != nil {
		s.problem("%s was not read: %v", full, cause(err))
		return nil
	}
	s.report.Files++
	s.report.Bytes += int64(len(text))
	if s.Progress != nil {
		s.Progress(Progress{Files: s.report.Files, Bytes: s.report.Bytes, Path: full})
	}
	if text = utf8Of(text); !isText(text) {
		return nil
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		s.line(line, full, n)
	}
	return nil
}

// isText tells a text from other bytes by its beginning, as git does.
func isText(b []byte) bool { return bytes.IndexByte(utf8Of(b[:min(len(b), 8000)]), 0) < 0 }

// utf8Of is a text in UTF-8; one in UTF-16 begins with its mark.
func utf8Of(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return b
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) > 1; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units)))
}

// line looks for values and for names of variables in a line.
func (s *scanner) line(line, full string, n int) {
	kind := EnvFile
	if s.git.tracks(full) {
		kind = TrackedFile
	}
	use := Use{Kind: kind, Name: full, Place: fmt.Sprintf("%s:%d", full, n), LastSeen: s.Now()}
	tracked := kind == TrackedFile
	for _, m := range login.FindAllStringSubmatch(line, -1) {
		if read, err := model.ReadUsername("x"+m[1], nil); err == nil {
			s.addPassword(Password{string(read[0].Credential.Zone), "a whole login", use.Place, tracked})
		}
	}
	for name, subjects := range s.variables {
		if !strings.Contains(line, name) {
			continue
		}
		at := s.names[name].FindStringIndex(line)
		if at == nil {
			continue
		}
		value := keystore.NewSecret(assigned(line[at[1]:]))
		for _, i := range subjects {
			u := use
			u.Ref = s.subjects[i].Ref
			if value.Empty() {
				u.Unmeasured = "it names the variable " + name + ", whose value comes from elsewhere"
			} else {
				u.Fingerprint, u.Last4 = value.Fingerprint(), value.Last4()
			}
			s.addUse(i, u)
		}
	}
	if len(s.wanted) == 0 {
		return
	}
	for word := range candidates(line) {
		sum := sha256.Sum256([]byte(word))
		for _, i := range s.wanted[[8]byte(sum[:8])] {
			if zone := s.subjects[i].Zone; zone != "" {
				s.addPassword(Password{zone, "the password", use.Place, tracked})
			}
			u := use
			u.Fingerprint, u.Last4 = s.subjects[i].Fingerprint, s.subjects[i].Last4
			if v, previous := s.subjects[i].previousValue(hex.EncodeToString(sum[:8])); previous {
				u.Fingerprint, u.Last4, u.Previous, u.Ended = v.Fingerprint, v.Last4, v.Ended.IsZero(), v.Ended
			}
			if !u.Ended.IsZero() {
				u.Unmeasured = "the value there has ended on " + keystore.FormatMoment(u.Ended) + ", and is refused: give it the present one"
			}
			s.addUse(i, u)
		}
	}
}

// maxFound bounds the uses of one subject that a scan gives.
const maxFound = 1000

// addUse adds a use in a file. What is found twice in one line is one use: the value itself says
// more than the variable's name.
func (s *scanner) addUse(subject int, u Use) {
	uses := s.report.Uses[subject]
	if n := len(uses); n > 0 && uses[n-1].Place == u.Place && uses[n-1].Kind == u.Kind {
		u.Ref = cmp.Or(u.Ref, uses[n-1].Ref)
		uses[n-1] = u
		return
	}
	switch s.count[subject]++; {
	case s.count[subject] <= maxFound:
		s.report.Uses[subject] = append(uses, u)
	case s.count[subject] == maxFound+1:
		s.problem("only the first %d places in files are listed that use %s", maxFound, cmp.Or(s.subjects[subject].Key, s.subjects[subject].Zone))
	}
}

// Holds reports whether a file holds a value of a fingerprint: the proof that a file was
// switched to another value. The file has the bounds of a scan; links are followed, because the
// operator has named the file.
func Holds(file, fingerprint string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, errors.Join(err, fmt.Errorf("%s is not a regular file", file))
	}
	text, err := io.ReadAll(io.LimitReader(f, DefaultLimits().FileSize))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		for word := range candidates(line) {
			if keystore.NewSecret(word).Fingerprint() == fingerprint {
				return true, nil
			}
		}
	}
	return false, nil
}

// The length of a word that may be a value: a shorter one would be found by chance.
const minWord, maxWord = 8, 512

const (
	quotes = "\"'`"
	marks  = quotes + "=:,;()[]{}<>"
	inURLs = marks + "@/?&#"
)

// candidates are the words of a line that may be a value: between blanks and quotes, what
// follows a "=" or ":" in them, and between the marks of programs, settings and addresses.
func candidates(line string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		fits := func(w string) bool { return len(w) >= minWord && len(w) <= maxWord }
		for _, word := range strings.FieldsFunc(line, cutAt(quotes)) {
			word = strings.TrimRight(word, ",;)]}>")
			rest := word
			for {
				if fits(rest) && !yield(rest) {
					return
				}
				i := strings.IndexAny(rest, "=:")
				if i < 0 || len(rest) > 1<<16 {
					break
				}
				rest = rest[i+1:]
			}
		}
		for _, set := range []string{marks, inURLs} {
			for _, word := range strings.FieldsFunc(line, cutAt(set)) {
				if fits(word) && !yield(word) {
					return
				}
			}
		}
	}
}

func cutAt(set string) func(rune) bool {
	return func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(set, r) }
}

// login is the end of a username of the service with its password, as addresses and curl take them (service.md 5.2).
// What a program fills in begins with another sign.
var login = regexp.MustCompile(`(-customer-\w+-zone-[\w-]+):[^\s:@/"'$%<{*•` + "`]")

// addPassword adds a place of a zone's password, once.
func (s *scanner) addPassword(p Password) {
	if !slices.ContainsFunc(s.report.Passwords, func(o Password) bool { return o.Zone == p.Zone && o.Place == p.Place }) && len(s.report.Passwords) < maxFound {
		s.report.Passwords = append(s.report.Passwords, p)
	}
}

// minAssigned is the least length of a value that is fingerprinted without being one that is
// looked for: the hash of a shorter one could be turned back.
const minAssigned = 16

// assigned is the value after a variable's name in NAME=value, NAME: value and their like; empty
// where none stands there itself.
func assigned(rest string) string {
	rest = strings.TrimLeft(strings.TrimLeft(rest, quotes), " \t")
	if rest == "" || rest[0] != '=' && rest[0] != ':' {
		return ""
	}
	rest = strings.TrimSpace(rest[1:])
	if rest != "" && strings.IndexByte(quotes, rest[0]) >= 0 {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	} else {
		rest, _, _ = strings.Cut(rest, " ")
		rest = strings.TrimRight(rest, ",;)]}")
	}
	if len(rest) < minAssigned || len(rest) > maxWord || strings.ContainsAny(rest[:1], "$%<{") {
		return ""
	}
	return rest
}

// holdsSettings tells by a file's name whether programs take settings from it.
func holdsSettings(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains([]string{
		"dockerfile", "makefile", "crontab", "environment", ".netrc", ".npmrc", ".pgpass",
		".profile", ".login", ".bashrc", ".bash_profile", ".bash_login", ".zshrc", ".zshenv", ".zprofile", ".kshrc",
	}, name) || strings.HasPrefix(name, ".env") || strings.HasPrefix(name, "env.") || name == "env" {
		return true
	}
	return slices.Contains([]string{
		".env", ".sh", ".bash", ".zsh", ".fish", ".ksh", ".ps1", ".bat", ".cmd", ".toml", ".yaml", ".yml", ".json", ".jsonc", ".ini",
		".cfg", ".conf", ".config", ".properties", ".tfvars", ".service", ".plist", ".xml",
	}, path.Ext(name))
}

// cause is an error without the path that the problem says already.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
