//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/internal/noerr"
)

// piped are what reads or writes a file, by its flag, or the command and the word of its usage line: a run with {} for the
// file, what the file has, and what the run says then. Without {} it has a reason why it takes a file alone.
var piped = map[string][]struct{ run, file, want string }{
	"--config":   {{"--config {} profiles list", "[profiles.piped]\nbase_url = \"http://x.test\"\n", "piped"}},
	"--data":     {{"export http://lab.test/ok --as curl --zone unlocker_demo --via native -X POST -d {}", "piped", "piped"}, {"batch {dir}/urls.txt --dry-run --zone unlocker_demo -X POST -d {}", "piped", "items"}},
	"--curl":     {{"export --curl {} --as curl --zone unlocker_demo", "curl http://lab.test/piped", "lab.test/piped"}},
	"--har":      {{"export --har {} --as curl --zone unlocker_demo", `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"request":{"method":"GET","url":"http://lab.test/piped","headers":[]}}]}}`, "lab.test/piped"}},
	"--template": {{"export --template {} --as curl", "zone = \"unlocker_demo\"\nurl = \"http://lab.test/piped\"\n", "lab.test/piped"}},
	"--input": {
		{"compare --input {} --zones unlocker_demo --sample 1 --need 0.01", "http://lab.test/ok\n", "unlocker_demo"},
		{"drift check gd_products --input {}", `[{"url":"http://lab.test/product/1"}]`, "gd_products"},
		{"jobs launch gd_products --dry-run --input {}", "http://lab.test/product/7\n", "product/7"},
	},
	"--rules":    {{"diagnose {dir}/answer.txt --rules {}", "[[rules]]\nname = \"piped\"\nclass = \"ok\"\nreason = \"x\"\nmatch = { body = \"hello\" }\n", "piped"}},
	"--contract": {{"drift check --input {dir}/rows.json --contract {}", "dataset = \"gd_piped\"\n", "gd_piped"}},
	"--scenario": {{"emulate --cdp 127.0.0.1:0 --proxy 127.0.0.1:0 --scenario {}", "account = \"hl_piped\"\n", "hl_piped"}},
	"--log-file": {{"emulate --cdp 127.0.0.1:0 --proxy 127.0.0.1:0 --log-file {}", "", `"url":"/piped"`}},
	"--output": {
		{"request http://lab.test/ok --zone unlocker_demo -o {}", "", "<title>"},
		{"export http://lab.test/ok --as curl --zone unlocker_demo -o {}", "", "lab.test"},
		{"har -o {}", "", `"log"`},
		{"batch results n -o {}", "", `"n":1`},
		{"batch body n 1 -o {}", "", "<title>"},
		{"jobs download job-1 -o {} --as csv", "", "product"},
		{"jobs rows {dir}/rows.json -o {}", "", "product"},
		{"keys export --as json -o {}", "", "etl-main"},
	},
	"--rejects":        {{"standard output has the job", "", ""}},
	"--ca":             {{"the profile names the file, and each call reads it", "", ""}},
	"batch FILE":       {{"batch {} --dry-run --zone unlocker_demo", "http://lab.test/piped\n", "lab.test/piped"}},
	"diagnose FILE":    {{"diagnose {}", "HTTP/1.1 200 OK\n\npiped", "ok"}},
	"rules FILE":       {{"rules {}", "[[rules]]\nname = \"piped\"\nclass = \"ok\"\nreason = \"x\"\nmatch = { body = \"hello\" }\n", "piped"}},
	"--new-against":    {{"jobs rows {dir}/rows.json --new-against {} --id-field url", "{\"url\":\"x\"}\n", "product"}},
	"--diff":           {{"jobs rows {dir}/rows.json --diff {} --id-field url", "{\"url\":\"x\"}\n", "product"}},
	"jobs rows FILE":   {{"jobs rows {} --about", "{\"a\":1}\n", "1 row in {}"}, {"jobs rows {} --filter piped", "{\"a\":\"piped\"}\n", `"piped"`}},
	"keys import FILE": {{"keys import --from csv {}", "name,level\npiped,USER\n", "piped"}},
}

