package snippet

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
)

// program is a zonedeck of the test's own: it says its arguments and ends with a code.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noerr.Must(t, os.WriteFile(path, []byte("#!/bin/sh\nprintf '%s ' \"$@\"\nexit ${CODE:-0}\n"), 0o700))
	return path
}

func text(t *testing.T, kind string, o Options) string {
	t.Helper()
	return noerr.Try(Write(Keys, kind, o)).Must(t)
}

// sh runs a command as cron and the runners of CI do.
func sh(t *testing.T, command, code string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), "CODE="+code)
	out, err := cmd.CombinedOutput()
	if err != nil && code == "0" {
		t.Errorf("%s: %v", command, err)
	}
	return string(out)
}

func TestCronIsQuietWhileNoKeyIsDue(t *testing.T) {
	prog := program(t, "zone deck's 100%")
	for _, line := range strings.Split(strings.TrimSpace(text(t, "cron", Options{Program: prog, Within: "14d", Metrics: "/tmp/x y%.prom"})), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 6)
		for _, f := range fields[:5] {
			if !regexp.MustCompile(`^(\*|\*/\d+|\d+)$`).MatchString(f) {
				t.Errorf("%q is no time of cron", strings.Join(fields[:5], " "))
			}
		}
		// cron ends a command at a percent sign, and takes the backslash off an escaped one.
		if regexp.MustCompile(`(^|[^\\])%`).MatchString(fields[5]) {
			t.Errorf("a percent sign ends %s", fields[5])
		}
		command := strings.ReplaceAll(fields[5], `\%`, "%")
		if strings.Contains(command, "export") {
			if out := sh(t, command, "0"); out != "keys export --recorded --as prometheus -o /tmp/x y%.prom " {
				t.Errorf("%q", out)
			}
			continue
		}
		if out := sh(t, command, "0"); out != "" {
			t.Errorf("it prints %q while all is well", out)
		}
		if out := sh(t, command, "40"); out != "zonedeck keys check ended with 40: keys check --recorded --within 14d \n" {
			t.Errorf("%q", out)
		}
	}
}

