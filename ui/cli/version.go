package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"zonedeck/service/view"
)

// version is set at release time by the linker (.ci/release).
var version = "0.1.0-dev"

// commit says what was built and when that was committed, in RFC 3339, as far as
// the build wrote it down; both end in "" if not.
func commit() (revision, made string) {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			made = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				revision += " and changes"
			}
		}
	}
	return revision, made
}

func (a *app) versionCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "version",
		short: "Print the version",
		run: func(context.Context, *task, jsonFlag, []string) (printed, error) {
			revision, made := commit()
			line := "zonedeck " + version
			if revision != "" {
				line += ", commit " + revision
			}
			line += fmt.Sprintf(" (%s, %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return printed{object: view.Build{
				Arch: runtime.GOARCH, Commit: revision, CommitTime: made, Go: runtime.Version(), OS: runtime.GOOS, Version: version,
			}, rows: [][]string{{line}}}, nil
		},
	})
}
