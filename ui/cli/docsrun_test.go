package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"zonedeck/internal/noerr"
)

var (
	// shellBlock is a block of commands, with the comment before it that says what all of them need.
	shellBlock = regexp.MustCompile("(?s)(?:<!-- (needs [^>]*) -->\n)?```sh\n(.*?)```")
	// statedExit and statedNeed are in the comment behind a command, or on the line before it.
	statedExit = regexp.MustCompile(`\bexit (\d+)`)
	statedNeed = regexp.MustCompile(`\bneeds ((?:an? |the )?[\w-]+(?: that may have started)?)`)
	// serving are the commands that go on until they are stopped, and then end with 0; they listen where nothing else does.
	serving = regexp.MustCompile(`^zonedeck (emulate( -|$)|mcp|webhook listen)`)
	ports   = regexp.MustCompile(`(--(?:address|api|cdp|proxy|socks)) 127\.0\.0\.1:\d+`)
	// elsewhere is what no machine has that the tests run on.
	elsewhere = []string{"a checkout", "a database", "a job that may have started", "a person", "a receiver", "an account", "macOS", "the network"}
)

// pageCommand is a command that a page shows.
type pageCommand struct {
	line, block int
	text        string
	exit        int
	need        string // a program, or one of elsewhere
}

// pageCommands are the commands of a page's blocks, in their order.
func pageCommands(t *testing.T, name string) (all []pageCommand) {
	t.Helper()
	text := page(t, name)
	for i, at := range shellBlock.FindAllStringSubmatchIndex(text, -1) {
		need := ""
		if at[2] >= 0 {
			need = text[at[2]:at[3]]
		}
		block, first := text[at[4]:at[5]], strings.Count(text[:at[4]], "\n")
		file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(block), name)
		if err != nil {
			t.Fatalf("the block from line %d: %v", first, err)
		}
		for _, s := range file.Stmts {
			said := need
			for _, c := range s.Comments {
				said += " " + c.Text
			}
			behind, _, _ := strings.Cut(block[s.End().Offset():], "\n")
			c := pageCommand{line: first + int(s.Pos().Line()), block: i, text: block[s.Pos().Offset():s.End().Offset()]}
			if m := statedExit.FindStringSubmatch(behind + said); m != nil {
				c.exit, err = strconv.Atoi(m[1])
				noerr.Must(t, err)
			}
			if m := statedNeed.FindStringSubmatch(said + " " + behind); m != nil {
				c.need = m[1]
			}
			all = append(all, c)
		}
	}
	return all
}

// runs reports whether a command can run on this machine.
func (c pageCommand) runs() bool {
	if slices.Contains(elsewhere, c.need) {
		return false
	}
	_, err := exec.LookPath(strings.ToLower(c.need))
	return c.need == "" || err == nil
}

// TestThePagesRun runs the commands of each page as they stand, one after the other, in an empty home and a folder with
// the files of testdata/docs, and compares the exit codes with those that the page states; 0 where it states none.
func TestThePagesRun(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	noerr.Must(t, err)
	for _, name := range append(pages, filepath.Join("..", "..", readmePage)) {
		name, err := filepath.Rel(filepath.Join("..", ".."), name)
		noerr.Must(t, err)
		if all := pageCommands(t, name); len(all) > 0 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runPage(t, name, all)
			})
		}
	}
}

// TestTheAnswersOnThePagesAreTheProgramsOwn compares what a page shows beneath a command with what the command says; how
// long something took may differ.
func TestTheAnswersOnThePagesAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	took := regexp.MustCompile(`[\d.]+ (µs|ms|s)\b`)
	command, want, _ := strings.Cut(strings.TrimPrefix(block(t, readmePage, "console", "$ "), "$ "), "\n")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0", "ZONEDECK_PROFILE=local"}
	said, _ := cmd.CombinedOutput()
	if got := string(said); took.ReplaceAllString(got, "* ms") != took.ReplaceAllString(want, "* ms") {
		t.Errorf("%s says\n%s\nREADME.md shows\n%s", command, got, want)
	}
}

func runPage(t *testing.T, name string, all []pageCommand) {
	t.Helper()
	home := t.TempDir()
	work := filepath.Join(home, "work")
	noerr.Must(t, os.CopyFS(work, os.DirFS(filepath.Join("testdata", "docs"))))
	script := pageScript(all)
	codes, to, err := os.Pipe()
	noerr.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.WaitDelay = work, &said, &said, []*os.File{to}, time.Second
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "GORACE=atexit_sleep_ms=0", "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0"}
	noerr.Must(t, cmd.Start())
	noerr.Must(t, to.Close())
	got := map[int]int{}
	for {
		var i, code int
		if _, err := fmt.Fscan(codes, &i, &code); err != nil {
			break
		}
		got[i] = code
	}
	noerr.Must(t, codes.Close())
	noerr.Must(t, cmd.Wait())
	outputs := strings.Split(said.String(), "@@ ")
	var missing []string
	for i, c := range all {
		switch code, ran := got[i]; {
		case !ran && c.runs():
			t.Errorf("%s:%d did not run", name, c.line)
		case !ran && !slices.Contains(elsewhere, c.need):
			missing = append(missing, c.need)
		case ran && code != c.exit:
			at := slices.IndexFunc(outputs, func(o string) bool { return strings.HasPrefix(o, strconv.Itoa(i)+"\n") })
			t.Errorf("%s:%d: exit %d, the page states %d: %s\n%.600s", name, c.line, code, c.exit, c.text, outputs[at])
		}
	}
	if len(missing) > 0 {
		t.Skipf("the rest ran; install %v", missing)
	}
}

// pageScript runs the commands in one shell, which writes the number of each and its exit code to descriptor 3. A command
// that serves is stopped before the next one that does, and at the end of its block.
func pageScript(all []pageCommand) string {
	var b strings.Builder
	served := -1
	stop := func() {
		if served >= 0 {
			fmt.Fprintf(&b, "kill $served; wait $served; echo %d $? >&3; cat served; rm served\n", served)
		}
		served = -1
	}
	for i, c := range all {
		if i > 0 && all[i-1].block != c.block || serving.MatchString(c.text) {
			stop()
		}
		if !c.runs() {
			continue
		}
		fmt.Fprintf(&b, "echo '@@ %d'\n", i)
		if serving.MatchString(c.text) {
			fmt.Fprintf(&b, "(exec timeout --preserve-status 60 %s) >served 2>&1 </dev/null & served=$!\n", ports.ReplaceAllString(c.text, "$1 127.0.0.1:0"))
			b.WriteString("for _ in $(seq 50); do grep -q '127.0.0.1:' served ready.json 2>/dev/null && break; sleep .1; done\n")
			served = i
			continue
		}
		fmt.Fprintf(&b, "%s\necho %d $? >&3\n", c.text, i)
	}
	stop()
	return b.String()
}
