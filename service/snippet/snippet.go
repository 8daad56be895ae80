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
	if known := slices.ContainsFunc(Kinds(Keys), func(k Kind) bool { return k.Name == name }); known && subject == Jobs {
		return "", fmt.Errorf("jobs are followed all the time, by a program that is started again when it ends, which %s does not do: write systemd", name)
	}
	return "", fmt.Errorf("there is no text for %q: write %s", name, Names(kinds))
}

// Command is the command line that prints the check of the keys for a kind.
func Command(name string, o Options) string {
	return option(option("zonedeck schedule keys --as "+name, "--config", absolute(o.Config), word), "--profile", o.Profile, word)
}

// With is how a command line for a POSIX shell begins that works with a profile: "zonedeck --profile 'my own'".
// Without a name it leaves the profile open.
func With(profile string) string {
	return option("zonedeck", "--profile", profile, word)
}

// OnDatabase adds the database that --database names to a command line, "" for that of the profile.
func OnDatabase(command, database string) string {
	return option(command, "--database", database, word)
}

// option adds an option to a command line, if it has a value.
func option(command, name, value string, quote func(string) string) string {
	if value == "" {
		return command
	}
	return command + " " + name + " " + quote(value)
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

// absolute is the path of a file, if there is one, wherever the text is run.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// command is the program with its configuration, as this machine runs it, quoted by quote.
func (o Options) command(quote func(string) string) string {
	command := option(quote(o.programPath()), "--config", absolute(o.Config), quote)
	return option(option(command, "--profile", o.Profile, quote), "--database", o.Database, quote)
}

// check is the command that checks the inventory, and export the one that writes the metrics.
func (o Options) check(command string) string {
	return command + " keys check --recorded --within " + word(o.Within)
}

func (o Options) export() string {
	return o.command(word) + " keys export --recorded --as prometheus -o " + word(absolute(o.Metrics))
}

// quiet is a line of a crontab that prints nothing unless a command fails: cron mails what is printed.
func quiet(when, name, command string) string {
	return when + " " + percent.Replace("out=$("+command+` 2>&1) || printf "`+name+` ended with %d: %s\n" $? "$out"`) + "\n"
}

var percent = strings.NewReplacer("%", `\%`) // cron ends a command at a percent sign

func cron(o Options) string {
	var b strings.Builder
	b.WriteString("# The keys of zonedeck, every morning. cron mails what is printed: nothing while no key is due.\n")
	b.WriteString("# 40: a rotation or an expiry is due, 41: a key has expired, 42: a rule about keys is broken, 1: a date is unknown or there is no key.\n")
	b.WriteString(quiet("17 6 * * *", "zonedeck keys check", o.check(o.command(word))))
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

// units are a service of the user's systemd that runs commands, and its timer. notes are lines about how it ends, and section
// are further lines of its first section.
func units(name, notes, description, section, at string, commands ...string) string {
	return fmt.Sprintf(`# ~/.config/systemd/user/zonedeck-%[1]s.service
%[2]s[Unit]
Description=%[3]s
%[4]s
[Service]
Type=oneshot
ExecStart=%[6]s

# ~/.config/systemd/user/zonedeck-%[1]s.timer
# systemctl --user enable --now zonedeck-%[1]s.timer
[Unit]
Description=%[3]s, every morning

[Timer]
OnCalendar=*-*-* %[5]s
Persistent=true

[Install]
WantedBy=timers.target
`, name, notes, description, section, at, strings.Join(commands, "\nExecStart="))
}

func systemd(o Options) string {
	program := o.command(unitWord)
	commands := []string{program + " keys check --recorded --within " + unitWord(o.Within)}
	if o.Metrics != "" {
		commands = append([]string{program + " keys export --recorded --as prometheus -o " + unitWord(absolute(o.Metrics))}, commands...)
	}
	return units("keys", `# It fails, and so tells OnFailure= or your monitoring, when a key is due (40), has expired (41) or breaks a rule (42), and
# when a date is unknown or there is no key (1).
`, "Check of the keys of zonedeck", "", "06:17:00", commands...)
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
	return "# A batch of zonedeck, every morning. cron mails what is printed: nothing while all is ok.\n" + notes +
		quiet("17 5 * * *", "zonedeck batch", command)
}

func batchUnits(o Options) string {
	command, notes := o.batch()
	notes = "# It fails, and so tells OnFailure= or your monitoring, with any exit code but 0.\n" + notes
	return units(o.Series, notes, "The batch "+o.Series+" of zonedeck", "After=network-online.target\n", "05:17:00", "/bin/sh -c "+unitWord("exec "+command))
}

// yaml quotes a text as a YAML string.
func yaml(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ciConfig is the config file that a text writes beside the inventory.
const ciConfig = ".zonedeck/config.toml"

// intervals is the step that writes the intervals where the check reads them, behind its lead; empty without any.
func (o Options) intervals(lead string) string {
	if len(o.Intervals) == 0 {
		return ""
	}
	lines := []string{`"[keys.rotation_days]"`}
	for _, level := range slices.Sorted(maps.Keys(o.Intervals)) {
		lines = append(lines, fmt.Sprintf(`"%s = %d"`, level, o.Intervals[level]))
	}
	return lead + yaml(`printf "%s\n" `+strings.Join(lines, " ")+" > "+ciConfig) + "\n"
}

// checkThere is the command that checks the inventory on a runner, which has no account: it has to name a profile.
func (o Options) checkThere() string {
	program := word(cmp.Or(o.Program, "zonedeck")) + " --profile " + model.LocalName
	if len(o.Intervals) > 0 {
		program += " --config " + ciConfig
	}
	return o.check(program)
}

// ciNotes explain the check on a runner of CI.
const ciNotes = `# The inventory, .zonedeck/zonedeck/keys.toml, holds no secret and stands in the repository.
# The job fails when a key is due (40), has expired (41) or breaks a rule (42), and when a date is unknown or there is no
# key (1). A runner has no account, and --profile local uses none for that; --recorded sends nothing.
`

func github(o Options) string {
	return `# .github/workflows/zonedeck-keys.yml
` + ciNotes + `name: zonedeck keys
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
` + o.intervals(`      # As config.toml said when this was written: print it anew once they change there.
      - name: the intervals of rotation
        run: `) + `      - name: check the keys
        run: ` + yaml(o.checkThere()+" --as github") + `
`
}

func gitlab(o Options) string {
	return `# .gitlab-ci.yml; add a schedule under Build > Pipeline schedules
` + ciNotes + `zonedeck keys:
  rules:
    - if: '$CI_PIPELINE_SOURCE == "schedule"'
  variables:
    XDG_DATA_HOME: $CI_PROJECT_DIR/.zonedeck
  script:
    # Put the zonedeck program on the PATH before the check.
` + o.intervals(`    # The intervals of rotation, as config.toml said when this was written: print it anew once they change there.
    - `) + `    - ` + yaml(o.checkThere()) + `
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