// Whatever takes or writes a file does so by standard input and output, and through a pipe.
func TestFilesComeAndGoThroughPipes(t *testing.T) {
	p, _, _ := process(t, nil)
	dir := p.Getenv("HOME")
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0", "GORACE=atexit_sleep_ms=0"}
	for _, v := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env = append(env, "XDG_"+v+"_HOME="+p.Getenv("XDG_"+v+"_HOME"))
	}
	for name, text := range map[string]string{"urls.txt": "http://lab.test/ok\n", "answer.txt": "HTTP/1.1 200 OK\n\nhello", "rows.json": `[{"url":"http://lab.test/product/1"}]`, "products.txt": "http://lab.test/product/1\n"} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	place := func(run, file string) *exec.Cmd {
		words := strings.Fields(strings.ReplaceAll(run, "{dir}", dir))
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "{}", file)
			if words[max(i-1, 0)] == "-d" && file != "-" {
				words[i] = "@" + file
			}
		}
		cmd := exec.CommandContext(t.Context(), "zonedeck", words...)
		cmd.Env, cmd.Dir = env, dir
		return cmd
	}
	for _, run := range []string{"jobs launch gd_products --input products.txt --wait", "batch urls.txt --zone unlocker_demo --once n"} {
		if out, err := place(run, "").CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", run, err, out)
		}
	}
	ran := map[string]bool{}
	eachFile((&app{Process: p}).rootCommand(), func(what, kind string) {
		if ran[what] {
			return
		}
		ran[what] = true
		if len(piped[what]) == 0 {
			t.Errorf("%s takes a file: say in piped how it does through a pipe, or why not", what)
		}
		for _, c := range piped[what] {
			if !strings.Contains(c.run, "{}") {
				continue
			}
			for _, file := range []string{"-", filepath.Join(t.TempDir(), "pipe")} {
				t.Run(c.run+" "+filepath.Base(file), func(t *testing.T) {
					cmd := place(c.run, file)
					said := throughPipe(t, cmd, file, c.file, kind == "output", strings.HasPrefix(c.run, "emulate"))
					if want := strings.ReplaceAll(c.want, "{}", file); !strings.Contains(said, want) {
						t.Errorf("%q is not in %s", want, said)
					}
				})
			}
		}
	})
	for what := range piped {
		if !ran[what] {
			t.Errorf("nothing is called %s", what)
		}
	}
}

// eachFile visits what takes or writes a file: flags, and words of usage lines.
func eachFile(cmd *cobra.Command, visit func(what, kind string)) {
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if kind := strings.Join(f.Annotations["takes"], ""); slices.Contains([]string{"file", "output", "data", "job|FILE"}, kind) {
			visit("--"+f.Name, kind)
		}
	})
	for _, word := range arguments(cmd.Use) {
		if slices.Contains(strings.Split(strings.Trim(word, "[]"), "|"), "FILE") {
			visit(strings.TrimPrefix(cmd.CommandPath(), "zonedeck ")+" FILE", "file")
		}
	}
	for _, c := range cmd.Commands() {
		eachFile(c, visit)
	}
}

// throughPipe runs a command whose file is a pipe, or - for standard input and output. It gives what the command has
// written: to its standard output or, if it writes the file, to that. One that serves is sent a request and interrupted.
func throughPipe(t *testing.T, cmd *exec.Cmd, file, content string, writes, serves bool) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if file == "-" {
		cmd.Stdin = strings.NewReader(content)
	} else {
		noerr.Must(t, syscall.Mkfifo(file, 0o600))
	}
	written := make(chan string, 1)
	switch {
	case file == "-":
	case writes:
		go func() {
			b, _ := os.ReadFile(file)
			written <- string(b)
		}()
	default:
		go func() { noerr.Want(t, os.WriteFile(file, []byte(content), 0o600)) }()
	}
	out, err := cmd.StdoutPipe()
	noerr.Must(t, err)
	noerr.Must(t, cmd.Start())
	lines := bufio.NewReader(out)
	said := ""
	if serves {
		said, err = lines.ReadString('\n')
		noerr.Must(t, err)
		api := strings.Fields(said)[2]
		if resp, err := http.Get(api + "/piped"); err == nil {
			resp.Body.Close()
		}
		noerr.Must(t, cmd.Process.Signal(os.Interrupt))
	}
	rest, err := io.ReadAll(lines)
	noerr.Must(t, err)
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != exitChecksFailed { // a first run has nothing to be compared with
		t.Errorf("%v: %s", err, &errs)
	}
	if writes && file != "-" {
		return <-written
	}
	return said + string(rest) + errs.String()
}
