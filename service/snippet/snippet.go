// Package snippet writes what zonedeck does on schedule (the check of the keys, a batch a day, following the jobs) as
// text for the programs that run it: cron, systemd, GitHub and GitLab. The texts hold no secret. The Keys tab and
// 'zonedeck schedule' hand them out. It keeps no state.
package snippet

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
)

// Options are what a text is made for.
type Options struct {
	// Program is the program's path. Empty means this program, by its absolute path, where the text is
	// for this machine, and the name alone where another one runs it.
	Program string
	// Config is the config file that was named, by whatever path; empty for the usual one. A runner of CI has
	// no file of this machine: what the check needs of it there are the Intervals.
	Config  string
	Within  string // a time like "14d"
	Profile string // the profile that was named; empty for the default one
	// Database is what --database named; empty for what the profile has.
	Database string
	// Metrics is the file for node_exporter's textfile collector; empty for none.
	Metrics string
	// Intervals are the days that values are used, by level, where the configuration says them. A runner
	// of CI has no configuration of its own: the text writes one with them.
	Intervals map[model.Level]int
	// Batch are the words of the command that begins a batch, and Series the name that gets the date behind it.
	Batch  []string
	Series string
}

// Kind is one program that a text is written for.
type Kind struct {
	Name, Title string
	write       func(o Options) string
}

// What a text has run: the check of the keys, 'zonedeck jobs follow', or a batch every day.
const (
	Keys  = "keys"
	Jobs  = "jobs"
	Batch = "batch"
)

// Kinds lists the texts that there are for Keys, Jobs or Batch.
func Kinds(subject string) []Kind {
	switch subject {
	case Jobs:
		return []Kind{{"systemd", "a systemd service", follow}}
	case Batch:
		return []Kind{{"cron", cronTitle, batchCron}, {"systemd", unitTitle, batchUnits}}
	default:
		return []Kind{{"cron", cronTitle, cron}, {"systemd", unitTitle, systemd}, {"github", "a workflow of GitHub Actions", github}, {"gitlab", "a scheduled job of GitLab CI", gitlab}}
	}
}

const cronTitle, unitTitle = "a line of a crontab", "a systemd service and its timer"

// Names are the names of kinds in words: "cron, systemd or github".
func Names(kinds []Kind) string {
	names := kinds[0].Name
	for i, k := range kinds[1:] {
		names += map[bool]string{true: " or ", false: ", "}[i == len(kinds)-2] + k.Name
	}
	return names
}

// Write is the text of a kind that has Keys, Jobs or Batch run. The error says what there is instead.
func Write(subject, name string, o Options) (string, error) {
	kinds := Kinds(subject)
	for _, k := range kinds {
		if k.Name == name {
			return k.write(o), nil
		}
	}
	return "", fmt.Errorf("there is no text for %q: write %s", name, Names(kinds))
}

// Command is the command line that prints the check of the keys for a kind.
func Command(name string, o Options) string {
	command := "zonedeck schedule keys --as " + name
	if o.Config != "" {
		command += " --config " + word(absolute(o.Config))
	}
	if o.Profile != "" {
		command += " --profile " + word(o.Profile)
	}
	return command
}

// With is how a command line for a POSIX shell begins that works with a profile: "zonedeck --profile 'my own'".
// Without a name it leaves the profile open.
func With(profile string) string {
	if profile == "" {
		return "zonedeck"
	}
	return "zonedeck --profile " + word(profile)
}

// OnDatabase adds the database that --database names to a command line, "" for that of the profile.
func OnDatabase(command, database string) string {
	if database == "" {
		return command
	}
	return command + " --database " + word(database)
}