func TestTheUnitsAreWhatSystemdReads(t *testing.T) {
	prog := program(t, "zonedeck")
	units := map[string]string{}
	dir := t.TempDir()
	for _, part := range regexp.MustCompile(`(?m)^# ~/\.config/systemd/user/`).Split(text(t, "systemd", Options{Program: prog, Within: "14d", Metrics: "/var/lib/x y%.prom"}), -1)[1:] {
		name, body, _ := strings.Cut(part, "\n")
		units[name] = body
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	section := ""
	for name, unit := range units {
		for line := range strings.Lines(unit) {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case regexp.MustCompile(`^\[(Unit|Service|Timer|Install)\]$`).MatchString(line):
				section = line
			case section == "" || !regexp.MustCompile(`^[A-Z][A-Za-z]+=.+$`).MatchString(line):
				t.Errorf("%s: %q", name, line)
			}
		}
	}
	if len(units) != 2 || !strings.Contains(units["zonedeck-keys.service"], `-o "/var/lib/x y%%.prom"`) {
		t.Fatalf("%q", units)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // parsed above
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--user", "--man=no", filepath.Join(dir, "zonedeck-keys.service"), filepath.Join(dir, "zonedeck-keys.timer")).CombinedOutput()
	// Without a running systemd it says so; what it has against the units names their files.
	if err != nil && strings.Contains(string(out), "zonedeck-keys.") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheUnitThatFollowsJobsIsWhatSystemdReads(t *testing.T) {
	dir := t.TempDir()
	for profile, want := range map[string]string{"": " jobs follow\n", "my 100 %": ` --profile "my 100 %%" jobs follow` + "\n"} {
		unit := follow(Options{Program: program(t, "zonedeck"), Profile: profile})
		if !strings.Contains(unit, want) || !strings.Contains(unit, "\n[Service]\nType=exec\nExecStart=") {
			t.Fatal(unit)
		}
		file := filepath.Join(dir, "zonedeck-jobs.service")
		noerr.Must(t, os.WriteFile(file, []byte(unit), 0o600))
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			continue // looked at above
		}
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--user", "--man=no", file).CombinedOutput()
		// Without a running systemd it says so; what it has against the unit names its file.
		if strings.Contains(string(out), "zonedeck-jobs.") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestTheCommandOfAWorkflowRuns(t *testing.T) {
	prog := program(t, "it's zonedeck")
	for kind, prefix := range map[string]string{"github": "        run: ", "gitlab": "    - "} {
		doc := text(t, kind, Options{Program: prog, Within: "2w"})
		if strings.Contains(doc, "\t") {
			t.Errorf("%s: YAML has no tabs", kind)
		}
		lines := strings.Split(doc, "\n")
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) && strings.Contains(l, "keys check") })
		if i < 0 {
			t.Fatalf("%s: no command in\n%s", kind, doc)
		}
		quoted := strings.TrimPrefix(lines[i], prefix)
		command := strings.ReplaceAll(quoted[1:len(quoted)-1], "''", "'")
		if out := sh(t, command, "0"); quoted[0] != '\'' || strings.TrimSuffix(out, as[kind]+" ") != "--profile local keys check --recorded --within 2w" {
			t.Errorf("%s: %s gives %q", kind, command, out)
		}
		depths := indents(t, doc)
		if !slices.Equal(depths[:1], []int{0}) {
			t.Errorf("%s: %v", kind, depths)
		}
	}
	for subject, want := range map[string]string{Keys: "cron, systemd, github or gitlab", Jobs: "systemd", Batch: "cron or systemd"} {
		if _, err := Write(subject, "at", Options{}); err == nil || err.Error() != `there is no text for "at": write `+want {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if _, err := Write(Jobs, "gitlab", Options{}); err == nil || err.Error() != "jobs are followed all the time, by a program that is started again when it ends, which gitlab does not do: write systemd" {
		t.Error(err)
	}
}

// as is the form of the check's output that a kind shows at the run.
var as = map[string]string{"github": " --as github"}

// A runner of CI has no configuration: what the text writes is read as one, with the same intervals.
func TestAWorkflowCountsAsTheConfigurationSays(t *testing.T) {
	prog, want := program(t, "zonedeck"), map[model.Level]int{model.LevelOps: 61, model.LevelUser: 30}
	for _, kind := range []string{"github", "gitlab"} {
		t.Chdir(t.TempDir())
		noerr.Must(t, os.Mkdir(".zonedeck", 0o700))
		doc, out := text(t, kind, Options{Program: prog, Within: "14d", Intervals: want}), ""
		indents(t, doc)
		for _, m := range regexp.MustCompile(`(?m)^ +(?:run:|-) '(.+)'$`).FindAllStringSubmatch(doc, -1) {
			out += sh(t, strings.ReplaceAll(m[1], "''", "'"), "0")
		}
		if strings.TrimSuffix(out, as[kind]+" ") != "--profile local --config .zonedeck/config.toml keys check --recorded --within 14d" {
			t.Errorf("%s: %q", kind, out)
		}
		if file, err := config.Load(".zonedeck/config.toml"); err != nil || !maps.Equal(file.Keys().Intervals, want) {
			t.Errorf("%s: %v, %v", kind, file.Keys().Intervals, err)
		}
	}
}

// indents checks the shape of a YAML document: every line is a comment, an item or a key, and is
// indented by twos, at most one step more than the line before.
func indents(t *testing.T, doc string) (depths []int) {
	t.Helper()
	for line := range strings.Lines(doc) {
		words := strings.TrimLeft(line, " ")
		if words == "\n" || strings.HasPrefix(words, "#") {
			continue
		}
		depth := len(line) - len(words)
		if n := len(depths); depth%2 != 0 || n > 0 && depth > depths[n-1]+4 || !regexp.MustCompile(`^(- )?[A-Za-z_ -]+:( .+)?\n$|^- .+\n$`).MatchString(words) {
			t.Errorf("%q", line)
		}
		depths = append(depths, depth)
	}
	return depths
}

// systemd and cron know no PATH of a shell, nor the folder that the command was written in.
func TestThisMachineRunsTheProgramByItsPath(t *testing.T) {
	exe, err := os.Executable()
	noerr.Must(t, err)
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	noerr.Must(t, err)
	o := Options{Within: "14d", Metrics: "keys.prom"}
	for kind, want := range map[string]string{
		"systemd": "ExecStart=" + unitWord(exe) + " keys check", "cron": "out=$(" + word(exe) + " keys check", "github": "'zonedeck --profile local keys check", "gitlab": "- 'zonedeck --profile local keys check",
	} {
		got := text(t, kind, o)
		if !strings.Contains(got, want) || strings.Contains(got, " -o ") && !strings.Contains(got, " -o "+filepath.Join(here, "keys.prom")) {
			t.Errorf("%s lacks %q or the metrics' path:\n%s", kind, want, got)
		}
	}
	// So they know no file that was named relative to it. A runner of CI has none of this machine.
	named := Options{Within: "14d", Metrics: "keys.prom", Config: "my conf%.toml"}
	config := filepath.Join(here, "my conf%.toml")
	inUnit, inCron := " --config "+unitWord(config)+" ", " --config "+strings.ReplaceAll(word(config), "%", `\%`)+" "
	for kind, want := range map[string][]string{
		"systemd": {inUnit + "keys check", inUnit + "keys export"}, "cron": {inCron + "keys check", inCron + "keys export"}, "github": {"'zonedeck --profile local keys check"}, "gitlab": {"- 'zonedeck --profile local keys check"},
	} {
		for _, w := range want {
			if got := text(t, kind, named); !strings.Contains(got, w) {
				t.Errorf("%s lacks %q:\n%s", kind, w, got)
			}
		}
	}
	named.Profile = "my acme"
	for kind, want := range map[string]string{"systemd": `--profile "my acme" keys check`, "cron": "--profile 'my acme' keys check"} {
		if got := text(t, kind, named); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", kind, want, got)
		}
	}
	if got, want := follow(Options{Profile: "acme", Config: "my conf%.toml"}), inUnit+"--profile acme jobs follow\n"; !strings.Contains(got, want) {
		t.Errorf("it lacks %q:\n%s", want, got)
	}
	if got := follow(Options{}); !strings.Contains(got, "ExecStart="+unitWord(exe)+" jobs follow") {
		t.Errorf("%s", got)
	}
}