// word quotes a word for a POSIX shell where it needs it.
func word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-+:@", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// programPath is the program as this machine runs it: systemd and cron look for names along paths of their own.
func (o Options) programPath() string {
	if o.Program != "" {
		return o.Program
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "/usr/local/bin/zonedeck"
}

// absolute is the path of a file, wherever the text is run.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// command is the program with its configuration, as this machine runs it, quoted by quote.
func (o Options) command(quote func(string) string) string {
	command := quote(o.programPath())
	if o.Config != "" {
		command += " --config " + quote(absolute(o.Config))
	}
	if o.Profile != "" {
		command += " --profile " + quote(o.Profile)
	}
	if o.Database != "" {
		command += " --database " + quote(o.Database)
	}
	return command
}

// check is the command that checks the inventory, and export the one that writes the metrics.
func (o Options) check(command string) string {
	return command + " keys check --recorded --within " + word(o.Within)
}

func (o Options) export() string {
	return o.command(word) + " keys export --recorded --as prometheus -o " + word(absolute(o.Metrics))
}

func cron(o Options) string {
	percent := strings.NewReplacer("%", `\%`) // cron ends a command at a percent sign
	var b strings.Builder
	b.WriteString("# The keys of zonedeck, every morning. cron mails what is printed: nothing while no key is due.\n")
	b.WriteString("# 40: a rotation or an expiry is due, 41: a key has expired, 42: a rule about keys is broken, 1: a date is unknown or there is no key.\n")
	fmt.Fprintf(&b, "17 6 * * * out=$(%s 2>&1) || echo \"zonedeck keys check ended with $?: $out\"\n", percent.Replace(o.check(o.command(word))))
	if o.Metrics != "" {
		fmt.Fprintf(&b, "*/10 * * * * %s\n", percent.Replace(o.export()))
	}
	return b.String()
}

// unitWord quotes a word for a command of a systemd unit.
func unitWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(s)
	if strings.ContainsAny(s, " \t'\"\\;") {
		return `"` + s + `"`
	}
	return s
}

func systemd(o Options) string {
	program := o.command(unitWord)
	var b strings.Builder
	b.WriteString(`# ~/.config/systemd/user/zonedeck-keys.service
# It fails, and so tells OnFailure= or your monitoring, when a key is due (40), has expired (41) or breaks a rule (42), and
# when a date is unknown or there is no key (1).
[Unit]
Description=Check of the keys of zonedeck

[Service]
Type=oneshot
`)
	if o.Metrics != "" {
		fmt.Fprintf(&b, "ExecStart=%s keys export --recorded --as prometheus -o %s\n", program, unitWord(absolute(o.Metrics)))
	}
	fmt.Fprintf(&b, "ExecStart=%s keys check --recorded --within %s\n", program, unitWord(o.Within))
	b.WriteString(`
# ~/.config/systemd/user/zonedeck-keys.timer
# systemctl --user enable --now zonedeck-keys.timer
[Unit]
Description=Check of the keys of zonedeck, every morning

[Timer]
OnCalendar=*-*-* 06:17:00
Persistent=true

[Install]
WantedBy=timers.target
`)
	return b.String()
}

// batchCodes explains how a scheduled batch ends.
const batchCodes = `# A second call of one day goes on with that day's batch, or ends as it did. What the exit code says: 0 all is ok; 10 to 14 and
# 21 to 27 the worst class among the results; 20 it is not done, 29 it stopped at its cap: zonedeck batch resume NAME goes on,
# with the --database that stands below, if one does; 2 a row cannot be used, 32 the input has changed since the batch of this name began: nothing was sent.
`

// batch is the command that begins the batch of the day, and what explains how it ends.
func (o Options) batch() (command, notes string) {
	command, notes = o.command(word), batchCodes
	for _, w := range o.Batch {
		command += " " + word(w)
	}
	if o.Database != "" {
		notes += "# cron and systemd have no variables of your shell: what --database refers to, and the password, have to be where they find them (~/.pgpass).\n"
	}
	return command + ` --once "` + o.Series + `-$(date +%F)"`, notes
}

func batchCron(o Options) string {
	command, notes := o.batch()
	return "# A batch of zonedeck, every morning. cron mails what is printed.\n" + notes +
		"17 5 * * * " + strings.ReplaceAll(command, "%", `\%`) + "\n"
}

func batchUnits(o Options) string {
	command, notes := o.batch()
	return fmt.Sprintf(`# ~/.config/systemd/user/zonedeck-%[1]s.service
# It fails, and so tells OnFailure= or your monitoring, with any exit code but 0.
%[2]s[Unit]
Description=The batch %[1]s of zonedeck
After=network-online.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c %[3]s

# ~/.config/systemd/user/zonedeck-%[1]s.timer
# systemctl --user enable --now zonedeck-%[1]s.timer
[Unit]
Description=The batch %[1]s of zonedeck, every morning

[Timer]
OnCalendar=*-*-* 05:17:00
Persistent=true

[Install]
WantedBy=timers.target
`, o.Series, notes, unitWord("exec "+command))
}

// yaml quotes a text as a YAML string.
func yaml(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ciConfig is the config file that a text writes beside the inventory.
const ciConfig = ".zonedeck/config.toml"

// intervals is the command that writes the intervals where the check reads them; empty without any.
func (o Options) intervals() string {
	if len(o.Intervals) == 0 {
		return ""
	}
	lines := []string{`"[keys.rotation_days]"`}
	for _, level := range slices.Sorted(maps.Keys(o.Intervals)) {
		lines = append(lines, fmt.Sprintf(`"%s = %d"`, level, o.Intervals[level]))
	}
	return `printf "%s\n" ` + strings.Join(lines, " ") + " > " + ciConfig
}

// checkThere is the command that checks the inventory on a runner, which has no account: it has to name a profile.
func (o Options) checkThere() string {
	program := word(cmp.Or(o.Program, "zonedeck")) + " --profile " + model.LocalName
	if len(o.Intervals) > 0 {
		program += " --config " + ciConfig
	}
	return o.check(program)
}

func github(o Options) string {
	intervals := ""
	if write := o.intervals(); write != "" {
		intervals = `      # As config.toml said when this was written: print it anew once they change there.
      - name: the intervals of rotation
        run: ` + yaml(write) + "\n"
	}
	return `# .github/workflows/zonedeck-keys.yml
# The inventory, .zonedeck/zonedeck/keys.toml, holds no secret and stands in the repository.
# The job fails when a key is due (40), has expired (41) or breaks a rule (42), and when a date is unknown or there is no
# key (1). A runner has no account, and --profile local uses none for that; --recorded sends nothing.
name: zonedeck keys
on:
  schedule:
    - cron: '17 6 * * *'
  workflow_dispatch:
permissions:
  contents: read
jobs:
  keys:
    runs-on: ubuntu-latest
    env:
      XDG_DATA_HOME: ${{ github.workspace }}/.zonedeck
    steps:
      - uses: actions/checkout@v4
      # Put the zonedeck program on the PATH before the check.
` + intervals + `      - name: check the keys
        run: ` + yaml(o.checkThere()+" --as github") + `
`
}

func gitlab(o Options) string {
	intervals := ""
	if write := o.intervals(); write != "" {
		intervals = `    # The intervals of rotation, as config.toml said when this was written: print it anew once they change there.
    - ` + yaml(write) + "\n"
	}
	return `# .gitlab-ci.yml; add a schedule under Build > Pipeline schedules
# The inventory, .zonedeck/zonedeck/keys.toml, holds no secret and stands in the repository.
# The job fails when a key is due (40), has expired (41) or breaks a rule (42), and when a date is unknown or there is no
# key (1). A runner has no account, and --profile local uses none for that; --recorded sends nothing.
zonedeck keys:
  rules:
    - if: '$CI_PIPELINE_SOURCE == "schedule"'
  variables:
    XDG_DATA_HOME: $CI_PROJECT_DIR/.zonedeck
  script:
    # Put the zonedeck program on the PATH before the check.
` + intervals + `    - ` + yaml(o.checkThere()) + `
`
}

// follow is a unit that follows the jobs of a profile, or of the default one where Profile is empty.
func follow(o Options) string {
	name, command := "zonedeck-jobs.service", o.command(unitWord)
	return fmt.Sprintf(`# ~/.config/systemd/user/%[1]s
# systemctl --user enable --now %[1]s; loginctl enable-linger has it run while nobody is logged in.
# A key that is an env: reference comes from Environment= or EnvironmentFile= of a drop-in.
[Unit]
Description=Follows the jobs of zonedeck
After=network-online.target

[Service]
Type=exec
ExecStart=%[2]s jobs follow
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
`, name, command)
}
